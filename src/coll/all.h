/* SPDX-License-Identifier: Apache-2.0 */
/* all.h: every algorithm of CH_ALGO_LIST, for the files that instantiate them. */
#ifndef CH_ALL_H
#define CH_ALL_H

#include "coll/algorithm.h"
#include "coll/alltoall_direct.h"
#include "coll/alltoall_engine.h"
#include "coll/alltoall_push.h"
#include "coll/barrier_dissemination.h"
#include "coll/broadcast_board.h"
#include "coll/broadcast_multicast.h"
#include "coll/broadcast_pull.h"
#include "coll/broadcast_put_to_all.h"
#include "coll/broadcast_scatter.h"
#include "coll/broadcast_tree.h"
#include "coll/fcollect_direct.h"
#include "coll/fcollect_engine.h"
#include "coll/fcollect_multicast.h"
#include "coll/fcollect_push.h"
#include "coll/fcollect_ring.h"
#include "coll/reduce_multicast_one.h"
#include "coll/reduce_multicast_two.h"
#include "coll/reduce_one_shot.h"
#include "coll/reduce_recursive.h"
#include "coll/reduce_ring.h"
#include "coll/reduce_two_phase.h"
#include "coll/reduce_two_shot.h"
#include "coll/reducescatter_multicast.h"
#include "coll/reducescatter_pull.h"
#include "coll/reducescatter_push.h"
#include "coll/reducescatter_ring.h"

#endif /* CH_ALL_H */

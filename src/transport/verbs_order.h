/* SPDX-License-Identifier: Apache-2.0 */
/* verbs_order.h: does a device guarantee the order of writes? */
#ifndef CH_VERBS_ORDER_H
#define CH_VERBS_ORDER_H

#include <infiniband/verbs.h>
#include <stdbool.h>

/* Does a CPU that polls memory see the writes of this queue pair in their order, if none of
 * them is under a relaxed key? */
bool ch_verbs_writes_in_order(struct ibv_qp *qp);

#endif /* CH_VERBS_ORDER_H */

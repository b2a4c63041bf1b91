/* SPDX-License-Identifier: Apache-2.0 */
/* verbs_order.h: does a device guarantee the order of writes? */
#ifndef CH_VERBS_ORDER_H
#define CH_VERBS_ORDER_H

#include <infiniband/verbs.h>
#include <stdbool.h>

/* Are the writes of this queue pair, if none is under a relaxed key, seen in their order by a
 * CPU that polls the memory they write? */
bool ch_verbs_writes_in_order(struct ibv_qp *qp);

#endif /* CH_VERBS_ORDER_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs_order_none.c: for a libibverbs before rdma-core 36, which does not report the order of
 * writes.
 */
#include "transport/verbs_order.h"

bool ch_verbs_writes_in_order(struct ibv_qp *qp)
{
    (void)qp;
    return false;
}

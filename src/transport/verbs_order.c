/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/verbs_order.h"

bool ch_verbs_writes_in_order(struct ibv_qp *qp)
{
    return ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 0) == 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* verbs_none.c: replaces verbs in builds without libibverbs. */
#include "transport/net.h"

static chorus_status none_open(const struct ch_net_terms *terms, struct ch_net **net_out)
{
    (void)terms, (void)net_out;
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "this library was built without libibverbs");
}

/* Called after a failed open, too. */
static void none_close(struct ch_net *net)
{
    (void)net;
}

const struct ch_net_ops ch_net_verbs = {
    .name = "verbs", .open = none_open, .close = none_close};

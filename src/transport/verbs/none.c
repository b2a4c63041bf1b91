/* SPDX-License-Identifier: Apache-2.0 */
/* none.c: replaces verbs in builds without libibverbs. */
#include "transport/link.h"

static chorus_status none_open(const struct ch_link_terms *terms, struct ch_endpoint **ep_out)
{
    (void)terms, (void)ep_out;
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "this library was built without libibverbs");
}

/* Called after a failed open, too. */
static void none_close(struct ch_endpoint *ep)
{
    (void)ep;
}

const struct ch_link_ops ch_link_verbs = {
    .name = "verbs", .open = none_open, .close = none_close};

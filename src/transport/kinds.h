/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.h: the kinds of network, and which of them CHORUS_TRANSPORT allows. */
#ifndef CH_KINDS_H
#define CH_KINDS_H

#include "transport/net.h"

/* In the order they are tried. Loop is for tests, and is taken only if it is named. */
/* clang-format off */
#define CH_KIND_LIST(X) X(verbs) X(ofi) X(tcp) X(loop)
/* clang-format on */
enum {
#define X(name) CH_KIND_##name,
    CH_KIND_LIST(X)
#undef X
        CH_KIND_COUNT
};

extern const struct ch_net_ops *const ch_kind_ops[CH_KIND_COUNT];

struct ch_kinds {
    bool may_map; /* peers of this host */
    bool is_allowed[CH_KIND_COUNT];
};

/*
 * "": mapped inside a host, else the first that serves. Names, with commas between them: these
 * alone; "mapped" is one of them. "^" before the first: all but these. ERR_ARG for others.
 */
CH_MUST_CHECK chorus_status ch_kinds_read(const char *text, struct ch_kinds *kinds_out);

#endif /* CH_KINDS_H */

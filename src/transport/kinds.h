/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.h: the kinds of network, and which of them CHORUS_TRANSPORT allows. */
#ifndef CH_KINDS_H
#define CH_KINDS_H

#include "transport/link.h"

/* In the order in which they are tried. Loop is for tests, and is used only if it is named. */
/* clang-format off */
#define CH_KIND_LIST(X) X(verbs) X(ofi) X(tcp) X(loop)
/* clang-format on */
enum {
#define X(name) CH_KIND_##name,
    CH_KIND_LIST(X)
#undef X
        CH_KIND_COUNT
};

extern const struct ch_link_ops *const ch_kind_ops[CH_KIND_COUNT];

struct ch_kinds {
    bool may_map; /* peers of this host */
    bool is_allowed[CH_KIND_COUNT];
};

/*
 * "": mapped within a host, otherwise the first kind that works. Names, separated by commas:
 * only these; "mapped" is one of them. "^" before the first: all except these. ERR_ARG for
 * other names.
 */
CH_MUST_CHECK chorus_status ch_kinds_read(const char *text, struct ch_kinds *kinds_out);

#endif /* CH_KINDS_H */

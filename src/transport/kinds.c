/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kinds.h"

#include <string.h>

const struct ch_link_ops *const ch_kind_ops[CH_KIND_COUNT] = {
#define X(name) &ch_link_##name,
    CH_KIND_LIST(X)
#undef X
};

#define NAME_mapped CH_KIND_COUNT

/* The number of a kind, or -1. */
static int find(const char *name, size_t length)
{
    if (length == strlen("mapped") && strncmp(name, "mapped", length) == 0) return NAME_mapped;
    for (int k = 0; k < CH_KIND_COUNT; k++)
        if (length == strlen(ch_kind_ops[k]->name) &&
            strncmp(name, ch_kind_ops[k]->name, length) == 0)
            return k;
    return -1;
}

static chorus_status refuse(const char *text, const char *name, size_t length)
{
#define X(kind) " " #kind
    return CH_FAIL(
        CHORUS_ERR_ARG,
        "CHORUS_TRANSPORT is \"%s\" with the unknown name \"%.*s\"; expected names of "
        "mapped" CH_KIND_LIST(
            X) ", separated by commas; ^ before the first one excludes them instead",
        text, (int)length, name);
#undef X
}

chorus_status ch_kinds_read(const char *text, struct ch_kinds *kinds_out)
{
    const bool is_without = *text == '^' || *text == '\0';
    const char *at = *text == '^' ? text + 1 : text;
    struct ch_kinds kinds = {.may_map = is_without};

    if (strcmp(text, "^") == 0) return refuse(text, "", 0);
    for (int k = 0; k < CH_KIND_COUNT; k++)
        kinds.is_allowed[k] = is_without && k != CH_KIND_loop;
    while (*at != '\0') {
        const size_t length = strcspn(at, ",");
        const int k = find(at, length);

        if (k < 0) return refuse(text, at, length);
        if (k == NAME_mapped)
            kinds.may_map = !is_without;
        else
            kinds.is_allowed[k] = !is_without;
        at += length;
        if (*at == ',') at++;
    }
    *kinds_out = kinds;
    return CHORUS_OK;
}

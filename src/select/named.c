/* SPDX-License-Identifier: Apache-2.0 */
#include "select/named.h"

#include <stdio.h>
#include <string.h>

bool ch_algo_is_of(chorus_coll coll, const char *name, struct ch_why *why_out)
{
    const char *names[CH_ALGO_COUNT], *last = "";
    char kind[64];
    size_t count = 0, index;

    for (size_t i = 0; i < CH_ALGO_COUNT; i++) {
        if (ch_algos[i].coll != coll) continue;
        /* The protocols of an algorithm are adjacent in the list: a name is new or equal to the
         * previous one. */
        if (strcmp(last, ch_algos[i].name) == 0) continue;
        names[count++] = last = ch_algos[i].name;
    }
    (void)snprintf(kind, sizeof(kind), "%s algorithm", ch_coll_names[coll]);
    return ch_name_find(kind, names, count, name, &index, why_out);
}

bool ch_algo_with(chorus_coll coll, const char *name, const char *proto,
                  const struct ch_algo **algo_out, struct ch_why *why_out)
{
    const struct ch_algo *algos[CH_PROTO_COUNT];
    const char *protos[CH_PROTO_COUNT];
    char kind[96];
    size_t count = 0, index = 0;

    for (size_t i = 0; i < CH_ALGO_COUNT; i++) {
        if (ch_algos[i].coll != coll || strcmp(ch_algos[i].name, name) != 0) continue;
        algos[count] = &ch_algos[i];
        protos[count++] = ch_proto_names[ch_algos[i].proto];
    }
    (void)snprintf(kind, sizeof(kind), "protocol of %s", name);
    if (proto == NULL && count > 1) {
        ch_why_set(why_out, "%s has several protocols and none is given; expected ", name);
        ch_why_list(why_out, protos, count);
        return false;
    }
    if (proto != NULL && !ch_name_find(kind, protos, count, proto, &index, why_out))
        return false;
    *algo_out = algos[index];
    return true;
}

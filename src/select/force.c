/* SPDX-License-Identifier: Apache-2.0 */
#include "select/force.h"

#include "base/number.h"
#include "select/named.h"
#include "select/select.h"

#include <stdlib.h>
#include <string.h>

enum { FIELDS = 4 }; /* coll, algo, proto, ctas */

/* Split `text` at each `separator`, in place; returns the number of parts, at most `most` +
 * 1. */
static size_t cut(char *text, char separator, char *parts[], size_t most)
{
    size_t n = 0;

    for (char *next = text; next != NULL; n++) {
        if (n == most) return most + 1;
        parts[n] = next;
        next = strchr(next, separator);
        if (next != NULL) *next++ = '\0';
    }
    return n;
}

/* name and protocol (null: none given) of a collective. */
static bool find(chorus_coll coll, const char *name, const char *proto,
                 const struct ch_algo **algo_out, struct ch_why *why_out)
{
    return ch_algo_is_of(coll, name, why_out) &&
           ch_algo_with(coll, name, proto, algo_out, why_out);
}

/* One entry of CHORUS_ALGO, which is split in place. False: *why_out is what is wrong with
 * it. */
static bool read_entry(char *entry, struct ch_forced forced[], struct ch_why *why_out)
{
    char *parts[FIELDS];
    const size_t n = cut(entry, ':', parts, FIELDS);
    const struct ch_algo *algo;
    uint64_t ctas = 1;
    size_t coll;

    if (n < 2 || n > FIELDS) {
        ch_why_set(why_out, "\"%s\" has %s parts; expected coll:algo[:proto[:ctas]]", entry,
                   n < 2 ? "too few" : "too many");
        return false;
    }
    if (!ch_name_find("collective", ch_coll_names, CHORUS_COLL_COUNT, parts[0], &coll, why_out))
        return false;
    if (!find((chorus_coll)coll, parts[1], n > 2 ? parts[2] : NULL, &algo, why_out))
        return false;
    if (n > 3 && !ch_number_whole(parts[3], 1, UINT32_MAX, &ctas)) {
        ch_why_set(why_out, "ctas is \"%s\"; expected a whole number from 1", parts[3]);
        return false;
    }
    if (forced[coll].algo != NULL) {
        ch_why_set(why_out, "%s is given twice; expected one entry for a collective", parts[0]);
        return false;
    }
    forced[coll].algo = algo;
    forced[coll].ctas = (uint32_t)ctas;
    return true;
}

chorus_status ch_force_read(const char *text, struct ch_forced forced[])
{
    char *entries[CHORUS_COLL_COUNT], *copy;
    struct ch_why why;
    size_t n;

    for (size_t i = 0; i < CHORUS_COLL_COUNT; i++)
        forced[i] = (struct ch_forced){NULL, 1};
    if (*text == '\0') return CHORUS_OK;
    copy = strdup(text);
    if (copy == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to read CHORUS_ALGO");
    n = cut(copy, ',', entries, CHORUS_COLL_COUNT);
    if (n > CHORUS_COLL_COUNT) {
        ch_why_set(&why, "more entries than collectives; expected one entry for a collective");
    } else {
        size_t i = 0;

        while (i < n && read_entry(entries[i], forced, &why))
            i++;
        if (i == n) {
            free(copy);
            return CHORUS_OK;
        }
    }
    free(copy);
    return CH_FAIL(CHORUS_ERR_ARG, "CHORUS_ALGO is \"%s\": %s", text, why.text);
}

chorus_status ch_algo_find(chorus_coll coll, const char *text, const struct ch_algo **algo_out)
{
    char name[64], *proto;
    struct ch_why why;

    if (strlen(text) >= sizeof(name))
        return CH_FAIL(CHORUS_ERR_ARG,
                       "algorithm \"%s\" is longer than any name; expected name or name:proto",
                       text);
    memcpy(name, text, strlen(text) + 1);
    proto = strchr(name, ':');
    if (proto != NULL) *proto++ = '\0';
    if (!find(coll, name, proto, algo_out, &why))
        return CH_FAIL(CHORUS_ERR_ARG, "algorithm \"%s\": %s", text, why.text);
    return CHORUS_OK;
}

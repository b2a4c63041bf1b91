/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c: can every rule be reached, and is every request for a listed collective served?
 *
 * From the requests that a rule covers, those that earlier rules serve are subtracted; if none
 * remains, no request can reach the rule. This is exact for ranges and sets, also if only
 * several earlier rules together cover the rule. An earlier rule serves a request for certain
 * if its algorithm's needs are among the later rule's, or are always met, and if its machine
 * and gpu are the same or not given.
 */
#include "select/reach.h"

#include <stdlib.h>
#include <string.h>

static bool differ(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) != 0;
}

/* Does rule i cover a request of the calls that the table serves? */
static bool is_asked(const struct ch_boxes *b, size_t i)
{
    const struct ch_rule *rule = &b->table->rules[i], *serves = &b->table->serves;
    struct ch_box part;

    if (differ(serves->machine, rule->machine) || differ(serves->gpu, rule->gpu)) return false;
    for (size_t s = 0; s < b->n_spaces[rule->coll]; s++)
        if (ch_box_within(&b->spaces[rule->coll][s], rule, &b->boxes[i], &part)) return true;
    return false;
}

/* Does rule `by` cover all requests that rule i covers? */
static bool is_taken(const struct ch_boxes *b, size_t by, size_t i)
{
    const struct ch_rule *rule = &b->table->rules[i];
    struct ch_box part;

    if (b->table->rules[by].coll != rule->coll) return false;
    for (size_t s = 0; s < b->n_spaces[rule->coll]; s++)
        if (ch_box_within(&b->spaces[rule->coll][s], rule, &b->boxes[i], &part) &&
            ch_box_partial(&b->boxes[by], &part) != 0)
            return false;
    return true;
}

static chorus_status refuse(const struct ch_table *table, const struct ch_rule *rule,
                            const char *what, const char *expected)
{
    return CH_FAIL(CHORUS_ERR_TABLE, "%s:%u:%u: %s; expected %s", table->path, rule->line,
                   rule->column, what, expected);
}

/* Reports rule i, which no request can reach because of earlier rules. */
static chorus_status refuse_unreached(const struct ch_boxes *b, size_t i)
{
    const struct ch_rule *rules = b->table->rules;
    char what[128] = "no request can reach this rule: those before it take all that it covers";

    for (size_t by = 0; by < i; by++) {
        if (!is_taken(b, by, i)) continue;
        (void)snprintf(what, sizeof(what),
                       "no request can reach this rule: line %u takes all that it covers",
                       rules[by].line);
        break;
    }
    return refuse(b->table, &rules[i], what,
                  "a rule that some request is left for: remove it or move it up");
}

static chorus_status check_reach(const struct ch_boxes *b)
{
    const size_t n_rules = b->table->n_rules;
    size_t asked = 0, first;
    uint64_t looks;

    while (asked < n_rules && is_asked(b, asked))
        asked++;
    CH_TRY(ch_reach_find(b, asked, &first, &looks));
    if (first < asked) return refuse_unreached(b, first);
    if (asked < n_rules)
        return refuse(
            b->table, &b->table->rules[asked], "no request can have what this rule asks for",
            "types, operators and ranges that the collective and the algorithm allow");
    return CHORUS_OK;
}

/* The last rule of a collective must cover all requests. */
static chorus_status check_last(const struct ch_boxes *b, chorus_coll coll)
{
    const struct ch_table *table = b->table;
    size_t last = table->n_rules;
    char what[192];

    for (size_t i = 0; i < table->n_rules; i++)
        if (table->rules[i].coll == coll) last = i;
    if (last == table->n_rules) return CHORUS_OK;
    (void)snprintf(what, sizeof(what), "the last rule for %s does not serve every request",
                   ch_coll_names[coll]);
    for (size_t s = 0; s < b->n_spaces[coll]; s++)
        if (ch_box_partial(&b->boxes[last], &b->spaces[coll][s].all) != 0)
            return refuse(
                table, &table->rules[last], what,
                "a last rule without filters, whose algorithm needs nothing but put, or map in "
                "a table that serves no network");
    return CHORUS_OK;
}

chorus_status ch_table_check(const struct ch_table *table)
{
    struct ch_boxes boxes;
    chorus_status status;

    CH_TRY(ch_boxes_open(table, &boxes));
    status = check_reach(&boxes);
    for (uint32_t coll = 0; coll < CHORUS_COLL_COUNT && status == CHORUS_OK; coll++)
        status = check_last(&boxes, (chorus_coll)coll);
    ch_boxes_close(&boxes);
    return status;
}

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
#include "select/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- the requests of a table -------------------------------------------------------------- */

/* Operators, a bit each, that a request of this collective and type can have; 0 if the
 * collective does not support the type. */
static uint32_t ops_of(chorus_coll coll, chorus_type type)
{
    uint32_t ops = 0;

    if (coll == CHORUS_COLL_barrier) return type == CHORUS_TYPE_u8 ? 1u << CHORUS_OP_sum : 0;
    if (!ch_coll_reduces(coll)) return 1u << CHORUS_OP_sum;
    for (uint32_t op = 0; op < CHORUS_OP_COUNT; op++)
        if (ch_op_takes((chorus_op)op, type)) ops |= 1u << op;
    return ops;
}

struct ch_range ch_range_clip(struct ch_range a, struct ch_range b)
{
    return (struct ch_range){a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
}

/* What a request offers that meets these needs: stores that reach all memory of every peer
 * reach its sync memory. */
static uint32_t with_implied(uint32_t needs)
{
    return needs | ((needs & CH_NEED_map) != 0 ? (uint32_t)CH_NEED_packets : 0);
}

/* The sets of offers that meet the needs, as table.h says, in a table that serves these
 * reaches. */
static uint64_t offers_of(chorus_coll coll, uint32_t needs, uint32_t reach)
{
    const uint32_t always = ch_needs_always_met(reach);
    uint64_t offers = (needs & ~always) == 0;
    unsigned bit = 1;

    for (size_t i = 0; i < CH_ALGO_COUNT; i++) {
        if (ch_algos[i].coll != coll) continue;
        assert(bit < 64);
        if ((needs & ~(with_implied(ch_algos[i].needs) | always)) == 0)
            offers |= UINT64_C(1) << bit;
        bit++;
    }
    return offers;
}

/* Needs that some machines of this class (null: any) may also meet: hosts have neither copy
 * engines nor multicast. */
static uint32_t needs_of_some_machine(const char *machine)
{
    const bool may_be_gpu = machine == NULL || strcmp(machine, "host") != 0;

    return may_be_gpu ? CH_NEED_copy_engine | CH_NEED_multicast : 0;
}

/* The needs that requests of any of these reaches meet on hosts. */
static uint32_t offers_within(chorus_type type, uint32_t reach)
{
    uint32_t offers = 0;

    for (uint32_t bit = 1; bit <= reach; bit *= 2)
        if ((reach & bit) != 0)
            offers |= ch_offers(type, bit, CH_NEED_apart | CH_NEED_SYMMETRIC);
    return offers;
}

/* All requests of a collective with one type, among the calls that the table serves. */
static struct ch_space space_of(chorus_coll coll, chorus_type type,
                                const struct ch_rule *serves)
{
    const struct ch_range any = {0, UINT64_MAX}, some = {1, UINT64_MAX}, none = {0, 1};
    struct ch_space space = {
        .offers = offers_within(type, serves->reach) | needs_of_some_machine(serves->machine),
    };

    space.all = (struct ch_box){
        .range = {coll == CHORUS_COLL_barrier ? none : any, ch_range_clip(some, serves->pes),
                  some, any, any},
        .set = {serves->reach, serves->cores, 1u << type, ops_of(coll, type),
                offers_of(coll, 0, serves->reach)},
    };
    return space;
}

/* Does the box contain no request? */
static bool is_empty(const struct ch_box *box)
{
    for (int r = 0; r < CH_BOX_RANGES; r++)
        if (box->range[r].lo >= box->range[r].hi) return true;
    for (int s = 0; s < CH_BOX_SETS; s++)
        if (box->set[s] == 0) return true;
    return false;
}

/* List the spaces of a collective; returns their number. */
static size_t spaces_of(chorus_coll coll, const struct ch_rule *serves,
                        struct ch_space spaces[])
{
    size_t n = 0;

    for (uint32_t type = 0; type < CHORUS_TYPE_COUNT; type++) {
        const struct ch_space space = space_of(coll, (chorus_type)type, serves);
        size_t i = 0;

        if (is_empty(&space.all)) continue;
        while (i < n && (spaces[i].all.set[CH_BOX_OPS] != space.all.set[CH_BOX_OPS] ||
                         spaces[i].offers != space.offers))
            i++;
        if (i == n) spaces[n++] = space;
        spaces[i].all.set[CH_BOX_TYPES] |= 1u << type;
    }
    return n;
}

/* --- words as numbers --------------------------------------------------------------------- */

struct word {
    const char *text;
    size_t rule;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct word *)a)->text, ((const struct word *)b)->text);
}

/* Give equal words equal numbers, and put the numbers into the boxes of their rules. */
static void number_words(struct word words[], size_t n, int side, struct ch_box boxes[])
{
    uint64_t number = 0;

    qsort(words, n, sizeof(words[0]), by_text);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && strcmp(words[i - 1].text, words[i].text) != 0) number++;
        boxes[words[i].rule].range[side] = (struct ch_range){number, number + 1};
    }
}

/* Number the words of machine, and those of gpu, of all rules. words: room for one of each. */
static void number_all_words(const struct ch_table *table, struct word words[],
                             struct ch_box boxes[])
{
    size_t n = 0;

    for (size_t i = 0; i < table->n_rules; i++)
        if (table->rules[i].machine != NULL)
            words[n++] = (struct word){table->rules[i].machine, i};
    number_words(words, n, CH_BOX_MACHINE, boxes);
    n = 0;
    for (size_t i = 0; i < table->n_rules; i++)
        if (table->rules[i].gpu != NULL) words[n++] = (struct word){table->rules[i].gpu, i};
    number_words(words, n, CH_BOX_GPU, boxes);
}

chorus_status ch_boxes_open(const struct ch_table *table, struct ch_boxes *out)
{
    const struct ch_range any = {0, UINT64_MAX};
    struct word *words = calloc(table->n_rules, sizeof(*words));

    out->table = table;
    out->boxes = calloc(table->n_rules, sizeof(*out->boxes));
    if (words == NULL || out->boxes == NULL) {
        free(words);
        free(out->boxes);
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to check the table %s", table->path);
    }
    for (size_t i = 0; i < table->n_rules; i++) {
        const struct ch_rule *rule = &table->rules[i];

        out->boxes[i] = (struct ch_box){
            .range = {rule->bytes, rule->pes, rule->nodes, any, any},
            .set = {rule->reach, rule->cores, rule->types, rule->ops,
                    offers_of(rule->coll, rule->algo->needs, table->serves.reach)},
        };
    }
    number_all_words(table, words, out->boxes);
    free(words);
    for (uint32_t coll = 0; coll < CHORUS_COLL_COUNT; coll++)
        out->n_spaces[coll] = spaces_of((chorus_coll)coll, &table->serves, out->spaces[coll]);
    return CHORUS_OK;
}

void ch_boxes_close(struct ch_boxes *boxes)
{
    free(boxes->boxes);
}

/* --- what boxes have in common ------------------------------------------------------------ */

bool ch_box_within(const struct ch_space *space, const struct ch_rule *rule,
                   const struct ch_box *box, struct ch_box *part_out)
{
    const uint32_t absent = needs_of_some_machine(NULL) & ~needs_of_some_machine(rule->machine);

    if ((rule->algo->needs & ~(space->offers & ~absent)) != 0) return false;
    for (int r = 0; r < CH_BOX_RANGES; r++)
        part_out->range[r] = ch_range_clip(box->range[r], space->all.range[r]);
    for (int s = 0; s < CH_BOX_SETS; s++)
        part_out->set[s] = box->set[s] & space->all.set[s];
    return !is_empty(part_out);
}

bool ch_box_overlaps(const struct ch_box *a, const struct ch_box *b)
{
    for (int r = 0; r < CH_BOX_RANGES; r++)
        if (a->range[r].lo >= b->range[r].hi || b->range[r].lo >= a->range[r].hi) return false;
    for (int s = 0; s < CH_BOX_SETS; s++)
        if ((a->set[s] & b->set[s]) == 0) return false;
    return true;
}

uint32_t ch_box_partial(const struct ch_box *box, const struct ch_box *cell)
{
    uint32_t sides = 0;

    for (int r = 0; r < CH_BOX_RANGES; r++)
        if (box->range[r].lo > cell->range[r].lo || box->range[r].hi < cell->range[r].hi)
            sides |= 1u << r;
    for (int s = 0; s < CH_BOX_SETS; s++)
        if ((cell->set[s] & ~box->set[s]) != 0) sides |= 1u << (CH_BOX_RANGES + s);
    return sides;
}

/* --- the checks --------------------------------------------------------------------------- */

/* Are both texts given, and different? */
static bool differ_if_given(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) != 0;
}

/* Does rule i cover a request of the calls that the table serves? */
static bool covers_any_request(const struct ch_boxes *b, size_t i)
{
    const struct ch_rule *rule = &b->table->rules[i], *serves = &b->table->serves;
    struct ch_box part;

    if (differ_if_given(serves->machine, rule->machine) ||
        differ_if_given(serves->gpu, rule->gpu))
        return false;
    for (size_t s = 0; s < b->n_spaces[rule->coll]; s++)
        if (ch_box_within(&b->spaces[rule->coll][s], rule, &b->boxes[i], &part)) return true;
    return false;
}

/* Does rule `by` cover all requests that rule i covers? */
static bool covers_rule(const struct ch_boxes *b, size_t by, size_t i)
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

/* Fail with ERR_TABLE at the place of a rule. */
static chorus_status refuse_rule(const struct ch_table *table, const struct ch_rule *rule,
                                 const char *what, const char *expected)
{
    return CH_FAIL(CHORUS_ERR_TABLE, "%s:%u:%u: %s; expected %s", table->path, rule->line,
                   rule->column, what, expected);
}

/* Fail with ERR_TABLE because of rule i, which no request can reach because of earlier
 * rules. */
static chorus_status refuse_unreached(const struct ch_boxes *b, size_t i)
{
    const struct ch_rule *rules = b->table->rules;
    char what[128] = "no request can reach this rule: those before it take all that it covers";

    for (size_t by = 0; by < i; by++) {
        if (!covers_rule(b, by, i)) continue;
        (void)snprintf(what, sizeof(what),
                       "no request can reach this rule: line %u takes all that it covers",
                       rules[by].line);
        break;
    }
    return refuse_rule(b->table, &rules[i], what,
                       "a rule that some request is left for: remove it or move it up");
}

/* ERR_TABLE if no request can reach one of the rules. */
static chorus_status check_reach(const struct ch_boxes *b)
{
    const size_t n_rules = b->table->n_rules;
    size_t asked = 0, first;
    uint64_t looks;

    while (asked < n_rules && covers_any_request(b, asked))
        asked++;
    CH_TRY(ch_reach_find(b, asked, &first, &looks));
    if (first < asked) return refuse_unreached(b, first);
    if (asked < n_rules)
        return refuse_rule(
            b->table, &b->table->rules[asked], "no request can have what this rule asks for",
            "types, operators and ranges that the collective and the algorithm allow");
    return CHORUS_OK;
}

/* ERR_TABLE if the last rule of a collective does not cover all requests. */
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
            return refuse_rule(
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

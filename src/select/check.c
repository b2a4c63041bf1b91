/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c: can every rule be reached, and is every request of a listed collective served?
 *
 * A rule covers, for each element type, a box: ranges of bytes, PEs and nodes, sets of reaches,
 * cores and operators. From its box the boxes of the earlier rules that would win are cut away;
 * if nothing remains for any type, no request can reach the rule. This is exact for ranges and
 * sets, also where several earlier rules cover it only together. An earlier rule counts if its
 * algorithm's needs are among this rule's, or are offered always, and if its machine and gpu
 * are the same or not given.
 */
#include "select/match.h"
#include "select/table.h"

#include <string.h>

/* The requests of one collective and element type that a rule covers. */
enum { BYTES, PES, NODES, RANGES };
struct box {
    struct ch_range range[RANGES];
    uint32_t reach, cores, ops;
};

/* Operators that a request of this collective and type can have: none if it cannot have the
 * type. */
static uint32_t ops_of(chorus_coll coll, chorus_type type)
{
    uint32_t ops = 0;

    if (coll == CHORUS_COLL_barrier) return type == CHORUS_TYPE_u8 ? 1u << CHORUS_OP_sum : 0;
    if (coll != CHORUS_COLL_reduce && coll != CHORUS_COLL_reducescatter)
        return 1u << CHORUS_OP_sum;
    for (uint32_t op = 0; op < CHORUS_OP_COUNT; op++)
        if (ch_op_takes((chorus_op)op, type)) ops |= 1u << op;
    return ops;
}

static struct ch_range clip(struct ch_range a, struct ch_range b)
{
    return (struct ch_range){a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
}

/* The box of a rule for a type, within what requests there are. */
static struct box box_of(const struct ch_rule *rule, chorus_type type)
{
    const struct ch_range any = {0, UINT64_MAX}, some = {1, UINT64_MAX}, none = {0, 1};
    const uint32_t has_type = rule->types >> type & 1u;

    return (struct box){
        .range = {clip(rule->bytes, rule->coll == CHORUS_COLL_barrier ? none : any),
                  clip(rule->pes, some), clip(rule->nodes, some)},
        .reach = rule->reach,
        .cores = rule->cores,
        .ops = has_type ? rule->ops & ops_of(rule->coll, type) : 0,
    };
}

static bool is_empty(const struct box *b)
{
    for (int d = 0; d < RANGES; d++)
        if (b->range[d].lo >= b->range[d].hi) return true;
    return b->reach == 0 || b->cores == 0 || b->ops == 0;
}

static bool same_or_any(const char *any, const char *word)
{
    return any == NULL || (word != NULL && strcmp(any, word) == 0);
}

static bool differ(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) != 0;
}

/* Would `earlier` win over the rule wherever both cover a request? */
static bool wins(const struct ch_rule *earlier, const struct ch_rule *rule)
{
    return earlier->coll == rule->coll &&
           (earlier->algo->needs & ~(rule->algo->needs | CH_NEEDS_ALWAYS_MET)) == 0 &&
           same_or_any(earlier->machine, rule->machine) && same_or_any(earlier->gpu, rule->gpu);
}

/* Do the rules [from, to) that win over `rule` leave nothing of its box b for a type? */
static bool is_taken(const struct ch_rule *rule, chorus_type type, struct box b,
                     const struct ch_rule *from, const struct ch_rule *to)
{
    if (is_empty(&b)) return true;
    for (const struct ch_rule *r = from; r < to; r++) {
        const struct box cut = box_of(r, type);
        struct box common = b, rest;

        for (int d = 0; d < RANGES; d++)
            common.range[d] = clip(b.range[d], cut.range[d]);
        common.reach &= cut.reach;
        common.cores &= cut.cores;
        common.ops &= cut.ops;
        if (!wins(r, rule) || is_empty(&common)) continue;

        /* Each piece that sticks out of the cut is for the rules after r to take. */
        for (int d = 0; d < RANGES; d++) {
            rest = b;
            rest.range[d].hi = common.range[d].lo;
            if (!is_taken(rule, type, rest, r + 1, to)) return false;
            rest = b;
            rest.range[d].lo = common.range[d].hi;
            if (!is_taken(rule, type, rest, r + 1, to)) return false;
            b.range[d] = common.range[d];
        }
        rest = b;
        rest.reach &= ~cut.reach;
        if (!is_taken(rule, type, rest, r + 1, to)) return false;
        b.reach = common.reach;
        rest = b;
        rest.cores &= ~cut.cores;
        if (!is_taken(rule, type, rest, r + 1, to)) return false;
        b.cores = common.cores;
        rest = b;
        rest.ops &= ~cut.ops;
        return is_taken(rule, type, rest, r + 1, to);
    }
    return false;
}

/* Is there a machine where a call with elements of `type` may meet the algorithm's needs? */
static bool is_servable(const struct ch_algo *algo, chorus_type type)
{
    const uint32_t most =
        ch_offers(type, CH_REACH_self, true) | CH_NEED_copy_engine | CH_NEED_multicast;

    return (algo->needs & ~most) == 0;
}

/* The same for every type that the rule accepts, of the calls that its table serves. With no
 * rules to look at: is it without a request to begin with? */
static bool is_covered(const struct ch_rule *serves, const struct ch_rule *rule,
                       const struct ch_rule *from, const struct ch_rule *to)
{
    if (differ(serves->machine, rule->machine) || differ(serves->gpu, rule->gpu)) return true;
    for (uint32_t t = 0; t < CHORUS_TYPE_COUNT; t++) {
        const chorus_type type = (chorus_type)t;

        struct box box = box_of(rule, type);

        if (!is_servable(rule->algo, type)) continue;
        box.range[PES] = clip(box.range[PES], serves->pes);
        box.cores &= serves->cores;
        if (!is_taken(rule, type, box, from, to)) return false;
    }
    return true;
}

static chorus_status refuse(const struct ch_table *table, const struct ch_rule *rule,
                            const char *what, const char *expected)
{
    return CH_FAIL(CHORUS_ERR_TABLE, "%s:%u:%u: %s; expected %s", table->path, rule->line,
                   rule->column, what, expected);
}

static chorus_status check_reach(const struct ch_table *table, const struct ch_rule *rule)
{
    const struct ch_rule *serves = &table->serves;
    const char *expected = "a rule that some request is left for: remove it or move it up";
    char what[128];

    if (is_covered(serves, rule, NULL, NULL))
        return refuse(
            table, rule, "no request can have what this rule asks for",
            "types, operators and ranges that the collective and the algorithm allow");
    for (const struct ch_rule *r = table->rules; r < rule; r++) {
        if (!is_covered(serves, rule, r, r + 1)) continue;
        (void)snprintf(what, sizeof(what),
                       "no request can reach this rule: line %u takes all that it covers",
                       r->line);
        return refuse(table, rule, what, expected);
    }
    if (is_covered(serves, rule, table->rules, rule))
        return refuse(table, rule,
                      "no request can reach this rule: those before it take all that it covers",
                      expected);
    return CHORUS_OK;
}

/* Does it serve every request of its collective and table? As much as: would it take all from a
 * rule without filters whose algorithm needs only what is always there? */
static bool is_unconditional(const struct ch_rule *serves, const struct ch_rule *rule)
{
    const struct ch_algo modest = {.needs = CH_NEEDS_ALWAYS_MET};
    const struct ch_rule open = {.coll = rule->coll,
                                 .bytes = {0, UINT64_MAX},
                                 .pes = {0, UINT64_MAX},
                                 .nodes = {0, UINT64_MAX},
                                 .reach = (1u << CH_REACH_COUNT) - 1,
                                 .cores = (1u << CH_CORES_COUNT) - 1,
                                 .types = (1u << CHORUS_TYPE_COUNT) - 1,
                                 .ops = (1u << CHORUS_OP_COUNT) - 1,
                                 .algo = &modest};

    return is_covered(serves, &open, rule, rule + 1);
}

static chorus_status check_last(const struct ch_table *table, chorus_coll coll)
{
    const struct ch_rule *last = NULL;
    char what[192];

    for (size_t i = 0; i < table->n_rules; i++)
        if (table->rules[i].coll == coll) last = &table->rules[i];
    if (last == NULL || is_unconditional(&table->serves, last)) return CHORUS_OK;
    (void)snprintf(what, sizeof(what), "the last rule for %s does not serve every request",
                   ch_coll_names[coll]);
    return refuse(table, last, what,
                  "a last rule without filters, whose algorithm needs nothing but map");
}

chorus_status ch_table_check(const struct ch_table *table)
{
    for (size_t i = 0; i < table->n_rules; i++)
        CH_TRY(check_reach(table, &table->rules[i]));
    for (uint32_t coll = 0; coll < CHORUS_COLL_COUNT; coll++)
        CH_TRY(check_last(table, (chorus_coll)coll));
    return CHORUS_OK;
}

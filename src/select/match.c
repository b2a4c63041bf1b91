/* SPDX-License-Identifier: Apache-2.0 */
/* match.c: does a rule apply to a request? The reason in words, if it does not. */
#include "select/table.h"

#include "team/device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const ch_reach_names[CH_REACH_COUNT] = {
#define X(name, bit) #name,
    CH_REACH_LIST(X)
#undef X
};

const char *const ch_cores_names[CH_CORES_COUNT] = {
#define X(name, bit) #name,
    CH_CORES_LIST(X)
#undef X
};

/* clang-format off */
#define IS_INTEGER_INT true
#define IS_INTEGER_UINT true
#define IS_INTEGER_HALF false
#define IS_INTEGER_FLOAT false
#define IS_INTEGER_COMPLEX false
/* clang-format on */

static bool is_integer(chorus_type type)
{
    static const bool are[CHORUS_TYPE_COUNT] = {
#define X(T, ctype, class, bytes) IS_INTEGER_##class,
        CHORUS_TYPE_LIST(X)
#undef X
    };

    return are[type];
}

bool ch_request_is_in_pool(const struct ch_request *request)
{
    return (request->reach & (CH_REACH_network | CH_REACH_beside)) != 0 &&
           strcmp(request->machine, "cuda") == 0;
}

uint32_t ch_offers(chorus_type type, uint32_t reach, uint32_t facts)
{
    uint32_t offers = CH_NEED_lines | facts;

    offers |= CH_NEED_put;
    if (reach == CH_REACH_self || reach == CH_REACH_mapped) offers |= CH_NEED_map;
    if (reach == CH_REACH_network || reach == CH_REACH_beside) offers |= CH_NEED_nodes;
    if (reach != CH_REACH_network) offers |= CH_NEED_packets;
    if (type != CHORUS_TYPE_f16 && type != CHORUS_TYPE_bf16) offers |= CH_NEED_whole;
    if (is_integer(type)) offers |= CH_NEED_exact;
    return offers;
}

uint32_t ch_offers_on_gpu(uint32_t pes, uint32_t offers)
{
    const uint32_t of_few = CH_NEED_map | CH_NEED_packets | CH_NEED_lines | CH_NEED_multicast;

    return pes > CH_DEVICE_PES_MAX ? offers & ~of_few : offers | CH_NEED_copy_engine;
}

static bool is_in_range(struct ch_range range, uint64_t value)
{
    return value >= range.lo && (value < range.hi || range.hi == UINT64_MAX);
}

/* Is the word of a rule, null for any, that of the request? */
static bool matches_word(const char *wanted, const char *found)
{
    return wanted == NULL || strcmp(wanted, found) == 0;
}

enum ch_miss ch_rule_miss(const struct ch_rule *rule, const struct ch_request *request)
{
    if (!is_in_range(rule->bytes, request->bytes)) return CH_MISS_BYTES;
    if (!is_in_range(rule->pes, request->pes)) return CH_MISS_PES;
    if (!is_in_range(rule->nodes, request->nodes)) return CH_MISS_NODES;
    if ((rule->reach & request->reach) == 0) return CH_MISS_REACH;
    if ((rule->cores & request->cores) == 0) return CH_MISS_CORES;
    if ((rule->types >> request->type & 1u) == 0) return CH_MISS_TYPE;
    if ((rule->ops >> request->op & 1u) == 0) return CH_MISS_OP;
    if (!matches_word(rule->machine, request->machine)) return CH_MISS_MACHINE;
    if (!matches_word(rule->gpu, request->gpu)) return CH_MISS_GPU;
    if (rule->algo != NULL && (rule->algo->needs & ~request->offers) != 0) return CH_MISS_NEEDS;
    return CH_MISS_NONE;
}

/* Write a bound in the notation of tables: with the largest unit that divides it. */
static void bound_text(uint64_t value, char *out, size_t out_bytes)
{
    static const char units[] = "\0KMG";
    unsigned unit = 0;

    if (value == UINT64_MAX) {
        (void)snprintf(out, out_bytes, "inf");
        return;
    }
    while (unit < 3 && value != 0 && value % 1024 == 0) {
        value /= 1024;
        unit++;
    }
    (void)snprintf(out, out_bytes, "%" PRIu64 "%.1s", value, &units[unit]);
}

/* Write that a value is not in the range of a rule. */
static void range_text(const char *what, uint64_t value, struct ch_range range,
                       struct ch_reason *why_out)
{
    char lo[32], hi[32];

    bound_text(range.lo, lo, sizeof(lo));
    bound_text(range.hi, hi, sizeof(hi));
    ch_why_set(why_out, "%s %" PRIu64 " is not in %s..%s", what, value, lo, hi);
}

/* Write that `name` is not among the names that a rule accepts; names[i] is bit i of bits. */
static void bits_text(const char *what, const char *name, uint32_t bits,
                      const char *const names[], size_t count, struct ch_reason *why_out)
{
    const char *wanted[32];
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (bits >> i & 1u) wanted[n++] = names[i];
    ch_why_set(why_out, "%s %s is not ", what, name);
    ch_why_list(why_out, wanted, n);
}

void ch_needs_text(uint32_t needs, uint32_t offers, struct ch_reason *why_out)
{
#define X(need, bit, text)                                  \
    if ((needs & ~offers & (bit)) != 0) {                   \
        ch_why_set(why_out, "needs %s: %s", #need, (text)); \
        return;                                             \
    }
    CH_NEED_LIST(X)
#undef X
    ch_why_set(why_out, "needs nothing more");
}

void ch_miss_text(enum ch_miss miss, const struct ch_rule *rule,
                  const struct ch_request *request, struct ch_reason *why_out)
{
    switch (miss) {
    case CH_MISS_NONE:
        ch_why_set(why_out, "applies");
        break;
    case CH_MISS_BYTES:
        range_text("bytes", request->bytes, rule->bytes, why_out);
        break;
    case CH_MISS_PES:
        range_text("pes", request->pes, rule->pes, why_out);
        break;
    case CH_MISS_NODES:
        range_text("nodes", request->nodes, rule->nodes, why_out);
        break;
    case CH_MISS_REACH:
        bits_text("reach", ch_reach_names[__builtin_ctz(request->reach)], rule->reach,
                  ch_reach_names, CH_REACH_COUNT, why_out);
        break;
    case CH_MISS_CORES:
        bits_text("cores", ch_cores_names[__builtin_ctz(request->cores)], rule->cores,
                  ch_cores_names, CH_CORES_COUNT, why_out);
        break;
    case CH_MISS_TYPE:
        bits_text("dtype", ch_type_names[request->type], rule->types, ch_type_names,
                  CHORUS_TYPE_COUNT, why_out);
        break;
    case CH_MISS_OP:
        bits_text("op", ch_op_names[request->op], rule->ops, ch_op_names, CHORUS_OP_COUNT,
                  why_out);
        break;
    case CH_MISS_MACHINE:
        ch_why_set(why_out, "machine %s is not %s", request->machine, rule->machine);
        break;
    case CH_MISS_GPU:
        ch_why_set(why_out, "gpu \"%s\" is not %s", request->gpu, rule->gpu);
        break;
    case CH_MISS_NEEDS:
        ch_needs_text(rule->algo->needs, request->offers, why_out);
        break;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* moe_check.c: what is wrong with a configuration, or with the tokens of a route. */
#include "apps/moe.h"

#include <stdio.h>

enum { EXPERTS_MAX = 65536, TOPK_MAX = 65535 };

#define ROW_BYTES_MAX ((size_t)1 << 30)
#define MESSAGE_BYTES_MAX ((size_t)1 << 40)

/* --- configurations ----------------------------------------------------------------------- */
/* clang-format off */
/* Members of chorusx_moe_config_t that are numbers: name, least and greatest value. */
#define NUMBERS(X)                            \
    X(experts, 1, EXPERTS_MAX)                \
    X(topk, 1, TOPK_MAX)                      \
    X(tokens_max, 1, UINT32_MAX)              \
    X(hidden_bytes, 1, ROW_BYTES_MAX)         \
    X(scale_bytes, 0, ROW_BYTES_MAX)          \
    X(combine_bytes, 0, ROW_BYTES_MAX)        \
    X(capacity, 0, UINT32_MAX)                \
    X(layout, 0, CHORUSX_MOE_EXPERT_MAJOR)    \
    X(overflow, 0, CHORUSX_MOE_FAIL)          \
    X(renormalise, INT32_MIN, INT32_MAX)      \
    X(message_bytes, 0, MESSAGE_BYTES_MAX)    \
    X(rows_max, 0, UINT32_MAX)
/* clang-format on */

/* Another value of PE p than of PE 0. */
static int compare(const struct ch_moe_given *all, uint32_t p, char *message, size_t bytes)
{
    const chorusx_moe_config_t *a = &all[0].config, *b = &all[p].config;

#define COMPARE(NAME, lo, hi)                                                                \
    if (a->NAME != b->NAME) {                                                                \
        (void)snprintf(message, bytes,                                                       \
                       #NAME " is %lld on PE 0 and %lld on PE %u; pass the same on all PEs", \
                       (long long)a->NAME, (long long)b->NAME, p);                           \
        return CHORUS_ERR_ARG;                                                               \
    }
    NUMBERS(COMPARE)
#undef COMPARE
    return CHORUS_OK;
}

static int check_numbers(const chorusx_moe_config_t *c, char *message, size_t bytes)
{
#define CHECK(NAME, lo, hi)                                                             \
    if ((long long)c->NAME < (long long)(lo) || (long long)c->NAME > (long long)(hi)) { \
        (void)snprintf(message, bytes, #NAME " is %lld; expected %lld to %lld",         \
                       (long long)c->NAME, (long long)(lo), (long long)(hi));           \
        return CHORUS_ERR_ARG;                                                          \
    }
    NUMBERS(CHECK)
#undef CHECK
    return CHORUS_OK;
}

int ch_moe_check_config(uint32_t n_pes, const struct ch_moe_given *all, char *message,
                        size_t bytes)
{
    const chorusx_moe_config_t *c = &all[0].config;
    int code = CHORUS_OK;

    if (n_pes == 0) return CHORUS_ERR_ARG; /* of no team */
    for (uint32_t p = 0; p < n_pes; p++)
        if (all[p].is_given == 0) {
            (void)snprintf(message, bytes, "the configuration of PE %u is null", p);
            return CHORUS_ERR_ARG;
        }
    for (uint32_t p = 1; p < n_pes && code == CHORUS_OK; p++)
        code = compare(all, p, message, bytes);
    if (code == CHORUS_OK) code = check_numbers(c, message, bytes);
    if (code != CHORUS_OK) return code;
    if (n_pes == 0 || (uint32_t)c->experts % n_pes != 0)
        (void)snprintf(message, bytes,
                       "%d experts cannot be divided among %u PEs; expected a multiple, with "
                       "experts that no token names if need be",
                       c->experts, n_pes);
    else if (c->topk > c->experts)
        (void)snprintf(message, bytes, "topk is %d, of %d experts; expected at most as many",
                       c->topk, c->experts);
    else if (c->capacity == 0 && c->layout == CHORUSX_MOE_EXPERT_MAJOR)
        (void)snprintf(message, bytes,
                       "capacity is 0; the layout CHORUSX_MOE_EXPERT_MAJOR needs one");
    else
        return CHORUS_OK;
    return CHORUS_ERR_ARG;
}

/* --- tokens ------------------------------------------------------------------------------- */
static bool found(struct ch_moe_header *header, enum ch_moe_problem problem, size_t slot,
                  int64_t value)
{
    header->problem = problem;
    header->slot = slot;
    header->value = value;
    return false;
}

static bool token_is_fine(const struct chorusx_moe *moe, const int32_t *entries,
                          struct ch_moe_header *header)
{
    for (size_t k = 0; k < (size_t)moe->config.topk; k++) {
        if (entries[k] < -1 || entries[k] >= moe->config.experts)
            return found(header, CH_MOE_BAD_EXPERT, k, entries[k]);
        for (size_t i = 0; i < k && entries[k] != -1; i++)
            if (entries[i] == entries[k])
                return found(header, CH_MOE_EXPERT_TWICE, k, entries[k]);
    }
    return true;
}

void ch_moe_check_tokens(const struct chorusx_moe *moe, const int32_t *topk_idx,
                         size_t n_tokens, struct ch_moe_header *header)
{
    header->n_tokens = n_tokens;
    if (n_tokens > moe->config.tokens_max) {
        (void)found(header, CH_MOE_TOO_MANY_TOKENS, 0, 0);
        return;
    }
    if (n_tokens > 0 && topk_idx == NULL) {
        (void)found(header, CH_MOE_NULL, 0, 0);
        return;
    }
    for (size_t t = 0; t < n_tokens; t++) {
        header->token = t;
        if (!token_is_fine(moe, topk_idx + t * (size_t)moe->config.topk, header)) return;
    }
}

/* --- headers ------------------------------------------------------------------------------ */
static int say_problem(const struct chorusx_moe *moe, uint32_t p, const struct ch_moe_header *h,
                       char *message, size_t bytes)
{
    const unsigned long long token = h->token, slot = h->slot;

    switch ((enum ch_moe_problem)h->problem) {
    case CH_MOE_FINE:
        return CHORUS_OK;
    case CH_MOE_NULL:
        (void)snprintf(message, bytes, "topk_idx of PE %u is null, for %llu tokens", p,
                       (unsigned long long)h->n_tokens);
        break;
    case CH_MOE_TOO_MANY_TOKENS:
        (void)snprintf(message, bytes,
                       "PE %u has %llu tokens; the object was created for %zu (tokens_max)", p,
                       (unsigned long long)h->n_tokens, moe->config.tokens_max);
        break;
    case CH_MOE_BAD_EXPERT:
        (void)snprintf(message, bytes,
                       "entry %llu of token %llu of PE %u is %lld; expected an expert, 0 to "
                       "%d, or -1 for none",
                       slot, token, p, (long long)h->value, moe->config.experts - 1);
        break;
    case CH_MOE_EXPERT_TWICE:
        (void)snprintf(message, bytes,
                       "token %llu of PE %u has expert %lld twice, the second time in entry "
                       "%llu; name each expert once",
                       token, p, (long long)h->value, slot);
        break;
    case CH_MOE_NO_MEMORY:
        (void)snprintf(message, bytes, "PE %u has no memory for the route of %llu tokens", p,
                       (unsigned long long)h->n_tokens);
        return CHORUS_ERR_NOMEM;
    }
    return CHORUS_ERR_ARG;
}

static int check_capacity(const struct chorusx_moe *moe, const struct ch_moe_header *headers,
                          char *message, size_t bytes)
{
    for (int e = 0; e < moe->config.experts; e++) {
        size_t rows = 0;

        for (uint32_t p = 0; p < moe->n_pes; p++)
            rows += ch_moe_header_of(moe, headers, p)->counts[e];
        if (rows <= moe->config.capacity) continue;
        (void)snprintf(message, bytes,
                       "expert %d gets %zu rows, beyond its capacity of %zu; create the object "
                       "with a larger capacity, or with CHORUSX_MOE_DROP",
                       e, rows, moe->config.capacity);
        return CHORUS_ERR_ARG;
    }
    return CHORUS_OK;
}

int ch_moe_check_headers(const struct chorusx_moe *moe, const struct ch_moe_header *headers,
                         char *message, size_t bytes)
{
    uint32_t first = 0;
    int code = CHORUS_OK;

    while (!moe->peers[first].is_active)
        first++;
    for (uint32_t p = first; p < moe->n_pes && code == CHORUS_OK; p++) {
        const struct ch_moe_header *h = ch_moe_header_of(moe, headers, p);

        if (moe->peers[p].is_active && h->mask != ch_moe_header_of(moe, headers, first)->mask) {
            (void)snprintf(message, bytes,
                           "PEs %u and %u differ in what is active; pass the same to "
                           "chorusx_moe_set_active on all PEs",
                           first, p);
            return CHORUS_ERR_ARG;
        }
        code = say_problem(moe, p, h, message, bytes);
    }
    if (code != CHORUS_OK || moe->config.capacity == 0 ||
        moe->config.overflow != CHORUSX_MOE_FAIL)
        return code;
    return check_capacity(moe, headers, message, bytes);
}

/* --- calls -------------------------------------------------------------------------------- */
int ch_moe_check_begin(const char *function, const struct chorusx_moe_route *route)
{
    const struct chorusx_moe *moe;

    if (route == NULL) return chorusx_fail(CHORUS_ERR_ARG, function, "the route is null");
    moe = route->moe;
    if (moe->failed != CHORUS_OK)
        return chorusx_fail(CHORUS_ERR_STATE, function,
                            "a call failed before; destroy the object");
    if (moe->call.kind != NULL)
        return chorusx_fail(CHORUS_ERR_STATE, function,
                            "a call is under way; end it before, by chorusx_moe_dispatch_end "
                            "or chorusx_moe_combine_end");
    if (route->mask != moe->mask_number)
        return chorusx_fail(CHORUS_ERR_STATE, function,
                            "the route was computed before chorusx_moe_set_active; compute "
                            "another by chorusx_moe_route");
    return CHORUS_OK;
}

int ch_moe_refuse_null(const char *function, const char *what)
{
    char message[CH_MOE_MESSAGE_BYTES];

    (void)snprintf(message, sizeof(message), "%s is null", what);
    return chorusx_fail(CHORUS_ERR_ARG, function, message);
}

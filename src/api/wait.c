/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.c: wait and test on words of this PE that other PEs store to. Each is a query: words are
 * scanned, once or until it succeeds. Words and values of all types are compared as keys, which
 * are unsigned numbers in the order of the type's values. Words on a GPU are copied to the host
 * before each scan.
 */
#include "api/rma.h"

#include "api/check.h"
#include "base/clock.h"
#include "chorus/chorus.h"

#include <stdio.h>
#include <stdlib.h>

/* --- queries ------------------------------------------------------------------------------ */

#define SIGN_BIT (UINT64_C(1) << 63)

enum { NUMBER_BYTES = 24 };

/* Load a word, and return its key. With acquire: what its writer wrote before is visible. */
static uint64_t load_key(chorus_type type, const void *word)
{
    switch (type) {
#define LOAD_INT(T, ctype)                                                                 \
    case CHORUS_TYPE_##T:                                                                  \
        return (uint64_t)(int64_t)__atomic_load_n((const ctype *)word, __ATOMIC_ACQUIRE) ^ \
               SIGN_BIT;
#define LOAD_UINT(T, ctype) \
    case CHORUS_TYPE_##T:   \
        return __atomic_load_n((const ctype *)word, __ATOMIC_ACQUIRE);
#define LOAD_HALF(T, ctype)
#define LOAD_FLOAT(T, ctype)
#define LOAD_COMPLEX(T, ctype)
#define X(T, ctype, class, bytes) LOAD_##class(T, ctype)
        CHORUS_TYPE_LIST(X)
#undef X
    default:
        return 0;
    }
}

bool ch_type_is_signed(chorus_type type)
{
#define X(T, ctype, class, bytes) \
    if (type == CHORUS_TYPE_##T) return #class[0] == 'I';
    CHORUS_TYPE_LIST(X)
#undef X
    return false;
}

static bool compare_keys(int cmp, uint64_t a, uint64_t b)
{
    switch (cmp) {
#define X(name, operator)   \
    case CHORUS_CMP_##name: \
        return a operator b;
        CHORUS_CMP_LIST(X)
#undef X
    default:
        return false;
    }
}

/* Is word i in the set, from which q->status may exclude it? */
static bool is_in_set(const struct ch_query *q, size_t i)
{
    return q->status == NULL || q->status[i] == 0;
}

/* Does word i meet its condition? Sets q->key to the word's key. */
static bool is_met(struct ch_query *q, size_t i)
{
    q->key = load_key(q->type, q->words + i * ch_type_bytes[q->type]);
    return compare_keys(q->cmp, q->key, load_key(q->type, q->values + i * q->values_step));
}

/* Is the condition met: by every word, by one, by some? */
typedef bool (*scan_fn)(struct ch_query *q);

/* True once every word of the set has met its condition; words that have are not read again. */
static bool scan_all(struct ch_query *q)
{
    while (q->n_done < q->count && (!is_in_set(q, q->n_done) || is_met(q, q->n_done)))
        q->n_done++;
    return q->n_done == q->count;
}

/* True if a word of the set meets its condition; q->found is its index, else SIZE_MAX. */
static bool scan_any(struct ch_query *q)
{
    for (size_t k = 0; k < q->count; k++) {
        const size_t i = k < q->count - q->start ? q->start + k : k - (q->count - q->start);

        if (!is_in_set(q, i) || !is_met(q, i)) continue;
        q->found = i;
        return true;
    }
    q->found = SIZE_MAX;
    return false;
}

/* True if any word of the set meets its condition; q->found is the number of those that do. */
static bool scan_some(struct ch_query *q)
{
    q->found = 0;
    for (size_t i = 0; i < q->count; i++)
        if (is_in_set(q, i) && is_met(q, i)) q->indices[q->found++] = i;
    return q->found != 0;
}

/* Is no word in the set? */
static bool is_empty(const struct ch_query *q)
{
    for (size_t i = 0; i < q->count; i++)
        if (is_in_set(q, i)) return false;
    return true;
}

/* Returns the index at which scan_any begins. Each call begins its scan at another word, so
 * that a word which always meets its condition cannot hide the others: a series of calls must
 * return every index that meets it (OpenSHMEM 1.5, shmem_wait_until_any). A constant step could
 * fail for callers that alternate between two sets, whose calls would always begin in the same
 * half of the words. */
static size_t pick_start(struct ch_context *context, size_t count)
{
    uint64_t x = __atomic_add_fetch(&context->n_scans, 1, __ATOMIC_RELAXED);

    x *= UINT64_C(0x9e3779b97f4a7c15); /* 2^64 over the golden ratio: spreads consecutive x */
    x ^= x >> 32;
    return count == 0 ? 0 : (size_t)(x % count);
}

chorus_status ch_query_check(struct ch_query *q)
{
    const size_t element_bytes = ch_type_bytes[q->type];
    size_t bytes;

    CH_TRY(ch_context_require(q->function, &q->context));
    if (q->cmp < CHORUS_CMP_EQ || q->cmp > CHORUS_CMP_LE)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: cmp is %d; expected a CHORUS_CMP_ constant, %d to %d", q->function,
                       q->cmp, CHORUS_CMP_EQ, CHORUS_CMP_LE);
    CH_TRY(ch_check_count(q->function, q->count, element_bytes, &bytes));
    CH_TRY(ch_check_symmetric(q->context, q->function, q->name, q->ivars, bytes));
    return ch_check_aligned(q->function, q->name, q->ivars, element_bytes);
}

/* Prepare a checked query: where to begin, and what to scan. */
static chorus_status prepare_query(struct ch_query *q)
{
    const size_t bytes = q->count * ch_type_bytes[q->type];

    q->start = pick_start(q->context, q->count);
    q->words = q->ivars;
    if (!ch_links_must_load(q->context->links) || bytes == 0) return CHORUS_OK;
    q->copy = malloc(bytes);
    q->words = q->copy;
    if (q->copy != NULL) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_SYSTEM, "%s: no memory to copy %zu words", q->function, q->count);
}

/* Copy the words to the host if it cannot read them directly. */
static chorus_status copy_words(const struct ch_context *context, struct ch_query *q)
{
    if (q->copy == NULL) return CHORUS_OK;
    return ch_links_load(context->links, q->copy, q->ivars, q->count * ch_type_bytes[q->type]);
}

/* Write the value of a key as a decimal number; returns `text`. */
static const char *key_text(chorus_type type, uint64_t key, char text[NUMBER_BYTES])
{
    if (ch_type_is_signed(type))
        (void)snprintf(text, NUMBER_BYTES, "%lld", (long long)(key ^ SIGN_BIT));
    else
        (void)snprintf(text, NUMBER_BYTES, "%llu", (unsigned long long)key);
    return text;
}

/* Fail with a message about the first word that does not meet its condition. */
static chorus_status fail_wait(const struct ch_context *context, struct ch_query *q,
                               chorus_status status)
{
    static const char *const operators[] = {
#define X(name, operator) #operator,
        CHORUS_CMP_LIST(X)
#undef X
    };
    char is[NUMBER_BYTES], wanted[NUMBER_BYTES];
    size_t i = q->n_done;

    if (status != CHORUS_ERR_TIMEOUT) {
        const char *const why = ch_wait_end_reason(&context->policy);
        return CH_FAIL(status, "%s: the job is ending%s%s", q->function,
                       *why != '\0' ? ": " : " because another PE failed", why);
    }
    while (i + 1 < q->count && (!is_in_set(q, i) || is_met(q, i)))
        i++;
    (void)is_met(q, i); /* for its key */
    return CH_FAIL(
        CHORUS_ERR_TIMEOUT,
        "%s: PE %u waited %.3g s for element %zu of %zu at %p to be %s %s, but it is %s; "
        "the PE that should have set it did not, or CHORUS_TIMEOUT is too short",
        q->function, context->boot->me,
        (double)context->policy.timeout_ns / (double)CH_NS_PER_S, i, q->count,
        (const void *)(q->ivars + i * ch_type_bytes[q->type]), operators[q->cmp],
        key_text(q->type, load_key(q->type, q->values + i * q->values_step), wanted),
        key_text(q->type, q->key, is));
}

/* Returns the wait as the record describes calls. */
static struct ch_doing doing_of(const struct ch_query *q)
{
    const uint64_t sign = ch_type_is_signed(q->type) ? SIGN_BIT : 0;

    return (struct ch_doing){.what = CH_DOING_wait,
                             .type = (uint8_t)q->type,
                             .op = (uint8_t)q->cmp,
                             .count = q->count,
                             .offset = ch_heap_offset(q->context->heap, q->ivars),
                             .value = load_key(q->type, q->values) ^ sign};
}

/* Begin a wait that does not end at once in the record; returns its index, for ch_doing_end. */
static uint64_t record_wait(const struct ch_query *q)
{
    const struct ch_doing doing = doing_of(q);

    return ch_doing_begin_alone(q->context, &doing);
}

/* Add a wait that ended at once to the record, as an access. */
static void record_met_wait(const struct ch_query *q)
{
    const struct ch_doing doing = doing_of(q);
    const struct ch_access access = {.what = CH_ACCESS_wait,
                                     .pe = q->context->boot->me,
                                     .offset = doing.offset,
                                     .bytes = q->count * ch_type_bytes[q->type],
                                     .value = doing.value};
    struct ch_record *record = ch_heap_record(q->context->heap, q->context->boot->me);

    if (q->count != 0) ch_record_access_end(record, ch_record_access(record, &access));
}

/* Wait until the scan succeeds; at once if the set is empty. is_recorded: add the wait to the
 * record. */
static chorus_status await_query(struct ch_query *q, scan_fn scan, bool is_recorded)
{
    const struct ch_context *const context = q->context;
    struct ch_wait w = {.is_listening = true};
    chorus_status status = CHORUS_OK, looked;
    uint64_t index = 0;
    bool is_over;

    CH_TRY(prepare_query(q));
    looked = copy_words(context, q);
    is_over = looked == CHORUS_OK && (scan(q) || is_empty(q));
    if (!is_over && is_recorded) index = record_wait(q);
    if (is_over && is_recorded && context->options.records_all) record_met_wait(q);
    while (!is_over && status == CHORUS_OK && looked == CHORUS_OK) {
        status = ch_wait_slow(&context->policy, &w);
        looked = copy_words(context, q);
        is_over = looked == CHORUS_OK && scan(q); /* also when the time is up */
    }
    ch_wait_end(&context->policy, &w);
    if (looked == CHORUS_OK && !is_over) looked = fail_wait(context, q, status);
    free(q->copy);
    return index == 0 ? looked : ch_doing_end(context, index, looked);
}

/* Check, then wait until the scan succeeds; at once if the set is empty. */
static chorus_status query_wait(struct ch_query *q, scan_fn scan)
{
    CH_TRY(ch_query_check(q));
    return await_query(q, scan, true);
}

chorus_status ch_query_wait_checked(struct ch_query *q)
{
    return await_query(q, scan_all, false);
}

/* Check, then scan once; *holds_out: did the scan succeed? */
static chorus_status query_test(struct ch_query *q, scan_fn scan, bool *holds_out)
{
    struct ch_progress *progress;
    chorus_status status = CHORUS_OK;
    bool has_moved = false;

    CH_TRY(ch_query_check(q));
    CH_TRY(prepare_query(q));
    /* Progress is made here, since a program may only call test functions, and never wait. */
    progress = q->context->policy.progress;
    if (progress != NULL) status = progress->make(progress, &has_moved);
    if (status == CHORUS_OK) status = copy_words(q->context, q);
    if (status == CHORUS_OK) *holds_out = scan(q);
    free(q->copy);
    return status;
}

/* --- calls -------------------------------------------------------------------------------- */

/* Wait until the scan succeeds; returns q.found, its result. Reports a failure, and returns
 * `nothing`. */
static size_t wait_until(struct ch_query q, scan_fn scan, size_t nothing)
{
    const chorus_status status = query_wait(&q, scan);

    if (status == CHORUS_OK) return q.found;
    ch_report(status);
    return nothing;
}

/* Scan once; returns whether the scan succeeded. Its result is in q->found, which is `nothing`
 * after a failure, which is reported. */
static bool test_query(struct ch_query *q, scan_fn scan, size_t nothing)
{
    bool holds = false;
    const chorus_status status = query_test(q, scan, &holds);

    if (status != CHORUS_OK) q->found = nothing;
    ch_report(status);
    return holds;
}

/* Scan once; returns q.found, the result of the scan. */
static size_t test_found(struct ch_query q, scan_fn scan, size_t nothing)
{
    (void)test_query(&q, scan, nothing);
    return q.found;
}

/* The members of the query that depend on the call; the others are 0. */
#define QUERY(KIND, IVARS, COUNT, STATUS, CMP, VALUES, STEP, INDICES)                         \
    (struct ch_query)                                                                         \
    {                                                                                         \
        .function = __func__, .name = #IVARS, .type = (KIND), .ivars = (const char *)(IVARS), \
        .count = (COUNT), .status = (STATUS), .cmp = (CMP), .values = (const char *)(VALUES), \
        .values_step = (STEP), .indices = (INDICES),                                          \
    }

#define DEFINE_ONE(NAME, T, kind)                                                            \
    void chorus_##NAME##_wait_until(T *ivar, int cmp, T cmp_value)                           \
    {                                                                                        \
        (void)wait_until(QUERY(kind, ivar, 1, NULL, cmp, &cmp_value, 0, NULL), scan_all, 0); \
    }                                                                                        \
    int chorus_##NAME##_test(T *ivar, int cmp, T cmp_value)                                  \
    {                                                                                        \
        struct ch_query q = QUERY(kind, ivar, 1, NULL, cmp, &cmp_value, 0, NULL);            \
        return test_query(&q, scan_all, 0);                                                  \
    }
CHORUS_WAIT_TYPES(DEFINE_ONE)

/* The families for sets of words: with one value for all (no suffix), and with a value for each
 * (_vector). */
#define DEFINE_SETS(NAME, T, kind, SUFFIX, VALUE, VALUES, STEP)                               \
    void chorus_##NAME##_wait_until_all##SUFFIX(T *ivars, size_t nelems, const int *status,   \
                                                int cmp, VALUE)                               \
    {                                                                                         \
        (void)wait_until(QUERY(kind, ivars, nelems, status, cmp, VALUES, STEP, NULL),         \
                         scan_all, 0);                                                        \
    }                                                                                         \
    size_t chorus_##NAME##_wait_until_any##SUFFIX(T *ivars, size_t nelems, const int *status, \
                                                  int cmp, VALUE)                             \
    {                                                                                         \
        return wait_until(QUERY(kind, ivars, nelems, status, cmp, VALUES, STEP, NULL),        \
                          scan_any, SIZE_MAX);                                                \
    }                                                                                         \
    size_t chorus_##NAME##_wait_until_some##SUFFIX(T *ivars, size_t nelems, size_t *indices,  \
                                                   const int *status, int cmp, VALUE)         \
    {                                                                                         \
        return wait_until(QUERY(kind, ivars, nelems, status, cmp, VALUES, STEP, indices),     \
                          scan_some, 0);                                                      \
    }                                                                                         \
    int chorus_##NAME##_test_all##SUFFIX(T *ivars, size_t nelems, const int *status, int cmp, \
                                         VALUE)                                               \
    {                                                                                         \
        struct ch_query q = QUERY(kind, ivars, nelems, status, cmp, VALUES, STEP, NULL);      \
        return test_query(&q, scan_all, 0);                                                   \
    }                                                                                         \
    size_t chorus_##NAME##_test_any##SUFFIX(T *ivars, size_t nelems, const int *status,       \
                                            int cmp, VALUE)                                   \
    {                                                                                         \
        return test_found(QUERY(kind, ivars, nelems, status, cmp, VALUES, STEP, NULL),        \
                          scan_any, SIZE_MAX);                                                \
    }                                                                                         \
    size_t chorus_##NAME##_test_some##SUFFIX(T *ivars, size_t nelems, size_t *indices,        \
                                             const int *status, int cmp, VALUE)               \
    {                                                                                         \
        return test_found(QUERY(kind, ivars, nelems, status, cmp, VALUES, STEP, indices),     \
                          scan_some, 0);                                                      \
    }
#define DEFINE_SCALAR(NAME, T, kind) DEFINE_SETS(NAME, T, kind, , T cmp_value, &cmp_value, 0)
#define DEFINE_VECTOR(NAME, T, kind) \
    DEFINE_SETS(NAME, T, kind, _vector, const T *cmp_values, cmp_values, sizeof(T))
CHORUS_WAIT_TYPES(DEFINE_SCALAR)
CHORUS_WAIT_TYPES(DEFINE_VECTOR)

uint64_t chorus_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
    struct ch_query q = QUERY(CHORUS_TYPE_u64, sig_addr, 1, NULL, cmp, &cmp_value, 0, NULL);
    const chorus_status status = query_wait(&q, scan_all);

    ch_report(status);
    return q.key; /* an unsigned word is its own key */
}

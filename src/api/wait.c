/* SPDX-License-Identifier: Apache-2.0 */
/* wait.c: wait and test on words of this PE that other PEs store to; each is a query. */
#include "api/query.h"
#include "chorus/chorus.h"

/* The result of the scan; `nothing` if the wait failed. */
static size_t wait_until(struct ch_query q, ch_scan_fn scan, size_t nothing)
{
    const chorus_status status = ch_query_wait(&q, scan);

    if (status == CHORUS_OK) return q.found;
    ch_report(status);
    return nothing;
}

/* Whether the scan succeeded; its result is in q->found, or `nothing` if it could not run. */
static bool test(struct ch_query *q, ch_scan_fn scan, size_t nothing)
{
    bool holds = false;
    const chorus_status status = ch_query_test(q, scan, &holds);

    if (status != CHORUS_OK) q->found = nothing;
    ch_report(status);
    return holds;
}

static size_t test_found(struct ch_query q, ch_scan_fn scan, size_t nothing)
{
    (void)test(&q, scan, nothing);
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

#define DEFINE_ONE(NAME, T, kind)                                                           \
    void chorus_##NAME##_wait_until(T *ivar, int cmp, T cmp_value)                          \
    {                                                                                       \
        (void)wait_until(QUERY(kind, ivar, 1, NULL, cmp, &cmp_value, 0, NULL), ch_scan_all, \
                         0);                                                                \
    }                                                                                       \
    int chorus_##NAME##_test(T *ivar, int cmp, T cmp_value)                                 \
    {                                                                                       \
        struct ch_query q = QUERY(kind, ivar, 1, NULL, cmp, &cmp_value, 0, NULL);           \
        return test(&q, ch_scan_all, 0);                                                    \
    }
CHORUS_WAIT_TYPES(DEFINE_ONE)

/* The families for sets of words: with one value for all (no suffix), and with a value for each
 * (_vector). */
#define DEFINE_SETS(NAME, T, kind, SUFFIX, VALUE, VALUES, STEP)                               \
    void chorus_##NAME##_wait_until_all##SUFFIX(T *ivars, size_t nelems, const int *status,   \
                                                int cmp, VALUE)                               \
    {                                                                                         \
        (void)wait_until(QUERY(kind, ivars, nelems, status, cmp, VALUES, STEP, NULL),         \
                         ch_scan_all, 0);                                                     \
    }                                                                                         \
    size_t chorus_##NAME##_wait_until_any##SUFFIX(T *ivars, size_t nelems, const int *status, \
                                                  int cmp, VALUE)                             \
    {                                                                                         \
        return wait_until(QUERY(kind, ivars, nelems, status, cmp, VALUES, STEP, NULL),        \
                          ch_scan_any, SIZE_MAX);                                             \
    }                                                                                         \
    size_t chorus_##NAME##_wait_until_some##SUFFIX(T *ivars, size_t nelems, size_t *indices,  \
                                                   const int *status, int cmp, VALUE)         \
    {                                                                                         \
        return wait_until(QUERY(kind, ivars, nelems, status, cmp, VALUES, STEP, indices),     \
                          ch_scan_some, 0);                                                   \
    }                                                                                         \
    int chorus_##NAME##_test_all##SUFFIX(T *ivars, size_t nelems, const int *status, int cmp, \
                                         VALUE)                                               \
    {                                                                                         \
        struct ch_query q = QUERY(kind, ivars, nelems, status, cmp, VALUES, STEP, NULL);      \
        return test(&q, ch_scan_all, 0);                                                      \
    }                                                                                         \
    size_t chorus_##NAME##_test_any##SUFFIX(T *ivars, size_t nelems, const int *status,       \
                                            int cmp, VALUE)                                   \
    {                                                                                         \
        return test_found(QUERY(kind, ivars, nelems, status, cmp, VALUES, STEP, NULL),        \
                          ch_scan_any, SIZE_MAX);                                             \
    }                                                                                         \
    size_t chorus_##NAME##_test_some##SUFFIX(T *ivars, size_t nelems, size_t *indices,        \
                                             const int *status, int cmp, VALUE)               \
    {                                                                                         \
        return test_found(QUERY(kind, ivars, nelems, status, cmp, VALUES, STEP, indices),     \
                          ch_scan_some, 0);                                                   \
    }
#define DEFINE_SCALAR(NAME, T, kind) DEFINE_SETS(NAME, T, kind, , T cmp_value, &cmp_value, 0)
#define DEFINE_VECTOR(NAME, T, kind) \
    DEFINE_SETS(NAME, T, kind, _vector, const T *cmp_values, cmp_values, sizeof(T))
CHORUS_WAIT_TYPES(DEFINE_SCALAR)
CHORUS_WAIT_TYPES(DEFINE_VECTOR)

uint64_t chorus_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
    struct ch_query q = QUERY(CHORUS_TYPE_u64, sig_addr, 1, NULL, cmp, &cmp_value, 0, NULL);
    const chorus_status status = ch_query_wait(&q, ch_scan_all);

    ch_report(status);
    return q.key; /* an unsigned word is its own key */
}

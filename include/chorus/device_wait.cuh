/* SPDX-License-Identifier: Apache-2.0 */
/* device_wait.cuh: waits and tests inside kernels; part of chorus_device.cuh. */
#ifndef CHORUS_DEVICE_WAIT_CUH
#define CHORUS_DEVICE_WAIT_CUH

/* --- what the calls are made of --------------------------------------------------------- */
template <typename T> CH_FN int ch_compare(T value, int cmp, T cmp_value)
{
    switch (cmp) {
#define X(name, operator)   \
    case CHORUS_CMP_##name: \
        return value operator cmp_value;
        CHORUS_CMP_LIST(X)
#undef X
    }
    return 0;
}

/* One thread waits on: 0 once it may not, which is then reported. */
CH_FN int ch_wait_on(struct ch_wait *w)
{
    chorus_status st;

    ch_expect_state();
    st = ch_wait_slow(ch_wait_policy_here(), w);
    if (st != CHORUS_OK) ch_report_late(0, st, ch_state.world.me);
    return st == CHORUS_OK;
}

template <typename T> CH_FN int ch_test(const T *ivar, int cmp, T cmp_value)
{
    return ch_compare(ch_element_acquire(ivar), cmp, cmp_value);
}

/* The value that met the condition, or the last. */
template <typename T> CH_FN T ch_wait_until(const T *ivar, int cmp, T cmp_value)
{
    struct ch_wait w = {0, 0, 0, 0};
    T value = ch_element_acquire(ivar);

    while (!ch_compare(value, cmp, cmp_value) && ch_wait_on(&w))
        value = ch_element_acquire(ivar);
    return value;
}

/* Is entry i of a list looked at? */
CH_FN int ch_counts(const int *status, size_t i)
{
    return status == 0 || status[i] == 0;
}

/* What the elements of a list are compared with: one value for all (step 0), or one each. */
template <typename T> struct ch_values {
    const T *first;
    size_t step;
};

/* Does element i count, and meet its condition? */
template <typename T>
CH_FN int ch_is_met(const T *ivars, size_t i, const int *status, int cmp, ch_values<T> values)
{
    return ch_counts(status, i) && ch_test(&ivars[i], cmp, values.first[i * values.step]);
}

template <typename T>
CH_FN int ch_test_all(const T *ivars, size_t nelems, const int *status, int cmp,
                      ch_values<T> values)
{
    for (size_t i = 0; i < nelems; i++)
        if (ch_counts(status, i) && !ch_is_met(ivars, i, status, cmp, values)) return 0;
    return 1;
}

template <typename T>
CH_FN void ch_wait_until_all(const T *ivars, size_t nelems, const int *status, int cmp,
                             ch_values<T> values)
{
    for (size_t i = 0; i < nelems; i++)
        if (ch_counts(status, i))
            (void)ch_wait_until(&ivars[i], cmp, values.first[i * values.step]);
}

template <typename T>
CH_FN size_t ch_test_any(const T *ivars, size_t nelems, const int *status, int cmp,
                         ch_values<T> values)
{
    for (size_t i = 0; i < nelems; i++)
        if (ch_is_met(ivars, i, status, cmp, values)) return i;
    return SIZE_MAX;
}

template <typename T>
CH_FN size_t ch_test_some(const T *ivars, size_t nelems, size_t *indices, const int *status,
                          int cmp, ch_values<T> values)
{
    size_t n_met = 0;

    for (size_t i = 0; i < nelems; i++)
        if (ch_is_met(ivars, i, status, cmp, values)) indices[n_met++] = i;
    return n_met;
}

/* Nothing counts, so nothing would be waited for. */
CH_FN int ch_is_empty(size_t nelems, const int *status)
{
    for (size_t i = 0; i < nelems; i++)
        if (ch_counts(status, i)) return 0;
    return 1;
}

template <typename T>
CH_FN size_t ch_wait_until_any(const T *ivars, size_t nelems, const int *status, int cmp,
                               ch_values<T> values)
{
    struct ch_wait w = {0, 0, 0, 0};
    size_t found = ch_test_any(ivars, nelems, status, cmp, values);

    if (found == SIZE_MAX && ch_is_empty(nelems, status)) return found;
    while (found == SIZE_MAX && ch_wait_on(&w))
        found = ch_test_any(ivars, nelems, status, cmp, values);
    return found;
}

template <typename T>
CH_FN size_t ch_wait_until_some(const T *ivars, size_t nelems, size_t *indices,
                                const int *status, int cmp, ch_values<T> values)
{
    struct ch_wait w = {0, 0, 0, 0};
    size_t n_met = ch_test_some(ivars, nelems, indices, status, cmp, values);

    if (n_met == 0 && ch_is_empty(nelems, status)) return 0;
    while (n_met == 0 && ch_wait_on(&w))
        n_met = ch_test_some(ivars, nelems, indices, status, cmp, values);
    return n_met;
}

/* --- point-to-point synchronization ----------------------------------------------------- */
typedef struct ch_wait chorusx_wait_t; /* begins as {} */

/**
 * Go on with a wait for something else than one of the conditions below, of which the program
 * tests itself whether it holds: whether it may, between two tests.
 *
 *     chorusx_wait_t wait = {};
 *     while (!holds() && chorusx_wait_again(&wait)) continue;
 *
 * @param wait  [in, out] of this wait
 *
 * Collective: no, any PE.
 * Threads:    one thread, diverged or not; any number at once.
 * Ordering:   implies no fence: chorus_signal_fetch and the tests below see what was put.
 * Errors:     0 once the job ends, or CHORUS_TIMEOUT has passed since the first call, which is
 *             reported as of any wait; else 1.
 * Source:     of this library.
 * Since:      0.1
 */
CHORUS_DEVICE int chorusx_wait_again(chorusx_wait_t *wait)
{
    return ch_wait_on(wait);
}

#ifdef __CUDA_ARCH__
/**
 * Wait for elements of this PE to meet a condition, or test whether they do, as the functions
 * of these names in chorus.h.
 *
 * @param ivar, ivars  symmetric, one element, or nelems of them
 * @param nelems     elements in the list
 * @param indices    [out] of the some forms, nelems of them: which ones met it
 * @param status     [in] entries that are not 0 leave that element out; null leaves none out
 * @param cmp        a CHORUS_CMP_ constant
 * @param cmp_value  compared with; of the vector forms nelems values, one each
 *
 * Collective: no, any PE.
 * Threads:    one thread, diverged or not; any number at once.
 * Ordering:   what a peer put before a fence, and before what met the condition, is there for
 *             this thread, and for others after a barrier of the block.
 * Errors:     a wait that fails returns as if it were met, SIZE_MAX of the any forms, 0 of the
 *             some forms, and is reported.
 * Source:     NVSHMEM, nvshmem_T_wait_until and related calls; any begins at the first element.
 * Since:      0.1
 */
#define CHORUS_DEFINE_WAIT(NAME, T, kind)                                      \
    CHORUS_BOTH void chorus_##NAME##_wait_until(T *ivar, int cmp, T cmp_value) \
    {                                                                          \
        (void)ch_wait_until(ivar, cmp, cmp_value);                             \
    }                                                                          \
    CHORUS_BOTH int chorus_##NAME##_test(T *ivar, int cmp, T cmp_value)        \
    {                                                                          \
        return ch_test(ivar, cmp, cmp_value);                                  \
    }                                                                          \
    CHORUS_DEFINE_LISTS(NAME, T, , T, (ch_values<T>{&cmp_value, 0}))           \
    CHORUS_DEFINE_LISTS(NAME, T, _vector, const T *, (ch_values<T>{cmp_value, 1}))

/* The forms for lists, by the type of what is compared with. */
#define CHORUS_DEFINE_LISTS(NAME, T, TAIL, VALUE, VALUES)                                      \
    CHORUS_BOTH void chorus_##NAME##_wait_until_all##TAIL(                                     \
        T *ivars, size_t nelems, const int *status, int cmp, VALUE cmp_value)                  \
    {                                                                                          \
        ch_wait_until_all(ivars, nelems, status, cmp, VALUES);                                 \
    }                                                                                          \
    CHORUS_BOTH size_t chorus_##NAME##_wait_until_any##TAIL(                                   \
        T *ivars, size_t nelems, const int *status, int cmp, VALUE cmp_value)                  \
    {                                                                                          \
        return ch_wait_until_any(ivars, nelems, status, cmp, VALUES);                          \
    }                                                                                          \
    CHORUS_BOTH size_t chorus_##NAME##_wait_until_some##TAIL(                                  \
        T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, VALUE cmp_value) \
    {                                                                                          \
        return ch_wait_until_some(ivars, nelems, indices, status, cmp, VALUES);                \
    }                                                                                          \
    CHORUS_BOTH int chorus_##NAME##_test_all##TAIL(T *ivars, size_t nelems, const int *status, \
                                                   int cmp, VALUE cmp_value)                   \
    {                                                                                          \
        return ch_test_all(ivars, nelems, status, cmp, VALUES);                                \
    }                                                                                          \
    CHORUS_BOTH size_t chorus_##NAME##_test_any##TAIL(                                         \
        T *ivars, size_t nelems, const int *status, int cmp, VALUE cmp_value)                  \
    {                                                                                          \
        return ch_test_any(ivars, nelems, status, cmp, VALUES);                                \
    }                                                                                          \
    CHORUS_BOTH size_t chorus_##NAME##_test_some##TAIL(                                        \
        T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, VALUE cmp_value) \
    {                                                                                          \
        return ch_test_some(ivars, nelems, indices, status, cmp, VALUES);                      \
    }
CHORUS_WAIT_TYPES(CHORUS_DEFINE_WAIT)
#undef CHORUS_DEFINE_WAIT
#undef CHORUS_DEFINE_LISTS

/**
 * Get a signal's value, now or once it meets a condition.
 *
 * @param sig_addr   symmetric, this PE's signal
 * @param cmp        a CHORUS_CMP_ constant
 * @param cmp_value  what it is compared with
 *
 * Collective: no, any PE.
 * Threads:    one thread, diverged or not; any number at once.
 * Ordering:   the data of a put with this signal is there, as of chorus_T_wait_until.
 * Errors:     a wait that fails gives the last value, and is reported.
 * Source:     NVSHMEM, nvshmem_signal_fetch and nvshmem_signal_wait_until.
 * Since:      0.1
 */
CHORUS_BOTH uint64_t chorus_signal_fetch(const uint64_t *sig_addr)
{
    return ch_element_acquire(sig_addr);
}

CHORUS_BOTH uint64_t chorus_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
    return ch_wait_until(sig_addr, cmp, cmp_value);
}
#endif /* __CUDA_ARCH__ */

#endif /* CHORUS_DEVICE_WAIT_CUH */

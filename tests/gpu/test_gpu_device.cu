/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_device.cu: calls inside kernels that are no collectives, a block of each PE. */
#include "test_gpu_device.cuh"

/* --- who and where ---------------------------------------------------------------------- */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    who(int me, int n, int on_node, int last, int *at, int *bad)
{
    int *const there = (int *)chorus_ptr(at, (me + 1) % n);

    HOLDS(chorus_my_pe() == me && chorus_n_pes() == n);
    HOLDS(chorus_team_my_pe(CHORUS_TEAM_WORLD) == me);
    HOLDS(chorus_team_n_pes(CHORUS_TEAM_NODE) == on_node);
    HOLDS(chorus_team_my_pe(CHORUS_TEAM_INVALID) == -1 && chorus_team_n_pes(77) == -1);
    HOLDS(chorus_team_translate_pe(CHORUS_TEAM_NODE, on_node - 1, CHORUS_TEAM_WORLD) == last);
    HOLDS(chorus_team_translate_pe(CHORUS_TEAM_WORLD, n, CHORUS_TEAM_NODE) == -1);
    HOLDS(chorus_team_translate_pe(77, 0, CHORUS_TEAM_WORLD) == -1);
    HOLDS(chorus_ptr(at, me) == at);
    if (threadIdx.x == 0 && there != 0) *there = me;
    if (threadIdx.x == 0 && there == 0) chorus_int_p(at, me, (me + 1) % n);
    HOLDS(chorusx_barrier_block(CHORUS_TEAM_WORLD) == CHORUS_OK);
    HOLDS(*at == (me + n - 1) % n);
    HOLDS(chorusx_barrier_block(77) == CHORUS_ERR_ARG);
}

static void kernels_know_the_pe(void)
{
    int *bad = make<int>(1), *at = make<int>(1);

    const int on_node = chorus_team_n_pes(CHORUS_TEAM_NODE);

    run(who, THREADS, gpu_me(), gpu_n(), on_node,
        chorus_team_translate_pe(CHORUS_TEAM_NODE, on_node - 1, CHORUS_TEAM_WORLD), at, bad);
    chorus_free(at);
    expect_none(bad);
}

/* --- put, get --------------------------------------------------------------------------- */
/* One form's put to the next PE and get back from there, in a slot of its own. */
#define TRY(SLOT, ACTS, PUT, GET, T, COUNT)                                  \
    do {                                                                     \
        T *const to = (T *)(dest + (SLOT)*WORDS), *const from = (T *)source; \
        T *const again = (T *)(back + (SLOT)*WORDS);                         \
        if (ACTS) {                                                          \
            PUT(to, from, COUNT, next);                                      \
            GET(again, from, COUNT, next);                                   \
        }                                                                    \
    } while (0)

__global__ void __launch_bounds__(THREADS_MAX, 1)
    move(uint64_t *dest, uint64_t *source, uint64_t *back, int *bad)
{
    const int me = chorus_my_pe(), n = chorus_n_pes(), next = (me + 1) % n;
    const bool first = threadIdx.x == 0, warp = threadIdx.x / 32 == 1;

    for (unsigned i = threadIdx.x; i < WORDS; i += blockDim.x)
        source[i] = (uint64_t)me << 32 | (i + 1) * 0x01010101u;
    chorusx_sync_all_block();
    TRY(0, first, chorus_float_put, chorus_float_get, float, 2 * WORDS);
    TRY(1, warp, chorusx_double_put_warp, chorusx_double_get_warp, double, WORDS);
    TRY(2, true, chorusx_half_put_block, chorusx_half_get_block, chorus_half, 4 * WORDS);
    TRY(3, first, chorus_int8_put_nbi, chorus_int8_get_nbi, int8_t, 8 * WORDS);
    TRY(4, warp, chorusx_short_put_nbi_warp, chorusx_short_get_nbi_warp, short, 4 * WORDS);
    TRY(5, true, chorusx_size_put_nbi_block, chorusx_size_get_nbi_block, size_t, WORDS);
    TRY(6, first, chorus_put8, chorus_get8, char, 8 * WORDS);
    TRY(7, warp, chorusx_put16_warp, chorusx_get16_nbi_warp, short, 4 * WORDS);
    TRY(8, true, chorusx_put32_nbi_block, chorusx_get32_block, int, 2 * WORDS);
    TRY(9, true, chorusx_put64_block, chorusx_get64_block, long, WORDS);
    TRY(10, warp, chorusx_put128_warp, chorusx_get128_warp, void, WORDS / 2);
    TRY(11, true, chorusx_putmem_block, chorusx_getmem_block, char, 8 * WORDS);
    TRY(12, first, chorus_putmem_nbi, chorus_getmem, char, 8 * WORDS);
    if (first)
        for (int i = 0; i < WORDS; i++) {
            chorus_uint64_p(&dest[13 * WORDS + i], source[i], next);
            back[13 * WORDS + i] = chorus_uint64_g(&source[i], next);
        }
    chorusx_barrier_all_block();
    for (unsigned i = threadIdx.x; i < 14 * WORDS; i += blockDim.x) {
        const uint64_t low = (i % WORDS + 1) * 0x01010101u;

        HOLDS(dest[i] == ((uint64_t)((me + n - 1) % n) << 32 | low));
        HOLDS(back[i] == ((uint64_t)next << 32 | low));
    }
}

static void puts_and_gets_move(void)
{
    int *bad = make<int>(1);
    uint64_t *dest = make<uint64_t>(SLOTS * WORDS), *back = make<uint64_t>(SLOTS * WORDS);
    uint64_t *source = make<uint64_t>(WORDS);

    run(move, THREADS, dest, source, back, bad);
    chorus_free(source);
    chorus_free(back);
    chorus_free(dest);
    expect_none(bad);
}

/* --- elements with strides ------------------------------------------------------------- */
/* Every third of source to every second of dest, at the next PE; what lies between stays. */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    spread(int *dest, int *source, short *back, int form, int *bad)
{
    const int me = chorus_my_pe(), n = chorus_n_pes(), next = (me + 1) % n;
    const int before = (me + n - 1) % n;
    short *const shorts = (short *)source;

    for (unsigned i = threadIdx.x; i < 3 * WORDS; i += blockDim.x)
        source[i] = me * 1000 + (int)i + form;
    for (unsigned i = threadIdx.x; i < 2 * WORDS; i += blockDim.x) {
        dest[i] = -1;
        back[i] = -1;
    }
    chorusx_barrier_all_block();
    if (form == 0) {
        chorusx_int_iput_block(dest, source, 2, 3, WORDS, next);
        chorusx_iget16_block(back, shorts, 2, 4, WORDS, next);
    } else if (form == 1 && threadIdx.x < 32) {
        chorusx_iput32_warp(dest, source, 2, 3, WORDS, next);
        chorusx_short_iget_warp(back, shorts, 2, 4, WORDS, next);
    } else if (form == 2 && threadIdx.x == 0) {
        chorus_int_iput(dest, source, 2, 3, WORDS, next);
        chorus_iget16(back, shorts, 2, 4, WORDS, next);
    }
    chorusx_barrier_all_block();
    for (unsigned i = threadIdx.x; i < 2 * WORDS; i += blockDim.x) {
        HOLDS(dest[i] == (i % 2 == 0 ? before * 1000 + (int)(i / 2 * 3) + form : -1));
        HOLDS(back[i] == (i % 2 == 0 ? (short)(next * 1000 + (int)i + form) : -1));
    }
    chorusx_barrier_all_block(); /* all have looked */
}

static void elements_that_lie_apart_move(void)
{
    int *bad = make<int>(1), *dest = make<int>(2 * WORDS), *source = make<int>(3 * WORDS);
    short *back = make<short>(2 * WORDS);

    for (int form = 0; form < 3; form++)
        run(spread, THREADS, dest, source, back, form, bad);
    chorus_free(back);
    chorus_free(source);
    chorus_free(dest);
    expect_none(bad);
}

/* --- signals and waits ------------------------------------------------------------------ */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    signal(int *dest, int *source, uint64_t *sig, int *bad)
{
    const int me = chorus_my_pe(), n = chorus_n_pes(), next = (me + 1) % n;
    const int before = (me + n - 1) % n;

    for (int round = 1; round <= ROUNDS; round++) {
        for (unsigned i = threadIdx.x; i < 3 * WORDS; i += blockDim.x)
            source[i] = me + round;
        __syncthreads();
        if (threadIdx.x == 0)
            chorus_int_put_signal(dest, source, WORDS, &sig[0], (uint64_t)round,
                                  CHORUS_SIGNAL_SET, next);
        if (threadIdx.x / 32 == 1)
            chorusx_int_put_signal_warp(dest + WORDS, source + WORDS, WORDS, &sig[1], 2,
                                        CHORUS_SIGNAL_ADD, next);
        chorusx_putmem_signal_block(dest + 2 * WORDS, source + 2 * WORDS, WORDS * sizeof(int),
                                    &sig[2], 1, CHORUS_SIGNAL_ADD, next);
        if (threadIdx.x == 0) {
            HOLDS(chorus_signal_wait_until(&sig[0], CHORUS_CMP_GE, (uint64_t)round) ==
                  (uint64_t)round);
            (void)chorus_signal_wait_until(&sig[1], CHORUS_CMP_EQ, 2 * (uint64_t)round);
            chorus_uint64_wait_until(&sig[2], CHORUS_CMP_GT, (uint64_t)round - 1);
            HOLDS(chorus_signal_fetch(&sig[2]) == (uint64_t)round);
        }
        __syncthreads();
        for (unsigned i = threadIdx.x; i < 3 * WORDS; i += blockDim.x)
            HOLDS(dest[i] == before + round);
        chorusx_barrier_all_block(); /* dest has been read */
    }
}

static void signals_follow_their_data(void)
{
    int *bad = make<int>(1), *dest = make<int>(3 * WORDS), *source = make<int>(3 * WORDS);
    uint64_t *sig = make<uint64_t>(3);

    run(signal, THREADS, dest, source, sig, bad);
    chorus_free(sig);
    chorus_free(source);
    chorus_free(dest);
    expect_none(bad);
}

/* Which of three flags are left out: all of them; all but the last; the first. */
static __constant__ int none[3] = {1, 1, 1}, last[3] = {1, 1, 0}, first[3] = {1, 0, 0};
static __constant__ int sevens[3] = {7, 7, 7};

__global__ void __launch_bounds__(THREADS_MAX, 1)
    wait(short *narrow, int *flags, uint64_t *sig, size_t *found, int *bad)
{
    const int me = chorus_my_pe(), n = chorus_n_pes();

    if (threadIdx.x != 0) return;
    HOLDS(!chorus_int_test(&flags[0], CHORUS_CMP_NE, 0));
    HOLDS(chorus_int_test_any(flags, 3, 0, CHORUS_CMP_NE, 0) == SIZE_MAX);
    HOLDS(chorus_int_test_all(flags, 3, 0, CHORUS_CMP_LE, 0));
    HOLDS(chorus_int_test_some(flags, 3, found, 0, CHORUS_CMP_NE, 0) == 0);
    HOLDS(chorus_int_wait_until_some(flags, 3, found, none, CHORUS_CMP_NE, 0) == 0);
    HOLDS(chorus_int_wait_until_any(flags, 3, none, CHORUS_CMP_NE, 0) == SIZE_MAX);
    chorus_sync_all();
    chorus_short_p(narrow, -5, (me + 1) % n);
    chorus_int_p(&flags[1], 7, (me + 1) % n);
    chorusx_signal_op(sig, 3, CHORUS_SIGNAL_ADD, (me + 1) % n);
    chorus_quiet();
    chorus_short_wait_until(narrow, CHORUS_CMP_LT, 0);
    HOLDS(*narrow == -5);
    HOLDS(chorus_int_wait_until_any(flags, 3, 0, CHORUS_CMP_EQ, 7) == 1);
    HOLDS(chorus_int_wait_until_some(flags, 3, found, 0, CHORUS_CMP_EQ, 7) == 1 &&
          found[0] == 1);
    HOLDS(chorus_int_wait_until_any_vector(flags, 3, first, CHORUS_CMP_EQ, sevens) == 1);
    HOLDS(!chorus_int_test_all_vector(flags, 3, 0, CHORUS_CMP_EQ, sevens));
    (void)chorus_signal_wait_until(sig, CHORUS_CMP_EQ, 3);
    chorus_sync_all(); /* all have found flag 1 alone */
    chorus_int_p(&flags[0], 7, (me + 1) % n);
    chorus_int_p(&flags[2], 7, (me + 1) % n);
    chorus_int_wait_until_all(flags, 3, 0, CHORUS_CMP_EQ, 7);
    HOLDS(chorus_int_test_all(flags, 3, 0, CHORUS_CMP_EQ, 7));
    HOLDS(chorus_int_test_any(flags, 3, last, CHORUS_CMP_EQ, 7) == 2);
    chorus_int_wait_until_all_vector(flags, 3, 0, CHORUS_CMP_LE, sevens);
    HOLDS(chorus_int_test_any_vector(flags, 3, 0, CHORUS_CMP_EQ, sevens) == 0);
    HOLDS(chorus_int_test_some_vector(flags, 3, found, first, CHORUS_CMP_EQ, sevens) == 2 &&
          found[0] == 1 && found[1] == 2);
    HOLDS(chorus_int_wait_until_some_vector(flags, 3, found, 0, CHORUS_CMP_GE, sevens) == 3);
}

static void waits_end(void)
{
    int *bad = make<int>(1), *flags = make<int>(3);
    short *narrow = make<short>(4);
    uint64_t *sig = make<uint64_t>(1);
    size_t *found = make<size_t>(3);

    run(wait, THREADS, narrow, flags, sig, found, bad);
    chorus_free(found);
    chorus_free(sig);
    chorus_free(narrow);
    chorus_free(flags);
    expect_none(bad);
}

/* --- atomics ---------------------------------------------------------------------------- */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    count(int *sums, uint64_t *bits, float *real, int *bad)
{
    const int me = chorus_my_pe(), n = chorus_n_pes(), total = n * THREADS;
    const uint64_t mine = (uint64_t)1 << me;
    int found;

    chorus_int_atomic_inc(&sums[0], 0);
    chorus_int_atomic_add(&sums[1], 3, 0);
    HOLDS(chorus_int_atomic_fetch_inc(&sums[2], 0) < total);
    found = chorus_int_atomic_fetch_add(&sums[3], 2, 0);
    HOLDS(found < 2 * total && found % 2 == 0);
    chorusx_barrier_all_block();
    HOLDS(chorus_int_atomic_fetch(&sums[0], 0) == total &&
          chorus_int_g(&sums[1], 0) == 3 * total);
    HOLDS(chorus_int_g(&sums[2], 0) == total && chorus_int_g(&sums[3], 0) == 2 * total);
    if (threadIdx.x == 0) {
        chorus_uint64_atomic_or(&bits[0], mine, 0);
        HOLDS((chorus_uint64_atomic_fetch_xor(&bits[1], mine, 0) & mine) == 0);
        chorus_uint64_atomic_set(&bits[2], ~(uint64_t)0, me);
        HOLDS(chorus_uint64_atomic_fetch_and(&bits[2], mine, me) == ~(uint64_t)0);
        HOLDS(chorus_uint64_atomic_compare_swap(&bits[2], 0, 9, me) == mine);
        HOLDS(chorus_uint64_atomic_compare_swap(&bits[2], mine, 9, me) == mine);
        HOLDS(chorus_uint64_atomic_swap(&bits[2], 4, me) == 9 && bits[2] == 4);
        chorus_float_atomic_set(real, 1.5f, (me + 1) % n);
    }
    chorusx_barrier_all_block();
    if (threadIdx.x != 0) return;
    HOLDS(chorus_uint64_g(&bits[0], 0) == ((uint64_t)1 << n) - 1);
    HOLDS(chorus_uint64_g(&bits[1], 0) == ((uint64_t)1 << n) - 1);
    HOLDS(chorus_float_atomic_swap(real, 2.5f, me) == 1.5f);
    HOLDS(chorus_float_atomic_fetch(real, me) == 2.5f);
}

static void atomics_lose_nothing(void)
{
    int *bad = make<int>(1), *sums = make<int>(4);
    uint64_t *bits = make<uint64_t>(3);
    float *real = make<float>(1);

    run(count, THREADS, sums, bits, real, bad);
    chorus_free(real);
    chorus_free(bits);
    chorus_free(sums);
    expect_none(bad);
}

/* The first of this file: its kernels have their state since the start. */
static void a_first_launch_may_be_in_a_capture(void)
{
    int me = gpu_me(), n = gpu_n(), *bad = make<int>(1), *at = make<int>(1);
    int on_node = chorus_team_n_pes(CHORUS_TEAM_NODE);
    int last = chorus_team_translate_pe(CHORUS_TEAM_NODE, on_node - 1, CHORUS_TEAM_WORLD);
    void *args[] = {&me, &n, &on_node, &last, &at, &bad};
    cudaFuncAttributes is;
    cudaStream_t stream = 0;
    cudaGraph_t graph = 0;

    EXPECT(cudaFuncGetAttributes(&is, who) == cudaSuccess); /* it is loaded then */
    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    EXPECT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    EXPECT(chorusx_collective_launch((const void *)who, dim3(1), dim3(THREADS), args, 0,
                                     stream) == CHORUS_OK);
    EXPECT(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    EXPECT(cudaGraphDestroy(graph) == cudaSuccess);
    EXPECT(chorusx_module_init() == CHORUS_OK); /* again */
    EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
    chorus_free(at);
    expect_none(bad);
}

/* --- launches --------------------------------------------------------------------------- */
static void a_grid_too_large_is_refused(void)
{
    int me = 0, n = 0, *none = 0;
    void *args[] = {&me, &n, &n, &n, &none, &none};

    EXPECT(chorusx_collective_launch((const void *)who, dim3(1u << 20), dim3(1024), args, 0,
                                     0) == CHORUS_ERR_SYSTEM);
    EXPECT(strstr(chorusx_last_error(), "launching a kernel") != 0);
    EXPECT(cudaGetLastError() == cudaSuccess);
}

int main(int argc, char **argv)
{
    static const struct gpu_case cases[] = {
        GPU_CASE(a_first_launch_may_be_in_a_capture) GPU_CASE(kernels_know_the_pe)
            GPU_CASE(puts_and_gets_move) GPU_CASE(elements_that_lie_apart_move)
                GPU_CASE(signals_follow_their_data) GPU_CASE(waits_end)
                    GPU_CASE(atomics_lose_nothing) GPU_CASE(barriers_publish)
                        GPU_CASE(collectives_move_and_combine) GPU_CASE(forms_differ_among_pes)
                            GPU_CASE(scopes_follow_at_once) GPU_CASE(kernels_know_new_teams)
                                GPU_CASE(hosts_and_kernels_take_turns)
                                    GPU_CASE(blocks_call_on_teams_of_their_own)
                                        GPU_CASE(a_second_call_at_once_is_refused)
                                            GPU_CASE(a_grid_too_large_is_refused)};

    return gpu_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sources.cu: puts from memory of every kind that a kernel can address, and gets into it. Each
 * set of compiler flags makes an object of this, whose body the build names in SOURCES_BODY.
 */
#include "test_gpu_device.cuh"

#include <stdio.h>

enum { N_WORDS = 6, BYTES = N_WORDS * 8, SLOT_BYTES = 64, N_SLOTS = 9, TIMES = 3 };
static const int poison = 0xa5;

struct words {
    uint64_t word[N_WORDS];
};

/* As floats and as doubles all of these are denormal; --use_fast_math makes such numbers 0. */
static __host__ __device__ uint64_t value_of(int pe, int round, int i)
{
    return (uint64_t)((pe + 1) * 100 + i) << 32 | (unsigned)(round * 100 + i);
}

static __host__ __device__ struct words words_of(int pe, int round)
{
    struct words w;

    for (int i = 0; i < N_WORDS; i++)
        w.word[i] = value_of(pe, round, i);
    return w;
}

/* --- puts ------------------------------------------------------------------------------- */
/* A form of put has a slot of its own at the peer: where in it, and how much. */
static const struct {
    size_t at, bytes;
} form_of[N_SLOTS] = {{0, BYTES}, {3, BYTES - 3}, {0, BYTES}, {8, BYTES}, {1, BYTES - 5},
                      {4, BYTES}, {0, BYTES},     {4, 4},     {0, BYTES}};

#define SLOT(T, i, at) ((T *)(dest + (i)*SLOT_BYTES + (at)))

/* To the PE after. One thread, a warp and the block put; inlined, so that the compiler knows
 * what kind of memory `from` is. */
static __device__ __forceinline__ void put_in_all_forms(char *dest, const void *from,
                                                        uint64_t *sig, int round)
{
    const int next = (chorus_my_pe() + 1) % chorus_n_pes();
    const float *const floats = (const float *)from;
    const int first = ((const int *)from)[0]; /* most likely in a register */

    if (threadIdx.x == 0) {
        chorus_double_put(SLOT(double, 0, 0), (const double *)from, N_WORDS, next);
        chorus_putmem(SLOT(char, 1, 3), from, BYTES - 3, next);
        chorus_float_put_signal(SLOT(float, 2, 0), floats, 2 * N_WORDS, &sig[0], 1,
                                CHORUS_SIGNAL_ADD, next);
        chorus_int_put(SLOT(int, 7, 4), &first, 1, next);
        chorus_float_iput(SLOT(float, 8, 0), floats, 1, 1, 2 * N_WORDS, next);
    }
    if (threadIdx.x / 32 == 1) {
        chorusx_float_put_warp(SLOT(float, 3, 8), floats, 2 * N_WORDS, next);
        chorusx_putmem_signal_warp(SLOT(char, 4, 1), from, BYTES - 5, &sig[1], 1,
                                   CHORUS_SIGNAL_ADD, next);
    }
    chorusx_put32_block(SLOT(int, 5, 4), from, 2 * N_WORDS, next);
    chorusx_put64_signal_block(SLOT(void, 6, 0), from, N_WORDS, &sig[2], 1, CHORUS_SIGNAL_ADD,
                               next);
    if (threadIdx.x < 3)
        (void)chorus_signal_wait_until(&sig[threadIdx.x], CHORUS_CMP_GE, (uint64_t)round);
    chorusx_barrier_all_block();
}

static __constant__ struct words constant;
static __device__ struct words variable;

static __global__ void put_stack(char *dest, uint64_t *sig, int round)
{
    const struct words from = words_of(chorus_my_pe(), round); /* the same in each thread */

    put_in_all_forms(dest, from.word, sig, round);
}

static __global__ void put_shared(char *dest, uint64_t *sig, int round)
{
    __shared__ struct words from;

    if (threadIdx.x < N_WORDS)
        from.word[threadIdx.x] = value_of(chorus_my_pe(), round, (int)threadIdx.x);
    __syncthreads();
    put_in_all_forms(dest, from.word, sig, round);
}

static __global__ void put_constant(char *dest, uint64_t *sig, int round)
{
    put_in_all_forms(dest, constant.word, sig, round);
}

static __global__ void put_variable(char *dest, uint64_t *sig, int round)
{
    put_in_all_forms(dest, variable.word, sig, round);
}

static __global__ void put_argument(char *dest, uint64_t *sig, int round,
                                    const __grid_constant__ struct words from)
{
    put_in_all_forms(dest, from.word, sig, round);
}

/* What the host allocated, which the compiler knows nothing of. */
static __global__ void put_any(char *dest, uint64_t *sig, int round, const struct words *from)
{
    put_in_all_forms(dest, from->word, sig, round);
}

/* What the PE before put is in the slots, and around it what was there. */
static void expect_slots(const char *dest, int round)
{
    const struct words sent = words_of(gpu_previous(), round);
    unsigned char found[N_SLOTS * SLOT_BYTES], expected[sizeof(found)];

    memset(expected, poison, sizeof(expected));
    for (int i = 0; i < N_SLOTS; i++)
        memcpy(expected + i * SLOT_BYTES + form_of[i].at, &sent, form_of[i].bytes);
    gpu_copy(found, dest, sizeof(found));
    for (int i = 0; i < N_SLOTS; i++)
        EXPECT(memcmp(found + i * SLOT_BYTES, expected + i * SLOT_BYTES, SLOT_BYTES) == 0);
}

struct symmetric {
    char *dest;          /* N_SLOTS */
    uint64_t *sig;       /* 3 */
    uint64_t *back;      /* 4 * N_WORDS; not reached by others */
    struct words *words; /* what is put, or fetched */
};

/* Several times, with fresh words; `prepare` puts a round's where the kernel takes them. */
template <typename P, typename... A>
static void try_put(const char *what, const struct symmetric *s, P prepare,
                    void (*kernel)(char *, uint64_t *, int, A...), A... arguments)
{
    const int before = gpu_failures();

    gpu_fill(s->sig, 0, 3 * sizeof(*s->sig));
    for (int round = 1; round <= TIMES; round++) {
        const struct words mine = words_of(gpu_me(), round);

        gpu_fill(s->dest, poison, N_SLOTS * SLOT_BYTES);
        prepare(&mine);
        gpu_meet();
        run(kernel, THREADS, s->dest, s->sig, round, arguments...);
        expect_slots(s->dest, round);
        gpu_meet();
    }
    if (gpu_failures() != before) (void)printf("PE %d: puts from %s fail\n", gpu_me(), what);
}

static void try_puts(const struct symmetric *s, struct words *pinned)
{
    const auto nothing = [](const struct words *) {};

    try_put("the stack", s, nothing, put_stack);
    try_put("shared memory", s, nothing, put_shared);
    try_put(
        "constant memory", s,
        [](const struct words *mine) {
            EXPECT(cudaMemcpyToSymbol(constant, mine, sizeof(*mine)) == cudaSuccess);
        },
        put_constant);
    try_put(
        "a variable", s,
        [](const struct words *mine) {
            EXPECT(cudaMemcpyToSymbol(variable, mine, sizeof(*mine)) == cudaSuccess);
        },
        put_variable);
    try_put(
        "pinned memory", s, [=](const struct words *mine) { *pinned = *mine; }, put_any,
        (const struct words *)pinned);
    try_put(
        "symmetric memory", s,
        [=](const struct words *mine) { gpu_copy(s->words, mine, sizeof(*mine)); }, put_any,
        (const struct words *)s->words);
}

/* Arguments change from launch to launch, so this one is no try_put. */
static void try_put_of_arguments(const struct symmetric *s)
{
    gpu_fill(s->sig, 0, 3 * sizeof(*s->sig));
    for (int round = 1; round <= TIMES; round++) {
        gpu_fill(s->dest, poison, N_SLOTS * SLOT_BYTES);
        gpu_meet();
        run(put_argument, THREADS, s->dest, s->sig, round, words_of(gpu_me(), round));
        expect_slots(s->dest, round);
        gpu_meet();
    }
}

/* --- gets ------------------------------------------------------------------------------- */
/* From the PE after, by one thread, a warp and the block; `to` has room for a get of each. */
static __device__ __forceinline__ void get_in_all_forms(struct words *to, uint64_t *source)
{
    const int next = (chorus_my_pe() + 1) % chorus_n_pes();

    if (threadIdx.x == 0)
        chorus_float_get((float *)to[0].word, (const float *)source, 2 * N_WORDS, next);
    if (threadIdx.x / 32 == 1) chorusx_getmem_warp(to[1].word, source, BYTES, next);
    chorusx_double_get_block((double *)to[2].word, (const double *)source, N_WORDS, next);
}

static __global__ void get_stack(struct words *back, uint64_t *source)
{
    const int next = (chorus_my_pe() + 1) % chorus_n_pes();
    struct words whole, pieces, strided;

    if (threadIdx.x != 0) return;
    chorus_double_get((double *)whole.word, (const double *)source, N_WORDS, next);
    chorus_uint64_atomic_fetch_nbi(&pieces.word[0], &source[0], next);
    chorus_short_get((short *)&pieces.word[1], (const short *)&source[1], 4, next);
    chorus_getmem((char *)&pieces.word[2], &source[2], BYTES - 2 * sizeof(uint64_t), next);
    back[0] = whole;
    back[1] = pieces;
    chorus_float_iget((float *)strided.word, (const float *)source, 1, 1, 2 * N_WORDS, next);
    back[2] = strided;
}

static __global__ void get_shared(struct words *back, uint64_t *source)
{
    __shared__ struct words to[3];

    get_in_all_forms(to, source);
    __syncthreads();
    if (threadIdx.x < 3) back[threadIdx.x] = to[threadIdx.x];
}

static __global__ void get_any(struct words *to, uint64_t *source)
{
    get_in_all_forms(to, source);
}

static void try_get(const char *what, const struct symmetric *s,
                    void (*kernel)(struct words *, uint64_t *), struct words *to)
{
    for (int round = 1; round <= TIMES; round++) {
        const struct words mine = words_of(gpu_me(), round);
        const struct words theirs = words_of(gpu_next(), round);
        struct words found[3];

        gpu_copy(s->words, &mine, sizeof(mine));
        memset(found, poison, sizeof(found));
        gpu_copy(to, found, sizeof(found));
        gpu_meet();
        run(kernel, THREADS, to, s->words->word);
        gpu_copy(found, to, sizeof(found));
        for (int i = 0; i < 3; i++)
            if (!EXPECT(memcmp(&found[i], &theirs, sizeof(theirs)) == 0))
                (void)printf("PE %d: get %d into %s fails\n", gpu_me(), i, what);
        gpu_meet();
    }
}

extern "C" void SOURCES_BODY(void)
{
    const struct symmetric s = {make<char>(N_SLOTS * SLOT_BYTES), make<uint64_t>(3),
                                make<uint64_t>(3 * N_WORDS), make<struct words>(1)};
    struct words *const back = (struct words *)s.back;
    struct words *pinned = 0;

    if (!EXPECT(cudaMallocHost((void **)&pinned, 3 * sizeof(*pinned)) == cudaSuccess)) return;
    try_puts(&s, pinned);
    try_put_of_arguments(&s);
    try_get("the stack", &s, get_stack, back);
    try_get("shared memory", &s, get_shared, back);
    try_get("pinned memory", &s, get_any, pinned);
    try_get("symmetric memory", &s, get_any, back);
    EXPECT(cudaFreeHost(pinned) == cudaSuccess);
    chorus_free(s.words);
    chorus_free(s.back);
    chorus_free(s.sig);
    chorus_free(s.dest);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gpu_device_litmus.cu: litmus tests of the order of calls inside kernels, to peers that
 * are near, far (CHORUS_NODES) or beside (CHORUS_P2P=0). usage: test_gpu_device_litmus [ROUNDS]
 *
 * In each round a block of a PE stores the number of the round at another PE, where a block
 * watches. It counts what it must never see, and looks that came between two effects of a
 * round. Each test also runs weakened, without the order that it is about, which only says
 * whether this machine would show a fault.
 */
#include "test_gpu_device.cuh"

#include <stdio.h>

/* Words of 4 bytes; blocks that put at once; elements that delay the put behind them, where
 * they fill the queue of a network; how long nothing new may come. */
enum { DATA_WORDS = 1250, BLOCKS = 4, BURST = 24, SECONDS_MAX = 20 };

static const uint64_t ns_per_s = 1000000000;

/* Of data: in the request, in a box, and read by the host where it is. Short copies to a GPU
 * are of two rows, and each of these has the same number of words in both. */
static const size_t sizes[] = {8, 104, 1000, sizeof(uint32_t) * DATA_WORDS};

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static uint32_t rounds_wanted = 2000;

/* --- looks ------------------------------------------------------------------------------ */
/* What watchers have seen, in memory of the GPU; lost: waits and watches that ended in vain. */
struct found {
    unsigned long long looks, rounds, between, wrong;
    unsigned lost;
};

static __device__ uint32_t load(const uint32_t *word)
{
    return *(const volatile uint32_t *)word;
}

/* The newer of the rounds of the first and the last word, which may be stored in any order; of
 * a signal, its lower half alone. */
static __device__ uint32_t newest_of(const void *data, size_t bytes)
{
    const uint32_t *const words = (const uint32_t *)data;
    const uint32_t first = load(words), last = load(&words[bytes / sizeof(*words) - 1]);

    return first > last ? first : last;
}

/* All threads of the block: thread 0's value. */
static __device__ uint32_t from_first(uint32_t value)
{
    __shared__ uint32_t shared;

    __syncthreads(); /* the value before has been read */
    if (threadIdx.x == 0) shared = value;
    __syncthreads();
    return shared;
}

/* Of thread 0 of a block. */
struct watch {
    struct found found;
    uint64_t news_ns;
    uint32_t first, newest; /* rounds: of this run, and of all looks */
};

static __device__ struct watch watch_from(uint32_t first)
{
    struct watch w = {};

    w.news_ns = ch_clock_ns();
    w.first = first;
    w.newest = first - 1;
    return w;
}

/* Note a look that has found this round. */
static __device__ void note(struct watch *w, uint32_t round, bool is_between, bool is_wrong)
{
    w->found.looks++;
    w->found.between += is_between;
    w->found.wrong += is_wrong && round >= w->first; /* else it is of the run before */
    if (round <= w->newest) return;
    w->found.rounds++;
    w->newest = round;
    w->news_ns = ch_clock_ns();
}

/* Must the watcher look again? */
static __device__ bool is_awaited(const struct watch *w, uint32_t last)
{
    return w->newest < last && ch_clock_ns() - w->news_ns < SECONDS_MAX * ns_per_s;
}

static __device__ void end_watch(const struct watch *w, uint32_t last, struct found *found)
{
    (void)atomicAdd(&found->looks, w->found.looks);
    (void)atomicAdd(&found->rounds, w->found.rounds);
    (void)atomicAdd(&found->between, w->found.between);
    (void)atomicAdd(&found->wrong, w->found.wrong);
    if (w->newest < last) (void)atomicAdd(&found->lost, 1u);
}

/* All threads: is a word of the data of an older round? */
static __device__ bool is_older(const uint32_t *data, size_t bytes, uint32_t round)
{
    int is_bad = 0;

    for (size_t i = threadIdx.x; i < bytes / sizeof(*data); i += blockDim.x)
        is_bad |= load(&data[i]) < round;
    return __syncthreads_or(is_bad) != 0;
}

/* All threads: watch data, and the data or signal behind it, until the last round is there. */
static __device__ void watch_two(const uint32_t *a, size_t a_bytes, const void *b,
                                 size_t b_bytes, uint32_t first, uint32_t last,
                                 struct found *found)
{
    struct watch w = watch_from(first);
    uint32_t before, round;
    bool is_wrong;

    while (from_first(is_awaited(&w, last))) {
        before = load(a);
        round = newest_of(b, b_bytes);
        __threadfence_system(); /* what is loaded below is as new as the round */
        round = from_first(round);
        is_wrong = is_older(a, a_bytes, round);
        if (threadIdx.x == 0) note(&w, round, before > round, is_wrong);
    }
    if (threadIdx.x == 0) end_watch(&w, last, found);
}

/* All threads: data of a round. */
static __device__ void fill(uint32_t *source, size_t bytes, uint32_t round)
{
    for (size_t i = threadIdx.x; i < bytes / sizeof(*source); i += blockDim.x)
        source[i] = round;
    __syncthreads();
}

/* --- put a, fence, put b: b of a round is seen after a of it ------------------------------ */
struct race {
    uint32_t *a, *b;         /* symmetric: data, [DATA_WORDS] */
    uint32_t *source, *back; /* the same, of which peers access nothing */
    uint64_t *words;         /* symmetric, see `word` */
    size_t a_bytes, b_bytes;
    uint32_t first, last; /* rounds */
    int step;             /* from a PE to the next in a ring */
    int is_weak, by_block;
    struct found *found;
};

/* A signal; the round of which the watcher has told the writer; what nobody reads. */
enum word { SIGNAL, ANSWER, FILLER, RACE_WORDS };

static __device__ int pe_behind(int steps)
{
    return (chorus_my_pe() + steps) % chorus_n_pes();
}

/* All threads put together, or thread 0 alone; the source may change on return. */
static __device__ void put(const struct race *r, uint32_t *to, size_t bytes, int pe)
{
    if (r->by_block)
        chorusx_putmem_block(to, r->source, bytes, pe);
    else if (threadIdx.x == 0)
        chorus_putmem(to, r->source, bytes, pe);
    __syncthreads();
}

/* Of the threads that put, each for what it puts next. */
static __device__ void fence(const struct race *r)
{
    if (r->by_block || threadIdx.x == 0) chorus_fence();
}

/* Weakened: a after b. */
static __device__ void write_two(const struct race *r)
{
    const int pe = pe_behind(1);

    for (uint32_t round = r->first; round <= r->last; round++) {
        fill(r->source, r->a_bytes > r->b_bytes ? r->a_bytes : r->b_bytes, round);
        put(r, r->is_weak ? r->b : r->a, r->is_weak ? r->b_bytes : r->a_bytes, pe);
        if (!r->is_weak) fence(r);
        put(r, r->is_weak ? r->a : r->b, r->is_weak ? r->a_bytes : r->b_bytes, pe);
    }
    if (threadIdx.x == 0) chorus_quiet();
}

/* Block 0 writes to the next PE, block 1 watches what the one before writes. */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    race_two(const __grid_constant__ struct race r)
{
    if (blockIdx.x == 0)
        write_two(&r);
    else
        watch_two(r.a, r.a_bytes, r.b, r.b_bytes, r.first, r.last, r.found);
}

/* --- put a, quiet, announce it to a third PE, which gets a -------------------------------- */
/* Thread 0: a put of a word announces the round if b has bytes, else a signal. */
static __device__ void announce(const struct race *r, uint32_t round, int pe)
{
    if (r->b_bytes != 0)
        chorus_uint32_p(r->b, round, pe);
    else
        chorusx_signal_op(&r->words[SIGNAL], round, CHORUS_SIGNAL_SET, pe);
}

/* Thread 0: wait for an announcement. False: in vain. */
static __device__ bool hear(const struct race *r, uint32_t round)
{
    if (r->b_bytes == 0)
        return chorus_signal_wait_until(&r->words[SIGNAL], CHORUS_CMP_GE, round) >= round;
    chorus_uint32_wait_until(r->b, CHORUS_CMP_GE, round);
    return load(r->b) >= round;
}

/* Weakened: without the quiet. The writer waits until the third PE has got a: a put of the next
 * round would hide that of this one was late. */
static __device__ void write_announced(const struct race *r)
{
    const int target = pe_behind(r->step), third = pe_behind(2 * r->step);
    bool goes_on = true;

    for (uint32_t round = r->first; round <= r->last && goes_on; round++) {
        fill(r->source, r->a_bytes, round);
        for (int i = 0; i < BURST && threadIdx.x == 0; i++)
            chorus_uint64_p(&r->words[FILLER], round, target);
        put(r, r->a, r->a_bytes, target);
        if (threadIdx.x == 0) {
            if (!r->is_weak) chorus_quiet();
            announce(r, round, third);
            goes_on =
                chorus_signal_wait_until(&r->words[ANSWER], CHORUS_CMP_GE, round) >= round;
        }
        goes_on = from_first(goes_on);
    }
    if (threadIdx.x != 0) return;
    if (!goes_on) (void)atomicAdd(&r->found->lost, 1u);
    chorus_quiet();
}

static __device__ bool is_got(const struct race *r, uint32_t round)
{
    int is_bad = 0;

    for (size_t i = threadIdx.x; i < r->a_bytes / sizeof(*r->back); i += blockDim.x)
        is_bad |= r->back[i] != round;
    return __syncthreads_or(is_bad) == 0;
}

/* What the writer of this PE has put to the PE before this one. */
static __device__ void get_announced(const struct race *r)
{
    const int target = pe_behind(chorus_n_pes() - r->step);
    const int writer = pe_behind(2 * (chorus_n_pes() - r->step));
    struct watch w = watch_from(r->first);
    bool goes_on = true;

    for (uint32_t round = r->first; round <= r->last && goes_on; round++) {
        goes_on = from_first(threadIdx.x != 0 || hear(r, round));
        if (!goes_on) break;
        chorusx_getmem_block(r->back, r->a, r->a_bytes, target);
        note(&w, round, false, !is_got(r, round));
        if (threadIdx.x == 0)
            chorusx_signal_op(&r->words[ANSWER], round, CHORUS_SIGNAL_SET, writer);
    }
    if (threadIdx.x == 0) end_watch(&w, r->last, r->found);
}

/* Block 0 writes, block 1 gets what the PE two before announces. */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    race_announced(const __grid_constant__ struct race r)
{
    if (blockIdx.x == 0)
        write_announced(&r);
    else
        get_announced(&r);
}

/* --- elements are whole ------------------------------------------------------------------ */
struct elements {
    uint64_t eight;
    uint32_t four;
    uint16_t two;
};

static const uint64_t each_byte = 0x0101010101010101;

/* Equal bytes, nearly all bits of which are others than in the round before. */
static __device__ uint64_t bits_of(uint32_t round)
{
    const uint64_t byte = (round % 2 != 0 ? 0xff : 0) ^ round / 2 % 128;

    return byte * each_byte;
}

/* Weakened: their halves, one after the other. */
static __device__ void put_elements(struct elements *to, uint64_t bits, int pe, int is_weak)
{
    if (is_weak) {
        chorus_uint8_p((uint8_t *)&to->two, (uint8_t)bits, pe);
        chorus_uint8_p((uint8_t *)&to->two + 1, (uint8_t)bits, pe);
        chorus_uint16_p((uint16_t *)&to->four, (uint16_t)bits, pe);
        chorus_uint16_p((uint16_t *)&to->four + 1, (uint16_t)bits, pe);
        chorus_uint32_p((uint32_t *)&to->eight, (uint32_t)bits, pe);
        chorus_uint32_p((uint32_t *)&to->eight + 1, (uint32_t)bits, pe);
    } else {
        chorus_uint16_p(&to->two, (uint16_t)bits, pe);
        chorus_uint32_p(&to->four, (uint32_t)bits, pe);
        chorus_uint64_p(&to->eight, bits, pe);
    }
}

/* Are the bytes of the element those of more than one round? */
static __device__ bool is_mixed(uint64_t bits, size_t bytes)
{
    return bits != ((bits & 0xff) * each_byte & ~(uint64_t)0 >> (64 - 8 * bytes));
}

static __device__ void watch_elements(const struct race *r)
{
    const volatile struct elements *const here = (const volatile struct elements *)r->a;
    struct watch w = watch_from(r->first);

    while (is_awaited(&w, r->last)) {
        const uint64_t two = here->two, four = here->four, eight = here->eight;
        const bool is_between =
            (two & 0xff) != (four & 0xff) || (four & 0xff) != (eight & 0xff);

        w.found.wrong += is_mixed(two, 2) || is_mixed(four, 4) || is_mixed(eight, 8);
        note(&w, newest_of(&r->words[SIGNAL], sizeof(uint32_t)), is_between, false);
    }
    end_watch(&w, r->last, r->found);
}

/* One thread a block: block 0 writes to the next PE, block 1 watches. */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    race_elements(const __grid_constant__ struct race r)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 1) watch_elements(&r);
    for (uint32_t round = r.first; round <= r.last && blockIdx.x == 0; round++) {
        put_elements((struct elements *)r.a, bits_of(round), pe_behind(1), r.is_weak);
        chorusx_signal_op(&r.words[SIGNAL], round, CHORUS_SIGNAL_SET, pe_behind(1));
    }
    chorus_quiet();
}

/* --- several blocks put with signals ------------------------------------------------------ */
struct blocks {
    uint32_t *data, *source; /* [BLOCKS][DATA_WORDS], data symmetric */
    uint64_t *words;         /* symmetric: a signal for each, and one for all */
    size_t bytes[BLOCKS];
    uint32_t first, last;
    int adds; /* to its signal, else a block sets that */
    int is_weak;
    struct found *found;
};

/* Weakened: the signal before the data. */
static __device__ void put_with_signal(const struct blocks *b, unsigned i, uint32_t round)
{
    uint32_t *const data = b->data + (size_t)i * DATA_WORDS;
    const uint32_t *const source = b->source + (size_t)i * DATA_WORDS;
    const int how = b->adds ? CHORUS_SIGNAL_ADD : CHORUS_SIGNAL_SET;
    const uint64_t value = b->adds ? 1 : round;

    if (!b->is_weak) {
        chorusx_putmem_signal_block(data, source, b->bytes[i], &b->words[i], value, how,
                                    pe_behind(1));
        return;
    }
    if (threadIdx.x == 0) chorusx_signal_op(&b->words[i], value, how, pe_behind(1));
    chorusx_putmem_block(data, source, b->bytes[i], pe_behind(1));
}

static __device__ void write_block(const struct blocks *b, unsigned i)
{
    for (uint32_t round = b->first; round <= b->last; round++) {
        fill(b->source + (size_t)i * DATA_WORDS, b->bytes[i], round);
        put_with_signal(b, i, round);
        for (int steps = 1; steps < chorus_n_pes() && threadIdx.x == 0; steps++)
            chorusx_signal_op(&b->words[BLOCKS], i + 1, CHORUS_SIGNAL_ADD, pe_behind(steps));
        __syncthreads(); /* the source may change */
    }
    if (threadIdx.x == 0) chorus_quiet();
}

/* The first blocks write to the next PE, and add to one signal at all others; the other blocks
 * watch what the PE before writes. */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    race_blocks(const __grid_constant__ struct blocks b)
{
    const unsigned i = blockIdx.x % BLOCKS;

    if (blockIdx.x < BLOCKS)
        write_block(&b, i);
    else
        watch_two(b.data + (size_t)i * DATA_WORDS, b.bytes[i], &b.words[i], sizeof(uint32_t),
                  b.first, b.last, b.found);
}

/* --- hosts ------------------------------------------------------------------------------- */
/* Launch the kernel, and judge what it has found; totals: as used, weakened. */
template <typename A>
static void launch(void (*kernel)(A), unsigned n_blocks, const A &args, struct found totals[2])
{
    struct found *total = &totals[args.is_weak], found;

    gpu_fill(args.found, 0, sizeof(found));
    gpu_meet();
    run_grid<A>(kernel, n_blocks, THREADS, args);
    EXPECT(chorusx_stream_synchronize(0) == CHORUS_OK);
    gpu_meet();
    gpu_copy(&found, args.found, sizeof(found));
    EXPECT(found.lost == 0);
    EXPECT(args.is_weak || found.wrong == 0);
    total->looks += found.looks;
    total->rounds += found.rounds;
    total->between += found.between;
    total->wrong += found.wrong;
}

static void report(const struct found totals[2])
{
    for (int is_weak = 0; is_weak < 2; is_weak++) {
        const struct found *total = &totals[is_weak];

        (void)printf("PE %d  %-9s %9llu looks %9llu rounds seen %9llu between effects "
                     "%9llu wrong\n",
                     gpu_me(), is_weak ? "weakened" : "as used", total->looks, total->rounds,
                     total->between, total->wrong);
    }
    (void)fflush(stdout);
}

static uint32_t rounds_of(uint32_t wanted)
{
    const uint32_t rounds = gpu_is_small() ? wanted / 16 : wanted;

    return rounds < 4 ? 4 : rounds;
}

static struct race make_race(void)
{
    struct race r = {};

    r.a = make<uint32_t>(DATA_WORDS);
    r.b = make<uint32_t>(DATA_WORDS);
    r.source = make<uint32_t>(DATA_WORDS);
    r.back = make<uint32_t>(DATA_WORDS);
    r.words = make<uint64_t>(RACE_WORDS);
    r.found = (struct found *)gpu_alloc(sizeof(*r.found));
    return r;
}

static void end_race(const struct race *r)
{
    gpu_free(r->found);
    chorus_free(r->words);
    chorus_free(r->back);
    chorus_free(r->source);
    chorus_free(r->b);
    chorus_free(r->a);
}

/* As used, and then weakened. */
static void race_twice(void (*kernel)(const struct race), struct race *r, uint32_t rounds,
                       struct found totals[2])
{
    for (r->is_weak = 0; r->is_weak < 2; r->is_weak++) {
        r->first = r->last + 1;
        r->last += r->is_weak ? (rounds + 3) / 4 : rounds;
        launch(kernel, 2, *r, totals);
    }
}

static void fences_order_puts(void)
{
    struct race r = make_race();
    struct found totals[2] = {};

    for (unsigned k = 0; k < SIZES * SIZES; k++) {
        r.a_bytes = sizes[k / SIZES];
        r.b_bytes = sizes[k % SIZES];
        for (r.by_block = 0; r.by_block < 2; r.by_block++)
            race_twice(race_two, &r, rounds_of(rounds_wanted), totals);
    }
    report(totals);
    end_race(&r);
}

static void quiets_complete_puts(void)
{
    struct race r = make_race();
    struct found totals[2] = {};

    for (unsigned k = 0; k < 4 * SIZES && gpu_n() > 2; k++) {
        r.a_bytes = sizes[k / 4];
        r.b_bytes = k % 2 == 0 ? 0 : sizeof(uint32_t);
        r.by_block = k % 2;
        r.step = k % 4 < 2 ? 1 : gpu_n() - 1;
        race_twice(race_announced, &r, rounds_of(rounds_wanted / 8), totals);
    }
    report(totals);
    end_race(&r);
}

static void elements_are_whole(void)
{
    struct race r = make_race();
    struct found totals[2] = {};

    race_twice(race_elements, &r, rounds_of(16 * rounds_wanted), totals);
    report(totals);
    end_race(&r);
}

static struct blocks make_blocks(void)
{
    struct blocks b = {};

    b.data = make<uint32_t>((size_t)BLOCKS * DATA_WORDS);
    b.source = make<uint32_t>((size_t)BLOCKS * DATA_WORDS);
    b.words = make<uint64_t>(BLOCKS + 1);
    b.found = (struct found *)gpu_alloc(sizeof(*b.found));
    for (unsigned i = 0; i < BLOCKS; i++)
        b.bytes[i] = sizes[i % SIZES];
    return b;
}

static void signals_follow_their_data(void)
{
    struct blocks b = make_blocks();
    struct found totals[2] = {};
    uint64_t sum = 0, all = 0;

    for (int k = 0; k < 4; k++) {
        const uint32_t rounds = rounds_of(k < 2 ? 4 * rounds_wanted : rounds_wanted);

        b.adds = k % 2;
        b.is_weak = k / 2;
        b.first = b.last + 1;
        b.last += rounds;
        launch(race_blocks, 2 * BLOCKS, b, totals);
        all += (uint64_t)(gpu_n() - 1) * rounds * (BLOCKS * (BLOCKS + 1) / 2);
        gpu_copy(&sum, &b.words[BLOCKS], sizeof(sum));
        EXPECT(sum == all);
    }
    report(totals);
    gpu_free(b.found);
    chorus_free(b.words);
    chorus_free(b.source);
    chorus_free(b.data);
}

int main(int argc, char **argv)
{
    static const struct gpu_case cases[] = {GPU_CASE(fences_order_puts) GPU_CASE(
        quiets_complete_puts) GPU_CASE(signals_follow_their_data) GPU_CASE(elements_are_whole)};

    if (argc == 2) rounds_wanted = (uint32_t)strtoul(argv[1], NULL, 10);
    return gpu_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}

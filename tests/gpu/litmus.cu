/* SPDX-License-Identifier: Apache-2.0 */
#include "litmus.h"

#include "coll/primitives/batch.h"
#include "coll/primitives/primitives.h"

#include <cuda_runtime.h>

static const uint64_t timeout_ns = 20000000000u;

/* --- a channel, as its writer or its reader has it --- */

struct channel {
    char *cells;
    uint64_t *word;   /* the round that is there */
    uint64_t *credit; /* the round that was read, in the writer's memory */
};

/* Where cells and word lie. Pushed: both in the reader's memory. Pulled: both in the writer's,
 * which the reader polls over the link. A source: the cells in the writer's. */
enum where { PUSHED, PULLED, SOURCE };

static __device__ struct channel channel_of(char *reader, char *writer, unsigned i,
                                            enum where where)
{
    const size_t words = (size_t)LITMUS_CHANNELS * LITMUS_CELL_BYTES;
    const size_t credits = words + LITMUS_CHANNELS * LITMUS_WORD_BYTES;
    struct channel c;

    c.cells = (where == PUSHED ? reader : writer) + (size_t)i * LITMUS_CELL_BYTES;
    c.word = (uint64_t *)((where == PULLED ? writer : reader) + words + i * LITMUS_WORD_BYTES);
    c.credit = (uint64_t *)(writer + credits + i * LITMUS_WORD_BYTES);
    return c;
}

/* A number for each place of each round. */
static __device__ uint64_t value_of(uint64_t round, unsigned place)
{
    return (round * 1024 + place) * 0x9e3779b97f4a7c15u;
}

/* ch_word_wait without the acquire. */
static __device__ chorus_status wait_relaxed(const struct ch_wait_policy *p,
                                             const uint64_t *word, uint64_t least)
{
    struct ch_wait w = {0, 0, 0, 0};
    chorus_status st = CHORUS_OK;
    uint64_t value;

    do {
        asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word));
        if (value < least) st = ch_wait_slow(p, &w);
    } while (value < least && st == CHORUS_OK);
    return st;
}

/* All lanes: lane 0 waits for a word. False: in vain. */
static __device__ bool hear(const struct ch_wait_policy *p, const uint64_t *word,
                            uint64_t least, bool is_weak, struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    if (g.lane == 0) st = is_weak ? wait_relaxed(p, word, least) : ch_word_wait(p, word, least);
    return !ch_lanes_any(g, st != CHORUS_OK);
}

/* All lanes: lane 0 stores a word, after what all of them did. */
static __device__ void tell(uint64_t *word, uint64_t round, enum ch_sense sense,
                            struct ch_lanes g)
{
    ch_lanes_sync(g);
    if (g.lane == 0) ch_word_store(word, round, sense);
}

static __device__ void piece_store(const struct channel *c, uint64_t round, unsigned lane)
{
    ((ulonglong2 *)c->cells)[lane] = make_ulonglong2(round, value_of(round, lane));
}

static __device__ ulonglong2 piece_load(const struct channel *c, unsigned lane)
{
    return ((const ulonglong2 *)c->cells)[lane];
}

/* --- what the writer and the reader of a round do: the reader gives what it must not find ---
 */

/* Plain data, then a word. Forbidden: older data. */
struct message {
    static __device__ void write(const struct channel *c, uint64_t round, bool is_weak,
                                 struct ch_lanes g)
    {
        piece_store(c, round, g.lane);
        tell(c->word, round, is_weak ? CH_ENTRY : CH_DATA, g);
    }
    static __device__ unsigned read(const struct channel *c, const struct ch_wait_policy *p,
                                    uint64_t round, bool is_weak, struct ch_lanes g,
                                    struct litmus_found *found)
    {
        ulonglong2 q;

        if (!hear(p, c->word, round, is_weak, g)) atomicAdd(&found->lost, 1u);
        q = piece_load(c, g.lane);
        tell(c->credit, round, CH_CREDIT, g);
        return q.x != round || q.y != value_of(round, g.lane);
    }
    static const unsigned lanes_of_trial = LITMUS_LANES;
};

/* The same, where the multiprocessor has cached what was there before. Only the acquire is what
 * is weak. */
struct cached {
    static __device__ void write(const struct channel *c, uint64_t round, bool is_weak,
                                 struct ch_lanes g)
    {
        message::write(c, round, false, g);
        (void)is_weak;
    }
    static __device__ unsigned read(const struct channel *c, const struct ch_wait_policy *p,
                                    uint64_t round, bool is_weak, struct ch_lanes g,
                                    struct litmus_found *found)
    {
        const ulonglong2 before = piece_load(c, g.lane);

        if (before.x > round) atomicAdd(&found->lost, 1u); /* of a round that is to come */
        ch_lanes_sync(g);                                  /* all lanes have cached theirs */
        return message::read(c, p, round, is_weak, g, found);
    }
    static const unsigned lanes_of_trial = LITMUS_LANES;
};

/* The same, where the credit is what is weak: it is given before the data is read. */
struct reuse {
    static __device__ void write(const struct channel *c, uint64_t round, bool is_weak,
                                 struct ch_lanes g)
    {
        (void)is_weak;
        piece_store(c, round, g.lane);
        tell(c->word, round, CH_DATA, g);
    }
    static __device__ unsigned read(const struct channel *c, const struct ch_wait_policy *p,
                                    uint64_t round, bool is_weak, struct ch_lanes g,
                                    struct litmus_found *found)
    {
        ulonglong2 q;

        if (!hear(p, c->word, round, false, g)) atomicAdd(&found->lost, 1u);
        if (is_weak) tell(c->credit, round, CH_CREDIT, g);
        q = piece_load(c, g.lane);
        if (!is_weak) tell(c->credit, round, CH_CREDIT, g);
        return q.x > round || q.y != value_of(q.x, g.lane);
    }
    static const unsigned lanes_of_trial = LITMUS_LANES;
};

/* A packet a lane. Weak: the flag by a store of its own, before the data. */
struct packet {
    static __device__ void write(const struct channel *c, uint64_t round, bool is_weak,
                                 struct ch_lanes g)
    {
        struct ch_packet *to = (struct ch_packet *)c->cells + g.lane;

        if (is_weak) {
            *(volatile uint64_t *)&to->flag = round;
            *(volatile uint64_t *)&to->data = value_of(round, g.lane);
        } else {
            ch_packet_store(to, value_of(round, g.lane), round);
        }
    }
    static __device__ unsigned read(const struct channel *c, const struct ch_wait_policy *p,
                                    uint64_t round, bool is_weak, struct ch_lanes g,
                                    struct litmus_found *found)
    {
        const struct ch_packet *from = (const struct ch_packet *)c->cells + g.lane;
        struct ch_wait w = {0, 0, 0, 0};
        uint64_t data = 0;

        (void)is_weak;
        while (!ch_packet_load(from, round, &data))
            if (ch_wait_slow(p, &w) != CHORUS_OK) {
                atomicAdd(&found->lost, 1u);
                break;
            }
        tell(c->credit, round, CH_CREDIT, g);
        return data != value_of(round, g.lane);
    }
    static const unsigned lanes_of_trial = 1;
};

/* A line for eight lanes. Weak: its last part, with the flag, by a store of its own, and the
 * others so much later that a reader's second load comes before them. */
struct line {
    static __device__ struct ch_batch batch(struct ch_lanes g)
    {
        return ch_batch_first(CH_CELL_ll128, nullptr,
                              LITMUS_LANES / CH_LINE_PARTS * CH_LINE_DATA, g);
    }
    static __device__ void write(const struct channel *c, uint64_t round, bool is_weak,
                                 struct ch_lanes g)
    {
        const struct ch_batch b = batch(g);
        struct ch_value v;

        v.word[0][0] = value_of(round, 2 * g.lane);
        v.word[0][1] = value_of(round, 2 * g.lane + 1);
        if (is_weak)
            tear(c, v, round, g);
        else
            ch_value_send(CH_CELL_ll128, c->cells, &v, &b, round);
    }
    static __device__ void tear(const struct channel *c, const struct ch_value &v,
                                uint64_t round, struct ch_lanes g)
    {
        char *const at = c->cells + g.lane * CH_PIECE_BYTES;
        const uint64_t begun = ch_clock_ns();

        if (ch_is_flagged(g.lane)) ch_quad_store(at, v.word[0][0], round);
        while (ch_clock_ns() - begun < LITMUS_TEAR_NS)
            continue;
        __syncwarp();
        if (!ch_is_flagged(g.lane)) ch_quad_store(at, v.word[0][0], v.word[0][1]);
    }
    static __device__ unsigned read(const struct channel *c, const struct ch_wait_policy *p,
                                    uint64_t round, bool is_weak, struct ch_lanes g,
                                    struct litmus_found *found)
    {
        const struct ch_batch b = batch(g);
        chorus_status st = CHORUS_OK;
        struct ch_coll coll = {};
        struct ch_value v = {};
        uint32_t late;
        bool is_bad;

        (void)is_weak;
        coll.policy = p;
        coll.late_peer = &late;
        ch_value_wait(&coll, CH_CELL_ll128, 0, c->cells, &v, &b, round, &st);
        if (st != CHORUS_OK) atomicAdd(&found->lost, 1u);
        tell(c->credit, round, CH_CREDIT, g);
        is_bad = v.word[0][0] != value_of(round, 2 * g.lane) ||
                 (!ch_is_flagged(g.lane) && v.word[0][1] != value_of(round, 2 * g.lane + 1));
        return (__ballot_sync(CH_WARP_ALL, is_bad) >> g.lane % 32 & 0xffu) != 0;
    }
    static const unsigned lanes_of_trial = CH_LINE_PARTS;
};

/* --- kernels --- */

/* A trial counts once, and its forbidden outcome once. */
static __device__ void count(struct litmus_found *found, unsigned trial_lanes, unsigned bad,
                             struct ch_lanes g)
{
    if (trial_lanes == LITMUS_LANES) bad = (unsigned)__syncthreads_or((int)bad);
    if (g.lane % trial_lanes != 0) return;
    atomicAdd(&found->trials, 1ull);
    if (bad) atomicAdd(&found->forbidden, 1ull);
}

/* Half of the blocks write to the PE after, half read what the PE before wrote. */
template <class T, enum where WHERE> static __global__ void race(const struct litmus_run run)
{
    const struct ch_lanes g = {threadIdx.x, blockDim.x};
    const struct ch_wait_policy p = {&run.found->never, timeout_ns};
    const unsigned i = blockIdx.x % LITMUS_CHANNELS;

    for (uint64_t round = run.first; round < run.first + run.rounds; round++) {
        if (blockIdx.x < LITMUS_CHANNELS) {
            const struct channel c = channel_of(run.after, run.mine, i, WHERE);

            T::write(&c, round, run.is_weak, g);
            if (!hear(&p, c.credit, round, false, g)) return;
        } else {
            const struct channel c = channel_of(run.mine, run.before, i, WHERE);

            count(run.found, T::lanes_of_trial,
                  T::read(&c, &p, round, run.is_weak, g, run.found), g);
            if (ch_lanes_any(g, *(volatile unsigned *)&run.found->lost != 0)) return;
        }
    }
}

/* This PE's data, for the PE after to fetch. */
static __global__ void write_own(const struct litmus_run run)
{
    const struct channel own = channel_of(run.mine, run.mine, blockIdx.x, PUSHED);

    piece_store(&own, run.first, threadIdx.x);
}

/* In the kernel after: say so without a release, and fetch from the PE before, whose data the
 * multiprocessor has cached as it was when this kernel began. */
static __global__ void fetch_from_before(const struct litmus_run run)
{
    const struct ch_lanes g = {threadIdx.x, blockDim.x};
    const struct ch_wait_policy p = {&run.found->never, timeout_ns};
    const struct channel own = channel_of(run.mine, run.mine, blockIdx.x, PUSHED);
    const struct channel to = channel_of(run.after, run.mine, blockIdx.x, PUSHED);
    const struct channel from = channel_of(run.before, run.mine, blockIdx.x, PUSHED);
    const struct channel heard = channel_of(run.mine, run.before, blockIdx.x, PUSHED);
    const ulonglong2 before = piece_load(&from, g.lane);
    ulonglong2 q;

    if (before.x > run.first) atomicAdd(&run.found->lost, 1u); /* of a round that is to come */
    if (run.is_weak) piece_store(&own, run.first, g.lane);
    tell(to.word, run.first, CH_ENTRY, g);
    if (!hear(&p, heard.word, run.first, false, g)) atomicAdd(&run.found->lost, 1u);
    q = piece_load(&from, g.lane);
    tell(heard.credit, run.first, CH_CREDIT, g);
    count(run.found, LITMUS_LANES, q.x != run.first || q.y != value_of(run.first, g.lane), g);
    if (!hear(&p, to.credit, run.first, false, g)) atomicAdd(&run.found->lost, 1u);
}

/* Three kernels, each launched before the one before it has ended. A collective is the second;
 * what stands before and after it trusts the ends of kernels. First, data: put to the PE after
 * by the first half of the lanes, and left here for it to fetch by the others. */
static __global__ void early_data(const struct litmus_run run)
{
    const struct channel own = channel_of(run.mine, run.mine, blockIdx.x, PUSHED);
    const struct channel to = channel_of(run.after, run.mine, blockIdx.x, PUSHED);

    ch_kernel_wait_previous(1);
    piece_store(threadIdx.x < LITMUS_LANES / 2 ? &to : &own, run.first, threadIdx.x);
}

/* Then a word, without a release, and the wait for the other's, without an acquire. */
static __global__ void early_word(const struct litmus_run run)
{
    const struct ch_lanes g = {threadIdx.x, blockDim.x};
    const struct ch_wait_policy p = {&run.found->never, timeout_ns};
    const struct channel to = channel_of(run.after, run.mine, blockIdx.x, PUSHED);
    const struct channel heard = channel_of(run.mine, run.before, blockIdx.x, PUSHED);

    ch_kernel_wait_previous(1);
    tell(to.word, run.first, CH_ENTRY, g);
    if (!hear(&p, heard.word, run.first, true, g)) atomicAdd(&run.found->lost, 1u);
}

/* Then a look at the data, though the multiprocessor has cached what was there before;
 * weakened, before the kernels before have ended. It has neither acquire nor fence: programs
 * put such a kernel behind a collective, and have only ch_kernel_wait_previous's wait for its
 * end. */
static __global__ void early_look(const struct litmus_run run)
{
    const struct ch_lanes g = {threadIdx.x, blockDim.x};
    const struct ch_wait_policy p = {&run.found->never, timeout_ns};
    const struct channel own = channel_of(run.mine, run.mine, blockIdx.x, PUSHED);
    const struct channel to = channel_of(run.after, run.mine, blockIdx.x, PUSHED);
    const struct channel from = channel_of(run.before, run.mine, blockIdx.x, PUSHED);
    const struct channel heard = channel_of(run.mine, run.before, blockIdx.x, PUSHED);
    const struct channel *data = g.lane < LITMUS_LANES / 2 ? &own : &from;
    const ulonglong2 before = piece_load(data, g.lane);
    ulonglong2 q = before;

    ch_kernel_wait_previous(1);
    if (!run.is_weak) q = piece_load(data, g.lane);
    if (before.x > run.first) atomicAdd(&run.found->lost, 1u); /* of a round that is to come */
    tell(heard.credit, run.first, CH_CREDIT, g);
    count(run.found, LITMUS_LANES, q.x != run.first || q.y != value_of(run.first, g.lane), g);
    if (!hear(&p, to.credit, run.first, false, g)) atomicAdd(&run.found->lost, 1u);
}

static cudaError_t launch_early(void (*kernel)(const struct litmus_run),
                                const struct litmus_run *run, cudaStream_t stream)
{
    cudaLaunchAttribute early = {};
    cudaLaunchConfig_t config = {};
    void *args[] = {(void *)run};

    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3(LITMUS_CHANNELS);
    config.blockDim = dim3(LITMUS_LANES);
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = 1;
    return cudaLaunchKernelExC(&config, (const void *)kernel, args);
}

static cudaError_t across_early(const struct litmus_run *run, cudaStream_t stream)
{
    struct litmus_run one = *run;
    cudaError_t error = cudaSuccess;

    for (uint64_t i = 0; i < run->rounds && error == cudaSuccess; i++) {
        one.first = run->first + i;
        error = launch_early(early_data, &one, stream);
        if (error == cudaSuccess) error = launch_early(early_word, &one, stream);
        if (error == cudaSuccess) error = launch_early(early_look, &one, stream);
    }
    return error;
}

static cudaError_t across_kernels(const struct litmus_run *run, cudaStream_t stream)
{
    struct litmus_run one = *run;
    cudaError_t error = cudaSuccess;

    for (uint64_t i = 0; i < run->rounds && error == cudaSuccess; i++) {
        one.first = run->first + i;
        if (!run->is_weak) write_own<<<LITMUS_CHANNELS, LITMUS_LANES, 0, stream>>>(one);
        fetch_from_before<<<LITMUS_CHANNELS, LITMUS_LANES, 0, stream>>>(one);
        error = cudaGetLastError();
    }
    return error;
}

int litmus_launch(enum litmus test, const struct litmus_run *run, void *stream)
{
    const cudaStream_t on = (cudaStream_t)stream;

    if (test == LITMUS_kernels) return (int)across_kernels(run, on);
    if (test == LITMUS_early) return (int)across_early(run, on);
#define RACE(NAME, T, WHERE)   \
    if (test == LITMUS_##NAME) \
    race<T, WHERE><<<2 * LITMUS_CHANNELS, LITMUS_LANES, 0, on>>>(*run)
    RACE(message, message, PUSHED);
    RACE(board, cached, PULLED);
    RACE(source, cached, SOURCE);
    RACE(reuse, reuse, PUSHED);
    RACE(reuse_pulled, reuse, PULLED);
    RACE(packet, packet, PUSHED);
    RACE(packet_pulled, packet, PULLED);
    RACE(line, line, PUSHED);
    RACE(line_pulled, line, PULLED);
#undef RACE
    return (int)cudaGetLastError();
}

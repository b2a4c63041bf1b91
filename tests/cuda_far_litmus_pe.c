/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_far_litmus_pe.c: litmus tests of the order of calls that kernels make inside, to peers
 * that are far (CHORUS_NODES) or beside (CHORUS_P2P=0). usage: cuda_far_litmus_pe [ROUNDS]
 *
 * The GPUs are fakes; threads make the calls, with the true ring, proxy and networks. In each
 * round PE 0 stores the number of the round at a peer, which watches. The watcher counts what
 * it must never see, and looks that came between two effects of a round. Each test also runs
 * weakened, without the order that it is about, which only says whether the watcher would see a
 * fault.
 */
#include "api/context.h"
#include "base/clock.h"
#include "chorus/chorusx.h"
#include "cuda_fake.h"
#include "cuda_far.h"
#include "link_gpu.h"
#include "transport/links.h"
#include "transport/network.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* Words of 4 bytes; threads that put at once; signals that delay the put behind them, as they
 * fill the queue of the network; how long nothing new may come. */
enum { WORDS = 1250, BLOCKS = 4, BURST = 24, SECONDS_MAX = 20 };

/* Watchers find what lies between two effects although they share cores with the threads that
 * copy: these let others run behind some copies, as do watchers that find nothing new. */
enum { COPIES_PER_YIELD = 5, LOOKS_PER_YIELD = 16 };

/* Puts that go directly take so much longer than operations of other contexts: longer than a
 * word takes. Less where a quiet waits for each. */
#define DELAY_NS (2 * CH_NS_PER_MS)
#define SHORT_DELAY_NS (200 * CH_NS_PER_US)

/* Of data: in the request, in a box, and read by the host where it is. Short copies to a GPU
 * are of two rows, and each of these has the same number of words in both. */
static const size_t sizes[] = {8, 104, 1000, sizeof(uint32_t) * WORDS};

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static uint32_t rounds_wanted = 250;
static int n_failed; /* atomic */
static const struct ch_ring *ring;
static int n_fillers = BURST; /* none where they would follow a put that is late, and send it */

static bool expect(bool holds, const char *what, int line)
{
    if (holds) return true;
    (void)__atomic_fetch_add(&n_failed, 1, __ATOMIC_RELAXED);
    (void)fprintf(stderr, "PE %d, line %d: %s; %s\n", chorus_my_pe(), line, what,
                  chorusx_last_error());
    return false;
}

#define EXPECT(condition) expect(condition, #condition, __LINE__)

static void meet(void)
{
    chorus_free(chorus_malloc(64));
}

/* --- calls -------------------------------------------------------------------------------- */

/* A PE's own address of its copy of an object. */
static uint64_t there(const void *object, int pe)
{
    const struct ch_links *links = ch_context_get()->links;

    return (uint64_t)(uintptr_t)object + (uint64_t)links->to[pe].shift;
}

static bool make(int pe, struct far_call call)
{
    call.pe = (uint32_t)pe;
    ch_links_expect_posts(ch_context_get()->links);
    return EXPECT(far_make(ring, &call) == CHORUS_OK);
}

static bool quiet(void)
{
    return make(chorus_my_pe(), (struct far_call){.what = FAR_CALL_QUIET});
}

/* As chorus_fence of kernels. */
static bool fence(void)
{
    return ch_links_keep_order(ch_context_get()->links) || quiet();
}

/* Put data, all words of which are the round; the source may change on return. */
static bool put(int pe, const uint32_t *to, uint32_t *source, size_t bytes, uint32_t round)
{
    for (size_t i = 0; i < bytes / sizeof(*source); i++)
        source[i] = round;
    return make(pe, (struct far_call){.what = FAR_CALL_PUT,
                                      .there = there(to, pe),
                                      .local = source,
                                      .bytes = bytes,
                                      .waits = true});
}

static bool signal_to(int pe, const uint64_t *word, uint64_t value, bool adds)
{
    return make(pe, (struct far_call){.what = FAR_CALL_SIGNAL,
                                      .there = there(word, pe),
                                      .value = value,
                                      .adds = adds});
}

/* --- looks -------------------------------------------------------------------------------- */

static uint32_t load(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static uint32_t load_signal(const uint64_t *word)
{
    return (uint32_t)__atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* The round of the oldest word. */
static uint32_t oldest(const uint32_t *data, size_t bytes)
{
    uint32_t least = UINT32_MAX;

    for (size_t i = 0; i < bytes / sizeof(*data); i++) {
        const uint32_t round = load(&data[i]);

        if (round < least) least = round;
    }
    return least;
}

/* The newer of the rounds of the first and the last word, which may be stored in any order. */
static uint32_t newest(const uint32_t *data, size_t bytes)
{
    const uint32_t first = load(data), last = load(&data[bytes / sizeof(*data) - 1]);

    return first > last ? first : last;
}

/* What a watcher has seen. */
struct seen {
    uint64_t looks, rounds, between, wrong;
    uint64_t deadline_ns;
    uint32_t first, newest; /* rounds: of this run, and of all looks */
};

static uint64_t next_deadline_ns(void)
{
    return ch_clock_ns() + SECONDS_MAX * CH_NS_PER_S;
}

static struct seen see_from(uint32_t first)
{
    return (struct seen){
        .deadline_ns = next_deadline_ns(), .first = first, .newest = first - 1};
}

/* Note a look that has found this round. */
static void note(struct seen *seen, uint32_t round, bool is_between, bool is_wrong)
{
    seen->looks++;
    seen->between += is_between;
    seen->wrong += is_wrong && round >= seen->first; /* else it is of the run before */
    if (round <= seen->newest) {
        if (seen->looks % LOOKS_PER_YIELD == 0) (void)sched_yield();
        return;
    }
    seen->rounds++;
    seen->newest = round;
    seen->deadline_ns = next_deadline_ns();
}

/* Must the watcher look again? */
static bool is_awaited(const struct seen *seen, uint32_t last)
{
    return seen->newest < last && ch_clock_ns() < seen->deadline_ns;
}

static struct seen totals[2]; /* of all watchers of a test: as used, weakened */

/* A watcher has seen the last round, and nothing wrong, unless the test is weakened. */
static void judge(const struct seen *seen, uint32_t last, bool is_weak)
{
    struct seen *total = &totals[is_weak];

    EXPECT(seen->newest >= last);
    if (!is_weak) EXPECT(seen->wrong == 0);
    total->looks += seen->looks;
    total->rounds += seen->rounds;
    total->between += seen->between;
    total->wrong += seen->wrong;
}

static void report(const char *name)
{
    for (int is_weak = 0; is_weak < 2; is_weak++) {
        struct seen *total = &totals[is_weak];

        if (total->looks != 0)
            (void)printf("PE %d, %-8s: %s: %" PRIu64 " looks, %" PRIu64 " rounds seen, %" PRIu64
                         " between effects, %" PRIu64 " wrong\n",
                         chorus_my_pe(), is_weak ? "weakened" : "as used", name, total->looks,
                         total->rounds, total->between, total->wrong);
        *total = (struct seen){.looks = 0};
    }
    (void)fflush(stdout);
}

/* --- runs: PE 0 writes, one PE watches ---------------------------------------------------- */

/* A signal; the round of which the watcher has told PE 0; what nobody reads. */
enum { SIGNAL, ANSWER, FILLER, WORDS_OF_RUN };

struct run {
    uint32_t *a, *b; /* symmetric: data, [WORDS] */
    uint64_t *words; /* symmetric, [WORDS_OF_RUN] */
    size_t a_bytes, b_bytes;
    uint32_t first, last; /* rounds */
    int target, watcher;  /* PEs: to which a is put, that watches */
    bool is_weak;
    struct seen seen;
};

/* All PEs: so many rounds. */
static void race(struct run *run, uint32_t rounds,
                 bool (*write)(const struct run *run, uint32_t round),
                 void (*watch)(struct run *run))
{
    bool goes_on = chorus_my_pe() == 0;

    run->first = run->last + 1;
    run->last += rounds;
    meet();
    for (uint32_t round = run->first; round <= run->last && goes_on; round++)
        goes_on = write(run, round);
    if (goes_on) EXPECT(quiet());
    if (chorus_my_pe() == run->watcher) {
        run->seen = see_from(run->first);
        while (is_awaited(&run->seen, run->last))
            watch(run);
        judge(&run->seen, run->last, run->is_weak);
    }
    meet();
}

/* As used, and then weakened. */
static void race_twice(struct run *run, uint32_t rounds,
                       bool (*write)(const struct run *run, uint32_t round),
                       void (*watch)(struct run *run))
{
    run->is_weak = false;
    race(run, rounds, write, watch);
    run->is_weak = true;
    race(run, rounds / 4, write, watch);
}

static struct run make_run(void)
{
    return (struct run){.a = chorus_calloc(WORDS, sizeof(uint32_t)),
                        .b = chorus_calloc(WORDS, sizeof(uint32_t)),
                        .words = chorus_calloc(WORDS_OF_RUN, sizeof(uint64_t)),
                        .target = 1,
                        .watcher = 1};
}

static void end_run(struct run *run)
{
    chorus_free(run->words);
    chorus_free(run->b);
    chorus_free(run->a);
}

/* --- put a, fence, put b: b of a round is seen after a of it ------------------------------ */

/* Weakened: a after b. */
static bool put_two(const struct run *run, uint32_t round)
{
    uint32_t source[WORDS];

    if (run->is_weak && !put(1, run->b, source, run->b_bytes, round)) return false;
    if (!put(1, run->a, source, run->a_bytes, round) || !fence()) return false;
    return run->is_weak || put(1, run->b, source, run->b_bytes, round);
}

static void watch_two(struct run *run)
{
    const uint32_t before = load(run->a), round = newest(run->b, run->b_bytes);

    note(&run->seen, round, before > round, oldest(run->a, run->a_bytes) < round);
}

static void fences_order_puts(void)
{
    struct run run = make_run();

    link_gpu.delay_ns = SHORT_DELAY_NS;
    for (unsigned k = 0; k < SIZES * SIZES; k++) {
        run.a_bytes = sizes[k / SIZES];
        run.b_bytes = sizes[k % SIZES];
        race_twice(&run, rounds_wanted, put_two, watch_two);
    }
    link_gpu.delay_ns = DELAY_NS;
    report("put, fence, put");
    end_run(&run);
}

/* --- put a, quiet, announce it to a third PE, which gets a -------------------------------- */

/* PE 0 waits until the third PE has got a: a put of the next round would hide that of this one
 * was late. */
static bool await_answer(const uint64_t *word, uint32_t round)
{
    const uint64_t deadline_ns = next_deadline_ns();

    while (load_signal(word) != round && ch_clock_ns() < deadline_ns)
        (void)sched_yield();
    return EXPECT(load_signal(word) == round);
}

/* A put announces a if b has bytes, else a signal. Weakened: without the quiet. */
static bool put_and_announce(const struct run *run, uint32_t round)
{
    uint32_t source[WORDS];
    bool is_announced;

    for (int i = 0; i < n_fillers; i++)
        if (!signal_to(run->target, &run->words[FILLER], round, false)) return false;
    if (!put(run->target, run->a, source, run->a_bytes, round)) return false;
    if (!run->is_weak && !quiet()) return false;
    is_announced = run->b_bytes != 0
                       ? put(run->watcher, run->b, source, run->b_bytes, round)
                       : signal_to(run->watcher, &run->words[SIGNAL], round, false);
    return is_announced && await_answer(&run->words[ANSWER], round);
}

static void get_announced(struct run *run)
{
    uint32_t got[WORDS], round;

    round = run->b_bytes != 0 ? newest(run->b, run->b_bytes) : load_signal(&run->words[SIGNAL]);
    if (round <= run->seen.newest) {
        (void)sched_yield();
        return;
    }
    (void)make(run->target, (struct far_call){.what = FAR_CALL_GET,
                                              .there = there(run->a, run->target),
                                              .local = got,
                                              .bytes = run->a_bytes,
                                              .waits = true});
    note(&run->seen, round, false, oldest(got, run->a_bytes) < round);
    (void)signal_to(0, &run->words[ANSWER], round, false);
}

static void quiets_complete_puts(void)
{
    struct run run = make_run();

    for (unsigned k = 0; k < 4 * SIZES; k++) {
        run.a_bytes = sizes[k / 4];
        run.b_bytes = k % 2 == 0 ? 0 : sizes[0];
        run.target = k % 4 < 2 ? 1 : 2;
        run.watcher = 3 - run.target;
        race_twice(&run, rounds_wanted / 4, put_and_announce, get_announced);
    }
    report("put, quiet, announcement to a third PE");
    end_run(&run);
}

/* --- several blocks put with signals ------------------------------------------------------ */

/* Blocks of PE 0 put to PE 1; those of all PEs but PE 1 add to one signal there. */
struct block {
    uint32_t *data;   /* symmetric, [WORDS] */
    uint64_t *word;   /* symmetric: its signal */
    uint64_t *shared; /* symmetric: that of all blocks */
    size_t bytes;
    uint64_t weight; /* what it adds to the shared signal in each round */
    uint32_t first, last;
    bool adds; /* to its signal, else it sets that */
    bool is_weak;
    struct seen seen;
};

/* Weakened: the signal before the data. */
static bool put_with_signal(const struct block *block, uint32_t round)
{
    const uint64_t value = block->adds ? 1 : round;
    uint32_t source[WORDS];

    if (block->is_weak)
        return signal_to(1, block->word, value, block->adds) &&
               put(1, block->data, source, block->bytes, round);
    for (size_t i = 0; i < block->bytes / sizeof(*source); i++)
        source[i] = round;
    return make(1, (struct far_call){.what = FAR_CALL_PUT,
                                     .there = there(block->data, 1),
                                     .local = source,
                                     .bytes = block->bytes,
                                     .word = there(block->word, 1),
                                     .value = value,
                                     .adds = block->adds,
                                     .waits = true});
}

static void *run_block(void *arg)
{
    const struct block *block = arg;
    bool goes_on = true;

    for (uint32_t round = block->first; round <= block->last && goes_on; round++) {
        goes_on = chorus_my_pe() != 0 || put_with_signal(block, round);
        goes_on = goes_on && signal_to(1, block->shared, block->weight, true);
    }
    return NULL;
}

static void run_blocks(struct block *blocks)
{
    pthread_t threads[BLOCKS];

    for (int i = 0; i < BLOCKS; i++)
        EXPECT(pthread_create(&threads[i], NULL, run_block, &blocks[i]) == 0);
    for (int i = 0; i < BLOCKS; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
    EXPECT(quiet());
}

static void look_at(struct block *block)
{
    const uint32_t before = load(block->data), round = load_signal(block->word);

    note(&block->seen, round, before > round, oldest(block->data, block->bytes) < round);
}

static void watch_blocks(struct block *blocks)
{
    bool goes_on = true;

    for (int i = 0; i < BLOCKS; i++)
        blocks[i].seen = see_from(blocks[i].first);
    while (goes_on) {
        goes_on = false;
        for (int i = 0; i < BLOCKS; i++) {
            if (!is_awaited(&blocks[i].seen, blocks[i].last)) continue;
            look_at(&blocks[i]);
            goes_on = true;
        }
    }
    for (int i = 0; i < BLOCKS; i++)
        judge(&blocks[i].seen, blocks[i].last, blocks[i].is_weak);
}

/* All PEs: so many rounds of each block. */
static void race_blocks(struct block *blocks, uint32_t rounds)
{
    const uint64_t others = (uint64_t)chorus_n_pes() - 1, before = *blocks[0].shared;
    uint64_t sum = 0;

    for (int i = 0; i < BLOCKS; i++) {
        blocks[i].first = blocks[i].last + 1;
        blocks[i].last += rounds;
        sum += blocks[i].weight * rounds * others;
    }
    meet();
    if (chorus_my_pe() == 1)
        watch_blocks(blocks);
    else
        run_blocks(blocks);
    meet();
    EXPECT(chorus_my_pe() != 1 || *blocks[0].shared == before + sum);
}

static void signals_follow_their_data(void)
{
    uint64_t *const words = chorus_calloc(BLOCKS + 1, sizeof(*words));
    uint32_t *const data = chorus_calloc((size_t)BLOCKS * WORDS, sizeof(*data));
    struct block blocks[BLOCKS];

    for (unsigned i = 0; i < BLOCKS; i++)
        blocks[i] = (struct block){.data = data + (size_t)i * WORDS,
                                   .word = &words[i],
                                   .shared = &words[BLOCKS],
                                   .bytes = sizes[i % SIZES],
                                   .weight = i + 1};
    for (unsigned k = 0; k < 4; k++) {
        for (unsigned i = 0; i < BLOCKS; i++) {
            blocks[i].adds = k % 2 != 0;
            blocks[i].is_weak = k >= 2;
        }
        race_blocks(blocks, k < 2 ? 2 * rounds_wanted : rounds_wanted / 2);
    }
    report("puts with signals of several blocks");
    chorus_free(data);
    chorus_free(words);
}

/* --- elements are whole ------------------------------------------------------------------- */

struct elements {
    uint64_t eight;
    uint32_t four;
    uint16_t two;
};

/* Equal bytes, nearly all bits of which are others than in the round before. */
static uint64_t bits_of(uint32_t round)
{
    const uint64_t byte = (round % 2 != 0 ? 0xff : 0) ^ round / 2 % 128;

    return byte * UINT64_C(0x0101010101010101);
}

/* Weakened: its halves, one after the other. */
static bool put_element(const struct run *run, const void *to, size_t bytes, uint32_t round)
{
    uint64_t bits = bits_of(round);
    struct far_call call = {.what = FAR_CALL_PUT,
                            .there = there(to, 1),
                            .local = &bits,
                            .bytes = run->is_weak ? bytes / 2 : bytes};

    if (!make(1, call)) return false;
    call.there += bytes / 2;
    return !run->is_weak || make(1, call);
}

static bool put_elements(const struct run *run, uint32_t round)
{
    const struct elements *to = (const struct elements *)(const void *)run->a;

    return put_element(run, &to->two, sizeof(to->two), round) &&
           put_element(run, &to->four, sizeof(to->four), round) &&
           put_element(run, &to->eight, sizeof(to->eight), round) &&
           signal_to(1, &run->words[SIGNAL], round, false);
}

/* Are the bytes of the element those of more than one round? */
static bool is_mixed(uint64_t bits, size_t bytes)
{
    const uint64_t all = UINT64_MAX >> (64 - 8 * bytes);

    return bits != ((bits & 0xff) * UINT64_C(0x0101010101010101) & all);
}

static void watch_elements(struct run *run)
{
    const struct elements *here = (const struct elements *)(const void *)run->a;
    const uint64_t two = __atomic_load_n(&here->two, __ATOMIC_RELAXED);
    const uint64_t four = __atomic_load_n(&here->four, __ATOMIC_RELAXED);
    const uint64_t eight = __atomic_load_n(&here->eight, __ATOMIC_RELAXED);
    const bool is_between = (two & 0xff) != (four & 0xff) || (four & 0xff) != (eight & 0xff);
    const uint32_t round = load_signal(&run->words[SIGNAL]);

    run->seen.wrong += is_mixed(two, 2) || is_mixed(four, 4) || is_mixed(eight, 8);
    note(&run->seen, round, is_between, false);
}

static void elements_are_whole(void)
{
    struct run run = make_run();

    race_twice(&run, 16 * rounds_wanted, put_elements, watch_elements);
    report("elements of 2, 4 and 8 bytes");
    end_run(&run);
}

int main(int argc, char **argv)
{
    if (argc > 1) rounds_wanted = (uint32_t)strtoul(argv[1], NULL, 10);
    cuda_fake_reset();
    link_gpu.sound = UINT32_MAX;
    cuda_fake.yields = COPIES_PER_YIELD;
    if (chorus_init() != CHORUS_OK) {
        (void)fprintf(stderr, "init: %s\n", chorusx_last_error());
        return EXIT_FAILURE;
    }
    ring = ch_links_ring(ch_context_get()->links);
    if (ch_context_get()->links->network->is_direct) n_fillers = 0;
    fences_order_puts();
    if (chorus_n_pes() == 3) quiets_complete_puts();
    signals_follow_their_data();
    elements_are_whole();
    chorus_finalize();
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

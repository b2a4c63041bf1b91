/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_far_inside_pe.c: a PE with a heap on a GPU that is a fake, whose threads make the calls
 * that kernels make inside, to a peer that is far (CHORUS_NODES) or beside (CHORUS_P2P=0).
 *
 * The code of the calls runs on the host, with the true ring, proxy and networks.
 */
#include "api/context.h"
#include "base/clock.h"
#include "chorus/chorusx.h"
#include "cuda_fake.h"
#include "cuda_far.h"
#include "team/device.h"
#include "transport/amo.h"
#include "transport/links.h"
#include "transport/network.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 5000, THREADS = 4, RUNS = 400, POISON = 0xee };

/* How long a barrier may wait, and one that must fail. */
enum { SECONDS_MAX = 20 };
#define LATE_NS (200 * CH_NS_PER_MS)

static int n_failed;
static const struct ch_ring *ring;

static void expect(bool holds, const char *what, int line)
{
    if (holds) return;
    n_failed++;
    (void)fprintf(stderr, "PE %d, line %d: %s; %s\n", chorus_my_pe(), line, what,
                  chorusx_last_error());
}

#define EXPECT(condition) expect(condition, #condition, __LINE__)

static void meet(void)
{
    chorus_free(chorus_malloc(64));
}

static int peer(void)
{
    return chorus_my_pe() ^ 1;
}

/* The peer's own address of its copy of an object. */
static uint64_t there(const void *object)
{
    const struct ch_links *links = ch_context_get()->links;

    return (uint64_t)(uintptr_t)object + (uint64_t)links->to[peer()].shift;
}

static void make(struct far_call call)
{
    call.pe = (uint32_t)peer();
    ch_links_expect_posts(ch_context_get()->links);
    EXPECT(far_make(ring, &call) == CHORUS_OK);
}

static void quiet(void)
{
    make((struct far_call){.what = FAR_CALL_QUIET});
}

static unsigned char pattern(int pe, size_t i, unsigned round)
{
    return (unsigned char)(31 * pe + 7 * (int)i + 101 * (int)round + (int)(i / 251));
}

static void fill(unsigned char *memory, size_t bytes, unsigned round)
{
    for (size_t i = 0; i < bytes; i++)
        memory[i] = pattern(chorus_my_pe(), i, round);
}

/* The bytes are the peer's, and the one behind them is as it was. */
static bool is_from_peer(const unsigned char *memory, size_t bytes, unsigned round)
{
    for (size_t i = 0; i < bytes; i++)
        if (memory[i] != pattern(peer(), i, round)) return false;
    return memory[bytes] == POISON;
}

/* Around the limits of what is in a request and in a box. */
static const size_t sizes[] = {1,  3,   4,    8,    9,    16,   17,   31,       32,
                               33, 100, 1023, 1024, 1025, 2048, 2500, BYTES - 1};

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), WAYS = 4 };

/* What a trial has: a symmetric object, memory of its own, and a call from one to the other. */
struct trial {
    unsigned char *object, *own;
    struct far_call call;
    unsigned round; /* of the data; from 1 */
};

/* With each size and way. */
static void try_all(void (*run)(struct trial *trial))
{
    struct trial trial = {.object = chorus_calloc(BYTES, 1), .own = malloc(BYTES)};

    for (unsigned k = 0; k < SIZES * WAYS; k++) {
        trial.round = k + 1;
        trial.call = (struct far_call){.there = there(trial.object),
                                       .local = trial.own,
                                       .bytes = sizes[k / WAYS],
                                       .waits = (k & 1) != 0,
                                       .is_own = (k & 2) != 0};
        run(&trial);
    }
    free(trial.own);
    chorus_free(trial.object);
}

/* May the memory of this PE be used again when the call returns? */
static bool is_over(const struct far_call *call)
{
    return call->waits || call->is_own || call->bytes <= 1024;
}

/* Put fresh data; its source changes as soon as it may. */
static void put(struct trial *trial)
{
    fill(trial->own, BYTES, trial->round);
    trial->call.what = FAR_CALL_PUT;
    make(trial->call);
    if (is_over(&trial->call)) memset(trial->own, POISON, BYTES);
}

static void try_put(struct trial *trial)
{
    memset(trial->object, POISON, BYTES);
    meet();
    put(trial);
    quiet();
    meet();
    EXPECT(is_from_peer(trial->object, trial->call.bytes, trial->round));
}

static void await_word(const uint64_t *word, uint64_t value)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
        continue;
}

static uint64_t *word; /* of the signal */

/* The data is there when the signal is. */
static void try_put_signal(struct trial *trial)
{
    const uint64_t value = 1000 + trial->round;

    memset(trial->object, POISON, BYTES);
    __atomic_store_n(word, trial->round, __ATOMIC_RELAXED);
    meet();
    trial->call.word = there(word);
    trial->call.adds = trial->round % 3 == 0;
    trial->call.value = trial->call.adds ? 1000 : value;
    put(trial);
    await_word(word, value);
    EXPECT(is_from_peer(trial->object, trial->call.bytes, trial->round));
    quiet();
    meet();
}

static void try_get(struct trial *trial)
{
    fill(trial->object, BYTES, trial->round);
    memset(trial->own, POISON, BYTES);
    meet();
    trial->call.what = FAR_CALL_GET;
    make(trial->call);
    if (!is_over(&trial->call)) quiet();
    EXPECT(is_from_peer(trial->own, trial->call.bytes, trial->round));
    meet();
}

static uint64_t change(const void *at, size_t bytes, enum ch_amo amo, uint64_t value,
                       uint64_t compare)
{
    uint64_t old = UINT64_MAX;

    make((struct far_call){.what = FAR_CALL_CHANGE,
                           .there = there(at),
                           .local = &old,
                           .bytes = bytes,
                           .amo = amo,
                           .value = value,
                           .compare = compare});
    return old;
}

static void changes_give_the_old_value(void)
{
    uint64_t *const words = chorus_calloc(2, sizeof(uint64_t));
    uint32_t *const narrow = (uint32_t *)(void *)&words[1];

    meet();
    EXPECT(change(words, 8, CH_AMO_ADD, UINT64_C(5) << 32, 0) == 0);
    EXPECT(change(words, 8, CH_AMO_SWAP, 12, 0) == UINT64_C(5) << 32);
    EXPECT(change(words, 8, CH_AMO_COMPARE_SWAP, 13, 11) == 12);
    EXPECT(change(words, 8, CH_AMO_COMPARE_SWAP, 14, 12) == 12);
    EXPECT(change(words, 8, CH_AMO_OR, 1, 0) == 14);
    EXPECT(change(words, 8, CH_AMO_AND, 7, 0) == 15);
    EXPECT(change(words, 8, CH_AMO_XOR, 2, 0) == 7);
    EXPECT(change(words, 8, CH_AMO_FETCH, 0, 0) == 5);
    EXPECT(change(&narrow[1], 4, CH_AMO_ADD, 3, 0) == 0);
    EXPECT(change(&narrow[1], 4, CH_AMO_FETCH, 0, 0) == 3);
    meet();
    EXPECT(words[0] == 5 && narrow[0] == 0 && narrow[1] == 3);
    meet(); /* both have looked */
    make((struct far_call){.what = FAR_CALL_CHANGE,
                           .there = there(words),
                           .bytes = 8,
                           .amo = CH_AMO_ADD,
                           .value = 4});
    make((struct far_call){
        .what = FAR_CALL_SIGNAL, .there = there(&words[1]), .value = 2, .adds = true});
    quiet();
    meet();
    EXPECT(words[0] == 9 && narrow[0] == 2);
    chorus_free(words);
}

/* --- many threads ------------------------------------------------------------------------- */

static uint64_t *counter;
static unsigned char *mailbox; /* [THREADS][BYTES] */

struct worker {
    unsigned id;
    uint64_t sum; /* of the old values */
};

/* More calls than there are boxes, with data of their own. */
static void *work(void *arg)
{
    struct worker *worker = arg;
    unsigned char *const at = mailbox + (size_t)worker->id * BYTES;
    unsigned char sent[700], got[701];

    for (unsigned i = 0; i < RUNS; i++) {
        const size_t bytes = 1 + (worker->id * 37 + i * 13) % sizeof(sent);

        fill(sent, bytes, worker->id * RUNS + i);
        make((struct far_call){.what = FAR_CALL_PUT,
                               .there = there(at),
                               .local = sent,
                               .bytes = bytes,
                               .is_own = true});
        quiet();
        memset(got, POISON, sizeof(got));
        make((struct far_call){.what = FAR_CALL_GET,
                               .there = there(at),
                               .local = got,
                               .bytes = bytes,
                               .is_own = true});
        EXPECT(memcmp(got, sent, bytes) == 0 && got[bytes] == POISON);
        worker->sum += change(counter, 8, CH_AMO_ADD, 1, 0);
    }
    return NULL;
}

/* Each old value of the counter is that of one call. */
static void threads_do_not_meet_in_boxes(void)
{
    const uint64_t all = (uint64_t)THREADS * RUNS;
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    uint64_t sum = 0;

    counter = chorus_calloc(1, sizeof(*counter));
    mailbox = chorus_calloc(THREADS, BYTES);
    meet();
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.id = i};
        EXPECT(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        EXPECT(pthread_join(threads[i], NULL) == 0);
        sum += workers[i].sum;
    }
    EXPECT(sum == all * (all - 1) / 2);
    meet();
    EXPECT(*counter == all);
    chorus_free(mailbox);
    chorus_free(counter);
}

/* --- a thread that never pauses ----------------------------------------------------------- */

static bool is_flooding;

static void *flood(void *arg)
{
    while (__atomic_load_n(&is_flooding, __ATOMIC_RELAXED))
        make((struct far_call){
            .what = FAR_CALL_SIGNAL, .there = there(arg), .value = 1, .adds = true});
    return NULL;
}

/* Calls of this thread end while another signals to the same peer without pause; else their
 * waits fail at the time limit of the job. */
static void calls_end_while_another_thread_signals(void)
{
    uint64_t *const words = chorus_calloc(2, sizeof(uint64_t));
    pthread_t thread;

    meet();
    is_flooding = true;
    EXPECT(pthread_create(&thread, NULL, flood, &words[1]) == 0);
    for (uint64_t i = 0; i < 10; i++) {
        uint64_t got = UINT64_MAX;

        EXPECT(change(words, 8, CH_AMO_ADD, 1, 0) == i);
        quiet();
        make((struct far_call){
            .what = FAR_CALL_GET, .there = there(words), .local = &got, .bytes = 8});
        EXPECT(got == i + 1);
    }
    __atomic_store_n(&is_flooding, false, __ATOMIC_RELAXED);
    EXPECT(pthread_join(thread, NULL) == 0);
    quiet();
    meet();
    EXPECT(words[0] == 10);
    chorus_free(words);
}

/* --- barriers ----------------------------------------------------------------------------- */

static const struct ch_link_ops *true_ops;
static struct ch_link_ops slow_ops;
static bool is_slow; /* atomic */

/* As if puts of the program were never done, while is_slow. */
static bool slow_is_done(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    if (ctx == CH_CTX_DEFAULT && __atomic_load_n(&is_slow, __ATOMIC_RELAXED)) return false;
    return true_ops->is_done(ep, ctx, pe);
}

static void make_slow(void)
{
    struct ch_network *const network = ch_context_get()->links->network;

    ch_network_lock(network);
    if (true_ops == NULL) true_ops = network->ops;
    slow_ops = *true_ops;
    slow_ops.is_done = slow_is_done;
    network->ops = &slow_ops;
    ch_network_unlock(network);
    __atomic_store_n(&is_slow, true, __ATOMIC_RELAXED);
}

static void end_slow(void)
{
    __atomic_store_n(&is_slow, false, __ATOMIC_RELAXED);
}

static int barrier_after_signal(const uint64_t *there_word, uint64_t timeout_ns)
{
    struct ch_device_state state = {0};

    EXPECT(chorusx_device_state(&state, sizeof(state)) == CHORUS_OK);
    state.terms.timeout_ns = timeout_ns;
    make((struct far_call){
        .what = FAR_CALL_SIGNAL, .there = there(there_word), .value = 1, .adds = true});
    return far_barrier(&state);
}

/* A barrier whose quiet fails returns that, although all PEs are there. */
static void barriers_end_as_their_quiets(void)
{
    uint64_t *const count = chorus_calloc(1, sizeof(*count));

    meet();
    EXPECT(barrier_after_signal(count, SECONDS_MAX * CH_NS_PER_S) == CHORUS_OK);
    EXPECT(*count == 1);
    meet();
    make_slow();
    EXPECT(barrier_after_signal(count, LATE_NS) == CHORUS_ERR_TIMEOUT);
    end_slow();
    meet();
    EXPECT(barrier_after_signal(count, SECONDS_MAX * CH_NS_PER_S) == CHORUS_OK);
    EXPECT(*count == 3);
    meet();
    chorus_free(count);
}

/* --- a call that does not end ------------------------------------------------------------- */

/* Requests of algorithms, and a flush of them. Returns when it is over. */
static uint64_t post_of_algorithm(uint64_t *symmetric)
{
    static uint64_t flushed, value;
    const uint64_t until_ns = ch_clock_ns() + SECONDS_MAX * CH_NS_PER_S;
    const struct far_post put = {.op = FAR_INLINE,
                                 .pe = (uint32_t)peer(),
                                 .there = there(&symmetric[0]),
                                 .word = (uint64_t *)(uintptr_t)there(&symmetric[1]),
                                 .value = 1};
    const struct far_post flush = {
        .op = FAR_FLUSH, .pe = (uint32_t)peer(), .word = &flushed, .value = ++value};

    EXPECT(far_post(ring, &put) == CHORUS_OK && far_post(ring, &flush) == CHORUS_OK);
    while (__atomic_load_n(&flushed, __ATOMIC_ACQUIRE) != value && ch_clock_ns() < until_ns)
        (void)sched_yield();
    EXPECT(flushed == value);
    return ch_clock_ns();
}

/* From a second on a quiet keeps other requests of the program waiting for a quarter of its
 * age: those of algorithms pass meanwhile. If this thread was late, a later time shows it. */
static bool passes_quiet(uint64_t *words, uint64_t since_ns)
{
    for (uint64_t ms = 1024; ms <= 4096; ms *= 2) {
        const uint64_t begin_ns = since_ns + (ms + ms / 32) * CH_NS_PER_MS;

        while (ch_clock_ns() < begin_ns)
            (void)usleep(1000);
        ch_links_expect_posts(ch_context_get()->links);
        if (post_of_algorithm(words) < since_ns + (ms + ms / 5) * CH_NS_PER_MS) return true;
    }
    return false;
}

static void *quiet_on_thread(void *arg)
{
    quiet();
    return arg;
}

/* A quiet that does not end lets requests of other contexts pass, and in the end those of its
 * own. */
static void quiets_let_others_pass(void)
{
    uint64_t *const words = chorus_calloc(3, sizeof(*words));
    uint64_t since_ns;
    pthread_t thread;

    meet();
    make_slow();
    make((struct far_call){.what = FAR_CALL_SIGNAL, .there = there(&words[2]), .value = 1});
    since_ns = ch_clock_ns();
    EXPECT(pthread_create(&thread, NULL, quiet_on_thread, NULL) == 0);
    EXPECT(passes_quiet(words, since_ns));
    make((struct far_call){.what = FAR_CALL_SIGNAL, .there = there(&words[2]), .value = 2});
    await_word(&words[2], 2);
    end_slow();
    EXPECT(pthread_join(thread, NULL) == 0);
    meet();
    EXPECT(words[0] == 1 && words[1] == 1);
    chorus_free(words);
}

/* --- messages ----------------------------------------------------------------------------- */

/* Messages name the host of the peer: this one has its own name, hosts that are pretended have
 * others. */
static void hosts_have_names(void)
{
    const char *const host = ch_context_get()->links->network->hosts[peer()];
    char expected[64] = "";

    if (getenv("CHORUS_NODES") != NULL)
        (void)snprintf(expected, sizeof(expected), "pretended-%d", peer());
    else
        EXPECT(gethostname(expected, sizeof(expected) - 1) == 0);
    EXPECT(strcmp(host, expected) == 0);
}

int main(void)
{
    cuda_fake_reset();
    cuda_fake.run_post = far_run;
    if (chorus_init() != CHORUS_OK) {
        (void)fprintf(stderr, "init: %s\n", chorusx_last_error());
        return EXIT_FAILURE;
    }
    ring = ch_links_ring(ch_context_get()->links);
    word = chorus_calloc(1, sizeof(*word));
    hosts_have_names();
    try_all(try_put);
    try_all(try_put_signal);
    try_all(try_get);
    chorus_free(word);
    changes_give_the_old_value();
    threads_do_not_meet_in_boxes();
    calls_end_while_another_thread_signals();
    if (n_failed != 0) return EXIT_FAILURE; /* further waits for what failed take minutes */
    barriers_end_as_their_quiets();
    quiets_let_others_pass();
    chorus_finalize();
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

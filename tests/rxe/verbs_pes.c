/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs_pes.c: PEs as processes over the verbs network alone, without the rest of the library.
 *
 *   verbs_pes check N          what net.h promises, among N PEs
 *   verbs_pes fault NAME       a fault, and the message that it leads to, between two PEs
 *   verbs_pes latency ROUNDS   microseconds one way of a put of 8 bytes and of a barrier,
 * medians verbs_pes bandwidth ROUNDS MB/s of puts of 1 MiB
 */
#include "base/clock.h"
#include "base/exec_host.h"
#include "transport/net.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PES_MAX = 4, SECONDS_MAX = 100 };
#define HEAP_BYTES ((size_t)8 << 20)
#define HALF_BYTES (HEAP_BYTES / 2)

/* What the PEs share besides the network, in place of the control plane of a job. */
static struct shared {
    uint32_t arrived, left;
    char cards[PES_MAX][CH_NET_CARD_BYTES];
    char *heap[PES_MAX];
    uint64_t keys[PES_MAX][2];
    uint64_t by_cpu; /* a word that all count in, for the sums of the atomics */
} * shared;

static uint32_t me, n;
static struct ch_net *net;
static char *heap; /* attached in two halves */
static struct ch_door door;
static struct ch_options options;

#define CHECK(condition) check((condition), #condition, __LINE__)
static void check(bool holds, const char *condition, int line)
{
    if (holds) return;
    printf("PE %u, line %d: %s; %s\n", me, line, condition, ch_error_message());
    _exit(1);
}

static void step(void)
{
    bool moved = false;

    CHECK(ch_net_verbs.progress(net, &moved) == CHORUS_OK);
    if (!moved) (void)sched_yield();
}

/* All have come; meanwhile peers are served. */
static void meet(void)
{
    static uint32_t round;

    round++;
    (void)__atomic_add_fetch(&shared->arrived, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&shared->arrived, __ATOMIC_SEQ_CST) < round * n)
        if (net != NULL && round > 2)
            step();
        else
            (void)sched_yield();
}

static void quiet(uint32_t ctx)
{
    while (!ch_net_verbs.is_done(net, ctx, CH_NET_ALL))
        step();
}

static void wait_word(const char *at, uint64_t value)
{
    while (ch_word_load((const uint64_t *)(const void *)at) < value)
        step();
}

static void learn(uint32_t pe)
{
    for (size_t half = 0; half < 2; half++)
        CHECK(ch_net_verbs.learn(net, pe, shared->heap[pe] + half * HALF_BYTES, HALF_BYTES,
                                 shared->keys[pe][half]) == CHORUS_OK);
}

static void start(void)
{
    static uint32_t nodes[PES_MAX] = {0, 1, 2, 3};
    static const char *const hosts[PES_MAX] = {"alpha", "beta", "gamma", "delta"};
    const struct ch_net_terms terms = {.options = &options,
                                       .me = me,
                                       .n = n,
                                       .nodes = nodes,
                                       .hosts = hosts,
                                       .secret = "of the test",
                                       .door = &door};

    CHECK(ch_options_read(&options) == CHORUS_OK);
    CHECK(ch_net_verbs.open(&terms, &net) == CHORUS_OK);
    ch_net_verbs.card(net, shared->cards[me]);
    heap = mmap(NULL, HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(heap != MAP_FAILED);
    shared->heap[me] = heap;
    for (size_t half = 0; half < 2; half++)
        CHECK(ch_net_verbs.attach(net, heap + half * HALF_BYTES, HALF_BYTES,
                                  &shared->keys[me][half]) == CHORUS_OK);
    meet();
    CHECK(ch_net_verbs.meet(net, (const char(*)[CH_NET_CARD_BYTES])shared->cards) == CHORUS_OK);
    for (uint32_t pe = 0; pe < n; pe++)
        learn(pe);
    meet();
}

static void stop(void)
{
    meet();
    ch_net_verbs.close(net);
    (void)munmap(heap, HEAP_BYTES);
}

static uint32_t next(void)
{
    return (me + 1) % n;
}

static uint32_t last(void)
{
    return (me + n - 1) % n;
}

static unsigned char datum(uint32_t pe, uint64_t round, size_t i)
{
    return (unsigned char)(pe * 31 + round * 7 + i * 13 + (i >> 8));
}

/* --- what net.h promises --- */

static const size_t lengths[] = {1, 8, 220, 221, 4096, 65536, 65537, 3000001};
enum { N_LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };
#define WORD_AT 64               /* a word that says; */
#define DATA_AT 4099             /* data, from an odd address on, over both halves; */
#define OWN_AT (HEAP_BYTES - 64) /* and a word of atomics */
#define SOURCE_AT (HALF_BYTES + 513)

/* Puts of fresh data, attached or not, and a word after them; whoever sees the word sees them.
 */
static void puts_then_word(uint32_t ctx, bool is_attached)
{
    static uint64_t round;
    char *const away = malloc(lengths[N_LENGTHS - 1]);
    const uint32_t to = next(), from = last();

    for (size_t k = 0; k < N_LENGTHS; k++) {
        const size_t bytes = lengths[k];
        char *src = is_attached ? heap + SOURCE_AT : away;

        round++;
        memset(heap + DATA_AT, 0x5a, bytes);
        for (size_t i = 0; i < bytes; i++)
            src[i] = (char)datum(me, round, i);
        meet();
        ch_net_verbs.put(net, ctx, to, shared->heap[to] + DATA_AT, src, bytes);
        ch_net_verbs.say(net, ctx, to, (uint64_t *)(void *)(shared->heap[to] + WORD_AT), round);
        wait_word(heap + WORD_AT, round);
        for (size_t i = 0; i < bytes; i++)
            CHECK((unsigned char)heap[DATA_AT + i] == datum(from, round, i));
        while (!ch_net_verbs.is_sent(net, ctx, to))
            step();
        memset(src, 0x33, bytes); /* it may change now */
        quiet(ctx);
        meet();
    }
    free(away);
}

static void gets(uint32_t ctx)
{
    char *const away = malloc(lengths[N_LENGTHS - 1]);
    const uint32_t from = next();

    for (size_t k = 0; k < N_LENGTHS; k++) {
        const size_t bytes = lengths[k];

        for (size_t i = 0; i < bytes; i++)
            heap[DATA_AT + i] = (char)datum(me, k + 5, i);
        memset(away, 0, bytes);
        meet();
        ch_net_verbs.get(net, ctx, from, away, shared->heap[from] + DATA_AT, bytes);
        quiet(ctx);
        for (size_t i = 0; i < bytes; i++)
            CHECK((unsigned char)away[i] == datum(from, k + 5, i));
        meet();
    }
    free(away);
}

/* Many at once, more than queues hold; and PE 0's own CPU on the same word. */
static void atomics(uint32_t ctx)
{
    enum { TIMES = 500 };
    char *const there = shared->heap[0] + OWN_AT;
    uint64_t fetched[TIMES], was = 0;

    memset(heap + OWN_AT, 0, 64);
    meet();
    for (int i = 0; i < TIMES; i++)
        if (me != 0)
            ch_net_verbs.amo(net, ctx, 0, CH_AMO_ADD, there, 8, 1, 0, &fetched[i]);
        else
            (void)ch_amo_apply(CH_AMO_ADD, heap + OWN_AT, 8, 1, 0);
    quiet(ctx);
    for (int i = 1; me != 0 && i < TIMES; i++)
        CHECK(fetched[i] > fetched[i - 1]);
    meet();
    if (me == 0)
        CHECK(ch_word_load((uint64_t *)(void *)(heap + OWN_AT)) == n * (uint64_t)TIMES);
    if (me == 1) {
        ch_net_verbs.amo(net, ctx, 0, CH_AMO_COMPARE_SWAP, there, 8, 77, n * (uint64_t)TIMES,
                         &was);
        quiet(ctx);
        CHECK(was == n * (uint64_t)TIMES);
        /* An atomic, then a word at the same place: the word is the later one. */
        ch_net_verbs.amo(net, ctx, 0, CH_AMO_ADD, there, 4, 1, 0, NULL);
        ch_net_verbs.say(net, ctx, 0, (uint64_t *)(void *)there, 9999);
        quiet(ctx);
    }
    meet();
    if (me == 0) CHECK(ch_word_load((uint64_t *)(void *)(heap + OWN_AT)) == 9999);
    meet();
}

static void many_small(uint32_t ctx)
{
    enum { TIMES = 3000 };
    const uint32_t to = next();
    static uint64_t base = 1000000;

    base += TIMES;
    meet();
    for (uint32_t i = 0; i < TIMES; i++) {
        const uint64_t value = base + i;

        ch_net_verbs.put(net, ctx, to, shared->heap[to] + DATA_AT + i % 64 * 8, &value, 8);
        ch_net_verbs.say(net, ctx, to, (uint64_t *)(void *)(shared->heap[to] + WORD_AT), value);
    }
    wait_word(heap + WORD_AT, base + TIMES - 1);
    for (uint64_t i = TIMES - 64; i < TIMES; i++) {
        uint64_t value;

        memcpy(&value, heap + DATA_AT + i % 64 * 8, sizeof(value));
        CHECK(value == base + i);
    }
    quiet(ctx);
    meet();
    memset(heap + WORD_AT, 0, 8);
    meet();
}

/* A child has the PE's memory, and does no harm when it uses it and ends. */
static void forks(void)
{
    const pid_t child = fork();
    int status;

    if (child == 0) {
        volatile char sum = 0;

        for (size_t i = 0; i < HEAP_BYTES; i += 4096)
            sum = (char)(sum + heap[i]);
        _exit(0);
    }
    puts_then_word(0, true);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* The second half is taken away and comes again, as memory of teams does. */
static void detach(void)
{
    const uint32_t to = next();

    meet();
    ch_net_verbs.detach(net, heap + HALF_BYTES);
    CHECK(ch_net_verbs.attach(net, heap + HALF_BYTES, HALF_BYTES, &shared->keys[me][1]) ==
          CHORUS_OK);
    meet();
    for (uint32_t pe = 0; pe < n; pe++) {
        ch_net_verbs.forget(net, pe, shared->heap[pe] + HALF_BYTES);
        CHECK(ch_net_verbs.learn(net, pe, shared->heap[pe] + HALF_BYTES, HALF_BYTES,
                                 shared->keys[pe][1]) == CHORUS_OK);
    }
    ch_net_verbs.put(net, 0, to, shared->heap[to] + HALF_BYTES, "again", 6);
    quiet(0);
    meet();
    CHECK(strcmp(heap + HALF_BYTES, "again") == 0);
}

static int check_all(void)
{
    char why[CH_NET_WHY_BYTES];

    for (uint32_t ctx = 0; ctx < 3; ctx++) {
        puts_then_word(ctx, true);
        puts_then_word(ctx, false);
        gets(ctx);
        atomics(ctx);
        many_small(ctx);
    }
    forks();
    detach();
    ch_net_verbs.describe(net, next(), why);
    if (me == 0) printf("%s\n", why);
    return 0;
}

/* --- faults --- */

/* Until the network fails, at most 20 s; the message has `part` in it. */
static int expect(const char *part)
{
    const uint64_t start_ns = ch_clock_ns();
    bool moved;

    while (ch_net_verbs.progress(net, &moved) == CHORUS_OK)
        CHECK(ch_clock_ns() - start_ns < 20 * CH_NS_PER_S);
    printf("after %.1f s: %s\n", (double)(ch_clock_ns() - start_ns) / 1e9, ch_error_message());
    CHECK(strstr(ch_error_message(), part) != NULL);
    CHECK(ch_net_verbs.is_done(net, 0, 1));
    return 0;
}

static void put_once(void)
{
    ch_net_verbs.put(net, 0, 1, shared->heap[1] + DATA_AT, heap + DATA_AT, 4096);
}

static int fault(const char *name)
{
    meet();
    if (strcmp(name, "killed") == 0) {
        if (me == 1) {
            for (int i = 0; i < 200; i++, usleep(10000))
                step();
            (void)raise(SIGKILL);
        }
        put_once();
        quiet(0);
        sleep(3);
        put_once();
        return expect("PE 1 on host beta");
    }
    if (strcmp(name, "key") == 0) {
        if (me == 1) {
            for (int i = 0; i < 300; i++, usleep(10000))
                step();
            return 0;
        }
        ch_net_verbs.forget(net, 1, shared->heap[1]);
        CHECK(ch_net_verbs.learn(net, 1, shared->heap[1], HALF_BYTES, 12345) == CHORUS_OK);
        put_once();
        return expect("knows no such key");
    }
    if (strcmp(name, "silent") == 0) { /* run with a short CHORUS_TIMEOUT */
        if (me == 1) {
            sleep(8);
            return 0;
        }
        put_once();
        return expect("does not answer");
    }
    if (strcmp(name, "down") == 0) {
        put_once();
        quiet(0);
        if (me == 0) CHECK(system("ip link set veth0 down") == 0);
        return expect("the port is down");
    }
    printf("no fault is called %s\n", name);
    return 2;
}

/* --- times --- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Microseconds one way: a put of 8 bytes is waited for, and answered. */
static int latency(int rounds)
{
    double *us = calloc((size_t)rounds, sizeof(*us));
    char *const there = shared->heap[1 - me] + WORD_AT;

    for (int kind = 0; kind < 2; kind++) {
        memset(heap + WORD_AT, 0, 8);
        meet();
        for (uint64_t i = 1; i <= (uint64_t)rounds; i++) {
            const uint64_t start_ns = ch_clock_ns();

            if (kind == 0 && me == 0) ch_net_verbs.put(net, 0, 1, there, &i, 8);
            if (kind == 1) ch_net_verbs.say(net, 0, 1 - me, (uint64_t *)(void *)there, i);
            while (ch_word_load((uint64_t *)(void *)(heap + WORD_AT)) < i) {
                bool moved = false;

                CHECK(ch_net_verbs.progress(net, &moved) == CHORUS_OK);
            }
            if (kind == 0 && me == 1) ch_net_verbs.put(net, 0, 0, there, &i, 8);
            us[i - 1] = (double)(ch_clock_ns() - start_ns) / 1e3;
        }
        quiet(0);
        qsort(us, (size_t)rounds, sizeof(*us), compare);
        if (me == 0)
            printf("%s %.2f us\n", kind == 0 ? "put" : "barrier",
                   us[rounds / 2] / (kind == 0 ? 2 : 1));
        meet();
    }
    free(us);
    return 0;
}

static int bandwidth(int rounds)
{
    enum { MIB = 1 << 20 };
    uint64_t start_ns;

    meet();
    if (me == 0) {
        put_once();
        quiet(0);
        start_ns = ch_clock_ns();
        for (int i = 0; i < rounds; i++)
            ch_net_verbs.put(net, 0, 1, shared->heap[1], heap, MIB);
        quiet(0);
        printf("bandwidth %.2f MB/s\n",
               (double)rounds * MIB / ((double)(ch_clock_ns() - start_ns) / 1e3));
    }
    meet();
    return 0;
}

static int run(const char *what, const char *argument)
{
    int status = 0;

    (void)alarm(SECONDS_MAX);
    start();
    if (strcmp(what, "check") == 0) status = check_all();
    if (strcmp(what, "latency") == 0) status = latency(atoi(argument));
    if (strcmp(what, "bandwidth") == 0) status = bandwidth(atoi(argument));
    if (strcmp(what, "fault") == 0) return fault(argument);
    stop();
    return status;
}

int main(int argc, char **argv)
{
    int status, failed = 0;

    if (argc != 3) return 2;
    n = strcmp(argv[1], "check") == 0 ? (uint32_t)atoi(argv[2]) : 2;
    if (n < 2 || n > PES_MAX) return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 1;
    for (me = 0; me < n; me++)
        if (fork() == 0) {
            status = run(argv[1], argv[2]);
            return status;
        }
    while (wait(&status) > 0)
        failed += status != 0 && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    printf("%s %s: %s\n", argv[1], argv[2], failed == 0 ? "passed" : "failed");
    return failed != 0;
}

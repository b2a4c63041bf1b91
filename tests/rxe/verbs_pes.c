/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs_pes.c: two PEs as processes over the verbs network alone, without the rest of the
 * library.
 *
 *   verbs_pes fork ROUNDS      children of a PE use its memory and end, and do no harm
 *   verbs_pes doze ROUNDS      a PE that has said that it sleeps is woken by each word
 *   verbs_pes fault NAME       a fault, and the message that it leads to
 *   verbs_pes latency ROUNDS   medians of a put of 8 bytes, one way, and of a barrier
 *   verbs_pes bandwidth ROUNDS MiB/s of puts of 1 MiB
 */
#include "base/clock.h"
#include "base/exec_host.h"
#include "transport/link.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PES = 2, SECONDS_MAX = 100 };
#define HEAP_BYTES ((size_t)8 << 20)
#define HALF_BYTES (HEAP_BYTES / 2)

/* What the PEs share besides the network, in place of the control plane of a job. */
static struct shared {
    uint32_t arrived, is_over;
    char cards[PES][CH_LINK_ADDRESS_BYTES];
    char *heap[PES];
    uint64_t keys[PES][2];
} * shared;

static uint32_t me;
static struct ch_endpoint *ep;
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

static void put_word(struct ch_endpoint *from, uint32_t ctx, uint32_t pe, uint64_t *word,
                     uint64_t value)
{
    const struct ch_put_signal put = {.word = word, .op = CH_AMO_SET, .value = value};

    CHECK(ch_link_verbs.put_signal(from, ctx, pe, &put) == CHORUS_OK);
}

static void step(void)
{
    bool moved = false;

    CHECK(ch_link_verbs.progress(ep, &moved) == CHORUS_OK);
    if (!moved) (void)sched_yield();
}

/* All have come; meanwhile peers are served. */
static void meet(void)
{
    static uint32_t round;

    round++;
    (void)__atomic_add_fetch(&shared->arrived, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&shared->arrived, __ATOMIC_SEQ_CST) < round * PES)
        if (ep != NULL && round > 2)
            step();
        else
            (void)sched_yield();
}

static void quiet(uint32_t ctx)
{
    while (!ch_link_verbs.is_done(ep, ctx, CH_LINK_ALL))
        step();
}

static void wait_word(const char *at, uint64_t value)
{
    while (ch_word_load((const uint64_t *)(const void *)at) < value)
        step();
}

static void learn(uint32_t pe)
{
    for (size_t half = 0; half < 2; half++) {
        const struct ch_memory_part part = {.base = shared->heap[pe] + half * HALF_BYTES,
                                            .bytes = HALF_BYTES};

        CHECK(ch_link_verbs.add_peer_key(ep, pe, &part, shared->keys[pe][half]) == CHORUS_OK);
    }
}

static void start(void)
{
    static uint32_t nodes[PES] = {0, 1};
    static const char *const hosts[PES] = {"alpha", "beta"};
    const struct ch_link_terms terms = {.options = &options,
                                        .me = me,
                                        .n = PES,
                                        .nodes = nodes,
                                        .hosts = hosts,
                                        .secret = "of the test",
                                        .door = &door};

    CHECK(ch_options_read(&options) == CHORUS_OK);
    CHECK(ch_link_verbs.open(&terms, &ep) == CHORUS_OK);
    ch_link_verbs.address(ep, shared->cards[me]);
    heap = mmap(NULL, HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(heap != MAP_FAILED);
    shared->heap[me] = heap;
    for (size_t half = 0; half < 2; half++) {
        const struct ch_memory_part part = {.base = heap + half * HALF_BYTES,
                                            .bytes = HALF_BYTES};

        CHECK(ch_link_verbs.attach(ep, &part, &shared->keys[me][half]) == CHORUS_OK);
    }
    meet();
    CHECK(ch_link_verbs.meet(ep, (const char(*)[CH_LINK_ADDRESS_BYTES])shared->cards) ==
          CHORUS_OK);
    for (uint32_t pe = 0; pe < PES; pe++)
        learn(pe);
    meet();
}

static void stop(void)
{
    meet();
    ch_link_verbs.close(ep);
    (void)munmap(heap, HEAP_BYTES);
}

#define WORD_AT 64   /* a word that says, */
#define DATA_AT 4099 /* and data, from an odd address on */

/* --- children --- */

static void use_and_end(void)
{
    volatile char sum = 0;

    for (size_t i = 0; i < HEAP_BYTES; i += 4096)
        sum = (char)(sum + heap[i]);
    _exit(0);
}

static int forks(int rounds)
{
    enum { BYTES = 100000 };
    char *const source = heap + HALF_BYTES;

    for (int round = 1; round <= rounds; round++) {
        const pid_t child = fork();
        int status;

        if (child == 0) use_and_end();
        memset(source, (int)(round + (int)me), BYTES);
        ch_link_verbs.put(ep, 0, 1 - me, shared->heap[1 - me] + DATA_AT, source, BYTES);
        put_word(ep, 0, 1 - me, (uint64_t *)(void *)(shared->heap[1 - me] + WORD_AT),
                 (uint64_t)round);
        wait_word(heap + WORD_AT, (uint64_t)round);
        for (size_t i = 0; i < BYTES; i++)
            CHECK(heap[DATA_AT + i] == (char)(round + 1 - (int)me));
        quiet(0);
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        meet();
    }
    return 0;
}

/* --- faults --- */

/* Until the network fails, at most 20 s; the message has `part` in it. */
static int expect(const char *part)
{
    const uint64_t start_ns = ch_clock_ns();
    bool moved;

    while (ch_link_verbs.progress(ep, &moved) == CHORUS_OK)
        CHECK(ch_clock_ns() - start_ns < 20 * CH_NS_PER_S);
    printf("after %.1f s: %s\n", (double)(ch_clock_ns() - start_ns) / 1e9, ch_error_message());
    CHECK(strstr(ch_error_message(), part) != NULL);
    CHECK(!ch_link_verbs.is_done(ep, 0, 1));
    return 0;
}

static void put_once(void)
{
    ch_link_verbs.put(ep, 0, 1, shared->heap[1] + DATA_AT, heap + DATA_AT, 4096);
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
        const struct ch_memory_part part = {.base = shared->heap[1], .bytes = HALF_BYTES};

        if (me == 1) return expect("PE 0 on host alpha");
        ch_link_verbs.drop_peer_key(ep, 1, shared->heap[1]);
        CHECK(ch_link_verbs.add_peer_key(ep, 1, &part, 12345) == CHORUS_OK);
        put_once();
        return expect("the memory key");
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

/* --- sleep --- */

#define HEARD_NS (100 * CH_NS_PER_MS) /* in which a message comes */

static void sleep_until(const char *at, uint64_t value)
{
    enum { PATIENCE_MS = 20000 };

    for (bool moved = true; ch_word_load((const uint64_t *)(const void *)at) < value;) {
        struct pollfd fd = {.events = POLLIN};

        ch_link_verbs.sleep(ep); /* again, as a knock for the word before may come late */
        fd.fd = ch_link_verbs.watch(ep);
        if (!moved && fd.fd >= 0) CHECK(poll(&fd, 1, PATIENCE_MS) == 1);
        moved = false;
        CHECK(ch_link_verbs.progress(ep, &moved) == CHORUS_OK);
    }
}

static int doze(uint64_t rounds)
{
    char *const there = shared->heap[1] + WORD_AT;

    for (uint64_t i = 1; i <= rounds; i++) {
        const uint64_t since_ns = ch_clock_ns();

        meet();
        if (me == 1 && i == 1) wait_word(heap + WORD_AT, i); /* the link is not made yet */
        if (me == 1 && i > 1) sleep_until(heap + WORD_AT, i);
        if (me == 1) continue;
        while (ch_clock_ns() - since_ns < HEARD_NS)
            step();
        if (i % 2 == 0)
            put_word(ep, 0, 1, (uint64_t *)(void *)there, i);
        else
            ch_link_verbs.put(ep, 0, 1, there, &i, sizeof(i));
        quiet(0);
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Microseconds from round to round: PE 0 puts 8 bytes and PE 1 answers, or each says a word. As
 * in perftest, the clock is read once a round. */
static void time_rounds(bool is_barrier, uint64_t rounds, uint64_t *ns)
{
    char *const there = shared->heap[1 - me] + WORD_AT;

    memset(heap + WORD_AT, 0, 8);
    meet();
    for (uint64_t i = 1; i <= rounds; i++) {
        ns[i - 1] = ch_clock_ns();
        if (is_barrier) put_word(ep, 0, 1 - me, (uint64_t *)(void *)there, i);
        if (!is_barrier && me == 0) ch_link_verbs.put(ep, 0, 1, there, &i, 8);
        for (uint32_t looks = 1; ch_word_load((uint64_t *)(void *)(heap + WORD_AT)) < i;
             looks++)
            if (looks % 4 == 0) {
                bool moved = false;

                CHECK(ch_link_verbs.progress(ep, &moved) == CHORUS_OK);
            }
        if (!is_barrier && me == 1) ch_link_verbs.put(ep, 0, 0, there, &i, 8);
    }
    ns[rounds] = ch_clock_ns();
    quiet(0);
    meet();
}

static int latency(int rounds)
{
    uint64_t *ns = calloc((size_t)rounds + 1, sizeof(*ns));
    double *us = calloc((size_t)rounds, sizeof(*us));

    for (int is_barrier = 0; is_barrier < 2; is_barrier++) {
        time_rounds(is_barrier, (uint64_t)rounds, ns);
        for (int i = 0; i < rounds; i++)
            us[i] = (double)(ns[i + 1] - ns[i]) / 1e3 / (is_barrier ? 1 : 2);
        qsort(us, (size_t)rounds, sizeof(*us), compare);
        if (me == 0) printf("%s %.2f us\n", is_barrier ? "barrier" : "put", us[rounds / 2]);
    }
    free(us);
    free(ns);
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
            ch_link_verbs.put(ep, 0, 1, shared->heap[1], heap, MIB);
        quiet(0);
        printf("bandwidth %.2f MiB/s\n",
               (double)rounds / ((double)(ch_clock_ns() - start_ns) / 1e9));
        __atomic_store_n(&shared->is_over, 1, __ATOMIC_RELEASE);
    }
    /* The target needs no core for writes, as that of ib_write_bw does not. */
    for (; __atomic_load_n(&shared->is_over, __ATOMIC_ACQUIRE) == 0; usleep(1000))
        step();
    meet();
    return 0;
}

static int run(const char *what, const char *argument)
{
    int status = 0;

    (void)alarm(SECONDS_MAX);
    start();
    if (strcmp(what, "fork") == 0) status = forks(atoi(argument));
    if (strcmp(what, "doze") == 0) status = doze((uint64_t)atoi(argument));
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
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 1;
    for (me = 0; me < PES; me++)
        if (fork() == 0) {
            status = run(argv[1], argv[2]);
            return status;
        }
    while (wait(&status) > 0)
        failed += status != 0 && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    printf("%s %s: %s\n", argv[1], argv[2], failed == 0 ? "passed" : "failed");
    return failed != 0;
}

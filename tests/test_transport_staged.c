/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network staged over tcp and over loop, which executes puts in any order: PEs with memory
 * on GPUs, whose copies end late, and which the CPU cannot access (late_gpu.h).
 */
#include "gpu_loop.h"
#include "late_gpu.h"
#include "net_pes.h"
#include "staged_net.h"
#include "transport/staged/inside.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEEDS = 6, ROUNDS = 60, REGIONS = 3, PUTS = 3, CTX = 0, OTHER = 1, POISON = 0x5a };

/* A pinned memory that leaves slots of about 8 KiB to 2 or 3 PEs; puts have up to 3 chunks. */
enum { PINNED = 64 << 10, MOST = 24 << 10, PART = MOST + 64 };

static const struct ch_link_ops *const ops = &staged_net_ops;

/* A PE with an object on its GPU and one in host memory, of words and regions each. */
enum {
    WORDS = 64,
    SOURCE_BYTES = REGIONS * PUTS * PART,
    BYTES = WORDS * 8 + SOURCE_BYTES,
    GPU_PARTS = 3
};
struct side {
    struct net_pe net; /* its memory is the object in host memory */
    char *gpu, *gpu_there[NET_PES_MAX];
    char *source; /* on the GPU */
    char *host;   /* a source in host memory */
    uint64_t random;
};

/* Attach memory on the GPU, which peers find at there_out: where the inner network attaches it
 * too, in parts, some of which that may refuse. */
static void attach_gpu(struct side *s, char *memory, size_t bytes, char *there_out[NET_PES_MAX])
{
    const size_t n = staged_net.is_direct ? GPU_PARTS : 1, each = bytes / n / 8 * 8;
    char *rest[NET_PES_MAX];

    for (size_t i = 0; i < n; i++) {
        const size_t part = i + 1 < n ? each : bytes - i * each;
        uint64_t key = 0;

        net_pe_attach(&s->net, memory + i * each, part, &key);
        EXPECT(staged_net.is_direct || key == CH_STAGED_GPU_KEY);
        net_pe_share(&s->net, memory + i * each, part, key, i == 0 ? there_out : rest);
    }
}

static void detach_gpu(struct side *s, char *memory, size_t bytes)
{
    const size_t n = staged_net.is_direct ? GPU_PARTS : 1, each = bytes / n / 8 * 8;

    for (size_t i = 0; i < n; i++)
        ops->detach(s->net.ep, memory + i * each);
}

static void side_open(struct side *s, struct ch_boot *boot)
{
    char *unused[NET_PES_MAX];

    memset(s, 0, sizeof(*s));
    net_pe_open(&s->net, boot, ops, BYTES, 1);
    s->gpu = late_gpu_alloc(BYTES);
    s->source = late_gpu_alloc(SOURCE_BYTES);
    s->host = calloc(1, SOURCE_BYTES);
    s->random = 1 + boot->me + 31 * staged_net.seed;
    attach_gpu(s, s->gpu, BYTES, s->gpu_there);
    if (staged_net.is_direct) attach_gpu(s, s->source, SOURCE_BYTES, unused);
    EXPECT(fake.urgent_streams >= 2);
    net_pe_meet(&s->net);
}

/* Not collective, as after a failure. */
static void side_end(struct side *s)
{
    net_pe_close(&s->net);
    late_gpu_free(s->gpu);
    late_gpu_free(s->source);
    free(s->host);
}

static void side_close(struct side *s)
{
    net_pe_meet(&s->net);
    detach_gpu(s, s->gpu, BYTES);
    if (staged_net.is_direct) detach_gpu(s, s->source, SOURCE_BYTES);
    side_end(s);
}

static uint32_t draw(struct side *s, uint32_t below)
{
    s->random ^= s->random << 13; /* xorshift64 */
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return (uint32_t)(s->random >> 33) % below;
}

/* What was sent has arrived. Else the process ends: other PEs may wait for what never comes. */
static void expect_filled(const char *memory, size_t bytes, uint64_t seed)
{
    const bool is_filled = net_is_filled(memory, bytes, seed);

    EXPECT(is_filled);
    if (!is_filled) _exit(EXIT_FAILURE);
}

/* The same on both sides: word i of an object, and one of its parts. */
static char *at_word(char *object, size_t i)
{
    return object + i * sizeof(uint64_t);
}

static char *at_part(char *object, uint64_t round, size_t i)
{
    return object + WORDS * sizeof(uint64_t) + (round % REGIONS * PUTS + i) * PART;
}

static uint64_t load_word(const char *object, size_t i)
{
    const char *word = late_gpu_view(at_word((char *)(uintptr_t)object, i));

    return __atomic_load_n((const uint64_t *)(const void *)word, __ATOMIC_ACQUIRE);
}

static void wait_for_word(struct side *s, const char *object, size_t i, uint64_t least)
{
    while (load_word(object, i) < least && net_pe_step(&s->net))
        ;
}

/* ---- what one round sends, which sender and receiver draw alike ---- */

struct put {
    size_t bytes, shift;
    bool is_from_gpu, is_to_gpu;
};

struct round {
    struct put puts[PUTS];
    uint32_t n;
    bool is_word_on_gpu, is_joined; /* the last put and the word are one put_signal */
};

static struct round draw_round(uint32_t sender, uint64_t number)
{
    struct side s = {.random = 1 + sender + number * 7919 + staged_net.seed * 104729};
    struct round r = {.n = 1 + draw(&s, PUTS)};

    for (uint32_t i = 0; i < r.n; i++) {
        const uint32_t how = draw(&s, 4);

        r.puts[i] = (struct put){.bytes = 1 + draw(&s, draw(&s, 2) == 0 ? 40 : MOST),
                                 .shift = draw(&s, 9),
                                 .is_from_gpu = draw(&s, 3) != 0,
                                 .is_to_gpu = how != 0};
        if (how == 1) r.puts[i].bytes = 8;
    }
    r.is_word_on_gpu = draw(&s, 2) == 0;
    r.is_joined = draw(&s, 2) == 0;
    return r;
}

static uint64_t seed_of(uint32_t sender, uint64_t number, size_t i)
{
    return sender + number * 16 + i * 1000003;
}

/* The sender's part of a round: data that is new, and a word. */
static void send_round(struct side *s, uint64_t number)
{
    const struct round r = draw_round(s->net.me, number);
    const uint32_t to = s->net.next;
    struct ch_put_signal signal = {.op = CH_AMO_SET, .value = number};

    signal.word =
        (uint64_t *)(void *)at_word(r.is_word_on_gpu ? s->gpu_there[to] : s->net.there[to], 0);
    for (uint32_t i = 0; i < r.n; i++) {
        const struct put *p = &r.puts[i];
        char *source = (p->is_from_gpu ? s->source : s->host) +
                       (number % REGIONS * PUTS + i) * PART + p->shift;
        char *there =
            at_part(p->is_to_gpu ? s->gpu_there[to] : s->net.there[to], number, i) + p->shift;

        net_fill(late_gpu_view(source), p->bytes, seed_of(s->net.me, number, i));
        if (i + 1 == r.n && r.is_joined) {
            signal.dest = there;
            signal.source = source;
            signal.bytes = p->bytes;
        } else {
            ops->put(s->net.ep, CTX, to, there, source, p->bytes);
        }
    }
    ops->put_signal(s->net.ep, CTX, to, &signal);
}

/* The receiver's: the word is there, and so is all data. It is poisoned for the next round. */
static void check_round(struct side *s, uint64_t number)
{
    const struct round r = draw_round(s->net.before, number);

    wait_for_word(s, r.is_word_on_gpu ? s->gpu : s->net.memory, 0, number);
    for (uint32_t i = 0; i < r.n; i++) {
        const struct put *p = &r.puts[i];
        char *part = late_gpu_view(at_part(p->is_to_gpu ? s->gpu : s->net.memory, number, i));

        expect_filled(part + p->shift, p->bytes, seed_of(s->net.before, number, i));
        EXPECT(number <= REGIONS || p->shift == 0 || part[p->shift - 1] == POISON);
        EXPECT(number <= REGIONS || part[p->shift + p->bytes] == POISON);
    }
    for (uint32_t i = 0; i < PUTS; i++) {
        memset(late_gpu_view(at_part(s->gpu, number, i)), POISON, PART);
        memset(late_gpu_view(at_part(s->net.memory, number, i)), POISON, PART);
    }
}

/* Rounds in which each PE sends to the next one, some rounds ahead of what that has checked. A
 * source changes once it was sent. */
static void litmus_main(struct ch_boot *boot)
{
    struct side s;

    side_open(&s, boot);
    for (uint64_t number = 1; number <= ROUNDS; number++) {
        if (number > REGIONS - 1) wait_for_word(&s, s.net.memory, 1, number - (REGIONS - 1));
        send_round(&s, number);
        if (draw(&s, 2) == 0) {
            net_pe_sent(&s.net, CTX, draw(&s, 2) == 0 ? s.net.next : CH_LINK_ALL);
            memset(late_gpu_view(s.source), 0x33, REGIONS * PUTS * PART);
            memset(s.host, 0x33, REGIONS * PUTS * PART);
        } else {
            net_pe_sent(&s.net, CTX, s.net.next); /* the next round uses other regions */
        }
        check_round(&s, number);
        net_put_word(ops, s.net.ep, OTHER, s.net.before,
                     (uint64_t *)(void *)at_word(s.net.there[s.net.before], 1), number);
    }
    net_pe_done(&s.net, CTX, CH_LINK_ALL);
    net_pe_done(&s.net, OTHER, CH_LINK_ALL);
    side_close(&s);
}

static void run(uint32_t n, pes_main pe_main, uint64_t seed, bool is_over_loop)
{
    const int fds = pes_count_fds();

    staged_net.is_all_on_gpu = false;
    late_gpu.claims = false;
    staged_net.is_over_loop = is_over_loop;
    staged_net.seed = seed;
    staged_net.bytes = PINNED * (n - 1);
    net_run(n, pe_main);
    ck_assert_int_eq(pes_count_fds(), fds);
    ck_assert_int_eq(late_gpu.streams, 0);
}

/* The inner network accesses those parts of GPU memory that the seed selects, the first of the
 * object and that of the source among them; with seed 0, all. */
static void run_direct(uint32_t n, pes_main pe_main, uint64_t seed)
{
    gpu_loop.transfers = 0;
    for (uint32_t pe = 0; pe < n; pe++)
        gpu_loop.refused[pe] =
            seed * (UINT64_C(0x9e3779b97f4a7c15) + pe * UINT64_C(0x517cc1b727220a95)) >> 20 &
            ~(uint64_t)(1 | 1 << GPU_PARTS);
    staged_net.is_direct = true;
    fake.flush = gpu_loop_flush;
    run(n, pe_main, seed, true);
    staged_net.is_direct = false;
    ck_assert_uint_ne(gpu_loop.transfers, 0);
    ck_assert_uint_eq(gpu_loop.attached, 0);
    ck_assert((gpu_loop.flushes != 0) == (gpu_loop.flush != CH_STAGED_NO_FLUSH));
}

START_TEST(word__seen__has_all_data_before_it)
{
    run(2 + (uint32_t)_i % 2, litmus_main, (uint64_t)_i, false);
}
END_TEST

START_TEST(word__seen_over_puts_in_any_order__has_all_data_before_it)
{
    run(2 + (uint32_t)_i % 2, litmus_main, (uint64_t)_i, true);
}
END_TEST

START_TEST(word__seen_over_a_network_of_gpus__has_all_data_before_it)
{
    run_direct(2 + (uint32_t)_i % 2, litmus_main, (uint64_t)_i);
}
END_TEST

/* GPUs see data only after a flush. */
START_TEST(word__seen_by_a_gpu_that_must_flush__has_all_data_before_it)
{
    gpu_loop.flush = CH_STAGED_FLUSH_WORDS;
    run_direct(2 + (uint32_t)_i % 2, litmus_main, (uint64_t)_i);
}
END_TEST

/* The queues are also advanced within each call of the inner network. */
START_TEST(word__seen_with_nested_progress__has_all_data_before_it)
{
    staged_net.is_nested = true;
    run(2 + (uint32_t)_i % 2, litmus_main, (uint64_t)_i, true);
    staged_net.is_nested = false;
}
END_TEST

/* A word in a slot comes after many puts that the inner network carries, in any order. */
static void direct_main(struct ch_boot *boot)
{
    enum { DIRECT = 60 };
    struct side s;

    side_open(&s, boot);
    for (uint64_t number = 1; number <= ROUNDS / 3; number++) {
        char *there = at_part(s.net.there[s.net.next], 0, 0);

        net_fill(s.host, DIRECT * 8, number + s.net.me);
        for (size_t i = 0; i < DIRECT; i++)
            ops->put(s.net.ep, CTX, s.net.next, there + i * 8, s.host + i * 8, 8);
        net_put_word(ops, s.net.ep, CTX, s.net.next,
                     (uint64_t *)(void *)at_word(s.gpu_there[s.net.next], 0), number);
        wait_for_word(&s, s.gpu, 0, number);
        expect_filled(at_part(s.net.memory, 0, 0), DIRECT * 8, number + s.net.before);
        net_pe_done(&s.net, CTX, CH_LINK_ALL);
        net_pe_meet(&s.net);
    }
    side_close(&s);
}

START_TEST(word__in_a_slot__comes_after_direct_puts)
{
    run(2 + (uint32_t)_i % 2, direct_main, (uint64_t)_i, true);
}
END_TEST

/* ---- quiet ---- */

/* What is done is there, without a word. */
static void quiet_main(struct ch_boot *boot)
{
    struct side s;

    side_open(&s, boot);
    for (uint64_t number = 1; number <= ROUNDS / 2; number++) {
        const size_t bytes = 1 + draw(&s, MOST);
        const uint32_t ctx = draw(&s, 20);

        net_fill(late_gpu_view(s.source), MOST, number + s.net.me);
        ops->put(s.net.ep, ctx, s.net.next, at_part(s.gpu_there[s.net.next], number, 0),
                 s.source, bytes);
        ops->put(s.net.ep, ctx, s.net.next, at_part(s.net.there[s.net.next], number, 1),
                 s.source, MOST - bytes + 1);
        net_pe_done(&s.net, ctx, number % 2 == 0 ? s.net.next : CH_LINK_ALL);
        memset(late_gpu_view(s.source), POISON, MOST);
        *(size_t *)(void *)s.host = bytes;
        ops->put(s.net.ep, CTX, s.net.next, at_word(s.net.there[s.net.next], 2), s.host, 8);
        net_pe_done(&s.net, CTX, s.net.next);
        net_pe_meet(&s.net);
        expect_filled(late_gpu_view(at_part(s.gpu, number, 0)), load_word(s.net.memory, 2),
                      number + s.net.before);
        expect_filled(at_part(s.net.memory, number, 1), MOST - load_word(s.net.memory, 2) + 1,
                      number + s.net.before);
        memset(late_gpu_view(s.gpu), POISON, BYTES);
        memset(at_part(s.net.memory, 0, 0), POISON, REGIONS * PUTS * PART);
        net_pe_meet(&s.net);
    }
    side_close(&s);
}

START_TEST(quiet__of_slots__means_that_data_is_there)
{
    run(2 + (uint32_t)_i % 2, quiet_main, (uint64_t)_i, false);
}
END_TEST

START_TEST(quiet__over_a_network_of_gpus__means_that_data_is_there)
{
    run_direct(2 + (uint32_t)_i % 2, quiet_main, (uint64_t)_i);
}
END_TEST

START_TEST(quiet__of_gpus_that_must_flush__means_that_data_is_there)
{
    gpu_loop.flush = _i % 2 == 0 ? CH_STAGED_FLUSH_QUIET : CH_STAGED_FLUSH_WORDS;
    run_direct(2 + (uint32_t)_i / 2 % 2, quiet_main, (uint64_t)_i);
}
END_TEST

/* ---- gets ---- */

/* From and to both kinds of memory, several at once, with nothing touched around them. */
static void get_main(struct ch_boot *boot)
{
    struct side s;

    side_open(&s, boot);
    for (uint64_t number = 1; number <= ROUNDS / 3; number++) {
        struct put gets[PUTS];

        net_fill(late_gpu_view(s.gpu), BYTES, number + s.net.me);
        net_fill(s.net.memory, BYTES, number + s.net.me);
        net_pe_meet(&s.net);
        memset(late_gpu_view(s.source), POISON, REGIONS * PUTS * PART);
        memset(s.host, POISON, REGIONS * PUTS * PART);
        for (uint32_t i = 0; i < PUTS; i++) {
            const uint32_t to = i == 0 ? s.net.before : s.net.next;

            gets[i] = (struct put){.bytes = 1 + draw(&s, MOST),
                                   .is_from_gpu = draw(&s, 4) != 0,
                                   .is_to_gpu = draw(&s, 2) == 0};
            ops->get(s.net.ep, CTX, to, (gets[i].is_to_gpu ? s.source : s.host) + i * PART + 16,
                     gets[i].is_from_gpu ? s.gpu_there[to] : s.net.there[to], gets[i].bytes);
        }
        net_pe_done(&s.net, CTX, CH_LINK_ALL);
        for (uint32_t i = 0; i < PUTS; i++) {
            const char *dst =
                late_gpu_view((gets[i].is_to_gpu ? s.source : s.host) + i * PART + 16);

            expect_filled(dst, gets[i].bytes, number + (i == 0 ? s.net.before : s.net.next));
            EXPECT(dst[-1] == POISON && dst[gets[i].bytes] == POISON);
        }
        net_pe_meet(&s.net);
    }
    side_close(&s);
}

START_TEST(get__of_any_memory__fetches_it)
{
    run(2 + (uint32_t)_i % 2, get_main, (uint64_t)_i, _i % 4 == 3);
}
END_TEST

START_TEST(get__over_a_network_of_gpus__fetches_it)
{
    run_direct(2 + (uint32_t)_i % 2, get_main, (uint64_t)_i);
}
END_TEST

/* ---- atomics ---- */

/* Each operation on a word that only this PE changes, behind a put that keeps the slots busy.
 */
static void amo_main(struct ch_boot *boot)
{
    static const struct {
        enum ch_amo op;
        uint64_t value, compare, before, after;
    } steps[] = {
        {CH_AMO_SET, 0xf0, 0, 0, 0xf0},          {CH_AMO_ADD, 0x10, 0, 0xf0, 0x100},
        {CH_AMO_OR, 0x0f, 0, 0x100, 0x10f},      {CH_AMO_AND, 0x107, 0, 0x10f, 0x107},
        {CH_AMO_XOR, 0x101, 0, 0x107, 0x006},    {CH_AMO_FETCH, 0, 0, 0x006, 0x006},
        {CH_AMO_SWAP, 0x77, 0, 0x006, 0x77},     {CH_AMO_COMPARE_SWAP, 1, 2, 0x77, 0x77},
        {CH_AMO_COMPARE_SWAP, 1, 0x77, 0x77, 1}, {CH_AMO_ADD, UINT64_MAX, 0, 1, 0},
    };
    enum { N = sizeof(steps) / sizeof(steps[0]) };
    struct side s;

    side_open(&s, boot);
    for (uint32_t how = 0; how < 8; how++) {
        const bool is_on_gpu = how % 2 == 0, is_behind = how % 4 >= 2;
        const size_t bytes = how < 4 ? 8 : 4;
        char *object = is_on_gpu ? s.gpu_there[s.net.next] : s.net.there[s.net.next];
        uint64_t fetched[N], now[N];

        for (size_t i = 0; i < N; i++) {
            fetched[i] = now[i] = 0x5a5a5a5a5a5a;
            if (is_behind)
                ops->put(s.net.ep, CTX, s.net.next, at_part(s.gpu_there[s.net.next], 0, 0),
                         s.source, MOST);
            ops->amo(s.net.ep, CTX, s.net.next, steps[i].op, at_word(object, 8 + how), bytes,
                     steps[i].value, steps[i].compare, &fetched[i]);
            ops->amo(s.net.ep, CTX, s.net.next, CH_AMO_FETCH, at_word(object, 8 + how), bytes,
                     0, 0, &now[i]);
        }
        net_pe_done(&s.net, CTX, s.net.next);
        for (size_t i = 0; i < N; i++) {
            EXPECT(steps[i].op == CH_AMO_SET || fetched[i] == steps[i].before);
            EXPECT(now[i] == steps[i].after);
        }
    }
    side_close(&s);
}

START_TEST(amo__on_any_memory__returns_the_old_value)
{
    run(2 + (uint32_t)_i % 2, amo_main, (uint64_t)_i, false);
}
END_TEST

/* ---- threads ---- */

enum { FLOOD = 1500, BURSTS = 30 };

struct poster {
    struct side *s;
    pthread_mutex_t *lock;
};

static bool is_done_under_lock(const struct poster *p, uint32_t ctx)
{
    bool is_done, has_moved = false;

    (void)pthread_mutex_lock(p->lock);
    EXPECT(ops->progress(p->s->net.ep, &has_moved) == CHORUS_OK);
    is_done = ops->is_done(p->s->net.ep, ctx, CH_LINK_ALL);
    (void)pthread_mutex_unlock(p->lock);
    if (!has_moved) (void)sched_yield();
    return is_done;
}

/* Fills the queues of the inner network. */
static void *flood(void *arg)
{
    const struct poster *p = arg;
    struct net_pe *net = &p->s->net;

    for (uint64_t i = 1; i <= FLOOD; i++) {
        (void)pthread_mutex_lock(p->lock);
        ops->put(net->ep, OTHER, net->next, at_part(net->there[net->next], 0, 0), p->s->host,
                 200);
        if (i % 64 == 0)
            net_put_word(ops, net->ep, OTHER, net->next,
                         (uint64_t *)(void *)at_word(net->there[net->next], 3), i);
        (void)pthread_mutex_unlock(p->lock);
    }
    while (!is_done_under_lock(p, OTHER))
        ;
    return NULL;
}

/* Two threads of each PE post, and each waits for room while the other posts. */
static void threads_main(struct ch_boot *boot)
{
    pthread_mutex_t *lock = &staged_net.locks[boot->me];
    pthread_t thread;
    struct poster p;
    struct side s;

    (void)pthread_mutex_lock(lock);
    side_open(&s, boot);
    (void)pthread_mutex_unlock(lock);
    p = (struct poster){&s, lock};
    EXPECT(pthread_create(&thread, NULL, flood, &p) == 0);
    for (uint64_t number = 1; number <= BURSTS; number++) {
        (void)pthread_mutex_lock(lock);
        net_fill(late_gpu_view(s.source), MOST, number + s.net.me);
        for (size_t i = 0; i < PUTS; i++)
            ops->put(s.net.ep, CTX, s.net.next, at_part(s.gpu_there[s.net.next], 0, i),
                     s.source, MOST);
        net_put_word(ops, s.net.ep, CTX, s.net.next,
                     (uint64_t *)(void *)at_word(s.net.there[s.net.next], 0), number);
        (void)pthread_mutex_unlock(lock);
        while (!is_done_under_lock(&p, CTX))
            ;
    }
    (void)pthread_join(thread, NULL);
    (void)pthread_mutex_lock(lock);
    net_pe_meet(&s.net);
    EXPECT(load_word(s.net.memory, 0) == BURSTS);
    EXPECT(load_word(s.net.memory, 3) == FLOOD / 64 * 64);
    for (size_t i = 0; i < PUTS; i++)
        expect_filled(late_gpu_view(at_part(s.gpu, 0, i)), MOST, BURSTS + s.net.before);
    side_close(&s);
    (void)pthread_mutex_unlock(lock);
}

START_TEST(threads__that_post__make_way_for_each_other)
{
    staged_net.is_locked = true;
    for (uint32_t pe = 0; pe < 2; pe++)
        (void)pthread_mutex_init(&staged_net.locks[pe], NULL);
    run(2, threads_main, (uint64_t)_i, false);
    staged_net.is_locked = false;
    for (uint32_t pe = 0; pe < 2; pe++)
        (void)pthread_mutex_destroy(&staged_net.locks[pe]);
}
END_TEST

/* ---- operations that are given up, and failures ---- */

/* PE 1 does nothing until PE 0 has given up a get, an atomic and puts; its answers come late.
 */
static void late_answer_main(struct ch_boot *boot)
{
    enum { STEPS = 3000 };
    uint64_t fetched = 0x3333333333333333;
    bool has_moved;
    struct side s;

    side_open(&s, boot);
    if (s.net.me == 0) {
        ops->get(s.net.ep, CTX, 1, s.host, s.gpu_there[1], MOST);
        ops->get(s.net.ep, CTX, 1, s.source, s.gpu_there[1], MOST);
        ops->amo(s.net.ep, CTX, 1, CH_AMO_ADD, at_word(s.gpu_there[1], 0), 8, 1, 0, &fetched);
        ops->put(s.net.ep, CTX, 1, at_part(s.gpu_there[1], 0, 0), s.source + PART, 4 * MOST);
        for (uint64_t i = 0; i < staged_net.seed * 2; i++)
            EXPECT(ops->progress(s.net.ep, &has_moved) == CHORUS_OK);
        ops->abandon(s.net.ep, 1);
        memset(s.host, POISON, MOST);
        memset(late_gpu_view(s.source), POISON, 6 * MOST);
    }
    pes_meet(boot);
    for (int i = 0; i < STEPS; i++) {
        const chorus_status st = ops->progress(s.net.ep, &has_moved);

        EXPECT(s.net.me == 1 || st == CHORUS_ERR_TIMEOUT);
        (void)sched_yield();
    }
    pes_meet(boot);
    if (s.net.me == 0) {
        EXPECT(net_pe_fails(&s.net) == CHORUS_ERR_TIMEOUT &&
               pes_message_has("PE 1 on host beta"));
        EXPECT(pes_message_has(CH_LINK_ABANDONED));
        EXPECT(!ops->is_done(s.net.ep, CTX, 1) && !ops->is_sent(s.net.ep, CTX, 1));
        for (int i = 0; i < MOST; i++)
            EXPECT(s.host[i] == POISON && late_gpu_view(s.source)[i] == POISON);
        EXPECT(fetched == 0x3333333333333333);
    }
    pes_meet(boot);
    ops->detach(s.net.ep, s.gpu);
    side_end(&s);
}

START_TEST(abandon__before_the_answers__drops_them)
{
    run(2, late_answer_main, (uint64_t)_i, false);
}
END_TEST

static uint32_t n_given_up; /* PEs that have given up, of the test that runs */

/* PE 0 gives up a get to its GPU while the copies of the answers are queued there. */
static void copying_main(struct ch_boot *boot)
{
    struct ch_staged_peer *peer;
    bool has_moved;
    struct side s;

    side_open(&s, boot);
    peer = staged_net_inside(s.net.ep)->peers[1 - s.net.me];
    if (s.net.me == 0) {
        ops->get(s.net.ep, CTX, 1, s.source, s.gpu_there[1], MOST);
        while (peer->in_mark == 0) /* its GPU does not work */
            EXPECT(ch_link_staged.progress(staged_net_inside(s.net.ep), &has_moved) ==
                   CHORUS_OK);
        ops->abandon(s.net.ep, 1);
        memset(late_gpu_view(s.source), POISON, MOST);
        __atomic_store_n(&n_given_up, 1, __ATOMIC_RELEASE);
        for (int i = 0; i < 100; i++)
            (void)ops->progress(s.net.ep, &has_moved);
        for (int i = 0; i < MOST; i++)
            EXPECT(late_gpu_view(s.source)[i] == POISON);
    }
    while (s.net.me == 1 && !__atomic_load_n(&n_given_up, __ATOMIC_ACQUIRE))
        (void)ops->progress(s.net.ep, &has_moved);
    pes_meet(boot);
    side_end(&s);
}

START_TEST(abandon__while_answers_are_copied__waits_for_the_copies)
{
    n_given_up = 0;
    run(2, copying_main, 1, false);
}
END_TEST

/* Wrong messages, and what is said of them; the addresses are completed. */
enum address { NOT, OWN_GPU, OWN_HOST, GPU_END, STRAY };
static const struct wrong {
    struct ch_staged_head head;
    enum address there, word;
    const char *says;
} wrongs[] = {
    {{.kind = 0}, NOT, NOT, "its kind is unknown"},
    {{.kind = 9}, NOT, NOT, "its kind is unknown"},
    {{.kind = CH_STAGED_PUT, .bytes = PINNED}, OWN_GPU, NOT, "longer than a slot"},
    {{.kind = CH_STAGED_PUT, .bytes = 8}, STRAY, NOT, "memory that is not attached"},
    {{.kind = CH_STAGED_PUT, .bytes = 8}, GPU_END, NOT, "memory that is not attached"},
    {{.kind = CH_STAGED_PUT, .bytes = 8}, NOT, NOT, "memory that is not attached"},
    {{.kind = CH_STAGED_PUT, .op = 8, .width = 8}, NOT, OWN_GPU, "its operation on a word"},
    {{.kind = CH_STAGED_PUT, .op = 255, .width = 4}, NOT, OWN_HOST, "its operation on a word"},
    {{.kind = CH_STAGED_PUT, .width = 2}, NOT, OWN_HOST, "an aligned one of 4 or 8 bytes"},
    {{.kind = CH_STAGED_PUT, .width = 8, .word = 4}, NOT, OWN_GPU, "an aligned one"},
    {{.kind = CH_STAGED_PUT, .width = 8}, NOT, STRAY, "its word is in memory"},
    {{.kind = CH_STAGED_PUT, .width = 8, .word = 4}, NOT, GPU_END, "its word is in memory"},
    {{.kind = CH_STAGED_PUT, .wants_reply = 1}, NOT, NOT, "the value of no word"},
    {{.kind = CH_STAGED_GET, .bytes = 0}, OWN_GPU, NOT, "it asks for no data"},
    {{.kind = CH_STAGED_GET, .bytes = UINT64_MAX}, OWN_GPU, NOT, "memory that is not attached"},
    {{.kind = CH_STAGED_GET, .bytes = BYTES + 1}, OWN_GPU, NOT, "memory that is not attached"},
    {{.kind = CH_STAGED_GET, .bytes = 8, .width = 8}, OWN_GPU, OWN_GPU, "only puts have"},
    {{.kind = CH_STAGED_REPLY, .bytes = 8, .tag = 1}, NOT, NOT, "nothing that was asked"},
    {{.kind = CH_STAGED_REPLY, .bytes = 101, .tag = 0}, NOT, NOT, "longer than what was asked"},
    {{.kind = CH_STAGED_REPLY, .bytes = 0, .tag = 0}, NOT, NOT, "it answers something else"},
    {{.kind = CH_STAGED_REPLY, .bytes = 8, .tag = 16}, NOT, NOT, "nothing that was asked"},
};
enum { N_WRONGS = sizeof(wrongs) / sizeof(wrongs[0]) };

static uint64_t address_of(const struct side *s, enum address address)
{
    switch (address) {
    case OWN_GPU:
        return (uintptr_t)s->gpu;
    case OWN_HOST:
        return (uintptr_t)s->net.memory;
    case GPU_END: /* of whole pages, so that words there are aligned */
        return (uintptr_t)s->gpu + BYTES - 4;
    case STRAY:
        return (uintptr_t)s->host & ~(uintptr_t)7;
    default:
        return 0;
    }
}

static int wrong; /* of the test that runs */

/* PE 0 finds the message in its queue, as if PE 1 had sent it; it has asked PE 1 for 100 bytes.
 */
static void wrong_main(struct ch_boot *boot)
{
    const struct wrong *w = &wrongs[wrong];
    struct ch_staged_head head = w->head;
    struct ch_staged_peer *peer;
    struct side s;

    side_open(&s, boot);
    memset(late_gpu_view(s.gpu), POISON, BYTES);
    memset(s.net.memory, POISON, BYTES);
    pes_meet(boot);
    if (s.net.me == 0) {
        ops->get(s.net.ep, CTX, 1, s.host, s.gpu_there[1], 100);
        peer = staged_net_inside(s.net.ep)->peers[1];
        head.there += address_of(&s, w->there);
        head.word += address_of(&s, w->word);
        memcpy(peer->inbound, &head, sizeof(head));
        peer->words->filled[0] = 1;
        EXPECT(net_pe_fails(&s.net) == CHORUS_ERR_SYSTEM);
        EXPECT(pes_message_has("PE 1 on host beta (staged over tcp): it sent a wrong message"));
        EXPECT(pes_message_has(w->says));
        ops->abandon(s.net.ep, 1);
    }
    pes_meet(boot);
    for (size_t i = 0; s.net.me == 0 && i < BYTES; i++)
        EXPECT(late_gpu_view(s.gpu)[i] == POISON && s.net.memory[i] == POISON);
    side_end(&s);
}

START_TEST(message__wrong__is_a_failure_that_names_its_sender)
{
    wrong = _i;
    run(2, wrong_main, 1, false);
}
END_TEST

enum counter { FREED, FILLED, REQUESTS };

/* Counts and requests of PE 1 that cannot be. */
static void counts_main(struct ch_boot *boot)
{
    static const char *const says[] = {"it has freed 9 slots, and 0 were sent",
                                       "it sent slot 7 where slot 1 belongs",
                                       "more than 16 requests without an answer"};
    struct ch_staged_head head = {.kind = CH_STAGED_GET, .bytes = BYTES};
    struct ch_staged_peer *peer;
    struct side s;

    side_open(&s, boot);
    pes_meet(boot);
    if (s.net.me == 0) {
        struct ch_endpoint *inside = staged_net_inside(s.net.ep);
        chorus_status st = CHORUS_OK;
        bool has_moved;

        peer = inside->peers[1];
        head.there = (uintptr_t)s.gpu;
        if (wrong == FREED) peer->words->freed = 9;
        if (wrong == FILLED) peer->words->filled[0] = 7;
        for (uint64_t i = 0; wrong == REQUESTS && st == CHORUS_OK && i < 50; i++) {
            const size_t at = i % inside->layout.slots;

            memcpy(peer->inbound + at * (CH_STAGED_HEAD + inside->layout.chunk), &head,
                   sizeof(head));
            peer->words->filled[at] = i + 1;
            st = ops->progress(s.net.ep, &has_moved);
        }
        EXPECT(st != CHORUS_OK || net_pe_fails(&s.net) == CHORUS_ERR_SYSTEM);
        EXPECT(pes_message_has("PE 1 on host beta") && pes_message_has(says[wrong]));
    }
    pes_meet(boot);
    side_end(&s);
}

START_TEST(count__wrong__is_a_failure)
{
    wrong = _i;
    run(2, counts_main, 1, false);
}
END_TEST

/* Store the value in the word: progress finds nothing new, and does not fail. */
static void find_nothing(struct side *s, uint64_t *word, uint64_t value)
{
    bool has_moved = false;

    *word = value;
    for (int i = 0; i < 3; i++)
        EXPECT(ops->progress(s->net.ep, &has_moved) == CHORUS_OK && !has_moved);
}

/* Some networks store words byte by byte: a part of a new one is no news, and no fault. */
static void torn_main(struct ch_boot *boot)
{
    const struct ch_staged_head head = {.kind = CH_STAGED_PUT};
    struct side s;

    side_open(&s, boot);
    pes_meet(boot);
    if (s.net.me == 0) {
        struct ch_endpoint *inside = staged_net_inside(s.net.ep);
        struct ch_staged_peer *peer = inside->peers[1];
        const uint32_t slots = inside->layout.slots;
        uint64_t *const filled = &peer->words->filled[0xff % slots];

        peer->freed = 0xfe; /* as if so many had been */
        peer->taken = peer->posted = 0xfe + slots;
        peer->words->freed = 0xfe;
        peer->begun = peer->ended = peer->credited = 0xff;
        *filled = 0x100 - slots;
        peer->words->filled[0x100 % slots] = 0x101 - slots;
        find_nothing(&s, &peer->words->freed, 0x1fe);
        find_nothing(&s, &peer->words->freed, 0x001);
        EXPECT(peer->freed == 0xfe);
        find_nothing(&s, filled, 0x200 - slots);
        find_nothing(&s, filled, 0);
        EXPECT(peer->begun == 0xff);
        memcpy(peer->inbound + 0xff % slots * (CH_STAGED_HEAD + inside->layout.chunk), &head,
               sizeof(head));
        *filled = 0x100;
        peer->words->freed = 0x101;
        EXPECT(ops->progress(s.net.ep, &(bool){false}) == CHORUS_OK);
        EXPECT(peer->freed == 0x101 && peer->begun == 0x100);
        peer->words->filled[0x100 % slots] = 0x100; /* no part of 0x101 */
        EXPECT(net_pe_fails(&s.net) == CHORUS_ERR_SYSTEM);
    }
    pes_meet(boot);
    side_end(&s);
}

START_TEST(word__stored_in_part__is_not_taken_and_no_failure)
{
    run(2, torn_main, 1, false);
}
END_TEST

/* The GPU takes no work, or what it took fails: both end the waits, and say so. */
static void broken_main(struct ch_boot *boot)
{
    struct side s;

    side_open(&s, boot);
    pes_meet(boot);
    if (s.net.me == 0) {
        late_gpu.refuses = wrong == 0;
        late_gpu.breaks = wrong == 1;
        ops->put(s.net.ep, CTX, 1, at_part(s.gpu_there[1], 0, 0), s.source, MOST);
        EXPECT(net_pe_fails(&s.net) == CHORUS_ERR_SYSTEM);
        EXPECT(pes_message_has("staged over tcp") && pes_message_has("says the test"));
        EXPECT(pes_message_has(wrong == 0 ? "PE 1 on host beta" : "PE 0"));
        EXPECT(!ops->is_done(s.net.ep, CTX, CH_LINK_ALL));
        ops->abandon(s.net.ep, 1);
        ops->put(s.net.ep, CTX, 1, at_part(s.gpu_there[1], 0, 0), s.source, MOST);
        ops->put(s.net.ep, CTX, 1, s.net.there[1], s.host, 8);
    }
    pes_meet(boot);
    side_end(&s);
}

START_TEST(gpu__broken__is_a_failure)
{
    wrong = _i;
    run(2, broken_main, 1, false);
}
END_TEST

/* A peer that has left: the failure of the inner network is that of this one. */
static void left_main(struct ch_boot *boot)
{
    struct side s;

    side_open(&s, boot);
    net_put_word(ops, s.net.ep, CTX, s.net.next,
                 (uint64_t *)(void *)at_word(s.gpu_there[s.net.next], 0), 1);
    wait_for_word(&s, s.gpu, 0, 1);
    net_pe_done(&s.net, CTX, s.net.next);
    net_pe_meet(&s.net);
    if (s.net.me == 1) net_pe_close(&s.net);
    pes_meet(boot);
    if (s.net.me == 0) {
        for (int i = 0; i < 100; i++) /* more than the queues take */
            ops->put(s.net.ep, CTX, 1, at_part(s.gpu_there[1], 0, 0), s.source, MOST);
        EXPECT(net_pe_fails(&s.net) != CHORUS_OK && pes_message_has("PE 1 on host beta"));
        EXPECT(!ops->is_sent(s.net.ep, CTX, 1) && !ops->is_done(s.net.ep, CTX, 1));
        net_pe_close(&s.net);
    }
    late_gpu_free(s.gpu);
    late_gpu_free(s.source);
    free(s.host);
}

START_TEST(peer__that_left__fails_the_link)
{
    run(2, left_main, 1, false);
}
END_TEST

/* ---- start ---- */

START_TEST(layout__of_any_job__fits)
{
    static const size_t limits[] = {4096, 64 << 10, 1 << 20, 16 << 20, 64 << 20};

    for (uint32_t n = 2; n < 5000; n = n * 5 / 4 + 1)
        for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
            const struct ch_staged_layout layout = ch_staged_layout(n, limits[i]);
            const size_t queue = layout.slots * (CH_STAGED_HEAD + layout.chunk);

            if (layout.chunk == 0) continue;
            ck_assert_uint_le(128 + (n - 1) * (sizeof(struct ch_staged_words) + 2 * queue),
                              limits[i]);
            ck_assert(layout.slots == 4 || layout.slots == 8);
            ck_assert(layout.chunk >= 1024 && layout.chunk <= 512 << 10);
            ck_assert_uint_eq(layout.chunk % 64, 0);
        }
    ck_assert_uint_eq(ch_staged_layout(2, 16 << 20).chunk, 512 << 10);
    ck_assert_uint_ge(ch_staged_layout(64, 16 << 20).chunk, 30 << 10);
    ck_assert_uint_ge(ch_staged_layout(256, 8 << 20).chunk, 3 << 10);
    ck_assert_uint_ne(ch_staged_layout(943, 8 << 20).chunk, 0); /* as docs/design/far.md says */
    ck_assert_uint_eq(ch_staged_layout(944, 8 << 20).chunk, 0);
    ck_assert_uint_eq(ch_staged_layout(2, 4096).chunk, 0);
    ck_assert_uint_eq(ch_staged_layout(1, 16 << 20).chunk, 0);
}
END_TEST

static void describe_main(struct ch_boot *boot)
{
    char why[CH_LINK_WHY_BYTES];
    struct side s;

    side_open(&s, boot);
    ops->describe(s.net.ep, s.net.next, why);
    EXPECT(strncmp(why, "staged over tcp: 127.0.0.1", 26) == 0 || strstr(why, "tcp:") != NULL);
    EXPECT((ops->caps(s.net.ep) & (CH_LINK_PASSIVE | CH_LINK_IN_ORDER)) == 0);
    EXPECT((ops->caps(s.net.ep) & CH_LINK_KEYS) != 0);
    side_close(&s);
}

START_TEST(describe__names_both_networks)
{
    run(2, describe_main, 1, false);
}
END_TEST

static struct ch_staged_terms small_terms(void)
{
    return (struct ch_staged_terms){.link = {.me = 0, .n = 2}, .bytes = 4096};
}

START_TEST(open__with_little_memory__says_so)
{
    const struct ch_staged_terms terms = small_terms();
    struct ch_endpoint *ep = NULL;

    ck_assert_int_eq(ch_staged_open(&terms, &ep), CHORUS_ERR_NOMEM);
    ck_assert(pes_message_has("4096 bytes of pinned memory are too few for the queues of 2 "
                              "PEs; start fewer"));
}
END_TEST

static void add_litmus(Suite *suite)
{
    TCase *tcase = tcase_create("litmus");

    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, word__seen__has_all_data_before_it, 0, SEEDS);
    tcase_add_loop_test(tcase, word__seen_over_puts_in_any_order__has_all_data_before_it, 0,
                        SEEDS);
    tcase_add_loop_test(tcase, word__seen_with_nested_progress__has_all_data_before_it, 0,
                        SEEDS);
    tcase_add_loop_test(tcase, word__seen_over_a_network_of_gpus__has_all_data_before_it, 0,
                        SEEDS);
    tcase_add_loop_test(tcase, quiet__over_a_network_of_gpus__means_that_data_is_there, 0,
                        SEEDS);
    tcase_add_loop_test(tcase, word__seen_by_a_gpu_that_must_flush__has_all_data_before_it, 0,
                        SEEDS);
    tcase_add_loop_test(tcase, quiet__of_gpus_that_must_flush__means_that_data_is_there, 0,
                        SEEDS);
    tcase_add_loop_test(tcase, word__in_a_slot__comes_after_direct_puts, 0, SEEDS);
    tcase_add_loop_test(tcase, quiet__of_slots__means_that_data_is_there, 0, SEEDS);
}

static void add_others(Suite *suite)
{
    TCase *tcase = tcase_create("staged");

    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, get__of_any_memory__fetches_it, 0, SEEDS);
    tcase_add_loop_test(tcase, get__over_a_network_of_gpus__fetches_it, 0, SEEDS);
    tcase_add_loop_test(tcase, amo__on_any_memory__returns_the_old_value, 0, SEEDS);
    tcase_add_loop_test(tcase, threads__that_post__make_way_for_each_other, 0, 2);
    tcase_add_loop_test(tcase, abandon__before_the_answers__drops_them, 0, SEEDS);
    tcase_add_test(tcase, abandon__while_answers_are_copied__waits_for_the_copies);
    tcase_add_loop_test(tcase, message__wrong__is_a_failure_that_names_its_sender, 0, N_WRONGS);
    tcase_add_loop_test(tcase, count__wrong__is_a_failure, 0, 3);
    tcase_add_test(tcase, word__stored_in_part__is_not_taken_and_no_failure);
    tcase_add_loop_test(tcase, gpu__broken__is_a_failure, 0, 2);
    tcase_add_test(tcase, peer__that_left__fails_the_link);
    tcase_add_test(tcase, layout__of_any_job__fits);
    tcase_add_test(tcase, describe__names_both_networks);
    tcase_add_test(tcase, open__with_little_memory__says_so);
}

int main(void)
{
    Suite *suite = suite_create("transport_staged");
    SRunner *runner = srunner_create(suite);
    int failed;

    add_litmus(suite);
    add_others(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

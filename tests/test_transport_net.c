/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every network must do, see link.h. A network is a line of `all_networks`; all tests run
 * over each, or over the one that is named on the command line, with PEs that are threads, or
 * processes where one of them is lost.
 */
#include "net_pes.h"

#include <check.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define K ((size_t)1024)
#define M (K * K)

enum { GUARD = 16, ROUNDS = 100, ADDS = 200, CTX_A = 0, CTX_B = 1, FLOOD = 3000 };

/* Of staged_net.h, where that is linked. */
extern const struct ch_link_ops staged_net_ops __attribute__((weak));

/* Those that notice by themselves when a peer is lost come first; the last has memory alone: no
 * keys, no connections, no descriptors. */
static const struct ch_link_ops *const all_networks[] = {
    &ch_link_verbs, &ch_link_tcp, &staged_net_ops, &ch_link_ofi, &ch_link_loop};
enum {
    N_ALL = sizeof(all_networks) / sizeof(all_networks[0]),
    N_REAL = N_ALL - 1,
    N_NOTICING = N_REAL - 1,
};
static const struct ch_link_ops *networks[N_ALL]; /* those of this run */

static const struct ch_link_ops *ops; /* of the test that runs */

/* Libfabric clears tens of megabytes for each PE that opens it, so fewer do by default. */
static bool is_brief(const struct ch_link_ops *network)
{
    return network == &ch_link_ofi && getenv("CHORUS_TEST_FULL") == NULL;
}

static char *place(const struct net_pe *pe, uint32_t to, size_t offset)
{
    return pe->there[to] + offset;
}

static uint64_t *word_of(const struct net_pe *pe, uint32_t to, size_t i)
{
    return (uint64_t *)(void *)(pe->there[to] + i * sizeof(uint64_t));
}

/* ---- data ---- */

static const size_t all_bytes[] = {
    1,    2,    3,    4,    7,    8,    9,     16,    63,    100,   104,       105,   128,
    1000, 8167, 8168, 8169, 8192, 8193, 65535, 65536, 70001, M - 1, 3 * M + 5, 16 * M};

/* From the PE before, at `at`, with nothing touched around it. */
static void expect_arrived(struct net_pe *pe, size_t at, size_t bytes, uint64_t seed)
{
    EXPECT(net_is_filled(pe->memory + at, bytes, seed + pe->before));
    for (size_t i = 1; i <= GUARD; i++)
        EXPECT(pe->memory[at - i] == 0x5a && pe->memory[at + bytes + i - 1] == 0x5a);
}

static void put_main(struct ch_boot *boot)
{
    char *source = malloc(16 * M + 8);
    struct net_pe pe;

    net_pe_open(&pe, boot, ops, 16 * M + 64, 1);
    for (size_t s = 0; s < sizeof(all_bytes) / sizeof(all_bytes[0]); s++)
        for (size_t shift = 0; shift<8; shift += all_bytes[s]> M ? 5 : 1) {
            const size_t bytes = all_bytes[s], at = GUARD + (shift * 3) % 8;

            memset(pe.memory, 0x5a, bytes + 2 * GUARD + 8);
            net_fill(source + shift, bytes, s * 8 + shift + pe.me);
            net_pe_meet(&pe);
            ops->put(pe.ep, CTX_A, pe.next, place(&pe, pe.next, at), source + shift, bytes);
            net_pe_done(&pe, CTX_A, pe.next);
            net_pe_meet(&pe);
            expect_arrived(&pe, at, bytes, s * 8 + shift);
        }
    net_pe_meet(&pe);
    net_pe_close(&pe);
    free(source);
}

static void get_main(struct ch_boot *boot)
{
    char *dest = malloc(16 * M + 64);
    struct net_pe pe;

    net_pe_open(&pe, boot, ops, 16 * M + 64, 1);
    for (size_t s = 0; s < sizeof(all_bytes) / sizeof(all_bytes[0]); s++) {
        const size_t bytes = all_bytes[s], at = s % 9, to = 1 + s % 7;

        net_fill(pe.memory + at, bytes, s + pe.me);
        memset(dest, 0x5a, bytes + 32);
        net_pe_meet(&pe);
        ops->get(pe.ep, CTX_A, pe.next, dest + to, place(&pe, pe.next, at), bytes);
        net_pe_done(&pe, CTX_A, CH_LINK_ALL);
        EXPECT(net_is_filled(dest + to, bytes, s + pe.next));
        EXPECT(dest[to - 1] == 0x5a && dest[to + bytes] == 0x5a);
        net_pe_meet(&pe);
    }
    net_pe_close(&pe);
    free(dest);
}

/* ---- order ---- */

/* Rounds of several puts and a word; the reader looks as soon as it sees the word, and answers
 * with a word after which the next round overwrites. */
static void order_main(struct ch_boot *boot)
{
    enum { DATA = 64, PUTS = 3, BYTES = 20000 };
    char *source = malloc(BYTES * PUTS), *expected = malloc(BYTES * PUTS);
    struct net_pe pe;

    net_pe_open(&pe, boot, ops, DATA + BYTES * PUTS, 1);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        const size_t bytes = 1 + (round * 7919) % BYTES;

        net_fill(source, BYTES * PUTS, round + pe.me);
        for (size_t i = 0; i < PUTS; i++)
            ops->put(pe.ep, CTX_A, pe.next, place(&pe, pe.next, DATA + i * BYTES),
                     source + i * BYTES, bytes);
        net_put_word(ops, pe.ep, CTX_A, pe.next, word_of(&pe, pe.next, 0), round);
        net_pe_word(&pe, word_of(&pe, pe.me, 0), round);
        net_fill(expected, BYTES * PUTS, round + pe.before);
        for (size_t i = 0; i < PUTS; i++)
            EXPECT(memcmp(pe.memory + DATA + i * BYTES, expected + i * BYTES, bytes) == 0);
        memset(pe.memory + DATA, 0x5a, BYTES * PUTS);
        net_put_word(ops, pe.ep, CTX_A, pe.before, word_of(&pe, pe.before, 1), round);
        net_pe_word(&pe, word_of(&pe, pe.me, 1), round);
        net_pe_sent(&pe, CTX_A, CH_LINK_ALL);
    }
    net_pe_meet(&pe);
    net_pe_close(&pe);
    free(source);
    free(expected);
}

/* One round with a posted receive: the message for the slot, which may come behind another one,
 * is of so many bytes or, in some rounds, shorter than what is wanted. */
struct receive_round {
    uint64_t round;
    size_t bytes, wanted;
    bool is_behind, is_early; /* the sender waits until the receive is posted */
};

enum { RECEIVE_DATA = 64, RECEIVE_OTHER = 3000, RECEIVE_SLOT = RECEIVE_DATA + RECEIVE_OTHER };

static struct receive_round receive_round(uint64_t round)
{
    static const size_t sizes[] = {105, 1024, 8192, 16384, 16871, 16872, 16873, 40000, 3 * M};
    const size_t bytes = sizes[round % (sizeof(sizes) / sizeof(sizes[0]))];
    const struct receive_round r = {round, bytes, round % 5 == 0 ? bytes + 1 : bytes,
                                    round % 3 == 0, round % 2 == 0};

    return r;
}

static void receive_send(struct net_pe *pe, const struct receive_round *r, char *source)
{
    net_fill(source, r->bytes, r->round + pe->me);
    if (r->is_early) net_pe_word(pe, word_of(pe, pe->me, 1), r->round);
    if (r->is_behind)
        ops->put(pe->ep, CTX_A, pe->next, place(pe, pe->next, RECEIVE_DATA), source,
                 r->bytes < RECEIVE_OTHER ? r->bytes : RECEIVE_OTHER);
    ops->put(pe->ep, CTX_A, pe->next, place(pe, pe->next, RECEIVE_SLOT), source, r->bytes);
    net_put_word(ops, pe->ep, CTX_A, pe->next, word_of(pe, pe->next, 0), r->round);
}

/* The whole message is where `received` says, and the one before it where it belongs. */
static void receive_main(struct ch_boot *boot)
{
    char *source = malloc(4 * M), *expected = malloc(4 * M), *dst = malloc(4 * M);
    struct net_pe pe;

    net_pe_open(&pe, boot, ops, RECEIVE_SLOT + 4 * M, 1);
    for (uint64_t round = 1; round <= ROUNDS && ops->receive != NULL; round++) {
        const struct receive_round r = receive_round(round);
        bool is_posted, is_there;

        is_posted = ops->receive(pe.ep, pe.before, pe.memory + RECEIVE_SLOT, dst, r.wanted);
        EXPECT(!is_posted || !ops->receive(pe.ep, pe.before, pe.memory, dst, r.wanted));
        net_put_word(ops, pe.ep, CTX_A, pe.before, word_of(&pe, pe.before, 1), round);
        receive_send(&pe, &r, source);
        if (round % 7 == 0 && is_posted) /* given up at any time */
            is_posted = net_pe_step(&pe) && ops->received(pe.ep, pe.before);
        net_pe_word(&pe, word_of(&pe, pe.me, 0), round);
        is_there = is_posted && (round % 7 == 0 || ops->received(pe.ep, pe.before));
        EXPECT(is_there == is_posted || !r.is_early || r.wanted != r.bytes || round == 1);
        EXPECT(!is_there || r.wanted == r.bytes);
        net_fill(expected, r.bytes, round + pe.before);
        EXPECT(memcmp(is_there ? dst : pe.memory + RECEIVE_SLOT, expected, r.bytes) == 0);
        EXPECT(!r.is_behind || memcmp(pe.memory + RECEIVE_DATA, expected,
                                      r.bytes < RECEIVE_OTHER ? r.bytes : RECEIVE_OTHER) == 0);
        memset(pe.memory + RECEIVE_DATA, 0x5a, RECEIVE_OTHER); /* the next may come in `meet` */
        net_pe_sent(&pe, CTX_A, CH_LINK_ALL);
        net_pe_meet(&pe);
    }
    net_pe_meet(&pe);
    net_pe_close(&pe);
    free(source);
    free(expected);
    free(dst);
}

/* A source changes right after is_sent, for which a get is not waited: it has no source. */
static void sent_main(struct ch_boot *boot)
{
    char *source = malloc(M);
    struct net_pe pe;

    net_pe_open(&pe, boot, ops, 64 + M, 1);
    for (uint64_t round = 1; round <= 20; round++) {
        const size_t bytes = round % 2 == 0 ? M : 50 * round;

        net_fill(source, bytes, round + pe.me);
        ops->put(pe.ep, CTX_A, pe.next, place(&pe, pe.next, 64), source, bytes);
        net_put_word(ops, pe.ep, CTX_A, pe.next, word_of(&pe, pe.next, 0), round);
        net_pe_sent(&pe, CTX_A, pe.next);
        memset(source, 0x5a, bytes);
        net_pe_word(&pe, word_of(&pe, pe.me, 0), round);
        EXPECT(net_is_filled(pe.memory + 64, bytes, round + pe.before));
        net_pe_done(&pe, CTX_A, pe.next);
        ops->get(pe.ep, CTX_A, pe.next, source, place(&pe, pe.next, 64), bytes);
        EXPECT(ops->is_sent(pe.ep, CTX_A, pe.next));
        net_pe_done(&pe, CTX_A, pe.next);
        net_pe_meet(&pe);
    }
    net_pe_close(&pe);
    free(source);
}

/* Both contexts have something under way; each is asked for by itself, and all peers at once.
 */
static void contexts_main(struct ch_boot *boot)
{
    struct net_pe pe;
    uint64_t fetched[2];
    char *source = malloc(2 * M);

    net_pe_open(&pe, boot, ops, 64 + 2 * M, 1);
    for (uint64_t round = 1; round <= 10; round++) {
        net_fill(source, 2 * M, round + pe.me);
        ops->put(pe.ep, CTX_A, pe.next, place(&pe, pe.next, 64), source, M);
        ops->put(pe.ep, CTX_B, pe.next, place(&pe, pe.next, 64 + M), source + M, M);
        net_pe_done(&pe, CTX_B, pe.next);
        ops->amo(pe.ep, CTX_B, pe.next, CH_AMO_ADD, word_of(&pe, pe.next, 1), 8, 1, 0,
                 &fetched[1]);
        net_pe_done(&pe, CTX_A, CH_LINK_ALL);
        ops->amo(pe.ep, CTX_A, pe.next, CH_AMO_ADD, word_of(&pe, pe.next, 0), 8, 1, 0,
                 &fetched[0]);
        net_pe_done(&pe, CTX_A, pe.next);
        net_pe_done(&pe, CTX_B, CH_LINK_ALL);
        EXPECT(fetched[0] == round - 1 && fetched[1] == round - 1);
        net_pe_meet(&pe);
        EXPECT(net_is_filled(pe.memory + 64, 2 * M, round + pe.before));
        net_pe_meet(&pe);
    }
    net_pe_close(&pe);
    free(source);
}

/* ---- atomics ---- */

/* Every operation once, on a word of the next PE that nobody else touches. */
static void amo_all(struct net_pe *pe, size_t bytes)
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
    uint64_t *const word = word_of(pe, pe->next, 8);

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        uint64_t fetched = 0x5a5a, now = 0x5a5a;

        ops->amo(pe->ep, CTX_A, pe->next, steps[i].op, word, bytes, steps[i].value,
                 steps[i].compare, &fetched);
        ops->amo(pe->ep, CTX_A, pe->next, CH_AMO_FETCH, word, bytes, 0, 0, &now);
        net_pe_done(pe, CTX_A, pe->next);
        EXPECT(steps[i].op == CH_AMO_SET || fetched == steps[i].before);
        EXPECT(now == steps[i].after);
    }
}

static void amo_main(struct ch_boot *boot)
{
    struct net_pe pe;

    net_pe_open(&pe, boot, ops, 128, 1);
    amo_all(&pe, 8);
    net_pe_meet(&pe);
    amo_all(&pe, 4);
    net_pe_meet(&pe);
    net_pe_close(&pe);
}

/* All others add to words of PE 0 at once, and take turns at one by compare and swap; what has
 * no result is counted too, and a word set after it is seen after it. */
static void amo_together_main(struct ch_boot *boot)
{
    struct net_pe pe;
    uint64_t fetched, seen = 0;

    net_pe_open(&pe, boot, ops, 128, 1);
    for (int i = 0; pe.me != 0 && i < ADDS; i++) {
        ops->amo(pe.ep, CTX_A, 0, CH_AMO_ADD, word_of(&pe, 0, 0), 8, 3, 0, NULL);
        ops->amo(pe.ep, CTX_A, 0, CH_AMO_ADD, word_of(&pe, 0, 1), 4, 1, 0, &fetched);
        do {
            ops->amo(pe.ep, CTX_A, 0, CH_AMO_COMPARE_SWAP, word_of(&pe, 0, 2), 8, seen + 1,
                     seen, &fetched);
            net_pe_done(&pe, CTX_A, 0);
            if (fetched == seen) break;
            seen = fetched;
        } while (true);
    }
    if (pe.me != 0) net_put_word(ops, pe.ep, CTX_A, 0, word_of(&pe, 0, 4 + pe.me), 1);
    for (uint32_t i = 1; pe.me == 0 && i < pe.n; i++)
        net_pe_word(&pe, word_of(&pe, 0, 4 + i), 1);
    if (pe.me == 0) {
        const uint64_t *words = word_of(&pe, 0, 0);
        EXPECT(__atomic_load_n(&words[0], __ATOMIC_ACQUIRE) == 3u * ADDS * (pe.n - 1));
        EXPECT(__atomic_load_n(&words[1], __ATOMIC_ACQUIRE) == 1u * ADDS * (pe.n - 1));
        EXPECT(__atomic_load_n(&words[2], __ATOMIC_ACQUIRE) == 1u * ADDS * (pe.n - 1));
    }
    net_pe_meet(&pe);
    net_pe_close(&pe);
}

/* ---- queues ---- */

/* More of everything, in both directions at once, than any queue takes. */
static void flood_main(struct ch_boot *boot)
{
    enum { BULK = 300000 };
    char *source = malloc(BULK), *dest = malloc(BULK);
    uint64_t fetched[FLOOD], sum = 0;
    struct net_pe pe;

    net_pe_open(&pe, boot, ops, 64 + BULK, 1);
    net_fill(source, BULK, pe.me);
    for (uint32_t i = 0; i < FLOOD; i++) {
        ops->put(pe.ep, CTX_A, pe.next, place(&pe, pe.next, 64), source,
                 i % 50 == 0 ? BULK : 1 + i);
        ops->amo(pe.ep, CTX_B, pe.next, CH_AMO_ADD, word_of(&pe, pe.next, 1), 8, 1, 0,
                 &fetched[i]);
        if (i % 100 == 0) ops->get(pe.ep, CTX_B, pe.next, dest, place(&pe, pe.next, 64), BULK);
        if (i % 3 == 0) net_put_word(ops, pe.ep, CTX_A, pe.next, word_of(&pe, pe.next, 0), i);
    }
    net_pe_done(&pe, CTX_A, CH_LINK_ALL);
    net_pe_done(&pe, CTX_B, CH_LINK_ALL);
    for (uint32_t i = 0; i < FLOOD; i++)
        sum += fetched[i];
    EXPECT(sum == (uint64_t)FLOOD * (FLOOD - 1) / 2);
    net_pe_meet(&pe);
    EXPECT(net_is_filled(pe.memory + 64, BULK, pe.before));
    EXPECT(*word_of(&pe, pe.me, 0) == (FLOOD - 1) / 3 * 3);
    net_pe_meet(&pe);
    net_pe_close(&pe);
    free(source);
    free(dest);
}

/* Who sleeps at the descriptor is woken by all that arrives, and for what it can send again. */
static void watch_main(struct ch_boot *boot)
{
    enum { PATIENCE_MS = 20000 };
    char *source = calloc(1, 8 * M);
    struct net_pe pe;
    bool is_passive;

    net_pe_open(&pe, boot, ops, 64 + 8 * M, 1);
    is_passive = (ops->caps(pe.ep) & CH_LINK_PASSIVE) != 0;
    for (uint64_t round = 1; round <= 30; round++) {
        bool has_moved = true, is_over = false;

        if (round % 10 == 0)
            ops->put(pe.ep, CTX_A, pe.next, place(&pe, pe.next, 64), source, 8 * M);
        net_put_word(ops, pe.ep, CTX_A, pe.next, word_of(&pe, pe.next, 0), round);
        while (!is_over) {
            struct pollfd fd = {ops->watch(pe.ep), POLLIN, 0};

            if (!has_moved && fd.fd >= 0)
                EXPECT(poll(&fd, 1, is_passive ? 1 : PATIENCE_MS) == 1 || is_passive);
            has_moved = false;
            EXPECT(ops->progress(pe.ep, &has_moved) == CHORUS_OK);
            is_over = __atomic_load_n(word_of(&pe, pe.me, 0), __ATOMIC_ACQUIRE) >= round &&
                      ops->is_done(pe.ep, CTX_A, CH_LINK_ALL);
        }
        net_pe_meet(&pe);
    }
    net_pe_close(&pe);
    free(source);
}

static void progress_often(const struct net_pe *pe)
{
    enum { OFTEN = 200 };
    bool has_moved;

    for (int i = 0; i < OFTEN; i++)
        EXPECT(ops->progress(pe->ep, &has_moved) == CHORUS_OK);
}

/* Who sleeps at the descriptor is woken by what arrives, though another thread made progress
 * since. The PEs are connected before, since what they post until then needs progress. */
static void watched_main(struct ch_boot *boot)
{
    enum { PATIENCE_MS = 20000 };
    struct net_pe pe;
    bool is_passive;

    net_pe_open(&pe, boot, ops, 64, 1);
    is_passive = (ops->caps(pe.ep) & CH_LINK_PASSIVE) != 0;
    net_put_word(ops, pe.ep, CTX_A, pe.next, word_of(&pe, pe.next, 1), 1);
    net_pe_word(&pe, word_of(&pe, pe.me, 1), 1);
    net_pe_done(&pe, CTX_A, pe.next);
    net_pe_meet(&pe);
    for (uint64_t round = 1; round <= 5; round++) {
        struct pollfd fd = {ops->watch(pe.ep), POLLIN, 0};

        progress_often(&pe);
        net_pe_meet(&pe);
        net_put_word(ops, pe.ep, CTX_A, pe.next, word_of(&pe, pe.next, 0), round);
        while (__atomic_load_n(word_of(&pe, pe.me, 0), __ATOMIC_ACQUIRE) < round) {
            bool has_moved = false;

            if (fd.fd >= 0)
                EXPECT(poll(&fd, 1, is_passive ? 1 : PATIENCE_MS) == 1 || is_passive);
            EXPECT(ops->progress(pe.ep, &has_moved) == CHORUS_OK);
            fd.fd = ops->watch(pe.ep);
        }
        if (ops->unwatch != NULL) ops->unwatch(pe.ep);
        net_pe_done(&pe, CTX_A, pe.next);
        net_pe_meet(&pe);
        progress_often(&pe);
    }
    net_pe_meet(&pe);
    net_pe_close(&pe);
}

/* ---- memory ---- */

static void grow_main(struct ch_boot *boot)
{
    char *parts[3], *there[NET_PES_MAX], source[1000];
    struct net_pe pe;
    uint64_t key;

    net_pe_open(&pe, boot, ops, 4096, 1);
    for (int i = 0; i < 3; i++) {
        parts[i] = aligned_alloc(4096, 8192);
        memset(parts[i], 0, 8192);
        net_pe_attach(&pe, parts[i], 8192, &key);
        net_pe_share(&pe, parts[i], 8192, key, there);
        net_fill(source, sizeof(source), pe.me + (uint64_t)i);
        ops->put(pe.ep, CTX_A, pe.next, there[pe.next] + 7, source, sizeof(source));
        ops->put(pe.ep, CTX_A, pe.next, place(&pe, pe.next, 9), source, sizeof(source));
        net_pe_done(&pe, CTX_A, pe.next);
        net_pe_meet(&pe);
        EXPECT(net_is_filled(parts[i] + 7, sizeof(source), pe.before + (uint64_t)i));
        EXPECT(net_is_filled(pe.memory + 9, sizeof(source), pe.before + (uint64_t)i));
        if (i == 1) {
            if (ops->drop_peer_key != NULL) ops->drop_peer_key(pe.ep, pe.next, there[pe.next]);
            net_pe_meet(&pe);
            ops->detach(pe.ep, parts[i]);
        }
        net_pe_meet(&pe);
    }
    net_pe_close(&pe);
    for (int i = 0; i < 3; i++)
        free(parts[i]);
}

/* An object of the heap may lie in parts that were attached one after another. */
static void parts_main(struct ch_boot *boot)
{
    enum { PART = 8192 };
    char *memory = aligned_alloc(4096, 3 * PART), *there[NET_PES_MAX], source[2 * PART];
    struct net_pe pe;
    uint64_t key;

    net_pe_open(&pe, boot, ops, 64, 1);
    memset(memory, 0, 3 * PART);
    for (size_t i = 3; i-- > 0;) {
        net_pe_attach(&pe, memory + i * PART, PART, &key);
        net_pe_share(&pe, memory + i * PART, PART, key, there);
    }
    net_fill(source, sizeof(source), pe.me);
    ops->put(pe.ep, CTX_A, pe.next, there[pe.next] + 100, source, sizeof(source));
    net_pe_done(&pe, CTX_A, pe.next);
    net_pe_meet(&pe);
    EXPECT(net_is_filled(memory + 100, sizeof(source), pe.before));
    memset(source, 0x5a, sizeof(source));
    ops->get(pe.ep, CTX_A, pe.next, source, there[pe.next] + 100, sizeof(source));
    net_pe_done(&pe, CTX_A, pe.next);
    EXPECT(net_is_filled(source, sizeof(source), pe.me));
    net_pe_meet(&pe);
    net_pe_close(&pe);
    free(memory);
}

/* A network that cannot access it says why, and serves other memory as before. */
static void gpu_main(struct ch_boot *boot)
{
    static uint64_t somewhere;
    const struct ch_memory_part gpu = {
        .base = &somewhere, .bytes = 1 << 20, .kind = CH_MEMORY_GPU, .dma_buf = -1};
    char source[1000];
    struct net_pe pe;
    uint64_t key;

    if (ops == &staged_net_ops) return; /* which is for such memory */
    net_pe_open(&pe, boot, ops, 4096, 1);
    EXPECT((ops->caps(pe.ep) & CH_LINK_GPU) == 0);
    EXPECT(ops->attach(pe.ep, &gpu, &key) == CHORUS_ERR_UNSUPPORTED);
    EXPECT(pes_message_has("1024 KiB of GPU memory"));
    ops->detach(pe.ep, &somewhere);
    net_fill(source, sizeof(source), pe.me);
    ops->put(pe.ep, CTX_A, pe.next, place(&pe, pe.next, 9), source, sizeof(source));
    net_pe_done(&pe, CTX_A, pe.next);
    net_pe_meet(&pe);
    EXPECT(net_is_filled(pe.memory + 9, sizeof(source), pe.before));
    net_pe_meet(&pe);
    net_pe_close(&pe);
}

static uint32_t n_noticed; /* PEs whose network failed */

/* Memory that its PE did not attach is not touched, and the link ends: on both sides, or on
 * that which notices. */
static void stray_main(struct ch_boot *boot)
{
    char bytes[8] = "stray";
    chorus_status st = CHORUS_OK;
    struct net_pe pe;
    bool has_moved;

    net_pe_open(&pe, boot, ops, 4096, 1);
    memset(pe.memory, 0, pe.bytes);
    net_pe_meet(&pe);
    if (pe.me == 1) ops->put(pe.ep, CTX_A, 0, place(&pe, 0, 4096 - 4), bytes, sizeof(bytes));
    while (st == CHORUS_OK && __atomic_load_n(&n_noticed, __ATOMIC_ACQUIRE) == 0)
        st = ops->progress(pe.ep, &has_moved);
    if (st != CHORUS_OK) {
        (void)__atomic_add_fetch(&n_noticed, 1, __ATOMIC_RELEASE);
        EXPECT(pes_message_has(pe.me == 1 ? "PE 0 on host alpha" : "PE 1 on host beta"));
        /* What is posted now does nothing, and is never over. */
        ops->put(pe.ep, CTX_A, 1 - pe.me, place(&pe, 1 - pe.me, 0), bytes, sizeof(bytes));
        EXPECT(!ops->is_sent(pe.ep, CTX_A, 1 - pe.me));
        EXPECT(!ops->is_done(pe.ep, CTX_A, CH_LINK_ALL));
    }
    pes_meet(boot);
    EXPECT(pe.memory[4092] == 0 && pe.memory[0] == 0);
    net_pe_close(&pe);
}

/* ---- operations that are given up ---- */

enum { GIVEN_UP = 8 * M, SHORT = 480, SEND = 2000, LATER = 2000 };

/* What operations of PE 0 use; `source` is unmapped when they were given up. */
struct lent {
    char *big, *dst, *source, small[SHORT];
    uint64_t fetched;
};

static void lent_open(struct lent *lent)
{
    lent->big = calloc(1, GIVEN_UP);
    lent->dst = calloc(1, GIVEN_UP);
    lent->source = mmap(NULL, SEND, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(lent->source != MAP_FAILED);
}

static void lent_close(struct lent *lent)
{
    free(lent->big);
    free(lent->dst);
}

static void lend(const struct net_pe *pe, struct lent *lent)
{
    ops->get(pe->ep, CTX_A, 1, lent->dst, place(pe, 1, 64), GIVEN_UP);
    ops->get(pe->ep, CTX_B, 1, lent->small, place(pe, 1, 64), SHORT);
    ops->amo(pe->ep, CTX_A, 1, CH_AMO_ADD, word_of(pe, 1, 0), 8, 1, 0, &lent->fetched);
    ops->put(pe->ep, CTX_A, 1, place(pe, 1, 64), lent->big, GIVEN_UP);
    ops->put(pe->ep, CTX_A, 1, place(pe, 1, 64), lent->source, SEND);
}

/* From now on they are the caller's. */
static void give_up(struct net_pe *pe, struct lent *lent)
{
    ops->abandon(pe->ep, 1);
    memset(lent->dst, 0x33, GIVEN_UP);
    memset(lent->small, 0x33, SHORT);
    memset(&lent->fetched, 0x33, sizeof(lent->fetched));
    (void)munmap(lent->source, SEND);
}

static bool is_untouched(const void *memory, size_t bytes)
{
    const char *at = memory;

    for (size_t i = 0; i < bytes; i++)
        if (at[i] != 0x33) return false;
    return true;
}

static void step_often(const struct net_pe *pe, uint64_t steps)
{
    bool has_moved;

    for (uint64_t i = 0; i < steps; i++) {
        (void)ops->progress(pe->ep, &has_moved); /* may fail */
        (void)sched_yield();
    }
}

/* PE 0 gives up when PE 1 has made so many steps, and then both go on. */
static void abandon_after(struct net_pe *pe, uint64_t steps)
{
    struct lent lent = {.fetched = 0};

    lent_open(&lent);
    net_pe_meet(pe);
    if (pe->me == 0) lend(pe, &lent);
    step_often(pe, steps);
    pes_meet(pe->boot);
    if (pe->me == 0) give_up(pe, &lent);
    pes_meet(pe->boot);
    step_often(pe, LATER);
    pes_meet(pe->boot);
    if (pe->me == 0 && steps == 0) { /* else the operations may be over */
        EXPECT(net_pe_fails(pe) != CHORUS_OK && pes_message_has(CH_LINK_ABANDONED));
        EXPECT(!ops->is_done(pe->ep, CTX_A, 1) && !ops->is_sent(pe->ep, CTX_A, CH_LINK_ALL));
    }
    EXPECT(pe->me != 0 || is_untouched(lent.dst, GIVEN_UP));
    EXPECT(pe->me != 0 || is_untouched(lent.small, SHORT));
    EXPECT(pe->me != 0 || is_untouched(&lent.fetched, sizeof(lent.fetched)));
    lent_close(&lent);
}

static uint64_t closed; /* atomic: PE 0 has closed the network of so many steps, and 1 */

/* Operations that were given up, before they began or on their way, use no memory any more. */
static void abandon_main(struct ch_boot *boot)
{
    for (uint64_t steps = 0; steps <= 24; steps += is_brief(ops) ? 8 : 3) {
        struct net_pe pe;

        net_pe_open(&pe, boot, ops, 64 + GIVEN_UP, 1);
        net_put_word(ops, pe.ep, CTX_A, pe.next, word_of(&pe, pe.next, 1), 1);
        net_pe_word(&pe, word_of(&pe, pe.me, 1), 1);
        net_pe_done(&pe, CTX_A, pe.next);
        abandon_after(&pe, steps);
        while (pe.me != 0 && __atomic_load_n(&closed, __ATOMIC_ACQUIRE) != steps + 1)
            step_often(&pe, 1);
        net_pe_close(&pe);
        if (pe.me == 0) __atomic_store_n(&closed, steps + 1, __ATOMIC_RELEASE);
    }
}

/* What is over was not given up: the link remains. */
static void abandon_nothing_main(struct ch_boot *boot)
{
    uint64_t fetched = 0;
    char *source = calloc(1, M);
    struct net_pe pe;

    net_pe_open(&pe, boot, ops, 64 + M, 1);
    for (uint64_t round = 0; round < 3; round++) {
        ops->abandon(pe.ep, pe.next);
        ops->put(pe.ep, CTX_A, pe.next, place(&pe, pe.next, 64), source, M);
        ops->amo(pe.ep, CTX_A, pe.next, CH_AMO_ADD, word_of(&pe, pe.next, 0), 8, 1, 0,
                 &fetched);
        net_pe_done(&pe, CTX_A, pe.next);
        EXPECT(fetched == round);
        ops->amo(pe.ep, CTX_A, pe.next, CH_AMO_ADD, word_of(&pe, pe.next, 1), 8, 1, 0, NULL);
        ops->abandon(pe.ep, pe.next); /* uses no memory */
        net_pe_done(&pe, CTX_A, pe.next);
    }
    net_pe_meet(&pe);
    net_pe_close(&pe);
    free(source);
}

/* ---- the other ends ---- */

/* Both sides use a link for the first time at once, again and again. */
static void first_use_main(struct ch_boot *boot)
{
    const uint64_t uses = is_brief(ops) ? 2 : 8;

    for (uint64_t again = 1; again <= uses; again++) {
        struct net_pe pe;

        net_pe_open(&pe, boot, ops, 64, 1);
        net_pe_meet(&pe);
        for (uint32_t to = 0; to < pe.n; to++)
            if (to != pe.me)
                net_put_word(ops, pe.ep, CTX_A, to, word_of(&pe, to, pe.me), again);
        for (uint32_t from = 0; from < pe.n; from++)
            if (from != pe.me) net_pe_word(&pe, word_of(&pe, pe.me, from), again);
        net_pe_meet(&pe);
        net_pe_close(&pe);
    }
}

/* PE 1 ends without a word while PE 0 waits for it; these are processes. */
static void lost_main(struct ch_boot *boot)
{
    struct net_pe pe;
    char *source = calloc(1, 4 * M);

    net_pe_open(&pe, boot, ops, 64 + 4 * M, 1);
    if (pe.me == 1) {
        net_put_word(ops, pe.ep, CTX_A, 0, word_of(&pe, 0, 0), 1);
        net_pe_word(&pe, word_of(&pe, 1, 0), 1);
        _exit(0);
    }
    net_pe_word(&pe, word_of(&pe, 0, 0), 1);
    net_put_word(ops, pe.ep, CTX_A, 1, word_of(&pe, 1, 0), 1);
    for (int i = 0; i < 10; i++)
        ops->put(pe.ep, CTX_A, 1, place(&pe, 1, 64), source, 4 * M);
    EXPECT(net_pe_fails(&pe) == CHORUS_ERR_ABORTED);
    EXPECT(pes_message_has("PE 1 on host beta"));
    EXPECT(!ops->is_done(pe.ep, CTX_A, 1));
    net_pe_close(&pe);
    free(source);
}

/* A PE that has all it needs closes first; that is no failure for who needs nothing of it. */
static void leave_main(struct ch_boot *boot)
{
    struct net_pe pe;

    net_pe_open(&pe, boot, ops, 64, 1);
    net_put_word(ops, pe.ep, CTX_A, pe.next, word_of(&pe, pe.next, 0), 1);
    net_pe_word(&pe, word_of(&pe, pe.me, 0), 1);
    net_pe_done(&pe, CTX_A, pe.next);
    net_pe_meet(&pe);
    if (pe.me == 0) net_pe_close(&pe);
    pes_meet(boot);
    for (int i = 0; pe.me != 0 && i < 1000; i++)
        (void)net_pe_step(&pe);
    pes_meet(boot);
    if (pe.me != 0) net_pe_close(&pe);
}

static void describe_main(struct ch_boot *boot)
{
    char why[CH_LINK_WHY_BYTES] = "";
    struct net_pe pe;

    net_pe_open(&pe, boot, ops, 64, 1);
    ops->describe(pe.ep, pe.next, why);
    EXPECT(strstr(why, ops->name) != NULL);
    net_put_word(ops, pe.ep, CTX_A, pe.next, word_of(&pe, pe.next, 0), 1);
    net_pe_word(&pe, word_of(&pe, pe.me, 0), 1);
    ops->describe(pe.ep, pe.next, why);
    EXPECT(strstr(why, ops->name) != NULL);
    net_pe_meet(&pe);
    net_pe_close(&pe);
}

/* ---- all of them ---- */

#define ON_THREADS(subject, n)                  \
    START_TEST(subject##__##n##_pes)            \
    {                                           \
        const int fds = pes_count_fds();        \
                                                \
        ops = networks[_i];                     \
        n_noticed = 0;                          \
        net_run(n, subject##_main);             \
        ck_assert_int_eq(pes_count_fds(), fds); \
    }                                           \
    END_TEST

/* clang-format off */
#define THREADS_LIST(X)                                                                     \
    X(put, 2) X(put, 3) X(get, 2) X(get, 3) X(order, 2) X(order, 3) X(sent, 2) X(sent, 3)   \
    X(contexts, 2) X(contexts, 3) X(amo, 2) X(amo, 3) X(amo_together, 2)                    \
    X(amo_together, 4) X(flood, 2) X(flood, 3) \
    X(first_use, 2) X(first_use, 4) X(leave, 2) X(leave, 3) X(describe, 2) \
    X(abandon, 2) X(abandon_nothing, 2) X(gpu, 2)
/* clang-format on */
THREADS_LIST(ON_THREADS)
/* clang-format off */
#define REAL_LIST(X) X(watch, 2) X(watch, 3) X(watched, 2) X(watched, 3) X(grow, 2) \
    X(grow, 3) X(parts, 2) X(stray, 2) X(receive, 2) X(receive, 3)
/* clang-format on */
REAL_LIST(ON_THREADS)

START_TEST(lost__a_process__ends_the_waits)
{
    ops = networks[_i];
    pes_run_processes(2, lost_main);
}
END_TEST

/* Where few PEs open a network, 3 do nothing that 2 or 4 do not. */
static bool is_tried(const struct ch_link_ops *network, int pes)
{
    return pes != 3 || !is_brief(network);
}

/* Can this machine have the network? Else it is left out, saying why. */
static bool is_here(const struct ch_link_ops *network)
{
    static struct ch_options options;
    static struct ch_door door;
    static const uint32_t node = 0;
    static const char *const host = "alpha";
    const ptrdiff_t map = 0;
    const struct ch_link_terms terms = {.options = &options,
                                        .n = 1,
                                        .nodes = &node,
                                        .hosts = &host,
                                        .maps = &map,
                                        .door = &door};
    struct ch_endpoint *ep = NULL;
    chorus_status st;

    st = ch_options_read(&options);
    options.transport = network->name;
    if (st == CHORUS_OK) st = network->open(&terms, &ep);
    if (st != CHORUS_OK) printf("%s is left out: %s\n", network->name, ch_error_message());
    network->close(ep);
    return st == CHORUS_OK;
}

/* NAME: that network; -NAME: all others. */
static bool is_asked(const char *asked, const char *name)
{
    return asked[0] == '-' ? strcmp(asked + 1, name) != 0 : strcmp(asked, name) == 0;
}

int main(int argc, char **argv)
{
    TCase *tcase = tcase_create("net");
    Suite *suite = suite_create("transport_net");
    SRunner *runner = srunner_create(suite);
    int failed, n_networks = 0, n_real = 0, n_noticing = 0;

    for (int i = 0; i < N_ALL; i++) {
        if (all_networks[i] == NULL) continue;
        if (argc > 1 && !is_asked(argv[1], all_networks[i]->name)) continue;
        if (!is_here(all_networks[i])) continue;
        networks[n_networks++] = all_networks[i];
        if (i < N_REAL) n_real = n_networks;
        if (i < N_NOTICING) n_noticing = n_networks;
    }
    if (n_networks == 0) return 77;

    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 100);
#define ADD(subject, n) \
    if (is_tried(networks[i], n)) tcase_add_loop_test(tcase, subject##__##n##_pes, i, i + 1);
    for (int i = 0; i < n_networks; i++) {
        THREADS_LIST(ADD)
    }
    for (int i = 0; i < n_real; i++) {
        REAL_LIST(ADD)
    }
    tcase_add_loop_test(tcase, lost__a_process__ends_the_waits, 0, n_noticing);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of GPUs that the network below `staged` accesses: what goes there directly, what takes
 * slots, and parts that it refuses.
 */
#include "gpu_loop.h"
#include "late_gpu.h"
#include "net_pes.h"
#include "staged_net.h"
#include "transport/staged/inside.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { CTX = 0, BYTES = 48 << 10, HALF = BYTES / 2, FEW = 1000, POISON = 0x5a };

static const struct ch_link_ops *const ops = &staged_net_ops;

/* A PE with an object on its GPU, which it attaches in two parts. */
struct side {
    struct net_pe net; /* its memory is an object in host memory */
    char *gpu, *gpu_there[NET_PES_MAX];
    char *stray;      /* on the GPU, and not attached */
    uint64_t keys[2]; /* of the parts */
    struct ch_staged_peer *peer;
};

static void side_open(struct side *s, struct ch_boot *boot)
{
    char *rest[NET_PES_MAX];

    memset(s, 0, sizeof(*s));
    net_pe_open(&s->net, boot, ops, BYTES, 1);
    s->gpu = late_gpu_alloc(BYTES);
    s->stray = late_gpu_alloc(BYTES);
    for (size_t i = 0; i < 2; i++) {
        net_pe_attach(&s->net, s->gpu + i * HALF, HALF, &s->keys[i]);
        net_pe_share(&s->net, s->gpu + i * HALF, HALF, s->keys[i],
                     i == 0 ? s->gpu_there : rest);
    }
    s->peer = staged_net_inside(s->net.ep)->peers[s->net.next];
    memset(late_gpu_view(s->gpu), POISON, BYTES);
    memset(s->net.memory, POISON, BYTES);
    net_fill(late_gpu_view(s->stray), BYTES, 9);
    net_pe_meet(&s->net);
}

static void side_close(struct side *s)
{
    net_pe_meet(&s->net);
    for (size_t i = 0; i < 2; i++) {
        ops->detach(s->net.ep, s->gpu + i * HALF);
        ops->drop_peer_key(s->net.ep, s->net.next, s->gpu_there[s->net.next] + i * HALF);
    }
    EXPECT(s->peer->parts.n == 0);
    net_pe_close(&s->net);
    late_gpu_free(s->gpu);
    late_gpu_free(s->stray);
}

static void run(pes_main pe_main)
{
    const int fds = pes_count_fds();

    staged_net.is_all_on_gpu = late_gpu.claims = false;
    staged_net.is_over_loop = staged_net.is_direct = true;
    net_run(2, pe_main);
    ck_assert_int_eq(pes_count_fds(), fds);
    ck_assert_uint_eq(gpu_loop.attached, 0);
    ck_assert_uint_eq(gpu_loop.known, 0);
    ck_assert_int_eq(late_gpu.streams, 0);
}

/* Do the operations that were posted, and return how many slots they took. */
static uint64_t slots_of(struct side *s)
{
    static _Thread_local uint64_t before;
    uint64_t n;

    net_pe_done(&s->net, CTX, CH_LINK_ALL);
    n = s->peer->taken - before;
    before = s->peer->taken;
    return n;
}

static void put(struct side *s, char *there, const void *src, size_t bytes)
{
    EXPECT(ops->put(s->net.ep, CTX, s->net.next, there, src, bytes) == CHORUS_OK);
}

static void get(struct side *s, void *dst, const char *there, size_t bytes)
{
    EXPECT(ops->get(s->net.ep, CTX, s->net.next, dst, there, bytes) == CHORUS_OK);
}

/* ---- what goes where ---- */

/* PE 0 does all that it can with the memory of PE 1. */
static void ways_main(struct ch_boot *boot)
{
    char host[FEW];
    struct side s;

    side_open(&s, boot);
    if (s.net.me == 0) {
        char *there = s.gpu_there[1], *host_there = s.net.there[1];
        struct ch_put_signal signal = {.dest = there,
                                       .source = s.gpu,
                                       .bytes = FEW,
                                       .op = CH_AMO_SET,
                                       .word = (uint64_t *)(void *)host_there};

        EXPECT(s.keys[0] != CH_STAGED_GPU_KEY && s.keys[1] != CH_STAGED_GPU_KEY);
        memset(host, 1, sizeof(host));
        put(&s, there, host, FEW);
        put(&s, there, s.gpu + 5, BYTES - 5); /* over both parts */
        put(&s, host_there, s.gpu, FEW);
        EXPECT(slots_of(&s) == 0);
        get(&s, host, there, FEW);
        get(&s, s.gpu, there, BYTES);
        get(&s, s.gpu, host_there, FEW);
        EXPECT(slots_of(&s) == 0);
        (void)ops->put_signal(s.net.ep, CTX, 1, &signal);
        net_put_word(ops, s.net.ep, CTX, 1, (uint64_t *)(void *)host_there, 2);
        EXPECT(slots_of(&s) == 0);
        /* Words of GPUs take slots, without the data before them. */
        signal.word = (uint64_t *)(void *)there;
        (void)ops->put_signal(s.net.ep, CTX, 1, &signal);
        EXPECT(slots_of(&s) == 1 && s.peer->out[0].bytes == CH_STAGED_HEAD);
        net_put_word(ops, s.net.ep, CTX, 1, (uint64_t *)(void *)there, 2);
        EXPECT(slots_of(&s) == 1);
        /* Memory of this GPU that is not attached is staged. */
        put(&s, there, s.stray, FEW);
        EXPECT(slots_of(&s) == 1);
        get(&s, s.stray, there, FEW);
        EXPECT(slots_of(&s) == 1);
    }
    side_close(&s);
}

START_TEST(transfer__between_attached_parts__takes_no_slots)
{
    memset(gpu_loop.refused, 0, sizeof(gpu_loop.refused));
    run(ways_main);
}
END_TEST

/* ---- GPUs that must flush ---- */

/* A quiet after puts to the GPU of PE 1 takes an empty slot, for the flush. */
static void flush_main(struct ch_boot *boot)
{
    const bool is_before_words = gpu_loop.flush == CH_STAGED_FLUSH_WORDS;
    struct side s;

    side_open(&s, boot);
    net_fill(late_gpu_view(s.gpu), BYTES, 3 + s.net.me);
    net_pe_meet(&s.net);
    if (s.net.me == 0) {
        char *const there = s.gpu_there[1], *const host_there = s.net.there[1];
        struct ch_put_signal signal = {.dest = there + FEW,
                                       .source = s.gpu,
                                       .bytes = FEW,
                                       .op = CH_AMO_SET,
                                       .word = (uint64_t *)(void *)host_there,
                                       .value = 1};

        put(&s, there, s.gpu, FEW);
        EXPECT(slots_of(&s) == 1 && s.peer->out[0].bytes == CH_STAGED_HEAD);
        EXPECT(slots_of(&s) == 0); /* another quiet */
        put(&s, host_there + 8, s.gpu, FEW);
        EXPECT(slots_of(&s) == 0);
        get(&s, s.gpu + FEW, there + 2 * FEW, FEW);
        EXPECT(slots_of(&s) != 0); /* the GPU that asked must flush */
        EXPECT(net_is_filled(late_gpu_view(s.gpu), FEW, 3));
        (void)ops->put_signal(s.net.ep, CTX, 1, &signal);
        EXPECT(s.peer->is_unflushed[CTX] == !is_before_words); /* the word is in a slot */
        EXPECT(slots_of(&s) == 1);
    }
    net_pe_meet(&s.net);
    if (s.net.me == 1) {
        EXPECT(net_is_filled(late_gpu_view(s.gpu), FEW, 3));
        EXPECT(net_is_filled(late_gpu_view(s.gpu + FEW), FEW, 3));
    }
    side_close(&s);
}

START_TEST(quiet__of_a_gpu_that_must_flush__takes_a_slot)
{
    gpu_loop.flush = _i == 0 ? CH_STAGED_FLUSH_QUIET : CH_STAGED_FLUSH_WORDS;
    fake.flush = gpu_loop_flush;
    run(flush_main);
    ck_assert_uint_eq(gpu_loop.flushes, 2);
}
END_TEST

/* ---- refusals ---- */

/* The first part of PE 1 is refused: what touches it is staged, also from PE 1 to PE 0. */
static void refused_main(struct ch_boot *boot)
{
    struct side s;

    side_open(&s, boot);
    EXPECT((s.keys[0] == CH_STAGED_GPU_KEY) == (s.net.me == 1));
    EXPECT(s.keys[1] != CH_STAGED_GPU_KEY);
    net_fill(late_gpu_view(s.gpu), BYTES, 3 + s.net.me);
    net_pe_meet(&s.net);
    put(&s, s.net.there[s.net.next], s.gpu, FEW); /* to host memory */
    EXPECT((slots_of(&s) == 0) == (s.net.me == 0));
    put(&s, s.net.there[s.net.next] + FEW, s.gpu + HALF, FEW);
    EXPECT(slots_of(&s) == 0);
    net_pe_meet(&s.net);
    EXPECT(net_is_filled(s.net.memory, FEW, 3 + s.net.before));
    if (s.net.me == 0) {
        char *const there = s.gpu_there[1];

        put(&s, there, s.gpu, FEW);
        EXPECT(slots_of(&s) != 0);
        put(&s, there + HALF - 8, s.gpu, FEW); /* over both parts */
        EXPECT(slots_of(&s) != 0);
        put(&s, there + HALF + FEW, s.gpu, FEW);
        EXPECT(slots_of(&s) == 0);
        get(&s, s.gpu + FEW, there, FEW);
        EXPECT(slots_of(&s) != 0);
        EXPECT(net_is_filled(late_gpu_view(s.gpu + FEW), FEW, 3));
    }
    net_pe_meet(&s.net);
    if (s.net.me == 1) {
        EXPECT(net_is_filled(late_gpu_view(s.gpu), FEW, 3));
        EXPECT(net_is_filled(late_gpu_view(s.gpu + HALF - 8), FEW, 3));
        EXPECT(net_is_filled(late_gpu_view(s.gpu + HALF + FEW), FEW, 3));
    }
    side_close(&s);
}

START_TEST(part__refused_on_one_pe__is_staged)
{
    memset(gpu_loop.refused, 0, sizeof(gpu_loop.refused));
    gpu_loop.refused[1] = 1;
    run(refused_main);
}
END_TEST

/* The second part of PE 1 is refused: what begins in the first one and ends there is staged. */
static void span_main(struct ch_boot *boot)
{
    struct side s;

    side_open(&s, boot);
    net_fill(late_gpu_view(s.gpu), BYTES, 3 + s.net.me);
    net_pe_meet(&s.net);
    if (s.net.me == 0) {
        put(&s, s.gpu_there[1] + HALF - FEW, s.gpu, FEW);
        EXPECT(slots_of(&s) == 0);
        put(&s, s.gpu_there[1] + HALF - 8, s.gpu, FEW);
        EXPECT(slots_of(&s) != 0);
    }
    net_pe_meet(&s.net); /* PE 1 sends what has arrived there */
    if (s.net.me == 1) {
        put(&s, s.net.there[0], s.gpu + HALF - 8, FEW);
        EXPECT(slots_of(&s) != 0);
    }
    net_pe_meet(&s.net);
    if (s.net.me == 1) EXPECT(net_is_filled(late_gpu_view(s.gpu + HALF - 8), FEW, 3));
    side_close(&s);
}

START_TEST(transfer__that_ends_in_a_refused_part__is_staged)
{
    memset(gpu_loop.refused, 0, sizeof(gpu_loop.refused));
    gpu_loop.refused[1] = 2;
    run(span_main);
}
END_TEST

/* The network attaches no part, or gives it a key that cannot be: all goes on. */
static void staged_main(struct ch_boot *boot)
{
    struct side s;

    side_open(&s, boot);
    EXPECT(s.keys[0] == CH_STAGED_GPU_KEY && s.keys[1] == CH_STAGED_GPU_KEY);
    net_fill(late_gpu_view(s.gpu), BYTES, 3 + s.net.me);
    net_pe_meet(&s.net);
    get(&s, s.net.memory, s.gpu_there[s.net.next], FEW);
    EXPECT(slots_of(&s) != 0);
    EXPECT(net_is_filled(s.net.memory, FEW, 3 + s.net.next));
    EXPECT(ch_error_message()[0] == '\0');
    side_close(&s);
}

START_TEST(parts__all_refused__are_staged)
{
    memset(gpu_loop.refused, _i == 0 ? 0xff : 0, sizeof(gpu_loop.refused));
    gpu_loop.gives_bad_key = _i == 1;
    run(staged_main);
}
END_TEST

/* PE 1 has no dma-bufs. */
static void no_dma_buf_main(struct ch_boot *boot)
{
    struct side s;

    side_open(&s, boot);
    for (size_t i = 0; i < 2; i++)
        EXPECT((s.keys[i] == CH_STAGED_GPU_KEY) == (s.net.me == 1));
    side_close(&s);
}

START_TEST(parts__without_a_dma_buf__are_staged)
{
    fake.bad = 1;
    fake.has_no_dma_buf = true;
    run(no_dma_buf_main);
}
END_TEST

/* ---- for users ---- */

static void expect_description(const struct side *s, const char *text)
{
    char why[CH_LINK_WHY_BYTES];

    ops->describe(s->net.ep, s->net.next, why);
    EXPECT(strcmp(why, text) == 0);
}

static void describe_main(struct ch_boot *boot)
{
    struct ch_endpoint *inside;
    char reason[2 * CH_LINK_WHY_BYTES], why[CH_LINK_WHY_BYTES];
    struct side s;

    side_open(&s, boot);
    inside = staged_net_inside(s.net.ep);
    expect_description(&s,
                       "GPU memory is registered with loop: memory of this host, by a queue");
    inside->terms.is_direct = false;
    expect_description(&s, "staged over loop: memory of this host, by a queue");
    inside->terms.why_staged = "PE 1: says the test";
    expect_description(
        &s, "staged (PE 1: says the test) over loop: memory of this host, by a queue");
    memset(reason, 'x', sizeof(reason));
    reason[sizeof(reason) - 1] = '\0';
    inside->terms.why_staged = reason;
    ops->describe(s.net.ep, s.net.next, why);
    EXPECT(strlen(why) == sizeof(why) - 1);
    side_close(&s);
}

START_TEST(describe__says_whether_memory_is_staged)
{
    run(describe_main);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transport_direct");
    TCase *tcase = tcase_create("direct");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, transfer__between_attached_parts__takes_no_slots);
    tcase_add_loop_test(tcase, quiet__of_a_gpu_that_must_flush__takes_a_slot, 0, 2);
    tcase_add_test(tcase, part__refused_on_one_pe__is_staged);
    tcase_add_test(tcase, transfer__that_ends_in_a_refused_part__is_staged);
    tcase_add_loop_test(tcase, parts__all_refused__are_staged, 0, 2);
    tcase_add_test(tcase, parts__without_a_dma_buf__are_staged);
    tcase_add_test(tcase, describe__says_whether_memory_is_staged);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

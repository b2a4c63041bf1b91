/* SPDX-License-Identifier: Apache-2.0 */
/* The requests that kernels post for a link, by the code of kernels compiled for the host. */
#include "base/exec.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* route.h defines these for kernels; link.h, which exec.h includes, declares them for hosts. */
#define ch_link_post route_post
#define ch_link_post_word route_post_word
#define ch_link_post_signal route_post_signal
#define ch_link_flush route_flush
#define CH_ROUTED 1
#undef CH_INLINE_BYTES
#define CH_INLINE_BYTES 16u
#pragma GCC diagnostic ignored "-Wunknown-pragmas" /* those of nvcc */
static const struct {
    unsigned x;
} blockIdx = {2};

/* The waits of kernels, which end at once here. */
struct kernel_policy {
    const uint32_t *aborted;
    uint64_t timeout_ns;
};

static chorus_status kernel_wait_slow(const struct kernel_policy *policy, struct ch_wait *w)
{
    (void)policy, (void)w;
    return CHORUS_ERR_TIMEOUT;
}

static void kernel_wait_end(const struct kernel_policy *policy, struct ch_wait *w)
{
    (void)policy, (void)w;
}

#define ch_wait_policy kernel_policy
#define ch_wait_slow kernel_wait_slow
#define ch_wait_end kernel_wait_end
#include "base/route.h"

enum { SLOTS_LOG2 = 4, PE = 5, CTAS = 4 };

static struct ch_ring_slot slots[1 << SLOTS_LOG2];
static struct ch_ring_shared shared;
static struct ch_route route;
static struct ch_ring_consumer consumer;
static uint64_t freed, done[CTAS];

static struct ch_link *link_of(void)
{
    return (struct ch_link *)(void *)&route;
}

static void setup(void)
{
    memset(slots, 0, sizeof(slots));
    shared = (struct ch_ring_shared){0};
    freed = 0;
    memset(done, 0, sizeof(done));
    route = (struct ch_route){.ring = {.slots = slots,
                                       .freed = &freed,
                                       .shared = &shared,
                                       .capacity_log2 = SLOTS_LOG2},
                              .pe = PE,
                              .done = done};
    consumer = (struct ch_ring_consumer){slots, &freed, SLOTS_LOG2, 0, 0, 0};
}

/* The next request, which is of this op, for the peer, in the context of algorithms. */
static struct ch_ring_request take(enum ch_ring_op op)
{
    struct ch_ring_request r;

    ck_assert_int_eq(ch_ring_take(&consumer, &r), 1);
    ck_assert_int_eq(ch_request_op(&r), op);
    ck_assert_uint_eq(ch_request_pe(&r), PE);
    ck_assert_uint_eq(ch_request_ctx(&r), CH_CTX_ALGORITHMS);
    return r;
}

START_TEST(puts_and_words__are_requests_of_algorithms)
{
    char source[100], there[1];
    uint64_t word;
    struct ch_ring_request r;

    ch_link_post(link_of(), there, source, sizeof(source));
    r = take(CH_RING_PUT);
    ck_assert_uint_eq(r.there, (uintptr_t)there);
    ck_assert_uint_eq(r.source, (uintptr_t)source);
    ck_assert_uint_eq(r.bytes, sizeof(source));
    ch_link_post_word(link_of(), &word, 77, CH_DATA);
    r = take(CH_RING_WORD);
    ck_assert_uint_eq(r.there, (uintptr_t)&word);
    ck_assert_uint_eq(r.value, 77);
}
END_TEST

/* A flush in another context than that of the puts would end before their sources are read. */
START_TEST(flush__is_of_the_context_of_puts)
{
    struct ch_ring_request r;

    done[2] = 40;
    ck_assert_int_eq(ch_link_flush(link_of()), CHORUS_ERR_TIMEOUT);
    r = take(CH_RING_FLUSH);
    ck_assert_uint_eq(r.word, (uintptr_t)&done[2]);
    ck_assert_uint_eq(r.value, 41);
}
END_TEST

START_TEST(quiet__is_of_all_puts_of_algorithms)
{
    struct ch_ring_request r;

    done[2] = 7;
    ck_assert_int_eq(ch_route_quiet(link_of()), CHORUS_ERR_TIMEOUT);
    ck_assert_int_eq(ch_ring_take(&consumer, &r), 1);
    ck_assert_int_eq(ch_request_op(&r), CH_RING_QUIET);
    ck_assert_uint_eq(ch_request_pe(&r), CH_RING_ALL_PES);
    ck_assert_uint_eq(ch_request_ctx(&r), CH_CTX_ALGORITHMS);
    ck_assert_uint_eq(r.word, (uintptr_t)&done[2]);
    ck_assert_uint_eq(r.value, 8);
}
END_TEST

/* Messages of every length around the inline limit, at every alignment. */
START_TEST(signals__carry_short_data_in_the_request)
{
    unsigned char source[64];
    uint64_t word;

    for (uint32_t i = 0; i < sizeof(source); i++)
        source[i] = (unsigned char)(i * 37 + 11);
    for (uint32_t bytes = 0; bytes <= 20; bytes++)
        for (uint32_t from = 0; from < 9; from++) {
            struct ch_ring_request r;
            uint64_t data[2];

            ch_link_post_signal(link_of(), slots, source + from, bytes, &word, 9, CH_DATA);
            r = take(CH_RING_PUT_SIGNAL);
            ck_assert_uint_eq(r.there, (uintptr_t)slots);
            ck_assert_uint_eq(r.word, (uintptr_t)&word);
            ck_assert_uint_eq(r.value, 9);
            ck_assert_uint_eq(ch_request_inline_bytes(&r), bytes <= 16 ? bytes : 0);
            if (ch_request_inline_bytes(&r) == 0) {
                ck_assert_uint_eq(r.source, (uintptr_t)(source + from));
                ck_assert_uint_eq(r.bytes, bytes);
                continue;
            }
            data[0] = r.source;
            data[1] = r.bytes;
            ck_assert_mem_eq(data, source + from, bytes);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base_route");
    TCase *tests = tcase_create("base_route");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, puts_and_words__are_requests_of_algorithms);
    tcase_add_test(tests, flush__is_of_the_context_of_puts);
    tcase_add_test(tests, quiet__is_of_all_puts_of_algorithms);
    tcase_add_test(tests, signals__carry_short_data_in_the_request);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

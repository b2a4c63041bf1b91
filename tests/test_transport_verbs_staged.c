/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `staged` over verbs that registers GPU memory: the work requests that it posts, on a device
 * that is a fake and keeps them (verbs_fake.h), and what the kernel refuses.
 */
#include "device_fake.h"
#include "transport/staged/staged.h"
#include "verbs_fake.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BYTES = 1 << 20, PINNED = 64 << 10, HOST_KEY = 0x2000, GPU_KEY = 0x3000, CTX = 0 };

/* As in staged/inside.h, beside which verbs' own header cannot be included. */
#define STAGED_KEY UINT64_MAX
enum { HEAD_BYTES = 64 };

/* Memory of PE 1, at its own addresses. */
#define PEERS_PINNED ((char *)0x6000000000)
#define PEERS_GPU ((char *)0x7000000000)

static char pinned[PINNED] __attribute__((aligned(64)));
static char *gpu; /* BYTES that the CPU cannot access */
static struct ch_device *device;
static struct ch_link_ops inner; /* verbs, which ends as the fake does */
static struct ch_endpoint *ep;

static chorus_status exchange(void *arg, chorus_status mine, uint64_t memory, uint64_t *all_out)
{
    (void)arg;
    all_out[0] = memory;
    all_out[1] = (uintptr_t)PEERS_PINNED;
    return mine;
}

/* What PE 1 attached. */
static void add_peers_part(const struct ch_link_ops *ops, struct ch_endpoint *to, char *base,
                           enum ch_memory_kind kind, uint32_t key)
{
    const struct ch_memory_part part = {
        .base = base, .bytes = kind == CH_MEMORY_GPU ? BYTES : PINNED, .kind = kind};

    ck_assert_int_eq(ops->add_peer_key(to, 1, &part, CH_VERBS_KEYS(key, key + 1)), CHORUS_OK);
}

static void setup(void)
{
    static const bool is_far[] = {false, true};
    static struct ch_options options;
    static struct ch_door door;
    struct ch_staged_terms terms = {.link = {.options = &options, .n = 2, .door = &door},
                                    .inner = &inner,
                                    .is_far = is_far,
                                    .attached = {.base = pinned, .bytes = PINNED},
                                    .memory = pinned,
                                    .on_device = pinned,
                                    .bytes = PINNED,
                                    .is_direct = true,
                                    .exchange = exchange};
    struct ch_device_id id;
    uint64_t key;

    gpu = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(gpu, MAP_FAILED);
    inner = ch_link_verbs;
    inner.close = verbs_fake_close;
    ck_assert_int_eq(ch_device_find(0, 0, 2, &id), CHORUS_OK);
    ck_assert_int_eq(ch_device_open(&id, &device), CHORUS_OK);
    terms.device = device;
    terms.inner_ep = verbs_fake_open();
    ck_assert_int_eq(inner.attach(terms.inner_ep, &terms.attached, &key), CHORUS_OK);
    add_peers_part(&inner, terms.inner_ep, PEERS_PINNED, CH_MEMORY_HOST, HOST_KEY);
    ck_assert_msg(ch_staged_open(&terms, &ep) == CHORUS_OK, "%s", ch_error_message());
}

static void teardown(void)
{
    ch_link_staged.close(ep);
    ch_device_close(device);
    ck_assert_int_eq(verbs_fake.regions, 0);
    ck_assert_int_eq(munmap(gpu, BYTES), 0);
}

static uint64_t attach_gpu(void)
{
    const struct ch_memory_part part = {
        .base = gpu, .bytes = BYTES, .kind = CH_MEMORY_GPU, .dma_buf = -1};
    uint64_t key = 0;

    ck_assert_msg(ch_link_staged.attach(ep, &part, &key) == CHORUS_OK, "%s",
                  ch_error_message());
    return key;
}

static void attach_both(void)
{
    ck_assert_uint_ne(attach_gpu(), STAGED_KEY);
    add_peers_part(&ch_link_staged, ep, PEERS_GPU, CH_MEMORY_GPU, GPU_KEY);
}

static void expect_write(int i, const void *addr, const char *there, uint32_t bytes,
                         uint32_t key)
{
    const struct fake_post *post = &verbs_fake.posts[i];

    ck_assert_int_lt(i, verbs_fake.n_posts);
    ck_assert_int_eq(post->opcode, IBV_WR_RDMA_WRITE);
    if (addr != NULL) ck_assert_uint_eq(post->addr, (uintptr_t)addr);
    ck_assert_uint_eq(post->there, (uintptr_t)there);
    ck_assert_uint_eq(post->bytes, bytes);
    ck_assert_uint_eq(post->rkey, key);
}

START_TEST(attach__registers_a_dma_buf_and_closes_it)
{
    ck_assert_uint_ne(attach_gpu(), STAGED_KEY);
    ck_assert_int_eq(verbs_fake.n_dma_bufs, 2); /* strict and relaxed */
    ck_assert_int_ge(verbs_fake.dma_bufs[0].fd, 0);
    ck_assert_uint_eq(verbs_fake.dma_bufs[0].iova, (uintptr_t)gpu);
    ck_assert_uint_eq(verbs_fake.dma_bufs[0].bytes, BYTES);
    ck_assert_int_eq(fcntl(verbs_fake.dma_bufs[0].fd, F_GETFD), -1);
    ch_link_staged.detach(ep, gpu);
    ck_assert_int_eq(verbs_fake.regions, 3); /* the fake's own, and the pinned memory twice */
}
END_TEST

static const int refusals[] = {EOPNOTSUPP, EINVAL, ENOMEM};

START_TEST(attach__kernel_refuses__is_staged)
{
    verbs_fake.dma_buf_error = refusals[_i];
    ck_assert_uint_eq(attach_gpu(), STAGED_KEY);
    ck_assert_str_eq(ch_error_message(), "");
    ck_assert_int_eq(verbs_fake.regions, 3);
    ch_link_staged.detach(ep, gpu);
    ck_assert_int_eq(verbs_fake.regions, 3);
}
END_TEST

START_TEST(put__between_gpus__is_one_write_of_the_device)
{
    attach_both();
    ck_assert_int_eq(ch_link_staged.put(ep, CTX, 1, PEERS_GPU + 64, gpu + 8, 24), CHORUS_OK);
    ck_assert_int_eq(verbs_fake.n_posts, 1);
    expect_write(0, gpu + 8, PEERS_GPU + 64, 24, GPU_KEY + 1);
}
END_TEST

START_TEST(signal__of_a_host__follows_the_data)
{
    const struct ch_put_signal signal = {.dest = PEERS_GPU,
                                         .source = gpu,
                                         .bytes = 4096,
                                         .word = (uint64_t *)(void *)(PEERS_PINNED + 8),
                                         .op = CH_AMO_SET,
                                         .value = 1};

    attach_both();
    ck_assert_int_eq(ch_link_staged.put_signal(ep, CTX, 1, &signal), CHORUS_OK);
    ck_assert_int_eq(verbs_fake.n_posts, 2);
    expect_write(0, gpu, PEERS_GPU, 4096, GPU_KEY + 1);
    expect_write(1, NULL, PEERS_PINNED + 8, 8, HOST_KEY); /* the strict key */
}
END_TEST

static void expect_in_pinned(uint64_t there)
{
    ck_assert_uint_ge(there, (uintptr_t)PEERS_PINNED);
    ck_assert_uint_lt(there, (uintptr_t)PEERS_PINNED + PINNED);
}

/* The word is in a slot behind the data: its head, and the word of the slot. */
START_TEST(signal__of_a_gpu__follows_the_data_in_a_slot)
{
    const struct ch_put_signal signal = {.dest = PEERS_GPU,
                                         .source = gpu,
                                         .bytes = 4096,
                                         .word = (uint64_t *)(void *)(PEERS_GPU + 8192),
                                         .op = CH_AMO_SET,
                                         .value = 1};
    const struct fake_post *posts = verbs_fake.posts;

    attach_both();
    ck_assert_int_eq(ch_link_staged.put_signal(ep, CTX, 1, &signal), CHORUS_OK);
    ck_assert_int_eq(verbs_fake.n_posts, 3);
    expect_write(0, gpu, PEERS_GPU, 4096, GPU_KEY + 1);
    expect_in_pinned(posts[1].there);
    expect_write(1, NULL, (char *)(uintptr_t)posts[1].there, HEAD_BYTES, HOST_KEY + 1);
    expect_in_pinned(posts[2].there);
    expect_write(2, NULL, (char *)(uintptr_t)posts[2].there, 8, HOST_KEY);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transport_verbs_staged");
    TCase *tcase = tcase_create("verbs_staged");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, attach__registers_a_dma_buf_and_closes_it);
    tcase_add_loop_test(tcase, attach__kernel_refuses__is_staged, 0,
                        (int)(sizeof(refusals) / sizeof(refusals[0])));
    tcase_add_test(tcase, put__between_gpus__is_one_write_of_the_device);
    tcase_add_test(tcase, signal__of_a_host__follows_the_data);
    tcase_add_test(tcase, signal__of_a_gpu__follows_the_data_in_a_slot);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

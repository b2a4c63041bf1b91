/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of GPUs over verbs: how it is registered, and that the CPU does not access it. */
#include "verbs_fake.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { BYTES = 1 << 20, FD = 33, INSIDE = 4096, HOST_KEY = 0x2000, GPU_KEY = 0x3000 };

static struct ch_endpoint *ep;
static char *gpu; /* 2 * BYTES that the CPU cannot access */
static char host[4096], peers_host[64];
static uint64_t peers_word;

#define PEERS_GPU ((char *)0x7000000000) /* BYTES, of PE 1 */

static void expect_message(const char *part)
{
    ck_assert_msg(strstr(ch_error_message(), part) != NULL, "\"%s\" is not in \"%s\"", part,
                  ch_error_message());
}

static void add_peers_part(void *base, size_t bytes, enum ch_memory_kind kind, uint32_t key)
{
    const struct ch_memory_part part = {.base = base, .bytes = bytes, .kind = kind};

    ck_assert_int_eq(ch_link_verbs.add_peer_key(ep, 1, &part, CH_VERBS_KEYS(key, key + 1)),
                     CHORUS_OK);
}

static void setup(void)
{
    gpu = mmap(NULL, 2 * (size_t)BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(gpu, MAP_FAILED);
    ep = verbs_fake_open();
    add_peers_part(PEERS_GPU, BYTES, CH_MEMORY_GPU, GPU_KEY);
    add_peers_part(peers_host, sizeof(peers_host), CH_MEMORY_HOST, HOST_KEY);
    add_peers_part(&peers_word, sizeof(peers_word), CH_MEMORY_HOST, HOST_KEY);
}

static void teardown(void)
{
    verbs_fake_close(ep);
    ck_assert_int_eq(verbs_fake.regions, 0);
}

static struct ch_memory_part gpu_part(size_t number)
{
    return (struct ch_memory_part){.base = gpu + number * BYTES,
                                   .bytes = BYTES,
                                   .kind = CH_MEMORY_GPU,
                                   .dma_buf = FD,
                                   .offset = INSIDE};
}

static uint64_t attach_gpu(size_t number)
{
    const struct ch_memory_part part = gpu_part(number);
    uint64_t key = 0;

    ck_assert_msg(ch_link_verbs.attach(ep, &part, &key) == CHORUS_OK, "%s", ch_error_message());
    return key;
}

/* Nothing is left of an attach that fails. */
static void expect_refused(const struct ch_memory_part *part, chorus_status code)
{
    uint64_t key;

    ck_assert_int_eq(ch_link_verbs.attach(ep, part, &key), code);
    ck_assert_uint_eq(ep->parts.n, 0);
    ck_assert_int_eq(verbs_fake.regions, 1); /* the pool */
}

/* --- registration --- */

START_TEST(attach__memory_of_a_gpu__is_registered_by_its_dma_buf)
{
    const uint64_t key = attach_gpu(0);

    ck_assert_int_eq(verbs_fake.n_dma_bufs, 2);
    for (int i = 0; i < 2; i++) {
        const struct fake_dma_buf *asked = &verbs_fake.dma_bufs[i];

        ck_assert_int_eq(asked->fd, FD);
        ck_assert_uint_eq(asked->offset, INSIDE);
        ck_assert_uint_eq(asked->bytes, BYTES);
        ck_assert_uint_eq(asked->iova, (uintptr_t)gpu);
        ck_assert_uint_eq(asked->access,
                          IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                              IBV_ACCESS_REMOTE_READ |
                              (i == 1 ? (unsigned)IBV_ACCESS_RELAXED_ORDERING : 0));
    }
    ck_assert_uint_ne(CH_VERBS_STRICT(key), CH_VERBS_RELAXED(key));
    ch_link_verbs.detach(ep, gpu);
    ck_assert_uint_eq(ep->parts.n, 0);
    ck_assert_int_eq(verbs_fake.regions, 1);
}
END_TEST

START_TEST(attach__no_relaxed_key__takes_the_strict_one)
{
    uint64_t key;

    verbs_fake.relaxed_error = ENOMEM;
    key = attach_gpu(0);
    ck_assert_uint_eq(CH_VERBS_STRICT(key), CH_VERBS_RELAXED(key));
}
END_TEST

START_TEST(attach__no_dma_buf__is_refused)
{
    struct ch_memory_part part = gpu_part(0);

    part.dma_buf = -1;
    expect_refused(&part, CHORUS_ERR_UNSUPPORTED);
    expect_message(
        "fake0 cannot register 1024 KiB of GPU memory: there is no dma-buf of it; an "
        "earlier message has the reason");
}
END_TEST

static const int refusals[] = {EOPNOTSUPP, EPROTONOSUPPORT, ENOSYS, EINVAL};

START_TEST(attach__kernel_refuses__says_its_reason_and_what_is_needed)
{
    const struct ch_memory_part part = gpu_part(0);

    verbs_fake.dma_buf_error = refusals[_i];
    expect_refused(&part, CHORUS_ERR_UNSUPPORTED);
    expect_message("fake0 cannot register 1024 KiB of GPU memory by a dma-buf: ");
    expect_message(strerror(refusals[_i]));
    expect_message("this needs a build with rdma-core 34, Linux 5.12, and drivers of the "
                   "adapter and of the GPU that share memory by dma-bufs");
}
END_TEST

static void limit_locked_memory(rlim_t bytes)
{
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
    limit.rlim_cur = bytes;
    ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
}

START_TEST(attach__limit_of_locked_memory__says_how_to_raise_it)
{
    const struct ch_memory_part part = gpu_part(0);

    limit_locked_memory(65536);
    verbs_fake.dma_buf_error = ENOMEM;
    expect_refused(&part, CHORUS_ERR_NOMEM);
    expect_message(
        "fake0 cannot register 1024 KiB of GPU memory: this process may lock 64 KiB; "
        "raise that limit (ulimit -l, or LimitMEMLOCK of the service)");
}
END_TEST

START_TEST(attach__after_a_refusal__takes_host_memory)
{
    const struct ch_memory_part part = {.base = host, .bytes = sizeof(host)},
                                on_gpu = gpu_part(0);
    uint64_t key;

    verbs_fake.dma_buf_error = EOPNOTSUPP;
    expect_refused(&on_gpu, CHORUS_ERR_UNSUPPORTED);
    ck_assert_int_eq(ch_link_verbs.attach(ep, &part, &key), CHORUS_OK);
    ck_assert_int_eq(verbs_fake.n_dma_bufs, 0);
}
END_TEST

START_TEST(caps__by_what_the_kernel_says_of_dma_bufs)
{
    ck_assert(ch_verbs_takes_dma_buf(ep)); /* EBADF */
    for (int i = 0; i < 3; i++) {
        verbs_fake.dma_buf_error = refusals[i];
        ck_assert(!ch_verbs_takes_dma_buf(ep));
    }
    ck_assert_uint_eq(ch_link_verbs.caps(ep), CH_LINK_KEYS | CH_LINK_PASSIVE);
    ep->takes_gpu = true;
    ck_assert_uint_eq(ch_link_verbs.caps(ep), CH_LINK_KEYS | CH_LINK_PASSIVE | CH_LINK_GPU);
    ck_assert_int_eq(verbs_fake.regions, 1);
}
END_TEST

/* --- operations --- */

static void expect_post(int number, enum ibv_wr_opcode opcode, const void *addr, size_t bytes,
                        const void *there)
{
    const struct fake_post *post = &verbs_fake.posts[number];

    ck_assert_int_lt(number, verbs_fake.n_posts);
    ck_assert_int_eq(post->opcode, opcode);
    ck_assert_uint_eq(post->addr, (uintptr_t)addr);
    ck_assert_uint_eq(post->bytes, bytes);
    ck_assert_uint_eq(post->there, (uintptr_t)there);
}

START_TEST(put__short_source_on_a_gpu__is_read_by_the_device)
{
    attach_gpu(0);
    ck_assert_int_eq(ch_link_verbs.put(ep, 0, 1, peers_host, gpu + 8, 8), CHORUS_OK);
    expect_post(0, IBV_WR_RDMA_WRITE, gpu + 8, 8, peers_host);
    ck_assert_uint_eq(verbs_fake.posts[0].flags & IBV_SEND_INLINE, 0);
    ck_assert_uint_eq(verbs_fake.posts[0].lkey, ep->parts.all[0].key);
    ck_assert(!ch_link_verbs.is_sent(ep, 0, 1));
    ck_assert_int_eq(ch_link_verbs.put(ep, 0, 1, PEERS_GPU, host, 8), CHORUS_OK);
    expect_post(1, IBV_WR_RDMA_WRITE, host, 8, PEERS_GPU);
    ck_assert_uint_ne(verbs_fake.posts[1].flags & IBV_SEND_INLINE, 0);
}
END_TEST

START_TEST(put__across_two_parts_on_a_gpu__is_divided_there)
{
    attach_gpu(0);
    attach_gpu(1);
    ck_assert_int_eq(ch_link_verbs.put(ep, 0, 1, PEERS_GPU, gpu + BYTES - 10, 300), CHORUS_OK);
    ck_assert_int_eq(verbs_fake.n_posts, 2);
    expect_post(0, IBV_WR_RDMA_WRITE, gpu + BYTES - 10, 10, PEERS_GPU);
    expect_post(1, IBV_WR_RDMA_WRITE, gpu + BYTES, 290, PEERS_GPU + 10);
}
END_TEST

START_TEST(get__to_a_gpu__is_written_by_the_device)
{
    attach_gpu(0);
    ck_assert_int_eq(ch_link_verbs.get(ep, 0, 1, gpu + 16, PEERS_GPU + 8, 4), CHORUS_OK);
    expect_post(0, IBV_WR_RDMA_READ, gpu + 16, 4, PEERS_GPU + 8);
    ck_assert_uint_eq(verbs_fake.posts[0].lkey, ep->parts.all[0].key);
}
END_TEST

static void set_word(void *word)
{
    const struct ch_put_signal put = {.word = word, .op = CH_AMO_SET, .value = 5};

    ck_assert_int_eq(ch_link_verbs.put_signal(ep, 0, 1, &put), CHORUS_OK);
}

START_TEST(word__on_a_peer_s_gpu__is_written_under_the_strict_key)
{
    set_word(PEERS_GPU + 64);
    ck_assert_int_eq(verbs_fake.n_posts, 1);
    ck_assert_int_eq(verbs_fake.posts[0].opcode, IBV_WR_RDMA_WRITE);
    ck_assert_uint_eq(verbs_fake.posts[0].there, (uintptr_t)PEERS_GPU + 64);
    ck_assert_uint_eq(verbs_fake.posts[0].rkey, GPU_KEY);
}
END_TEST

/* The peer's CPU stores words after atomics, but those on its GPU wait. */
START_TEST(word__after_an_atomic__waits_for_its_answer)
{
    static const struct ch_verbs_mail answer = {.kind = CH_VERBS_MAIL_ANSWER, .value = 9};
    uint64_t fetched = 0;

    ck_assert_int_eq(ch_link_verbs.amo(ep, 0, 1, CH_AMO_ADD, &peers_word, 8, 1, 0, &fetched),
                     CHORUS_OK);
    verbs_fake.mail = &answer;
    set_word(PEERS_GPU);
    ck_assert_uint_eq(fetched, 9);
    ck_assert_int_eq(verbs_fake.n_posts, 2);
    ck_assert_int_eq(verbs_fake.posts[0].opcode, IBV_WR_SEND);
    ck_assert_int_eq(verbs_fake.posts[1].opcode, IBV_WR_RDMA_WRITE);
}
END_TEST

/* Nothing is posted, and progress says why. */
static void expect_failed_link(void)
{
    bool has_moved;

    ck_assert_int_eq(verbs_fake.n_posts, 0);
    ck_assert_int_eq(ch_link_verbs.progress(ep, &has_moved), CHORUS_ERR_UNSUPPORTED);
    expect_message(
        "verbs: PE 1 on host beta, by fake0:1, a fake: its word at 0x7000000000 is in "
        "GPU memory, where its CPU cannot change it for an atomic operation or a "
        "signal");
}

START_TEST(amo__on_a_peer_s_gpu__fails_the_link)
{
    uint64_t fetched;

    ck_assert_int_eq(ch_link_verbs.amo(ep, 0, 1, CH_AMO_ADD, PEERS_GPU, 8, 1, 0, &fetched),
                     CHORUS_OK);
    expect_failed_link();
}
END_TEST

START_TEST(word__device_keeps_no_order__fails_the_link)
{
    ep->is_in_order = false;
    set_word(PEERS_GPU);
    expect_failed_link();
}
END_TEST

START_TEST(amo__of_a_peer_on_this_gpu__fails_the_link)
{
    struct ch_verbs_mail mail = {.kind = CH_VERBS_MAIL_AMO, .op = CH_AMO_ADD, .bytes = 8};
    bool has_moved;

    attach_gpu(0);
    mail.there = (uintptr_t)gpu;
    verbs_fake.mail = &mail;
    ck_assert_int_eq(ch_link_verbs.progress(ep, &has_moved), CHORUS_ERR_SYSTEM);
    expect_message("which is not in attached host memory of this PE");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transport_verbs_gpu");
    TCase *tcase = tcase_create("verbs_gpu");
    SRunner *runner;
    int failed;

    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, attach__memory_of_a_gpu__is_registered_by_its_dma_buf);
    tcase_add_test(tcase, attach__no_relaxed_key__takes_the_strict_one);
    tcase_add_test(tcase, attach__no_dma_buf__is_refused);
    tcase_add_loop_test(tcase, attach__kernel_refuses__says_its_reason_and_what_is_needed, 0,
                        (int)(sizeof(refusals) / sizeof(refusals[0])));
    tcase_add_test(tcase, attach__limit_of_locked_memory__says_how_to_raise_it);
    tcase_add_test(tcase, attach__after_a_refusal__takes_host_memory);
    tcase_add_test(tcase, caps__by_what_the_kernel_says_of_dma_bufs);
    tcase_add_test(tcase, put__short_source_on_a_gpu__is_read_by_the_device);
    tcase_add_test(tcase, put__across_two_parts_on_a_gpu__is_divided_there);
    tcase_add_test(tcase, get__to_a_gpu__is_written_by_the_device);
    tcase_add_test(tcase, word__on_a_peer_s_gpu__is_written_under_the_strict_key);
    tcase_add_test(tcase, word__after_an_atomic__waits_for_its_answer);
    tcase_add_test(tcase, amo__on_a_peer_s_gpu__fails_the_link);
    tcase_add_test(tcase, word__device_keeps_no_order__fails_the_link);
    tcase_add_test(tcase, amo__of_a_peer_on_this_gpu__fails_the_link);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

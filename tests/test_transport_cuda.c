/* SPDX-License-Identifier: Apache-2.0 */
/* The host's way to memory on GPUs, which are fakes: what reaches whom, and who is woken. */
#include "device_fake.h"
#include "heap_pes.h"
#include "transport/links.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define M ((size_t)1 << 20)

/* A PE's heap on a fake GPU, and the transport over it. */
struct side {
    struct ch_options options; /* the network keeps its address */
    struct ch_boot *boot;
    struct ch_heap *heap;
    struct ch_wait_policy policy;
    struct ch_links *links;
    uint32_t next, previous;
};

/* n_hosts: of how many the PEs pretend to be; 0: of one. */
static void side_open_on(struct side *s, struct ch_boot *boot, uint64_t n_hosts)
{
    struct ch_options *options = &s->options;

    *options = pes_options(16 * M);
    options->nodes = n_hosts;
    options->transport = "mapped,tcp";
    if (n_hosts != 0) EXPECT(ch_boot_locate(boot, options) == CHORUS_OK);
    options->heap = CHORUS_HEAP_cuda;
    options->sync_max = 2 * M;
    s->boot = boot;
    EXPECT(ch_heap_open(boot, options, &s->heap) == CHORUS_OK);
    ch_wait_policy_init(&s->policy, ch_heap_door(s->heap, boot->me), boot->n, 1, 0);
    EXPECT(ch_links_open(boot, s->heap, options, &s->policy, &s->links) == CHORUS_OK);
    EXPECT(ch_links_map(s->links) == CHORUS_OK);
    s->next = (boot->me + 1) % boot->n;
    s->previous = (boot->me + boot->n - 1) % boot->n;
}

static void side_open(struct side *s, struct ch_boot *boot)
{
    side_open_on(s, boot, 0);
}

static void side_close(struct side *s)
{
    pes_meet(s->boot);
    ch_links_close(s->links);
    ch_heap_close(s->heap);
    pes_meet(s->boot);
    EXPECT(fake.registered == 0 && fake.devices == 0);
}

static void *alloc(const struct side *s, size_t bytes)
{
    void *ptr = NULL;

    EXPECT(ch_heap_alloc(s->heap, 64, bytes, &ptr) == CHORUS_OK);
    EXPECT(ch_heap_zero(s->heap, ptr, bytes) == CHORUS_OK);
    pes_meet(s->boot);
    return ptr;
}

/* Words of 4 and 8 bytes take another way than the rest. */
static void move_bytes(struct ch_boot *boot)
{
    static const size_t lengths[] = {1, 2, 4, 5, 8, 9, 1000};
    struct side s;
    unsigned char *object, here[1000], there[1000];

    side_open(&s, boot);
    object = alloc(&s, 2000);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (size_t odd = 0; odd < 2; odd++) {
            const size_t bytes = lengths[i];

            memset(here, (int)(16 * i + 4 * odd + boot->me + 1), sizeof(here));
            EXPECT(ch_links_put(s.links, CH_CTX_DEFAULT, object + odd, here, bytes, s.next) ==
                   CHORUS_OK);
            EXPECT(ch_links_quiet(s.links, CH_CTX_DEFAULT, CH_LINK_ALL) == CHORUS_OK);
            pes_meet(boot);
            memset(here, (int)(16 * i + 4 * odd + s.previous + 1), sizeof(here));
            EXPECT(ch_links_load(s.links, there, object + odd, bytes) == CHORUS_OK);
            EXPECT(memcmp(there, here, bytes) == 0);
            memset(here, (int)(16 * i + 4 * odd + boot->me + 1), sizeof(here));
            EXPECT(ch_links_get(s.links, CH_CTX_DEFAULT, there, object + odd, bytes, s.next) ==
                   CHORUS_OK);
            EXPECT(memcmp(there, here, bytes) == 0);
            EXPECT(ch_links_load(s.links, there, object + odd + bytes, 1) == CHORUS_OK);
            EXPECT(i > 0 || there[0] == 0 || odd == 1);
            pes_meet(boot);
        }
    }
    side_close(&s);
}

START_TEST(put_get_load__any_bytes__are_the_peer_s)
{
    pes_run_threads(3, move_bytes);
    pes_run_processes(3, move_bytes);
}
END_TEST

static void count_up(struct ch_boot *boot)
{
    enum { TIMES = 500 };
    struct side s;
    uint64_t *wide, fetched = 0;
    uint32_t *narrow;

    side_open(&s, boot);
    wide = alloc(&s, sizeof(*wide));
    narrow = alloc(&s, sizeof(*narrow));
    for (int i = 0; i < TIMES; i++) {
        EXPECT(ch_links_amo(s.links, CH_CTX_DEFAULT, CH_AMO_ADD, wide, 8, 3, 0, 0, &fetched) ==
               CHORUS_OK);
        EXPECT(fetched >= 3 * (uint64_t)i);
        EXPECT(ch_links_amo(s.links, CH_CTX_DEFAULT, CH_AMO_ADD, narrow, 4, 1, 0, 0, NULL) ==
               CHORUS_OK);
    }
    pes_meet(boot);
    EXPECT(ch_links_amo(s.links, CH_CTX_DEFAULT, CH_AMO_FETCH, wide, 8, 0, 0, 0, &fetched) ==
           CHORUS_OK);
    EXPECT(fetched == 3 * (uint64_t)TIMES * boot->n);
    EXPECT(ch_links_amo(s.links, CH_CTX_DEFAULT, CH_AMO_FETCH, narrow, 4, 0, 0, 0, &fetched) ==
           CHORUS_OK);
    EXPECT(fetched == (uint64_t)TIMES * boot->n);
    pes_meet(boot);
    EXPECT(ch_links_amo(s.links, CH_CTX_DEFAULT, CH_AMO_SET, wide, 8, 77, 0, s.next, NULL) ==
           CHORUS_OK);
    pes_meet(boot);
    EXPECT(*wide == 77); /* a fake GPU's memory can be looked at */
    EXPECT(ch_links_amo(s.links, CH_CTX_DEFAULT, CH_AMO_SET, (char *)wide + 4, 8, 0, 0, 0,
                        NULL) == CHORUS_ERR_ARG);
    EXPECT(pes_message_has("expected 4 or 8 bytes"));
    side_close(&s);
}

START_TEST(amo__all_pes_at_once__none_lost)
{
    pes_run_threads(3, count_up);
    pes_run_processes(3, count_up);
}
END_TEST

/* A PE that sleeps on its doorbell is woken by a peer that stores to its GPU. */
static void wake(struct ch_boot *boot)
{
    struct side s;
    struct ch_door *door;
    uint32_t *word, value = 5;

    side_open(&s, boot);
    word = alloc(&s, sizeof(*word));
    door = ch_heap_door(s.heap, boot->me);
    __atomic_store_n(&door->sleepers, 1, __ATOMIC_SEQ_CST);
    pes_meet(boot);
    EXPECT(ch_links_put(s.links, CH_CTX_DEFAULT, word, &value, sizeof(value), s.next) ==
           CHORUS_OK);
    pes_meet(boot);
    EXPECT(__atomic_load_n(&door->wakes, __ATOMIC_SEQ_CST) == 1);
    pes_meet(boot);
    EXPECT(ch_links_amo(s.links, CH_CTX_DEFAULT, CH_AMO_ADD, word, 4, 1, 0, s.next, NULL) ==
           CHORUS_OK);
    pes_meet(boot);
    EXPECT(__atomic_load_n(&door->wakes, __ATOMIC_SEQ_CST) == 2);
    side_close(&s);
}

START_TEST(put_and_amo__peer_sleeps__is_rung)
{
    pes_run_threads(2, wake);
    pes_run_processes(2, wake);
}
END_TEST

static void map_peers(struct ch_boot *boot)
{
    struct side s;
    char *object;

    side_open(&s, boot);
    object = alloc(&s, 100);
    EXPECT(ch_links_peer_address(s.links, object, boot->me) == object);
    memset(ch_links_peer_address(s.links, object, s.next), (int)boot->me + 1, 100);
    pes_meet(boot);
    EXPECT(object[99] == (char)(s.previous + 1));
    side_close(&s);
}

START_TEST(map__peer__is_its_gpu_s_memory)
{
    pes_run_threads(3, map_peers);
    pes_run_processes(3, map_peers);
}
END_TEST

/* --- what users are told about a way --- */

static void expect_way(const struct side *s, uint32_t pe, struct ch_link_way expected,
                       const char *by)
{
    const struct ch_link_way way = ch_links_way(s->links, pe);
    char what[CH_LINK_WHY_BYTES];

    EXPECT(strcmp(way.class, expected.class) == 0);
    EXPECT(strcmp(way.kind, expected.kind) == 0);
    EXPECT(strcmp(way.why, expected.why) == 0);
    ch_links_describe(s->links, pe, what);
    EXPECT(strncmp(what, by, strlen(by)) == 0);
}

static void tell_ways(struct ch_boot *boot)
{
    static const struct ch_link_way near = {"near", "peer access (NVLink)", "cuda"};
    static const struct ch_link_way far = {"far", "CHORUS_NODES pretends another host",
                                           "staged"};
    const uint32_t half = boot->n / 2;
    struct side s;

    side_open_on(&s, boot, 2);
    for (uint32_t pe = 0; pe < boot->n; pe++) {
        if (pe == boot->me) continue;
        if (pe / half == boot->me / half)
            expect_way(&s, pe, near, "memory of its GPU");
        else
            expect_way(&s, pe, far, "staged (tcp registers no GPU memory) over tcp: ");
    }
    side_close(&s);
}

START_TEST(way__pretended_hosts__is_the_network_s_between_them)
{
    pes_run_threads(4, tell_ways);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transport_cuda");
    TCase *tcase = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, put_get_load__any_bytes__are_the_peer_s);
    tcase_add_test(tcase, amo__all_pes_at_once__none_lost);
    tcase_add_test(tcase, put_and_amo__peer_sleeps__is_rung);
    tcase_add_test(tcase, map__peer__is_its_gpu_s_memory);
    tcase_add_test(tcase, way__pretended_hosts__is_the_network_s_between_them);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

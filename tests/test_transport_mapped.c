/* SPDX-License-Identifier: Apache-2.0 */
/* Transport mapped: what arrives, in what order, and who is woken. */
#include "base/exec.h"
#include "heap_pes.h"
#include "transport/links.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define M ((size_t)1024 * 1024)

enum { BULK_BYTES = 1000, ROUNDS = 200, ADDS = 2000 };

/* What a PE has in these tests. */
struct pe {
    struct ch_boot *boot;
    struct ch_heap *heap;
    struct ch_wait_policy policy;
    struct ch_links *links;
    uint32_t next, before; /* neighbours */
};

static void pe_open(struct pe *pe, struct ch_boot *boot)
{
    const struct ch_options options = pes_options(1 * M);

    pe->boot = boot;
    pe->heap = pes_open_heap(boot, 1 * M);
    ch_wait_policy_init(&pe->policy, ch_heap_door(pe->heap, boot->me), boot->n, 1, 0);
    EXPECT(ch_links_open(boot, pe->heap, &options, &pe->policy, &pe->links) == CHORUS_OK);
    EXPECT(ch_links_map(pe->links) == CHORUS_OK);
    pe->next = (boot->me + 1) % boot->n;
    pe->before = (boot->me + boot->n - 1) % boot->n;
}

static void pe_close(struct pe *pe)
{
    pes_meet(pe->boot);
    ch_links_close(pe->links);
    ch_heap_close(pe->heap);
}

static void *get_block(struct pe *pe, size_t bytes)
{
    void *ptr = NULL;

    EXPECT(ch_heap_alloc(pe->heap, 64, bytes, &ptr) == CHORUS_OK);
    memset(ptr, 0, bytes);
    pes_meet(pe->boot);
    return ptr;
}

static unsigned char pattern(uint32_t pe, size_t i)
{
    return (unsigned char)(pe * 31 + i * 7 + 1);
}

static int is_pattern(const unsigned char *bytes, uint32_t pe, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != pattern(pe, i)) return 0;
    return 1;
}

/* Every length up to 40 at every alignment up to 8, and what lies around it untouched. */
static void put_get_main(struct ch_boot *boot)
{
    struct pe pe;
    unsigned char source[64], back[64], *block;

    pe_open(&pe, boot);
    block = get_block(&pe, 64);
    for (size_t at = 0; at < 8; at++) {
        for (size_t bytes = 0; bytes <= 40; bytes++) {
            for (size_t i = 0; i < 64; i++)
                source[i] = pattern(boot->me, i), block[i] = 0xee;
            pes_meet(boot);
            EXPECT(ch_links_put(pe.links, CH_CTX_DEFAULT, block + at, source, bytes, pe.next) ==
                   CHORUS_OK);
            EXPECT(ch_links_quiet(pe.links, CH_CTX_DEFAULT, CH_LINK_ALL) == CHORUS_OK);
            memset(back, 0xdd, sizeof(back));
            EXPECT(ch_links_get(pe.links, CH_CTX_DEFAULT, back, block + at, bytes, pe.next) ==
                   CHORUS_OK);
            EXPECT(is_pattern(back, boot->me, bytes) && back[bytes] == 0xdd);
            pes_meet(boot);
            EXPECT(is_pattern(block + at, pe.before, bytes));
            EXPECT(block[at + bytes] == 0xee && (at == 0 || block[at - 1] == 0xee));
            pes_meet(boot);
        }
    }
    pe_close(&pe);
}

START_TEST(put_get__any_length_and_alignment__arrives_alone)
{
    pes_run_threads(1, put_get_main);
    pes_run_threads(3, put_get_main);
}
END_TEST

START_TEST(put_get__processes__arrives_alone)
{
    pes_run_processes(2, put_get_main);
}
END_TEST

static void map_main(struct ch_boot *boot)
{
    struct pe pe;
    uint32_t *word;

    pe_open(&pe, boot);
    word = get_block(&pe, sizeof(*word));
    EXPECT(ch_links_peer_address(pe.links, word, boot->me) == word);
    *(uint32_t *)ch_links_peer_address(pe.links, word, pe.next) = boot->me + 1;
    pes_meet(boot);
    EXPECT(*word == pe.before + 1);
    pe_close(&pe);
}

START_TEST(map__peer__is_its_memory)
{
    pes_run_threads(3, map_main);
    pes_run_processes(3, map_main);
}
END_TEST

/* put, fence, put of a word: who sees the word sees the data; and the reader's answer, put
 * likewise, keeps the writer from the next round until it is read. */
static void ordered_main(struct ch_boot *boot)
{
    struct pe pe;
    unsigned char *data, source[BULK_BYTES];
    uint64_t *flag, *credit;

    pe_open(&pe, boot);
    data = get_block(&pe, BULK_BYTES);
    flag = get_block(&pe, sizeof(*flag));
    credit = get_block(&pe, sizeof(*credit));
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        for (size_t i = 0; i < BULK_BYTES; i++)
            source[i] = pattern((uint32_t)round, i);
        EXPECT(ch_word_wait(&pe.policy, credit, round - 1) == CHORUS_OK);
        EXPECT(ch_links_put(pe.links, CH_CTX_DEFAULT, data, source, BULK_BYTES, pe.next) ==
               CHORUS_OK);
        EXPECT(ch_links_fence(pe.links, CH_CTX_DEFAULT) == CHORUS_OK);
        EXPECT(ch_links_put(pe.links, CH_CTX_DEFAULT, flag, &round, sizeof(round), pe.next) ==
               CHORUS_OK);
        EXPECT(ch_word_wait(&pe.policy, flag, round) == CHORUS_OK);
        EXPECT(is_pattern(data, (uint32_t)round, BULK_BYTES));
        EXPECT(ch_links_put(pe.links, CH_CTX_DEFAULT, credit, &round, sizeof(round),
                            pe.before) == CHORUS_OK);
    }
    pe_close(&pe);
}

START_TEST(put__fence_between__data_before_flag)
{
    pes_run_threads(2, ordered_main);
    pes_run_threads(5, ordered_main);
    pes_run_processes(3, ordered_main);
}
END_TEST

/* All PEs add to, and set bits of, words of PE 0. */
static void amo_contended_main(struct ch_boot *boot)
{
    struct pe pe;
    uint64_t *words, seen = 0, last = 0;

    pe_open(&pe, boot);
    words = get_block(&pe, 4 * sizeof(*words));
    for (uint64_t i = 0; i < ADDS; i++) {
        EXPECT(ch_links_amo(pe.links, CH_CTX_DEFAULT, CH_AMO_ADD, &words[0], 8, 1, 0, 0,
                            &seen) == CHORUS_OK);
        EXPECT(i == 0 || seen > last); /* the word only grows */
        last = seen;
        EXPECT(ch_links_amo(pe.links, CH_CTX_DEFAULT, CH_AMO_ADD, &words[1], 4, 1, 0, 0,
                            NULL) == CHORUS_OK);
    }
    EXPECT(ch_links_amo(pe.links, CH_CTX_DEFAULT, CH_AMO_OR, &words[2], 8,
                        1ull << (boot->me + 40), 0, 0, NULL) == CHORUS_OK);
    pes_meet(boot);
    EXPECT(ch_links_amo(pe.links, CH_CTX_DEFAULT, CH_AMO_FETCH, &words[0], 8, 0, 0, 0, &seen) ==
           CHORUS_OK);
    EXPECT(seen == (uint64_t)ADDS * boot->n);
    EXPECT(ch_links_amo(pe.links, CH_CTX_DEFAULT, CH_AMO_FETCH, &words[1], 4, 0, 0, 0, &seen) ==
           CHORUS_OK);
    EXPECT(seen == (uint64_t)ADDS * boot->n);
    EXPECT(ch_links_amo(pe.links, CH_CTX_DEFAULT, CH_AMO_FETCH, &words[2], 8, 0, 0, 0, &seen) ==
           CHORUS_OK);
    EXPECT(seen == ((1ull << boot->n) - 1) << 40);
    pe_close(&pe);
}

START_TEST(amo__all_pes_at_once__none_lost)
{
    pes_run_threads(4, amo_contended_main);
    pes_run_processes(4, amo_contended_main);
}
END_TEST

/* --- one PE: every operation, both widths ------------------------------------------------ */

struct amo_case {
    enum ch_amo op;
    uint64_t before, value, compare, after;
    int wakes;
};

#define HIGH 0xf0f0f0f000000000u

static const struct amo_case amo_cases[] = {
    {CH_AMO_SET, HIGH + 5, HIGH + 9, 0, HIGH + 9, 1},
    {CH_AMO_SWAP, HIGH + 5, 9, 0, 9, 1},
    {CH_AMO_ADD, HIGH + 5, UINT64_MAX, 0, HIGH + 4, 1},
    {CH_AMO_AND, HIGH + 12, HIGH + 10, 0, HIGH + 8, 1},
    {CH_AMO_OR, HIGH + 12, 10, 0, HIGH + 14, 1},
    {CH_AMO_XOR, HIGH + 12, HIGH + 10, 0, 6, 1},
    {CH_AMO_FETCH, HIGH + 12, 10, 3, HIGH + 12, 0},
    {CH_AMO_COMPARE_SWAP, HIGH + 12, 10, HIGH + 12, 10, 1},
    {CH_AMO_COMPARE_SWAP, HIGH + 12, 10, HIGH + 11, HIGH + 12, 1},
};

/* What a word of 4 or 8 bytes holds, and whether the 4 bytes behind it are as they were. */
static uint64_t word_of(const uint32_t *word, size_t bytes)
{
    uint64_t value = 0;

    memcpy(&value, word, bytes);
    EXPECT(bytes == 8 || word[1] == 77);
    return value;
}

static void run_case(struct pe *pe, const struct amo_case *c, size_t bytes, uint32_t *word)
{
    const uint64_t mask = bytes == 4 ? UINT32_MAX : UINT64_MAX;
    struct ch_door *const door = ch_heap_door(pe->heap, 0);
    const uint32_t wakes = door->wakes;
    uint64_t seen = 1;

    word[1] = 77;
    memcpy(word, &c->before, bytes);
    EXPECT(ch_links_amo(pe->links, CH_CTX_DEFAULT, c->op, word, bytes, c->value, c->compare, 0,
                        &seen) == CHORUS_OK);
    EXPECT(seen == (c->before & mask));
    EXPECT(word_of(word, bytes) == (c->after & mask));
    EXPECT((door->wakes != wakes) == c->wakes);
}

static void amo_cases_main(struct ch_boot *boot)
{
    struct pe pe;
    uint32_t *words;
    uint64_t seen = 5;

    pe_open(&pe, boot);
    words = get_block(&pe, 64);
    ch_heap_door(pe.heap, 0)->listeners = 1; /* so that notices can be seen */
    for (size_t i = 0; i < sizeof(amo_cases) / sizeof(amo_cases[0]); i++) {
        run_case(&pe, &amo_cases[i], 4, words);
        run_case(&pe, &amo_cases[i], 8, words);
    }
    EXPECT(ch_links_amo(pe.links, CH_CTX_DEFAULT, CH_AMO_ADD, words, 2, 1, 0, 0, &seen) ==
           CHORUS_ERR_ARG);
    EXPECT(pes_message_has("an atomic operation on 2 bytes"));
    EXPECT(ch_links_amo(pe.links, CH_CTX_DEFAULT, CH_AMO_ADD, words + 1, 8, 1, 0, 0, &seen) ==
           CHORUS_ERR_ARG);
    EXPECT(pes_message_has("aligned to their number"));
    EXPECT(seen == 5);
    pe_close(&pe);
}

START_TEST(amo__each_operation__gives_old_leaves_new)
{
    pes_run_threads(1, amo_cases_main);
}
END_TEST

/* Whoever stores to a PE's memory wakes whoever sleeps there and may wait for it, not who waits
 * in a collective: that once made a put of 64 KiB a fifth slower. Who only reads wakes nobody.
 */
static void notices_main(struct ch_boot *boot)
{
    struct pe pe;
    struct ch_door *door;
    uint64_t *words, value = 3;

    pe_open(&pe, boot);
    words = get_block(&pe, 64);
    door = ch_heap_door(pe.heap, 0);
    EXPECT(ch_links_put(pe.links, CH_CTX_DEFAULT, words, &value, 8, 0) == CHORUS_OK);
    EXPECT(door->wakes == 0); /* nobody sleeps */
    door->sleepers = 1;
    EXPECT(ch_links_put(pe.links, CH_CTX_DEFAULT, words, &value, 8, 0) == CHORUS_OK);
    EXPECT(door->wakes == 0);
    door->listeners = 1;
    EXPECT(ch_links_put(pe.links, CH_CTX_DEFAULT, words, &value, 8, 0) == CHORUS_OK);
    EXPECT(door->wakes == 1);
    EXPECT(ch_links_put(pe.links, CH_CTX_DEFAULT, words, words + 2, 24, 0) == CHORUS_OK);
    EXPECT(door->wakes == 2);
    EXPECT(ch_links_get(pe.links, CH_CTX_DEFAULT, &value, words, 8, 0) == CHORUS_OK);
    EXPECT(door->wakes == 2);
    pe_close(&pe);
}

START_TEST(put__someone_sleeps__rings)
{
    pes_run_threads(1, notices_main);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("transport_mapped");
    TCase *const tcase = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 100);
    tcase_add_test(tcase, put_get__any_length_and_alignment__arrives_alone);
    tcase_add_test(tcase, put_get__processes__arrives_alone);
    tcase_add_test(tcase, map__peer__is_its_memory);
    tcase_add_test(tcase, put__fence_between__data_before_flag);
    tcase_add_test(tcase, amo__all_pes_at_once__none_lost);
    tcase_add_test(tcase, amo__each_operation__gives_old_leaves_new);
    tcase_add_test(tcase, put__someone_sleeps__rings);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The symmetric part: what a PE gets, what its peers see, and what bad pointers come to. */
#include "heap/heap.h"
#include "heap_pes.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define K ((size_t)1024)
#define M (1024 * K)

static struct ch_heap *open_heap(struct ch_boot *boot, uint64_t heap_max)
{
    const struct ch_options options = pes_options(heap_max);
    struct ch_heap *heap = NULL;

    EXPECT(ch_heap_open(boot, &options, &heap) == CHORUS_OK);
    return heap;
}

static void meet(struct ch_boot *boot)
{
    char one = 0, all[PES_MAX];

    EXPECT(boot->ops->exchange(boot, &one, 1, -1, all, NULL) == CHORUS_OK);
}

/* PE pe's copy of a symmetric object. */
static uint32_t *on(struct ch_heap *heap, void *symmetric, uint32_t pe)
{
    const char *const own = ch_heap_base(heap, ch_heap_me(heap));

    return (uint32_t *)(void *)(ch_heap_base(heap, pe) + ((char *)symmetric - own));
}

/* Every PE writes its mark into its slot on every PE, and finds everyone's in its own. */
static void peers_main(struct ch_boot *boot)
{
    struct ch_heap *const heap = open_heap(boot, 1 * M);
    void *marks = NULL;

    EXPECT(ch_heap_me(heap) == boot->me && ch_heap_n_pes(heap) == boot->n);
    EXPECT(ch_heap_alloc(heap, 8, boot->n * sizeof(uint32_t), &marks) == CHORUS_OK);
    for (uint32_t pe = 0; pe < boot->n; pe++) {
        EXPECT(ch_heap_is_mapped(heap, pe));
        EXPECT(ch_heap_door(heap, pe)->aborted == 0 && ch_heap_door(heap, pe)->sleepers == 0);
        on(heap, marks, pe)[boot->me] = 100 + boot->me;
    }
    meet(boot);
    for (uint32_t pe = 0; pe < boot->n; pe++)
        EXPECT(((uint32_t *)marks)[pe] == 100 + pe);
    EXPECT(ch_heap_free(heap, marks) == CHORUS_OK);
    EXPECT(ch_heap_check(heap) == CHORUS_OK);
    ch_heap_close(heap);
}

START_TEST(heap__threads__see_each_others_stores)
{
    const int fds = pes_count_fds();

    pes_run_threads(1, peers_main);
    pes_run_threads(5, peers_main);
    ck_assert_int_eq(pes_count_fds(), fds);
}
END_TEST

START_TEST(heap__processes__see_each_others_stores)
{
    pes_run_processes(1, peers_main);
    pes_run_processes(5, peers_main);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("heap_symmetric");
    TCase *const tcase = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, heap__threads__see_each_others_stores);
    tcase_add_test(tcase, heap__processes__see_each_others_stores);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

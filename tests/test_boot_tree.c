/* SPDX-License-Identifier: Apache-2.0 */
/* A boot over a tree: what everyone gets, descriptors within a host, and how it fails. */
#include "tree_pes.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 8, BIG_BYTES = 20000 };

static int count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    ck_assert_ptr_nonnull(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

/* The blob changes between rounds, and some are larger than a socket takes at once. */
static void exchange_blobs(struct ch_boot *boot, size_t bytes, uint32_t round)
{
    unsigned char *const mine = malloc(bytes), *const all = malloc(bytes * boot->n);

    for (size_t i = 0; i < bytes; i++)
        mine[i] = (unsigned char)(i + 7 * boot->me + round);
    memset(all, 0xee, bytes * boot->n);
    EXPECT(boot->ops->exchange(boot, mine, bytes, -1, all, NULL) == CHORUS_OK);
    for (uint32_t pe = 0; pe < boot->n; pe++)
        for (size_t i = 0; i < bytes; i++)
            EXPECT(all[pe * bytes + i] == (unsigned char)(i + 7 * pe + round));
    free(mine);
    free(all);
}

static void exchange_files(struct ch_boot *boot, uint32_t round)
{
    const int fd = memfd_create("test", MFD_CLOEXEC);
    uint32_t mine = 1000 * round + boot->me, *all = calloc(boot->n, sizeof(*all));
    int *const fds = calloc(boot->n, sizeof(*fds));

    EXPECT(pwrite(fd, &mine, sizeof(mine), 0) == (ssize_t)sizeof(mine));
    EXPECT(boot->ops->exchange(boot, &mine, sizeof(mine), fd, all, fds) == CHORUS_OK);
    (void)close(fd);
    for (uint32_t pe = 0; pe < boot->n; pe++) {
        uint32_t word = 0;
        EXPECT(all[pe] == 1000 * round + pe);
        EXPECT((fds[pe] >= 0) == ch_boot_is_near(boot, pe));
        if (fds[pe] < 0) continue;
        EXPECT(pread(fds[pe], &word, sizeof(word), 0) == (ssize_t)sizeof(word));
        EXPECT(word == 1000 * round + pe);
        (void)close(fds[pe]);
    }
    free(all);
    free(fds);
}

static void exchange_all_kinds(struct tree_pe *pe)
{
    struct ch_boot *const boot = pe->boot;
    const uint32_t rounds = boot->n > 64 ? 1 : ROUNDS;
    struct ch_options options;

    EXPECT(ch_options_read(&options) == CHORUS_OK);
    options.nodes = boot->n / 3;
    EXPECT(ch_boot_locate(boot, &options) == CHORUS_OK);
    EXPECT(boot->n_nodes == (boot->n < 6 ? 1 : boot->n / 3));
    for (uint32_t round = 0; round < rounds; round++) {
        exchange_blobs(boot, 4 + round, round);
        exchange_files(boot, round);
        if (boot->n <= 64) exchange_blobs(boot, BIG_BYTES, round);
        EXPECT(boot->ops->exchange(boot, NULL, 0, -1, NULL, NULL) == CHORUS_OK);
    }
    EXPECT(boot->ops->serve(boot) == CHORUS_OK);
}

static const uint32_t counts[] = {1, 2, 3, 5, 17, 18, 40, 300};
enum { COUNTS = sizeof(counts) / sizeof(counts[0]) };

START_TEST(tree__exchanges__everyone_gets_all_in_pe_order)
{
    const int before = count_fds();
    const uint32_t n = counts[_i];

    tree_prepare(n, PLENTY_NS);
    tree_run(n, exchange_all_kinds);
    for (uint32_t pe = 0; pe < n; pe++)
        ck_assert_msg(tree_pes[pe].status == CHORUS_OK, "PE %u: %s", pe, tree_pes[pe].message);
    ck_assert_int_eq(count_fds(), before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("boot_tree");
    TCase *tc = tcase_create("all");
    SRunner *runner;
    int n_failed;

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, tree__exchanges__everyone_gets_all_in_pe_order, 0, COUNTS);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

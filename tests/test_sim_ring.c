/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sim_ring: the ring of requests on the simulated machine, for many seeds.
 *
 *   test_sim_ring [--seeds COUNT | --seed S]
 *
 * --seed runs one, which repeats a failure; the failure prints the command.
 */
#include "sim/ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 4000u

int main(int argc, char **argv)
{
    uint64_t first = 0, end = getenv("CHORUS_TEST_FULL") != NULL ? 6 * SEEDS : SEEDS;

    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) {
        end = strtoull(argv[2], NULL, 10);
    } else if (argc == 3 && strcmp(argv[1], "--seed") == 0) {
        first = strtoull(argv[2], NULL, 10);
        end = first + 1;
    } else if (argc != 1) {
        (void)fputs("test_sim_ring [--seeds COUNT | --seed S]\n", stderr);
        return EXIT_FAILURE;
    }
    for (uint64_t seed = first; seed < end; seed++) {
        const char *wrong = ring_run(seed);

        if (wrong == NULL) continue;
        printf("%s\nreplay: test_sim_ring --seed %llu\n", wrong, (unsigned long long)seed);
        return EXIT_FAILURE;
    }
    printf("all is well: %llu requests, of which %llu waited for a credit, %llu flushes, "
           "%llu quiets, and %llu that were not needed\n",
           (unsigned long long)ring_counts.posted, (unsigned long long)ring_counts.waited,
           (unsigned long long)ring_counts.flushed, (unsigned long long)ring_counts.quieted,
           (unsigned long long)ring_counts.skipped);
    /* Runs in which nobody waits, or nothing is flushed, would show nothing. */
    if (end - first >= SEEDS && (ring_counts.waited == 0 || ring_counts.flushed == 0 ||
                                 ring_counts.quieted == 0 || ring_counts.skipped == 0))
        return EXIT_FAILURE;
    return EXIT_SUCCESS;
}

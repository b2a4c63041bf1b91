/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_pe heap|private: a PE that takes memory until there is no more. Of the heap it is
 * given null, and a reason, which PE 0 prints. Of its own, that PE 1 takes, the kernel ends it.
 */
#include "chorus/chorusx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define M ((size_t)1024 * 1024)
#define STEP (8 * M)
#define MOST (2048 * M) /* no test gives more */

static void keep_quiet(int code, const char *message)
{
    (void)code, (void)message;
}

static int take_heap(void)
{
    (void)chorusx_set_error_handler(keep_quiet);
    for (size_t taken = 0; taken < MOST; taken += STEP)
        if (chorus_malloc(STEP) == NULL) {
            if (chorus_my_pe() == 0) (void)fprintf(stderr, "null: %s\n", chorusx_last_error());
            chorus_barrier_all();
            chorus_finalize();
            return EXIT_SUCCESS;
        }
    return EXIT_FAILURE;
}

static int take_own(void)
{
    for (size_t taken = 0; taken < MOST && chorus_my_pe() == 1; taken += STEP) {
        char *const memory = malloc(STEP);

        if (memory == NULL) return EXIT_FAILURE;
        memset(memory, 1, STEP);
    }
    chorus_barrier_all();
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    if (argc != 2 || chorus_init() != CHORUS_OK) return EXIT_FAILURE;
    return strcmp(argv[1], "heap") == 0 ? take_heap() : take_own();
}

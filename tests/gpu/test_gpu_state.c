/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels have the state of the PE however they are launched, and wherever their file is: in
 * another file than this one, in a library that is loaded later, after a second start.
 *
 * usage: test_gpu_state LIBRARY | test_gpu_state none CALL
 *
 *   none  instead: the call of state_kernels.h without a job, which ends with the message and a
 *         failure of CUDA; 1 if so, 0 otherwise, as a trap takes the process along
 */
#include "gpu_pes.h"
#include "state_kernels.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *library; /* with these kernels again */

static void expect_to_pass(int (*launch)(int *at, int *bad))
{
    int *at = chorus_calloc(3, sizeof(int)), *bad = chorus_calloc(1, sizeof(int));
    int n_bad = -1;

    EXPECT(launch(at, bad) == 0);
    gpu_copy(&n_bad, bad, sizeof(n_bad));
    EXPECT(n_bad == 0);
    chorus_free(bad);
    chorus_free(at);
}

static void kernels_of_another_file_have_the_state(void)
{
    expect_to_pass(state_launch);
}

static void kernels_of_a_library_loaded_later_have_it(void)
{
    for (int i = 0; i < 2; i++) {
        void *const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        int (*launch)(int *, int *) = NULL;

        if (!EXPECT(handle != NULL)) return;
        *(void **)&launch = dlsym(handle, "state_launch_again");
        if (EXPECT(launch != NULL)) expect_to_pass(launch);
        EXPECT(dlclose(handle) == 0);
    }
}

static void kernels_have_it_after_a_second_start(void)
{
    chorus_finalize();
    EXPECT(chorus_init() == CHORUS_OK);
    expect_to_pass(state_launch);
}

#define CASES(X)                                 \
    X(kernels_of_another_file_have_the_state)    \
    X(kernels_of_a_library_loaded_later_have_it) \
    X(kernels_have_it_after_a_second_start)

int main(int argc, char **argv)
{
    static const struct gpu_case cases[] = {CASES(GPU_CASE)};

    if (argc == 3 && strcmp(argv[1], "none") == 0)
        return state_call(atoi(argv[2])) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    if (argc != 2) {
        (void)fprintf(stderr, "usage: test_gpu_state LIBRARY | test_gpu_state none CALL\n");
        return 2;
    }
    library = argv[1];
    return gpu_main(1, argv, cases, sizeof(cases) / sizeof(cases[0]));
}

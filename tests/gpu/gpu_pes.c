/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_pes.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, REPORT_BYTES = 1024 };

static int n_failed; /* of this process */

/* What the handler last got on this thread; code 0: nothing. */
static _Thread_local int reported;
static _Thread_local char report[REPORT_BYTES];

static struct {
    const struct gpu_case *cases;
    size_t n_cases;
    bool is_on_threads;
} run;

static void fail(const char *what, const char *found, const char *file, int line)
{
    const int pe = chorusx_init_status() == 1 ? chorus_my_pe() : -1;

    (void)__atomic_fetch_add(&n_failed, 1, __ATOMIC_RELAXED);
    (void)fprintf(stderr, "PE %d: %s:%d: does not hold: %s%s%s\n", pe, file, line, what,
                  found[0] == '\0' ? "" : "; found: ", found);
}

bool gpu_expect(bool holds, const char *condition, const char *file, int line)
{
    if (!holds) fail(condition, chorusx_last_error(), file, line);
    return holds;
}

int gpu_failures(void)
{
    return __atomic_load_n(&n_failed, __ATOMIC_RELAXED);
}

static void keep_report(int code, const char *message)
{
    reported = code;
    (void)snprintf(report, sizeof(report), "%s", message);
}

void gpu_expect_report(int code, const char *part, const char *file, int line)
{
    const bool as_told = reported == code && strstr(report, part) != NULL;

    if (!as_told) fail(part, reported == 0 ? "no report" : report, file, line);
    reported = 0;
}

void gpu_meet(void)
{
    chorus_free(chorus_malloc(1));
}

void gpu_copy(void *dest, const void *source, size_t bytes)
{
    EXPECT(cudaMemcpy(dest, source, bytes, cudaMemcpyDefault) == cudaSuccess);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
}

void gpu_fill(void *dest, int value, size_t bytes)
{
    EXPECT(cudaMemset(dest, value, bytes) == cudaSuccess);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
}

void *gpu_alloc(size_t bytes)
{
    void *ptr = NULL;

    EXPECT(cudaMalloc(&ptr, bytes) == cudaSuccess);
    return ptr;
}

void gpu_free(void *ptr)
{
    EXPECT(cudaFree(ptr) == cudaSuccess);
}

static void run_cases(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < run.n_cases; i++) {
        if (chorus_my_pe() == 0) (void)printf("%s\n", run.cases[i].name);
        (void)fflush(stdout);
        run.cases[i].body();
        if (reported != 0) fail("no report left", report, run.cases[i].name, 0);
        reported = 0;
        gpu_meet();
    }
}

static int run_as_pe(void)
{
    if (chorus_init() != CHORUS_OK) {
        (void)fprintf(stderr, "chorus_init: %s\n", chorusx_last_error());
        return EXIT_FAILURE;
    }
    (void)chorusx_set_error_handler(keep_report);
    run_cases(NULL);
    chorus_finalize();
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_on_threads(int n)
{
    (void)chorusx_set_error_handler(keep_report);
    if (chorusx_run_threads(n, run_cases, NULL) == CHORUS_OK)
        return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    (void)fprintf(stderr, "%d PEs as threads: %s\n", n, chorusx_last_error());
    return EXIT_FAILURE;
}

int gpu_main(int argc, char **argv, const struct gpu_case *cases, size_t n_cases)
{
    int n_devices = 0;

    /* Kernels that are loaded while others run wait for these, and copies of the library for
     * both; and under MPS two streams whose kernels wait would fill all queues. */
    if (setenv("CUDA_MODULE_LOADING", "EAGER", 0) != 0 ||
        setenv("CUDA_DEVICE_MAX_CONNECTIONS", "8", 0) != 0)
        return EXIT_FAILURE;
    if (cudaGetDeviceCount(&n_devices) != cudaSuccess || n_devices == 0) {
        (void)printf("skipped: no GPU here\n");
        return SKIPPED;
    }
    run.cases = cases;
    run.n_cases = n_cases;
    if (setenv("CHORUS_HEAP", "cuda", 1) != 0) return EXIT_FAILURE;
    run.is_on_threads = argc == 3 && strcmp(argv[1], "threads") == 0;
    if (run.is_on_threads) return run_on_threads(gpu_threads(argv[2]));
    return run_as_pe();
}

bool gpu_are_threads(void)
{
    return run.is_on_threads;
}

int gpu_threads(const char *asked)
{
    const int n = (int)strtol(asked, NULL, 10);
    int n_devices = 0;

    EXPECT(cudaGetDeviceCount(&n_devices) == cudaSuccess);
    return n < n_devices ? n : n_devices;
}

bool gpu_is_small(void)
{
    return getenv("CHORUS_TEST_SMALL") != NULL || run.is_on_threads;
}

int gpu_ctas(int wanted)
{
    enum { FAR_CTAS = 4 };
    const bool is_far = chorus_team_n_pes(CHORUS_TEAM_SHARED) < chorus_n_pes();

    return is_far && wanted > FAR_CTAS ? FAR_CTAS : wanted;
}

int gpu_me(void)
{
    return chorus_my_pe();
}

int gpu_n(void)
{
    return chorus_n_pes();
}

int gpu_next(void)
{
    return (chorus_my_pe() + 1) % chorus_n_pes();
}

int gpu_previous(void)
{
    return (chorus_my_pe() + chorus_n_pes() - 1) % chorus_n_pes();
}

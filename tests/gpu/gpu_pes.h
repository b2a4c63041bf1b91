/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_pes.h: test bodies that run on every PE of a job whose heap is on GPUs, with nothing but
 * the library and CUDA.
 *
 * A program lists its bodies and ends with GPU_MAIN(list). Under chorusrun each process is a
 * PE; "program threads N" runs N PEs as threads, or one for each GPU if these are fewer.
 * Without a GPU it exits with 77: skipped.
 */
#ifndef GPU_PES_H
#define GPU_PES_H

#include "chorus/chorusx.h"

#include <stdbool.h>
#include <stddef.h>

/* Says what does not hold, on which PE, and makes the program fail; true if it holds. */
#define EXPECT(condition) gpu_expect((condition), #condition, __FILE__, __LINE__)
bool gpu_expect(bool holds, const char *condition, const char *file, int line);

/* How many did not hold in this process so far. */
int gpu_failures(void);

/* The last call on this PE handed this code to the error handler, with a message that has
 * `part` in it; forgets the report. */
#define EXPECT_REPORT(code, part) gpu_expect_report((code), (part), __FILE__, __LINE__)
void gpu_expect_report(int code, const char *part, const char *file, int line);

struct gpu_case {
    const char *name;
    void (*body)(void);
};
int gpu_main(int argc, char **argv, const struct gpu_case *cases, size_t n_cases);

#define GPU_CASE(name) {#name, name},
#define GPU_MAIN(LIST)                                                        \
    int main(int argc, char **argv)                                           \
    {                                                                         \
        static const struct gpu_case cases[] = {LIST(GPU_CASE)};              \
        return gpu_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0])); \
    }

/* A barrier that runs no collective: allocation is one. */
void gpu_meet(void);

/* Copies that are done on return, by CUDA alone; either side may be on a GPU. */
void gpu_copy(void *dest, const void *source, size_t bytes);
/* All bytes are `value`. */
void gpu_fill(void *dest, int value, size_t bytes);

/* Memory of this PE's GPU that is not symmetric. */
void *gpu_alloc(size_t bytes);
void gpu_free(void *ptr);

/* Are PEs threads of this process? Their kernels make no calls. */
bool gpu_are_threads(void);
/* PEs for threads of this process, of those that a program was asked for. */
int gpu_threads(const char *asked);
/* Are few cases enough, as there are many variants, or PEs share a GPU? */
bool gpu_is_small(void);

/* The number of CTAs to ask for where `wanted` are wanted: a call that reaches GPUs of other
 * hosts has few. */
int gpu_ctas(int wanted);

/* This PE, the number of PEs, and the neighbours of this one in a ring. */
int gpu_me(void);
int gpu_n(void);
int gpu_next(void);
int gpu_previous(void);

#endif /* GPU_PES_H */

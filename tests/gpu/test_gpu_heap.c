/* SPDX-License-Identifier: Apache-2.0 */
/* The symmetric heap on GPUs: where objects are, growth, the end of memory, teams' memory. */
#include "gpu_pes.h"

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define M ((size_t)1 << 20)

static chorusx_heap_info_t heap_info(void)
{
    chorusx_heap_info_t info;

    memset(&info, 0, sizeof(info));
    EXPECT(chorusx_heap_info(&info) == CHORUS_OK);
    return info;
}

/* Nothing was taken or lost since. */
static void expect_heap(const chorusx_heap_info_t *before)
{
    const chorusx_heap_info_t now = heap_info();

    EXPECT(now.used_bytes == before->used_bytes);
    EXPECT(now.blocks == before->blocks);
    EXPECT(now.free_bytes == before->free_bytes);
    EXPECT(now.largest_free_bytes == before->largest_free_bytes);
}

static bool all_bytes_are(const void *on_gpu, unsigned char value, size_t bytes)
{
    unsigned char *here = malloc(bytes);
    bool holds = here != NULL;

    if (holds) gpu_copy(here, on_gpu, bytes);
    for (size_t i = 0; holds && i < bytes; i++)
        holds = here[i] == value;
    free(here);
    return holds;
}

static void info__heap_on_gpus__says_so(void)
{
    const chorusx_heap_info_t info = heap_info();
    int current = -1;

    EXPECT(info.heap == CHORUS_HEAP_cuda);
    EXPECT(cudaGetDevice(&current) == cudaSuccess && current == info.device);
    EXPECT(info.local_used_bytes > 0);
}

static void malloc__object__is_on_the_pe_s_gpu(void)
{
    char *ptr = chorus_malloc(100);
    struct cudaPointerAttributes is;

    EXPECT(cudaPointerGetAttributes(&is, ptr) == cudaSuccess);
    EXPECT(is.type == cudaMemoryTypeDevice && is.device == heap_info().device);
    EXPECT(chorus_addr_accessible(ptr, 0));
    chorus_free(ptr);
}

static void calloc__memory_used_before__is_zero(void)
{
    unsigned char *dirty = chorus_malloc(3 * M), *clean;

    gpu_fill(dirty, 0xff, 3 * M);
    chorus_free(dirty);
    clean = chorus_calloc(M, 3);
    EXPECT(all_bytes_are(clean, 0, 3 * M));
    chorus_free(clean);
}

static void align__power_of_two__is_kept(void)
{
    for (size_t alignment = 1; alignment <= (size_t)1 << 30; alignment *= 32) {
        char *ptr = chorus_align(alignment, 100);

        EXPECT(ptr != NULL && (uintptr_t)ptr % alignment == 0);
        chorus_free(ptr);
    }
}

/* Each object is larger than a step, so that each grows the heap on every PE. */
static void malloc__past_what_is_committed__grows_everywhere(void)
{
    enum { OBJECTS = 6 };
    const chorusx_heap_info_t before = heap_info();
    unsigned char *objects[OBJECTS];

    for (int i = 0; i < OBJECTS; i++) {
        objects[i] = chorus_malloc(17 * M);
        EXPECT(objects[i] != NULL);
        gpu_fill(chorus_ptr(objects[i], gpu_next()), 16 * i + gpu_me() % 16, 17 * M);
    }
    EXPECT(heap_info().committed_bytes >= before.used_bytes + OBJECTS * 17 * M);
    gpu_meet();
    for (int i = 0; i < OBJECTS; i++) {
        EXPECT(
            all_bytes_are(objects[i], (unsigned char)(16 * i + gpu_previous() % 16), 17 * M));
        chorus_free(objects[i]);
    }
    expect_heap(&before);
}

static void realloc__object_that_must_move__keeps_its_bytes(void)
{
    unsigned char *ptr = chorus_realloc(NULL, 1000), *wall = chorus_malloc(64);

    gpu_fill(ptr, 7, 1000);
    ptr = chorus_realloc(ptr, 5 * M);
    EXPECT(ptr > wall);
    EXPECT(all_bytes_are(ptr, 7, 1000));
    chorus_free(wall);
    chorus_free(ptr);
}

/* The GPU is full before the addresses are, since each PE has its sync memory there too. */
static void malloc__more_than_the_gpu_has__is_null_and_changes_nothing(void)
{
    const chorusx_heap_info_t before = heap_info();
    const size_t asked[] = {before.largest_free_bytes, before.reserved_bytes + 1, SIZE_MAX / 2};
    unsigned char *small;

    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        EXPECT(chorus_malloc(asked[i]) == NULL);
        EXPECT(strstr(chorusx_last_error(), "bytes were requested from the symmetric heap") !=
               NULL);
        if (i == 0) EXPECT(strstr(chorusx_last_error(), "GPU") != NULL);
        expect_heap(&before);
        EXPECT(heap_info().committed_bytes == before.committed_bytes);
    }
    small = chorus_calloc(M, 1);
    EXPECT(small != NULL && all_bytes_are(small, 0, M));
    chorus_free(small);
}

static void ptr__peer__is_its_object(void)
{
    int *word = chorus_malloc(sizeof(*word));
    int value = -1, mine = gpu_me();

    gpu_copy(chorus_ptr(word, gpu_next()), &mine, sizeof(mine));
    gpu_meet();
    gpu_copy(&value, word, sizeof(value));
    EXPECT(value == gpu_previous());
    EXPECT(chorus_ptr(word, gpu_me()) == word);
    EXPECT(chorus_ptr(&value, 0) == NULL);
    chorus_free(word);
}

/* Sync memory comes from a part of fixed bytes: what a destroyed team had is given back. */
static void team_create__a_thousand_times__leaves_nothing(void)
{
    const chorusx_heap_info_t before = heap_info();
    int pes[1024];
    const int n = gpu_n() < 1024 ? gpu_n() : 1024;

    for (int pe = 0; pe < n; pe++)
        pes[pe] = n - 1 - pe;
    for (int i = 0; i < 1000; i++) {
        chorus_team_t team = CHORUS_TEAM_INVALID;

        if (!EXPECT(chorusx_team_create(CHORUS_TEAM_WORLD, pes, n, &team) == CHORUS_OK)) return;
        EXPECT(chorus_team_my_pe(team) == n - 1 - gpu_me());
        chorus_team_destroy(team);
    }
    EXPECT(heap_info().local_used_bytes == before.local_used_bytes);
}

/* Until the part is full: an error with what to do, and room again afterwards. */
static void team_create__until_sync_memory_is_full__is_an_error_on_all(void)
{
    enum { TEAMS_MAX = 3000 };
    static _Thread_local chorus_team_t teams[TEAMS_MAX];
    const chorusx_heap_info_t before = heap_info();
    int n = 0, code = CHORUS_OK;

    while (n < TEAMS_MAX && code == CHORUS_OK) {
        code = chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), NULL, 0, &teams[n]);
        if (code == CHORUS_OK) n++;
    }
    EXPECT(n > 0);
    EXPECT(code == CHORUS_OK || code == CHORUS_ERR_NOMEM);
    if (code != CHORUS_OK) EXPECT(strstr(chorusx_last_error(), "sync memory") != NULL);
    for (int i = 0; i < n; i++)
        chorus_team_destroy(teams[i]);
    EXPECT(heap_info().local_used_bytes == before.local_used_bytes);
}

#define CASES(X)                                                  \
    X(info__heap_on_gpus__says_so)                                \
    X(malloc__object__is_on_the_pe_s_gpu)                         \
    X(calloc__memory_used_before__is_zero)                        \
    X(align__power_of_two__is_kept)                               \
    X(malloc__past_what_is_committed__grows_everywhere)           \
    X(realloc__object_that_must_move__keeps_its_bytes)            \
    X(malloc__more_than_the_gpu_has__is_null_and_changes_nothing) \
    X(ptr__peer__is_its_object)                                   \
    X(team_create__a_thousand_times__leaves_nothing)              \
    X(team_create__until_sync_memory_is_full__is_an_error_on_all)
GPU_MAIN(CASES)

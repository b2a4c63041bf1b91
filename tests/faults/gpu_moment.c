/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_moment.h"

#include "gpu_inside.h"
#include "growth.h"
#include "ref/ref_coll.h"

#include <chorus/chorusx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 3 << 20, WRONG = -100, POISON = 0xee };

enum {
    WORD_COUNTER,
    WORD_SIGNAL,
    WORD_OVER,
    WORD_SPARE,
    WORD_INSIDE,
    WORDS = WORD_INSIDE + GPU_INSIDE_LANES
};

enum gpu_moment gpu_moment_of(const char *name)
{
#define X(moment) \
    if (strcmp(name, #moment) == 0) return GPU_MOMENT_##moment;
    GPU_MOMENT_LIST(X)
#undef X
    return GPU_MOMENT_COUNT;
}

/* A number below `limit`, of this PE alone. */
static uint64_t dice(const struct gpu_site *s, uint64_t what, uint64_t limit)
{
    return ref_hash(s->seed + s->me, s->round, what) % limit;
}

static int other(const struct gpu_site *s)
{
    return (int)((s->me + 1 + dice(s, 0, s->n - 1)) % s->n);
}

static size_t any_bytes(const struct gpu_site *s)
{
    return 1 + dice(s, 1, GPU_BYTES_MAX);
}

void gpu_fill(unsigned char *memory, uint64_t seed, uint32_t pe, size_t bytes)
{
    const uint64_t first = ref_hash(seed, pe, 3);

    for (size_t i = 0; i < bytes; i++)
        memory[i] = (unsigned char)(first + 7 * i + i / 251);
}

int gpu_compare(const struct gpu_site *s, const unsigned char *got, const unsigned char *want,
                size_t bytes)
{
    if (memcmp(got, want, bytes) == 0) return 0;
    (void)fprintf(stderr, "PE %u: wrong data\n", s->me);
    return WRONG;
}

static int compare(const struct gpu_site *s, const unsigned char *want, size_t bytes)
{
    return gpu_compare(s, s->got, want, bytes);
}

/* Calls that wait for all PEs. */
static int meet(void)
{
    void *object = chorus_malloc(64);

    chorus_free(object);
    return object != NULL ? 0 : CHORUS_ERR_NOMEM;
}

int gpu_site_open(struct gpu_site *s, uint64_t seed)
{
    *s = (struct gpu_site){.me = (uint32_t)chorus_my_pe(), .n = (uint32_t)chorus_n_pes()};
    s->seed = seed;
    s->mine = malloc(GPU_BYTES_MAX);
    s->got = malloc(GPU_BYTES_MAX);
    s->kept = chorus_calloc(GPU_BYTES_MAX, 1);
    s->from = chorus_calloc(s->n, GPU_BYTES_MAX);
    s->words = chorus_calloc(WORDS, sizeof(*s->words));
    if (s->mine == NULL || s->got == NULL || s->kept == NULL || s->from == NULL ||
        s->words == NULL)
        return CHORUS_ERR_NOMEM;
    s->counter = &s->words[WORD_COUNTER];
    s->spare = &s->words[WORD_SPARE];
    s->signals = &s->words[WORD_INSIDE];
    if (cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking) != cudaSuccess)
        return CHORUS_ERR_SYSTEM;
    gpu_fill(s->kept, seed, s->me, GPU_BYTES_MAX);
    return meet();
}

void gpu_site_free(struct gpu_site *s)
{
    chorus_free(s->words);
    chorus_free(s->from);
    chorus_free(s->kept);
    s->words = NULL;
    s->from = s->kept = NULL;
}

void gpu_site_close(struct gpu_site *s)
{
    if (s->stream != NULL) (void)cudaStreamDestroy(s->stream);
    free(s->mine);
    free(s->got);
    *s = (struct gpu_site){0};
}

static int synchronize(const struct gpu_site *s)
{
    return chorusx_stream_synchronize((void *)s->stream);
}

/* --- moments ------------------------------------------------------------------------------ */
/* The heap grows, until all blocks are given back. */
static int step_growth(struct gpu_site *s)
{
    return growth_step(s->blocks, sizeof(s->blocks) / sizeof(s->blocks[0]), s->n_growths++,
                       BLOCK_BYTES);
}

static int step_start(struct gpu_site *s)
{
    return step_growth(s);
}

static int step_finalize(struct gpu_site *s)
{
    return step_growth(s);
}

/* To this PE's part at another, and back. */
static int step_put(struct gpu_site *s)
{
    unsigned char *const there = s->from + (size_t)s->me * GPU_BYTES_MAX;
    const size_t bytes = any_bytes(s);
    const int pe = other(s);

    gpu_fill(s->mine, s->seed + s->round, s->me, bytes);
    memset(s->got, POISON, bytes);
    chorus_putmem(there, s->mine, bytes, pe);
    chorus_quiet();
    chorus_getmem(s->got, there, bytes, pe);
    return compare(s, s->mine, bytes);
}

static int step_get(struct gpu_site *s)
{
    const size_t bytes = any_bytes(s);
    const int pe = other(s);

    gpu_fill(s->mine, s->seed, (uint32_t)pe, bytes);
    memset(s->got, POISON, bytes);
    chorus_getmem(s->got, s->kept, bytes, pe);
    return compare(s, s->mine, bytes);
}

static int step_amo(struct gpu_site *s)
{
    (void)chorus_uint64_atomic_fetch_add(s->counter, 1, other(s));
    return 0;
}

/* A ring of signals: each PE waits for the one before it. */
static int step_wait(struct gpu_site *s)
{
    chorusx_signal_op(&s->words[WORD_SIGNAL], 1, CHORUS_SIGNAL_ADD, (int)((s->me + 1) % s->n));
    (void)chorus_signal_wait_until(&s->words[WORD_SIGNAL], CHORUS_CMP_GE, ++s->n_waits);
    return 0;
}

static int step_stream_put(struct gpu_site *s)
{
    unsigned char *const there = s->from + (size_t)s->me * GPU_BYTES_MAX;
    const size_t bytes = any_bytes(s);
    const int pe = other(s);
    int status;

    gpu_fill(s->mine, s->seed + s->round, s->me, bytes);
    memset(s->got, POISON, bytes);
    status = chorusx_putmem_on_stream(there, s->mine, bytes, pe, (void *)s->stream);
    if (status == 0) status = synchronize(s);
    if (status == 0) status = chorusx_quiet_on_stream((void *)s->stream);
    if (status == 0) status = synchronize(s);
    if (status == 0)
        status = chorusx_getmem_on_stream(s->got, there, bytes, pe, (void *)s->stream);
    if (status == 0) status = synchronize(s);
    return status == 0 ? compare(s, s->mine, bytes) : status;
}

static int step_stream_get(struct gpu_site *s)
{
    const size_t bytes = any_bytes(s);
    const int pe = other(s);
    int status;

    gpu_fill(s->mine, s->seed, (uint32_t)pe, bytes);
    memset(s->got, POISON, bytes);
    status = chorusx_getmem_on_stream(s->got, s->kept, bytes, pe, (void *)s->stream);
    if (status == 0) status = synchronize(s);
    return status == 0 ? compare(s, s->mine, bytes) : status;
}

static int step_stream_signal(struct gpu_site *s)
{
    const int status = chorusx_signal_op_on_stream(s->counter, 1, CHORUS_SIGNAL_ADD, other(s),
                                                   (void *)s->stream);

    return status == 0 ? synchronize(s) : status;
}

static int step_stream_quiet(struct gpu_site *s)
{
    int status;

    chorus_putmem_nbi(s->from + (size_t)s->me * GPU_BYTES_MAX, s->mine, any_bytes(s), other(s));
    status = chorusx_quiet_on_stream((void *)s->stream);
    return status == 0 ? synchronize(s) : status;
}

#define X(name)                                       \
    static int step_inside_##name(struct gpu_site *s) \
    {                                                 \
        return gpu_inside_step(s, GPU_INSIDE_##name); \
    }
GPU_INSIDE_LIST(X)
#undef X

int gpu_moment_step(struct gpu_site *s, enum gpu_moment moment)
{
    static int (*const steps[])(struct gpu_site *) = {
#define X(name) step_##name,
        GPU_MOMENT_LIST(X)
#undef X
    };
    const int status = steps[moment](s);

    s->round++;
    return status;
}

int gpu_site_agree(struct gpu_site *s, int pe, bool *is_over)
{
    const uint64_t value = *is_over;
    int status;

    for (int k = 0; (int)s->me == pe && k < (int)s->n; k++)
        chorus_putmem(&s->words[WORD_OVER], &value, sizeof(value), k);
    chorus_quiet();
    status = meet();
    *is_over = s->words[WORD_OVER] != 0;
    return status;
}

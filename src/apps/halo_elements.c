/* SPDX-License-Identifier: Apache-2.0 */
/* halo_elements.c: the elements of a part, and how they are copied and added. */
#include "apps/halo.h"

#include <stdlib.h>
#include <string.h>

/* With shorter runs, an index for each element is quicker. */
enum { RUN_MIN = 2 };

bool ch_halo_part_count(const chorusx_halo_part_t *part, size_t *count_out)
{
    size_t count = part->indices != NULL ? part->count : 1;

    for (int i = 0; i < 3 && part->indices == NULL; i++) {
        /* A box of fewer dimensions has an extent of 0 in the others. */
        const size_t extent = i > 0 && part->extent[i] == 0 ? 1 : part->extent[i];

        if (__builtin_mul_overflow(count, extent, &count)) return false;
    }
    *count_out = count;
    return true;
}

bool ch_halo_part_visit(const chorusx_halo_part_t *part,
                        bool (*visit)(void *arg, size_t element), void *arg)
{
    const size_t ny = part->extent[1] > 0 ? part->extent[1] : 1,
                 nz = part->extent[2] > 0 ? part->extent[2] : 1;

    if (part->indices != NULL) {
        for (size_t i = 0; i < part->count; i++)
            if (!visit(arg, part->indices[i])) return false;
        return true;
    }
    for (size_t z = 0; part->extent[0] > 0 && z < nz; z++)
        for (size_t y = 0; y < ny; y++)
            for (size_t x = 0; x < part->extent[0]; x++)
                if (!visit(arg, part->first + x * part->stride[0] + y * part->stride[1] +
                                    z * part->stride[2]))
                    return false;
    return true;
}

/* --- building ----------------------------------------------------------------------------- */
static bool add_to_runs(void *arg, size_t element)
{
    struct ch_halo_elements *e = arg;
    struct ch_halo_run *last = e->n_runs > 0 ? &e->runs[e->n_runs - 1] : NULL;

    if (last != NULL && last->first + last->count == element)
        last->count++;
    else
        e->runs[e->n_runs++] = (struct ch_halo_run){element, 1};
    return true;
}

static void keep_indices(struct ch_halo_elements *e)
{
    size_t n = 0;

    for (size_t r = 0; r < e->n_runs; r++)
        for (size_t i = 0; i < e->runs[r].count; i++)
            e->indices[n++] = (uint32_t)(e->runs[r].first + i);
    free(e->runs);
    e->runs = NULL;
    e->n_runs = 0;
}

bool ch_halo_elements_set(struct ch_halo_elements *e, const chorusx_halo_part_t *part)
{
    *e = (struct ch_halo_elements){0};
    if (!ch_halo_part_count(part, &e->count)) return false;
    if (e->count == 0) return true;
    e->runs = calloc(e->count, sizeof(*e->runs));
    if (e->runs == NULL) return false;
    (void)ch_halo_part_visit(part, add_to_runs, e);
    if (e->count / e->n_runs < RUN_MIN && part->indices != NULL) {
        e->indices = calloc(e->count, sizeof(*e->indices));
        if (e->indices == NULL) return false;
        keep_indices(e);
    } else {
        struct ch_halo_run *less = realloc(e->runs, e->n_runs * sizeof(*e->runs));

        if (less != NULL) e->runs = less;
    }
    return true;
}

void ch_halo_elements_clear(struct ch_halo_elements *e)
{
    free(e->runs);
    free(e->indices);
    *e = (struct ch_halo_elements){0};
}

/* --- copies ------------------------------------------------------------------------------- */
/* The usual sizes are constants, so that memcpy is a load and a store. */
#define FOR_SIZES(BYTES, DO) \
    switch (BYTES) {         \
    case 4:                  \
        DO(4);               \
        break;               \
    case 8:                  \
        DO(8);               \
        break;               \
    case 12:                 \
        DO(12);              \
        break;               \
    case 16:                 \
        DO(16);              \
        break;               \
    default:                 \
        DO(BYTES);           \
    }

static void gather(char *slot, const char *array, const uint32_t *indices, size_t n,
                   size_t bytes)
{
#define GATHER(BYTES)              \
    for (size_t i = 0; i < n; i++) \
    memcpy(slot + i * (BYTES), array + (size_t)indices[i] * (BYTES), BYTES)
    FOR_SIZES(bytes, GATHER)
#undef GATHER
}

static void scatter(char *array, const char *slot, const uint32_t *indices, size_t n,
                    size_t bytes)
{
#define SCATTER(BYTES)             \
    for (size_t i = 0; i < n; i++) \
    memcpy(array + (size_t)indices[i] * (BYTES), slot + i * (BYTES), BYTES)
    FOR_SIZES(bytes, SCATTER)
#undef SCATTER
}

/* Runs of one element, as of a column, are copied like indices. */
static void copy_run(char *to, const char *from, size_t count, size_t elem_bytes)
{
#define COPY_ONE(BYTES) memcpy(to, from, BYTES)
    if (count == 1) {
        FOR_SIZES(elem_bytes, COPY_ONE)
        return;
    }
#undef COPY_ONE
    memcpy(to, from, count * elem_bytes);
}

void ch_halo_pack(char *slot, const char *array, const struct ch_halo_elements *e, size_t from,
                  size_t to, size_t elem_bytes)
{
    size_t at = 0;

    if (e->indices != NULL) {
        gather(slot + from * elem_bytes, array, e->indices + from, to - from, elem_bytes);
        return;
    }
    for (size_t r = 0; r < e->n_runs && at < to; at += e->runs[r++].count) {
        const size_t begin = at > from ? at : from,
                     end = at + e->runs[r].count < to ? at + e->runs[r].count : to;

        if (begin >= end) continue;
        copy_run(slot + begin * elem_bytes,
                 array + (e->runs[r].first + begin - at) * elem_bytes, end - begin, elem_bytes);
    }
}

void ch_halo_unpack(char *array, const char *slot, const struct ch_halo_elements *e,
                    size_t elem_bytes)
{
    size_t at = 0;

    if (e->indices != NULL) {
        scatter(array, slot, e->indices, e->count, elem_bytes);
        return;
    }
    for (size_t r = 0; r < e->n_runs; at += e->runs[r++].count)
        copy_run(array + e->runs[r].first * elem_bytes, slot + at * elem_bytes,
                 e->runs[r].count, elem_bytes);
}

/* --- sums --------------------------------------------------------------------------------- */
/* Values of n consecutive elements. */
#define DEFINE_ADD(NAME, T, SUM)                                        \
    static void add_##NAME(char *array, const char *slot, size_t bytes) \
    {                                                                   \
        for (size_t i = 0; i < bytes; i += sizeof(T)) {                 \
            T a, b;                                                     \
                                                                        \
            memcpy(&a, array + i, sizeof(a));                           \
            memcpy(&b, slot + i, sizeof(b));                            \
            a = SUM;                                                    \
            memcpy(array + i, &a, sizeof(a));                           \
        }                                                               \
    }
DEFINE_ADD(f32, float, a + b)
DEFINE_ADD(f64, double, a + b)
DEFINE_ADD(i32, int32_t, (int32_t)((uint32_t)a + (uint32_t)b))
DEFINE_ADD(i64, int64_t, (int64_t)((uint64_t)a + (uint64_t)b))

size_t ch_halo_type_bytes(chorus_type type)
{
    if (type == CHORUS_TYPE_f32 || type == CHORUS_TYPE_i32) return 4;
    return type == CHORUS_TYPE_f64 || type == CHORUS_TYPE_i64 ? 8 : 0;
}

typedef void (*add_t)(char *array, const char *slot, size_t bytes);

static add_t add_of(chorus_type type)
{
    if (type == CHORUS_TYPE_f32) return add_f32;
    if (type == CHORUS_TYPE_f64) return add_f64;
    return type == CHORUS_TYPE_i32 ? add_i32 : add_i64;
}

void ch_halo_add(char *array, const char *slot, const struct ch_halo_elements *e,
                 size_t elem_bytes, chorus_type type)
{
    const add_t add = add_of(type);
    size_t at = 0;

    for (size_t i = 0; e->indices != NULL && i < e->count; i++)
        add(array + (size_t)e->indices[i] * elem_bytes, slot + i * elem_bytes, elem_bytes);
    for (size_t r = 0; r < e->n_runs; at += e->runs[r++].count)
        add(array + e->runs[r].first * elem_bytes, slot + at * elem_bytes,
            e->runs[r].count * elem_bytes);
}

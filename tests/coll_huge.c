/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coll_huge.c: each collective once with more than 2^31 elements and bytes in its longest
 * buffer, where a count or an offset of 32 bits would show. `coll_huge GIB`: not where this
 * machine has fewer GiB free.
 *
 * No oracle keeps such vectors: an element's value is a function of the PE it comes from and of
 * its index, and what is to come out is computed where it is compared, piece by piece.
 */
#include "chorus/chorusx.h"
#include "coll/algorithm.h"
#include "ref/ref_origin.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST (((size_t)1 << 31) + 4099) /* bytes, of u8 */
#define PIECE_BYTES ((size_t)1 << 24)      /* that the host looks at, at once */

enum { CANNOT = 77 };

struct site {
    int me, n;
    unsigned char *dest, *source; /* symmetric */
    unsigned char *piece;         /* PIECE_BYTES */
};

static unsigned char value(chorus_coll coll, int pe, size_t index)
{
    return (unsigned char)((index * 0x9e3779b97f4a7c15u >> 56) + 37u * (unsigned)pe +
                           101u * (unsigned)coll);
}

static bool has_n_blocks(chorus_coll coll)
{
    return ref_is_to_each(coll) || ref_is_of_each(coll);
}

/* Elements of a call, so that its longest buffer has LONGEST or a few more. */
static size_t count_of(chorus_coll coll, int n)
{
    return has_n_blocks(coll) ? (LONGEST + (size_t)n - 1) / (size_t)n : LONGEST;
}

/* An element of this PE's dest. */
static unsigned char expected(const struct site *s, chorus_coll coll, size_t count,
                              size_t index)
{
    const struct ref_origin o = ref_origin_of(coll, (uint32_t)s->n, 0, (uint32_t)s->me, count,
                                              (uint32_t)(index / count));
    unsigned char sum = 0;

    for (uint32_t pe = o.lo; pe < o.hi; pe++)
        sum = (unsigned char)(sum + value(coll, (int)pe, o.first + index % count));
    return sum;
}

static void fill(const struct site *s, chorus_coll coll, size_t elements)
{
    for (size_t at = 0; at < elements; at += PIECE_BYTES) {
        const size_t bytes = elements - at < PIECE_BYTES ? elements - at : PIECE_BYTES;

        for (size_t i = 0; i < bytes; i++)
            s->piece[i] = value(coll, s->me, at + i);
        chorus_putmem(s->source + at, s->piece, bytes, s->me);
    }
}

static void poison(const struct site *s, size_t elements)
{
    memset(s->piece, 0xa5, PIECE_BYTES);
    for (size_t at = 0; at < elements; at += PIECE_BYTES)
        chorus_putmem(s->dest + at, s->piece,
                      elements - at < PIECE_BYTES ? elements - at : PIECE_BYTES, s->me);
}

/* The first wrong element; elements if there is none. */
static size_t find_wrong(const struct site *s, chorus_coll coll, size_t count, size_t elements)
{
    for (size_t at = 0; at < elements; at += PIECE_BYTES) {
        const size_t bytes = elements - at < PIECE_BYTES ? elements - at : PIECE_BYTES;

        chorus_getmem(s->piece, s->dest + at, bytes, s->me);
        for (size_t i = 0; i < bytes; i++)
            if (s->piece[i] != expected(s, coll, count, at + i)) return at + i;
    }
    return elements;
}

static bool is_right(const struct site *s, chorus_coll coll)
{
    const size_t count = count_of(coll, s->n), all = (size_t)s->n * count;
    const size_t sources = ref_is_to_each(coll) ? all : count;
    const size_t dests = ref_is_of_each(coll) ? all : count;
    const chorusx_call call = {.coll = coll,
                               .team = CHORUS_TEAM_WORLD,
                               .dest = s->dest,
                               .source = s->source,
                               .count = count,
                               .type = CHORUS_TYPE_u8,
                               .op = CHORUS_OP_sum};
    size_t wrong;

    fill(s, coll, sources);
    poison(s, dests);
    if (chorusx_collective(&call, NULL) != 0) {
        fprintf(stderr, "PE %d: %s of %zu: %s\n", s->me, ch_coll_names[coll], count,
                chorusx_last_error());
        return false;
    }
    wrong = find_wrong(s, coll, count, dests);
    if (wrong < dests)
        fprintf(stderr, "PE %d: %s of %zu: element %zu of %zu is wrong\n", s->me,
                ch_coll_names[coll], count, wrong, dests);
    return wrong == dests;
}

static unsigned long free_gib(void)
{
    FILE *in = fopen("/proc/meminfo", "re");
    unsigned long kib = 0;
    char line[128];

    while (in != NULL && fgets(line, sizeof(line), in) != NULL)
        if (sscanf(line, "MemAvailable: %lu kB", &kib) == 1) break;
    if (in != NULL) (void)fclose(in);
    return kib >> 20;
}

/* The same on all PEs. */
static bool has_room(unsigned long least)
{
    int *free_of = chorus_malloc(2 * sizeof(int)), here = (int)free_gib(), lowest;

    if (free_of == NULL) return false;
    chorus_int_p(free_of, here, chorus_my_pe());
    if (chorus_int_min_reduce(CHORUS_TEAM_WORLD, free_of + 1, free_of, 1) != 0) return false;
    lowest = chorus_int_g(free_of + 1, chorus_my_pe());
    chorus_free(free_of);
    if ((unsigned long)lowest >= least) return true;
    if (chorus_my_pe() == 0) printf("%d GiB are free; %lu are needed\n", lowest, least);
    return false;
}

static int run(struct site *s)
{
    s->me = chorus_my_pe();
    s->n = chorus_n_pes();
    s->dest = chorus_malloc(LONGEST + (size_t)s->n);
    s->source = chorus_malloc(LONGEST + (size_t)s->n);
    s->piece = malloc(PIECE_BYTES);
    if (s->dest == NULL || s->source == NULL || s->piece == NULL) {
        fprintf(stderr, "PE %d: %s\n", s->me, chorusx_last_error());
        return 1;
    }
    for (int coll = CHORUS_COLL_broadcast; coll <= CHORUS_COLL_reducescatter; coll++)
        if (!is_right(s, (chorus_coll)coll)) return 1;
    free(s->piece);
    chorus_free(s->source);
    chorus_free(s->dest);
    return 0;
}

int main(int argc, char **argv)
{
    struct site s = {0};
    int status = CANNOT;

    if (argc != 2 || chorus_init() != 0) {
        fprintf(stderr, "%s\n", argc != 2 ? "usage: coll_huge GIB" : chorusx_last_error());
        return 1;
    }
    if (has_room(strtoul(argv[1], NULL, 10))) status = run(&s);
    if (status == 0 || status == CANNOT) chorus_finalize();
    return status;
}

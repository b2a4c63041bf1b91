/* SPDX-License-Identifier: Apache-2.0 */
/*
 * halo.h: the state of a halo exchange.
 *
 * For each link a PE has two message slots for what comes by it, forward and reverse, of the
 * odd and the even steps, and two words for each slot. The peer writes a slot, then its word
 * `arrived`: the step. The PE that has taken a slot's contents writes the step to the sender's
 * word `freed` of this slot, and a sender writes the slot of a step once the step two before it
 * is freed. So neighbours may be a step apart, and PEs that only send or only receive cannot be
 * further ahead either. As each slot has words of its own, no two writes to a word are ever
 * under way at once, which networks need not order.
 */
#ifndef CH_APPS_HALO_H
#define CH_APPS_HALO_H

#include "chorus/apps/halo.h"

#include <stdbool.h>

enum { CH_HALO_FORWARD, CH_HALO_REVERSE, CH_HALO_WAYS };
enum { CH_HALO_WORDS = 4 * CH_HALO_WAYS }; /* of a link */

/* Elements that follow each other in the array. */
struct ch_halo_run {
    size_t first, count;
};

/* The elements of a part, in its order: runs, or indices where most runs would have one. */
struct ch_halo_elements {
    size_t count;
    struct ch_halo_run *runs;
    size_t n_runs;
    uint32_t *indices;
};

enum ch_halo_send_state { CH_HALO_SENT, CH_HALO_PARTLY_SENT, CH_HALO_NOT_SENT };

/* One way of a link: what goes out, and what comes in. */
struct ch_halo_way {
    struct ch_halo_elements *out, *in;
    size_t at_once;  /* elements of out that depend on no others: those before the first that
                        does */
    uint32_t *after; /* links whose `in` of this way is taken before the rest goes out */
    uint32_t n_after;
    uint32_t *in_after; /* links whose `in` is taken before that of this one */
    uint32_t n_in_after;
    char *slots; /* of this PE: two, one after the other, each of slot_bytes(in) */
    char *there,
        *direct;   /* the peer's, by the address of this PE, and as it is mapped, or null */
    char *staging; /* if it is not mapped: as many bytes, from which they are put */
    /* Of the slots of even and of odd steps: */
    uint64_t *arrived[2], *freed[2];             /* of this PE */
    uint64_t *arrived_there[2], *freed_there[2]; /* of the peer, by addresses of this PE */
    enum ch_halo_send_state sent;
    bool is_taken;
};

struct ch_halo_link {
    int peer; /* number in the job */
    struct ch_halo_elements send, recv;
    struct ch_halo_way ways[CH_HALO_WAYS];
};

struct chorusx_halo {
    chorus_team_t team;
    size_t elem_bytes;
    uint32_t n;
    struct ch_halo_link *links;
    char *memory;                 /* symmetric: words, then slots */
    uint64_t steps[CH_HALO_WAYS]; /* that were begun */
    char *array;                  /* of the exchange that is under way; null: none is */
    int failed;                   /* the code of a wait that failed */
    /* For waits: of all words, which are waited for, and for which values. */
    int *skipped;
    uint64_t *wanted;
};

/* Bytes of a slot for so many elements: a multiple of a cache line. */
static inline size_t ch_halo_slot_bytes(size_t count, size_t elem_bytes)
{
    return (count * elem_bytes + 63) / 64 * 64;
}

/* Where the slot of a step is: those of odd and of even steps alternate. */
static inline size_t ch_halo_slot_at(size_t count, size_t elem_bytes, uint64_t step)
{
    return (step & 1) * ch_halo_slot_bytes(count, elem_bytes);
}

/* --- elements (halo_elements.c) --------------------------------------------------------- */
/* Memory is calloc's; false: there is none. */
bool ch_halo_elements_set(struct ch_halo_elements *e, const chorusx_halo_part_t *part);
void ch_halo_elements_clear(struct ch_halo_elements *e);

/* The number of elements of a part; false: it is more than a size_t holds. */
bool ch_halo_part_count(const chorusx_halo_part_t *part, size_t *count_out);

/* Calls visit for each element of the part, in its order, until it returns false. */
bool ch_halo_part_visit(const chorusx_halo_part_t *part,
                        bool (*visit)(void *arg, size_t element), void *arg);

/* Copy elements [from, to) of e between an array and a slot, in which element i is the i-th. */
void ch_halo_pack(char *slot, const char *array, const struct ch_halo_elements *e, size_t from,
                  size_t to, size_t elem_bytes);
void ch_halo_unpack(char *array, const char *slot, const struct ch_halo_elements *e,
                    size_t elem_bytes);

/* Add those of a slot to those of the array, as values of a type. */
void ch_halo_add(char *array, const char *slot, const struct ch_halo_elements *e,
                 size_t elem_bytes, chorus_type type);

/* --- what does not match (halo_check.c) --------------------------------------------------- */
/* What is wrong with a PE's links by themselves. */
enum ch_halo_problem {
    CH_HALO_FINE,
    CH_HALO_BAD_COUNT,     /* n_links, or null for links or halo */
    CH_HALO_BAD_ELEMENTS,  /* 0 bytes, or more than can be */
    CH_HALO_BAD_PEER,      /* value: the peer */
    CH_HALO_TWICE,         /* value: the other link */
    CH_HALO_TOO_MANY,      /* value: the elements of a part, or SIZE_MAX */
    CH_HALO_BAD_INDEX,     /* value: the index */
    CH_HALO_RECV_TWICE,    /* value: the element */
    CH_HALO_BAD_AFTER,     /* value: what is in after */
    CH_HALO_UNNAMED_AFTER, /* value: the element, which is in the recv of a link not in after */
    CH_HALO_NO_MEMORY,
};

/* What all PEs get of each PE, and of each link. */
struct ch_halo_pe {
    uint64_t n_links, elem_bytes, n_elements;
    uint32_t problem, link; /* the first, and its link */
    uint64_t value;
};

struct ch_halo_record {
    int32_t peer, tag;
    uint64_t n_send, n_recv;
};

struct ch_halo_pe ch_halo_check_own(int n_pes, size_t n_elements, size_t elem_bytes,
                                    int n_links, const chorusx_halo_link_t *links);

/* What all PEs find alike: CHORUS_OK, or the code of the first problem, with a message of up to
 * `bytes` bytes. Of the PEs by themselves: */
int ch_halo_check_pes(uint32_t n_pes, const struct ch_halo_pe *pes, char *message,
                      size_t bytes);

/* And of each link and the peer's, after that. first[p]: the first record of PE p; of a job
 * without links, first and records are not read. */
int ch_halo_check_links(uint32_t n_pes, const struct ch_halo_pe *pes, const uint64_t *first,
                        const struct ch_halo_record *records, char *message, size_t bytes);

/* The link of PE `of` to PE `to` with a tag; n_links if there is none. */
uint64_t ch_halo_find_record(const struct ch_halo_record *records, uint64_t n_links, int to,
                             int tag);

#endif /* CH_APPS_HALO_H */

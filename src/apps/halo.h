/* SPDX-License-Identifier: Apache-2.0 */
/* halo.h: the state of a halo exchange; of its links, chorus/apps/halo_order.h. */
#ifndef CH_APPS_HALO_H
#define CH_APPS_HALO_H

#include "chorus/apps/halo.h"
#include "chorus/apps/halo_order.h"

#include <stdbool.h>

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

struct ch_halo_link {
    int peer; /* number in the job */
    struct ch_halo_elements send, recv;
};

struct chorusx_halo {
    chorus_team_t team;
    size_t elem_bytes;
    uint32_t n;
    struct ch_halo_link *links;
    struct ch_halo_way *ways[CH_HALO_WAYS]; /* of each link */
    struct ch_halo_own *own[CH_HALO_WAYS];
    uint64_t *ready[CH_HALO_WAYS]; /* words of the ways */
    char *memory;                  /* symmetric: words, then slots */
    char *array;                   /* of the exchange that is under way; null: none is */
    int failed;                    /* the code of a wait that failed */
    /* For waits: of all words, which are waited for, and for which values. */
    int *skipped;
    uint64_t *wanted;
    /* Of a heap on GPUs (halo_gpu.c): */
    char *tables; /* symmetric: what kernels have of this object */
    chorusx_halo_device_t device;
};

/* The elements that a link sends and receives in a way. */
static inline const struct ch_halo_elements *ch_halo_out(const struct chorusx_halo *halo,
                                                         int way, uint32_t link)
{
    const struct ch_halo_link *l = &halo->links[link];

    return way == CH_HALO_FORWARD ? &l->send : &l->recv;
}

static inline const struct ch_halo_elements *ch_halo_in(const struct chorusx_halo *halo,
                                                        int way, uint32_t link)
{
    return ch_halo_out(halo, CH_HALO_WAYS - 1 - way, link);
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

/* --- heaps on GPUs (halo_gpu.c) ----------------------------------------------------------- */
/* Make what kernels need of an object whose ways are set. Collective; the same result on all
 * PEs, with a message. */
int ch_halo_gpu_create(struct chorusx_halo *halo);

/* Free it, after all that is under way. Collective. */
int ch_halo_gpu_free(struct chorusx_halo *halo);

/* Bytes of a value that can be added; 0: it cannot. */
size_t ch_halo_type_bytes(chorus_type type);

#endif /* CH_APPS_HALO_H */

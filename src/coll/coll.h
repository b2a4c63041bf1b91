/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coll.h: the arguments of an algorithm: one CTA's part of one call.
 *
 * If a call has several CTAs, each gets a part of every block and its own duplicate. The
 * algorithm does not notice: it sees a smaller `count` and an unchanged `stride`. Only those of
 * uneven collectives get whole blocks, and take their part by ch_cta_part.
 */
#ifndef CH_COLL_H
#define CH_COLL_H

#include "base/exec.h"
#include "chorus/status.h"
#include "coll/reduce.h"
#include "coll/shape.h"
#include "team/sync.h"

/*
 * What the blocks of alltoalls, collect and alltoallv have that others lack. Blocks of the
 * latter two have different lengths: a CTA gets whole blocks, and takes its part by
 * ch_cta_part.
 */
struct ch_pattern {
    uint32_t cta, ctas; /* of the call: which of how many */
    /* alltoalls: elements of a whole block, and bytes from one element to the next. */
    size_t block_count, dst_step, src_step;
    /* alltoallv, [n] each: for each PE, the number of elements of the block to it, or from it,
     * and the position of the block. */
    const size_t *dst_counts, *dst_offsets, *src_counts, *src_offsets;
    /* Of alltoallv. */
    struct ch_unequal *unequal; /* [out] a block whose counts differ */
    int copies_less; /* then copy the smaller number of elements, and go on; else fail */
};

struct ch_coll {
    uint32_t me, n;
    uint32_t root, radix; /* for algorithms that have one */
    size_t count;         /* elements of a block (of the vector, if there are no blocks) */
    size_t elem_bytes;    /* a divisor of 16 */
    size_t stride;        /* bytes from one PE's block to the next, in the buffer of n blocks */
    char *dst;            /* buffers of this PE */
    const char *src;
    uint64_t tag;                     /* of the call's length, by ch_tag_of; 0: it has none */
    const struct ch_pattern *pattern; /* of alltoalls, collect, alltoallv */
    const struct ch_reduce *reduce;   /* of reduce and reducescatter, on a CPU */
    uint32_t type, op;                /* of the same, on a GPU */
    const struct ch_peer *peers;      /* [n] */
    const struct ch_remote *remotes;  /* [n]; null: all peers are mapped */
    const struct ch_levels *levels;   /* of a team on several hosts; else null */
    const uint32_t *pes;              /* [n] for a child team: numbers in the team; else null */
    const struct ch_wait_policy *policy;
    const struct ch_sync_layout *layout;
    ptrdiff_t multicast;    /* distance to the address that reaches all PEs, on backends with
                               multicast in hardware */
    uint32_t is_sync_alike; /* sync memory is at equal offsets: it reaches words, too */
    size_t sync_offset;     /* offset of this CTA's duplicate in the sync memory of all PEs */
    uint64_t *epoch;        /* the private state of the CTA, as in struct ch_dup */
    uint64_t *exchanges;    /* [CH_CELL_COUNT] */
    struct ch_positions *positions;
    struct ch_slot *slots;
    uint32_t *late_peer; /* [out] the peer of a wait that failed, set by ch_record_late_peer */
    /* On a GPU: */
    int is_due;             /* the kernel must still wait for the previous kernel; a constant */
    uint32_t lets_next;     /* the next kernel may be launched after that */
    const uint64_t *failed; /* address of the mark of an earlier call that failed */
    uint64_t broken;        /* value of that mark as the kernel read it, unless `is_due` */
    int *is_known; /* inside a kernel of the program, where each lane counts exchanges: whether
                      every lane has the number that lane 0 requested; null elsewhere */
#if CH_IN_PROGRAM
    /* On teams whose PEs are not all near: combines what the call's slots point to, as
     * ch_combine_set_slots, with the type and the operator as constants. */
    void (*combine_slots)(const struct ch_coll *c, char *dst, uint32_t count, size_t bytes,
                          struct ch_lanes g);
#endif
};

/* Begin to describe a call of PE `me` of n, on every backend. Properties that only some calls
 * or backends have are set to 0, for the caller to change. Assigned field by field, since a CPU
 * takes as long to clear such a struct as for the rest of a small call. */
CH_FN void ch_coll_init(struct ch_coll *c, uint32_t me, uint32_t n, const struct ch_peer *peers,
                        const struct ch_sync_layout *layout)
{
    c->me = me;
    c->n = n;
    c->peers = peers;
    c->layout = layout;
    c->root = c->radix = 0;
    c->tag = 0;
    c->pattern = 0;
    c->reduce = 0;
    c->type = c->op = 0;
    c->remotes = 0;
    c->levels = 0;
    c->pes = 0;
    c->policy = 0;
    c->multicast = 0;
    c->is_sync_alike = 0;
    c->positions = 0;
    c->slots = 0;
    c->late_peer = 0;
    c->is_due = 0;
    c->lets_next = 0;
    c->failed = 0;
    c->broken = 0;
    c->is_known = 0;
}

/* Set which CTA this is, and its private state: `dup`. */
CH_FN void ch_coll_set_cta(struct ch_coll *c, uint32_t cta, struct ch_dup *dup)
{
    c->sync_offset = cta * c->layout->dup_bytes;
    c->epoch = &dup->epoch;
    c->exchanges = dup->exchanges;
}

/* Set the buffers: the call has blocks of `count` elements, and the CTA works on `part` of
 * each. */
CH_FN void ch_coll_set_buffers(struct ch_coll *c, char *dst, const char *src, size_t count,
                               size_t elem_bytes, struct ch_slice part)
{
    c->count = part.count;
    c->elem_bytes = elem_bytes;
    c->stride = count * elem_bytes;
    c->dst = dst + part.first * elem_bytes;
    c->src = src + part.first * elem_bytes;
}

/* For alltoalls, after ch_coll_set_buffers: set the pattern, and move the buffers from where
 * element `first` would be without a stride to where it is. The CTA's part of a block begins
 * there. */
CH_FN void ch_coll_set_pattern(struct ch_coll *c, const struct ch_pattern *pattern,
                               size_t first)
{
    c->pattern = pattern;
    c->dst += first * (pattern->dst_step - c->elem_bytes);
    c->src += first * (pattern->src_step - c->elem_bytes);
}

/* The bytes that this CTA works on, of a block of `bytes` of an uneven collective. */
CH_FN struct ch_slice ch_cta_part(const struct ch_coll *c, size_t bytes)
{
    const struct ch_pattern *p = c->pattern;
    const struct ch_slice whole = {0, bytes};

    return p->ctas == 1 ? whole : ch_grains_of(bytes, p->ctas, p->cta);
}

/* A message that is awaited. */
struct ch_wanted {
    const char *cells;
    uint64_t flag;
    uint32_t peer;
};

/* The bytes of the CTA's part of a block (of the vector, if there are no blocks). */
CH_FN size_t ch_bytes(const struct ch_coll *c)
{
    return c->count * c->elem_bytes;
}

/*
 * Tags find PEs that call a collective with different lengths. The tag of a call is a hash of
 * its length in bytes. All words and flags of the call carry it in their lowest CH_TAG_BITS. A
 * PE that waits for a value accepts it with any tag, and then compares the tags. They are
 * compared only if the value is exactly the expected one, since a later value may belong to the
 * next call.
 */
CH_FN uint64_t ch_tag_of(size_t bytes)
{
    /* Differences of a few elements change the highest bits of the product. */
    return CH_TAG_BITS == 0 ? 0 : bytes * 0x9e3779b97f4a7c15u >> (64u - CH_TAG_BITS) % 64u;
}

/* The value to store in a word or flag: `value` with the tag of the call. */
CH_FN uint64_t ch_add_tag(const struct ch_coll *c, uint64_t value)
{
    return CH_TAG_BITS == 0 ? value : value << CH_TAG_BITS | c->tag;
}

/* The value, without the tag, of a word that contains `found`. */
CH_FN uint64_t ch_remove_tag(uint64_t found)
{
    return found >> CH_TAG_BITS;
}

/* Is `found` the expected value, but with another tag? */
CH_FN int ch_differs_in_tag(uint64_t found, uint64_t expected)
{
    return found != expected && (found ^ expected) >> CH_TAG_BITS == 0;
}

/* 1 in instances of the algorithms for teams whose PEs are all mapped: they do not test for
 * links. */
#ifndef CH_ALL_MAPPED
#define CH_ALL_MAPPED 0
#endif

/* Can this PE load and store the memory of every peer? */
CH_FN int ch_is_all_mapped(const struct ch_coll *c)
{
    return CH_ALL_MAPPED || c->remotes == NULL;
}

/* Can this PE load and store the memory of `peer`? */
CH_FN int ch_is_mapped(const struct ch_coll *c, uint32_t peer)
{
    return ch_is_all_mapped(c) || c->remotes[peer].link == NULL;
}

/* Record for messages that a wait for the peer failed: by its number in the team, not in a
 * child. */
CH_FN void ch_record_late_peer(const struct ch_coll *c, uint32_t peer)
{
    *c->late_peer = c->pes == NULL ? peer : c->pes[peer];
}

/* The address on a peer of a symmetric object, from this PE's address of it: as mapped here, or
 * the peer's own address. */
CH_FN char *ch_peer_address(const struct ch_coll *c, uint32_t peer, const void *mine)
{
    return (char *)(uintptr_t)mine + c->peers[peer].shift;
}

/* The k-th PE after this one (k <= n), so that the PEs do not all begin with the same peer. */
CH_FN uint32_t ch_pe_after(const struct ch_coll *c, uint32_t k)
{
    const uint32_t pe = c->me + k;

    return pe < c->n ? pe : pe - c->n;
}

#endif /* CH_COLL_H */

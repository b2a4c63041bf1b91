/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coll.h: the arguments of an algorithm: one CTA's part of one call.
 *
 * If a call has several CTAs, each gets a part of every block and its own duplicate. The
 * algorithm does not notice: it sees a smaller `count` and an unchanged `stride`.
 */
#ifndef CH_COLL_H
#define CH_COLL_H

#include "base/exec.h"
#include "chorus/status.h"
#include "coll/reduce.h"
#include "coll/shape.h"
#include "team/nodes.h"

/* How elements lie where they do not lie one behind the other. */
struct ch_pattern {
    size_t dst_step, src_step; /* alltoalls: bytes from one element to the next */
    /* alltoallv, [n] each: elements of the block from, or for, each PE, and where it begins. */
    const size_t *dst_counts, *dst_offsets, *src_counts, *src_offsets;
};

struct ch_coll {
    uint32_t me, n;
    uint32_t root, radix; /* of the algorithms that have one */
    size_t count;         /* elements of a block (of the vector, where there is one) */
    size_t elem_bytes;    /* a divisor of 16 */
    size_t stride;        /* bytes from one PE's block to the next, in the buffer of n blocks */
    char *dst;            /* this PE's */
    const char *src;
    const struct ch_pattern *pattern; /* of alltoalls and alltoallv */
    const struct ch_reduce *reduce;   /* of reduce and reducescatter, on a CPU */
    uint32_t type, op;                /* of them, on a GPU */
    const struct ch_peer *peers;      /* [n] */
    const struct ch_remote *remotes;  /* [n]; null: all peers are mapped */
    const struct ch_levels *levels;   /* of a team on several hosts; else null */
    const uint32_t
        *pes; /* [n] of a call on a child team: their numbers in the team; else null */
    const struct ch_patience *patience;
    const struct ch_sync_layout *layout;
    ptrdiff_t multicast; /* to the address that reaches all PEs, on machines that have such */
    uint32_t is_sync_alike; /* in all PEs' memory, so that it reaches their words too */
    size_t sync_offset;     /* of this CTA's duplicate in everyone's sync memory */
    uint64_t *epoch;        /* what the CTA remembers, as in struct ch_dup */
    uint64_t *exchanges;    /* [CH_CELL_COUNT] */
    struct ch_link *links;
    struct ch_slot *slots;
    uint32_t *late_peer; /* [out] whom a wait that failed was for, by ch_is_late */
    /* On a GPU: */
    int is_due;             /* the kernel has still to wait for its turn; a constant */
    uint32_t lets_next;     /* then the kernel that follows it may be launched */
    const uint64_t *failed; /* where the mark of a call is that failed before this one */
    uint64_t broken;        /* the mark as the kernel found it, unless it is due */
    int *is_known; /* inside a kernel of the program, where exchanges are each lane's own: has
                      every lane the number that lane 0 asked for? Elsewhere null */
};

/* A PE in its team, and what it was called with. */
struct ch_seat {
    uint32_t me, n;
    const struct ch_peer *peers;
    const struct ch_sync_layout *layout;
    char *dst;
    const char *src;
    size_t count, elem_bytes; /* of a whole block */
    uint32_t type, op;
};

/* What only some calls or machines have. */
CH_FN void ch_coll_clear(struct ch_coll *c)
{
    c->root = c->radix = 0;
    c->pattern = 0;
    c->reduce = 0;
    c->remotes = 0;
    c->levels = 0;
    c->pes = 0;
    c->patience = 0;
    c->multicast = 0;
    c->is_sync_alike = 0;
    c->links = 0;
    c->slots = 0;
    c->late_peer = 0;
    c->is_due = 0;
    c->lets_next = 0;
    c->failed = 0;
    c->broken = 0;
    c->is_known = 0;
}

/* The one maker of a struct ch_coll, on every machine: CTA `cta` works on `part` of each block
 * and remembers `dup`. What only some calls or machines have is 0, for the caller to set. Field
 * by field, since a CPU takes as long to clear such a struct as for the rest of a small call.
 */
CH_FN void ch_coll_init(struct ch_coll *c, const struct ch_seat *s, struct ch_slice part,
                        uint32_t cta, struct ch_dup *dup)
{
    ch_coll_clear(c);
    c->me = s->me;
    c->n = s->n;
    c->count = part.count;
    c->elem_bytes = s->elem_bytes;
    c->stride = s->count * s->elem_bytes;
    c->dst = s->dst + part.first * s->elem_bytes;
    c->src = s->src + part.first * s->elem_bytes;
    c->type = s->type;
    c->op = s->op;
    c->peers = s->peers;
    c->layout = s->layout;
    c->sync_offset = cta * s->layout->dup_bytes;
    c->epoch = &dup->epoch;
    c->exchanges = dup->exchanges;
}

/* A message that is waited for. */
struct ch_wanted {
    const char *cells;
    uint64_t flag;
    uint32_t peer;
};

CH_FN size_t ch_bytes(const struct ch_coll *c)
{
    return c->count * c->elem_bytes;
}

/* 1 where algorithms are compiled for teams whose PEs are all mapped: they look for no routes.
 */
#ifndef CH_ALL_MAPPED
#define CH_ALL_MAPPED 0
#endif

/* Can this PE load and store the memory of every peer? */
CH_FN int ch_is_all_mapped(const struct ch_coll *c)
{
    return CH_ALL_MAPPED || c->remotes == NULL;
}

/* The peer's? */
CH_FN int ch_is_mapped(const struct ch_coll *c, uint32_t peer)
{
    return ch_is_all_mapped(c) || c->remotes[peer].route == NULL;
}

/* A wait for the peer failed. */
CH_FN void ch_is_late(const struct ch_coll *c, uint32_t peer)
{
    *c->late_peer = c->pes == NULL ? peer : c->pes[peer];
}

/* A symmetric object's address on a peer, from this PE's address of it: as mapped here, or as
 * the peer has it. */
CH_FN char *ch_on_peer(const struct ch_coll *c, uint32_t peer, const void *mine)
{
    return (char *)(uintptr_t)mine + c->peers[peer].shift;
}

/* The k-th PE after this one (k <= n), so that not all PEs turn to the same peer first. */
CH_FN uint32_t ch_after(const struct ch_coll *c, uint32_t k)
{
    const uint32_t pe = c->me + k;

    return pe < c->n ? pe : pe - c->n;
}

#endif /* CH_COLL_H */

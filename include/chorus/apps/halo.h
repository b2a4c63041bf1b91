/* SPDX-License-Identifier: Apache-2.0 */
/*
 * halo.h: halo exchange: PEs send parts of their arrays to neighbours, which keep copies. Part
 * of libchorus-apps, over the calls of chorus.h. docs/halo.md has a complete program.
 *
 * Where the heap is in host memory, arrays are in host memory, and an object takes the calls
 * without a stream. Where it is on GPUs, arrays are in the memory of this PE's GPU, any of it,
 * and an object takes the calls on streams, and in kernels those of halo_device.cuh. A call of
 * the other kind is ERR_UNSUPPORTED.
 */
#ifndef CHORUS_APPS_HALO_H
#define CHORUS_APPS_HALO_H

#include "chorus/chorusx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Elements of an array, by their indices or as a box. */
typedef struct {
    const uint32_t *indices; /* count of them, each once; null: a box */
    size_t count;            /* of indices; 0: no element. Not used of a box */
    size_t first;            /* of a box: the index of its first element */
    size_t extent[3]; /* of a box: elements along each dimension, the fastest first; [0] of 0:
                         none */
    size_t stride[3]; /* from an element to the next along each dimension */
} chorusx_halo_part_t;

/*
 * What this PE exchanges with a neighbour: `send` lands, element by element, in the `recv` of
 * the link that the peer has to this PE with the same tag. Either may have no element.
 */
typedef struct {
    int peer;                 /* number in the team, this PE's own too */
    int tag;                  /* differs between the links of a PE to one peer */
    chorusx_halo_part_t send; /* what the peer gets */
    chorusx_halo_part_t recv; /* where what the peer sends lands */
    /* Earlier links of this PE whose recv has elements of send. These are sent once they have
     * come, the others at once. */
    const int *after;
    int n_after;
} chorusx_halo_link_t;

typedef struct chorusx_halo *chorusx_halo_t;
#define CHORUSX_HALO_INVALID ((chorusx_halo_t)0)

/* An object in kernels (chorus/apps/halo_device.cuh), to which it is an argument. What the
 * fields point to is the library's, in GPU memory. */
typedef struct {
    struct ch_halo_way *ways[2];
    struct ch_halo_own *own;
    struct ch_halo_common *common;
    uint64_t elem_bytes;
    uint32_t n, n_blocks, is_far;
} chorusx_halo_device_t;

/**
 * Prepare the exchange of halos, of arrays of n_elements elements of elem_bytes bytes each.
 *
 * @param team        whose PEs exchange; the object has copies of all that it needs of it
 * @param n_elements  of this PE's arrays; indices are less. PEs may differ
 * @param elem_bytes  of an element, the same on all PEs
 * @param n_links     of this PE; PEs may differ, and 0 is possible
 * @param links       [in] n_links of them, in the order in which they are added up; not kept
 * @param halo        [out] the object; CHORUSX_HALO_INVALID if the call fails
 *
 * Collective: every PE of the team. Allocates symmetric memory: for each element that the PE
 *             with the most receives or sends, twice its bytes; on GPUs 4 more, and for peers
 *             that are not mapped twice its bytes again.
 * Threads:    one thread of each PE.
 * Ordering:   a barrier of the team.
 * Errors:     ERR_ARG, the same message on all PEs, which names the links of both sides: for a
 *             bad peer or tag, an index that is not less than n_elements or that occurs twice
 *             in a recv, an after that is not an earlier link, a link that the peer does not
 *             have, or has with another number of elements; and for another elem_bytes.
 *             ERR_NOMEM. ERR_UNSUPPORTED on GPUs for a link that sends 2 GiB or more.
 * Source:     Chorus; MPI, MPI_Dist_graph_create_adjacent.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_halo_create(chorus_team_t team, size_t n_elements, size_t elem_bytes,
                                    int n_links, const chorusx_halo_link_t *links,
                                    chorusx_halo_t *halo);

/**
 * Free the object and its memory. Null does nothing.
 *
 * Collective: every PE of the team, with no exchange under way, on streams neither, before the
 *             team is destroyed.
 * Threads:    one thread of each PE.
 * Ordering:   a barrier of the team.
 * Errors:     ERR_STATE if an exchange is under way, and the object stays; as of chorus_barrier
 *             and chorusx_team_free: the object cannot be used any more, and symmetric memory
 *             may be left to the team.
 * Source:     Chorus.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_halo_destroy(chorusx_halo_t halo);

/**
 * Send the elements of each link's send, and wait until all elements of the recv of this PE's
 * links are there. begin sends what does not depend on others, and returns; wait does the rest.
 *
 * @param halo   of chorusx_halo_create
 * @param array  [in, out] n_elements elements, in any memory of the host. From begin to wait
 *               elements of send may be read, others too, and elements of recv are undefined
 *
 * Collective: with the neighbours alone, which call as often; no barrier of the team.
 * Threads:    one thread at a time on an object.
 * Ordering:   when exchange or wait returns, the array may be changed.
 * Errors:     ERR_STATE for begin after begin, and for wait without one; ERR_TIMEOUT if
 *             a wait fails, also as the job ends: the error handler gets its code and message.
 *             The object can only be destroyed then.
 * Source:     Chorus; MPI, MPI_Neighbor_alltoallw.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_halo_exchange(chorusx_halo_t halo, void *array);
CHORUS_CODE int chorusx_halo_begin(chorusx_halo_t halo, void *array);
CHORUS_CODE int chorusx_halo_wait(chorusx_halo_t halo);

/**
 * The opposite way: add the elements of recv, which this PE has for its neighbours, to those of
 * the peers' send. What is added to elements that are in the recv of an earlier link (after)
 * goes on to that link's peer.
 *
 * @param halo   of chorusx_halo_create
 * @param array  [in, out] elements that consist of values of `type`
 * @param type   CHORUS_TYPE_f32, _f64, _i32 or _i64; its bytes divide elem_bytes
 *
 * Result:     where several links add to an element, the later link is added first: the same
 *             bits in every run.
 * Collective, Threads, Ordering: as of chorusx_halo_exchange; the two may alternate.
 * Errors:     as of chorusx_halo_exchange; ERR_ARG for another type.
 * Source:     Chorus; GROMACS's exchange of forces.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_halo_accumulate(chorusx_halo_t halo, void *array, chorus_type type);

/**
 * The same on GPUs, queued on a stream: one kernel of up to 32 blocks packs, sends, waits,
 * unpacks and sends on. Streams may be captured, and a graph launched any number of times.
 *
 * @param halo    of chorusx_halo_create, where the heap is on GPUs
 * @param array   [in, out] n_elements elements in this GPU's memory. wait is for that of begin
 * @param type    CHORUS_TYPE_f32, _f64, _i32 or _i64; its bytes divide elem_bytes
 * @param stream  of this PE's GPU, which is current; null is its default stream
 *
 * Collective: with the neighbours alone, which call as often; no barrier of the team. A wait
 *             follows each begin.
 * Threads:    one thread at a time on an object; its calls run one after another: the program
 *             orders them by streams and events.
 * Ordering:   in stream order: what was queued before has filled the array, and what is queued
 *             afterwards may read and change it. Between begin and wait, as of
 *             chorusx_halo_begin.
 * Result:     that of the calls without a stream, bit for bit.
 * Errors:     ERR_UNSUPPORTED where the heap is in host memory; ERR_ARG for null, and a type
 *             that does not fit; as of chorusx_collective_launch, and nothing is queued. A wait
 *             that fails comes from chorusx_stream_synchronize; the object's later calls do
 *             nothing then, and it can only be destroyed.
 * Source:     of this library; NVSHMEM's calls on streams, GROMACS's fused pack and put.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_halo_exchange_on_stream(chorusx_halo_t halo, void *array,
                                                chorus_stream_t stream);
CHORUS_CODE int chorusx_halo_begin_on_stream(chorusx_halo_t halo, void *array,
                                             chorus_stream_t stream);
CHORUS_CODE int chorusx_halo_wait_on_stream(chorusx_halo_t halo, chorus_stream_t stream);
CHORUS_CODE int chorusx_halo_accumulate_on_stream(chorusx_halo_t halo, void *array,
                                                  chorus_type type, chorus_stream_t stream);

/**
 * Get what kernels of the program need to exchange by this object (halo_device.cuh).
 *
 * @param halo    of chorusx_halo_create, where the heap is on GPUs
 * @param device  [out] passed to kernels as an argument; valid until the object is destroyed
 *
 * Collective: no, any PE.
 * Threads:    any, at any time.
 * Ordering:   implies no barrier.
 * Errors:     ERR_UNSUPPORTED where the heap is in host memory; ERR_ARG for null.
 * Source:     of this library.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_halo_device(chorusx_halo_t halo, chorusx_halo_device_t *device);

#ifdef __cplusplus
}
#endif

#endif /* CHORUS_APPS_HALO_H */

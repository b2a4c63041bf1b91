/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_apart.cuh: how calls inside kernels reach the collectives of device_away.cuh; of
 * chorus_device.cuh.
 *
 * A kernel has at least as many registers as any function that it calls, and what is compiled
 * for separate linking (-rdc=true) lets functions have all that they can use. The collectives
 * are then those of libnvshmem_device.a, which is compiled for 64, if the program includes the
 * headers of a folder with this library, and the library has the program's architecture.
 */
#ifndef CHORUS_DEVICE_APART_CUH
#define CHORUS_DEVICE_APART_CUH

#include "base/route.h"

/* What else a call says, and the lanes that make it. The elements of its type, as CHORUS_CHECK
 * is to know it, have 1 << size_log2 bytes. In one word, as further arguments would be passed
 * in local memory. */
struct ch_away_terms {
    uint64_t root : 20, type : 6, size_log2 : 4, op : 6, coll : 6, width : 11, lane : 11;
};
static_assert(CHORUS_TYPE_COUNT <= 64 && CHORUS_OP_COUNT <= 64 && CHORUS_COLL_COUNT <= 64,
              "fields of ch_away_terms");

#if defined(__CUDACC_RDC__) && defined(CH_DEVICE_LIBRARY_HAS) && defined(__CUDA_ARCH__)
#if CH_DEVICE_LIBRARY_HAS(__CUDA_ARCH__)
#define CH_IS_APART 1
#endif
#endif

#ifdef CH_IS_APART
extern "C" __device__ chorus_status ch_apart_run(const struct ch_device_team *team, char *dest,
                                                 const char *source, size_t count,
                                                 uint64_t packed);
extern "C" __device__ chorus_status ch_apart_barrier(const struct ch_device_team *team,
                                                     uint64_t number);

template <chorus_coll COLL, uint32_t TYPE, uint32_t OP, size_t BYTES>
CH_FN chorus_status ch_part_run(const struct ch_device_team *team, char *dest,
                                const char *source, size_t count, uint64_t packed)
{
    return ch_apart_run(team, dest, source, count, packed);
}

CH_FN chorus_status ch_part_barrier(const struct ch_device_team *team, uint64_t number)
{
    return ch_apart_barrier(team, number);
}
#else
#include "chorus/device_away.cuh"

template <chorus_coll COLL, uint32_t TYPE, uint32_t OP, size_t BYTES>
CH_FN chorus_status ch_part_run(const struct ch_device_team *team, char *dest,
                                const char *source, size_t count, uint64_t packed)
{
    return ch_by_address(ch_run_away<COLL>)(
        team, dest, source, count, packed,
        ch_combines(COLL) ? ch_combine_slots_as<TYPE, OP, BYTES> : 0);
}

CH_FN chorus_status ch_part_barrier(const struct ch_device_team *team, uint64_t number)
{
    return ch_by_address(ch_barrier_away)(team, number);
}
#endif

/* From a kernel that mostly makes calls on near PEs. Of a warp, lane 0 makes it. */
template <chorus_coll COLL, uint32_t TYPE, uint32_t OP, size_t BYTES>
CH_FN chorus_status ch_call_away(const struct ch_device_team *team, void *dest,
                                 const void *source, size_t count, uint32_t root, uint32_t type,
                                 size_t elem_bytes, struct ch_lanes g)
{
    const struct ch_lanes p = ch_lanes_of_part(g);
    const struct ch_away_terms terms = {root,    type,  ch_log2((uint32_t)elem_bytes), OP, COLL,
                                        p.width, p.lane};
    chorus_status st = CHORUS_OK;
    uint64_t packed;

    memcpy(&packed, &terms, sizeof(packed));
    if (!CH_IS_BLOCK(g)) ch_lanes_sync(g); /* what any lane wrote is before the fences */
    if (p.lane < p.width)
        st = ch_part_run<COLL, TYPE, OP, BYTES>(team, (char *)dest, (const char *)source, count,
                                                packed);
    return ch_status_of_part(st, g);
}

#endif /* CHORUS_DEVICE_APART_CUH */

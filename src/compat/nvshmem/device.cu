/* SPDX-License-Identifier: Apache-2.0 */
/* device.cu: what libnvshmem_device.a has of calls inside kernels (chorus/device_apart.cuh). */
#include <chorus/chorus_device.cuh>

/* The function that combines elements of a type by an operator; null if there is none. */
static __device__ ch_combine_slots_t find_combine(uint32_t type, uint32_t op)
{
#define RETURN_COMBINE(OP, NAME, T, TYPE)    \
    if (type == TYPE && op == CHORUS_OP##OP) \
        return ch_combine_slots_as<TYPE, CHORUS_OP##OP, sizeof(T)>;
#define RETURN_COMBINES(OP, NAMES) NAMES(RETURN_COMBINE, OP)
    CHORUS_DEVICE_REDUCE_LIST(RETURN_COMBINES)
#undef RETURN_COMBINES
#undef RETURN_COMBINE
    return 0;
}

extern "C" __device__ chorus_status ch_apart_run(const struct ch_device_team *team, char *dest,
                                                 const char *source, size_t count,
                                                 uint64_t packed)
{
    struct ch_away_terms terms;

    memcpy(&terms, &packed, sizeof(terms));
#define RUN(COLL, LEVELS)                       \
    if (terms.coll == CHORUS_COLL_##COLL)       \
        return ch_run_away<CHORUS_COLL_##COLL>( \
            team, dest, source, count, packed,  \
            ch_combines(CHORUS_COLL_##COLL) ? find_combine(terms.type, terms.op) : 0);
    CH_LEVELS_LIST(RUN)
#undef RUN
    return CHORUS_ERR_ARG;
}

extern "C" __device__ chorus_status ch_apart_barrier(const struct ch_device_team *team,
                                                     uint64_t number)
{
    return ch_barrier_away(team, number);
}

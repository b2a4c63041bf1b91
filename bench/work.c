/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep.h"

const char *const ch_sweep_names[CH_SWEEP_COUNT] = {
#define X(COLL) #COLL,
    CH_SWEEP_LIST(X)
#undef X
};

const char *const ch_sweep_types[CHORUS_TYPE_COUNT] = {
#define X(T, ctype, class, bytes) #T,
    CHORUS_TYPE_LIST(X)
#undef X
};

const char *const ch_sweep_ops[CHORUS_OP_COUNT] = {
#define X(OP) #OP,
    CHORUS_OP_LIST(X)
#undef X
};

const char *const ch_sweep_peers[CH_PEER_COUNT] = {
#define X(PEER) #PEER,
    CH_PEER_LIST(X)
#undef X
};

const size_t ch_sweep_type_bytes[CHORUS_TYPE_COUNT] = {
#define X(T, ctype, class, bytes) bytes,
    CHORUS_TYPE_LIST(X)
#undef X
};

bool ch_work_moves(const struct ch_work *work)
{
    return work->coll != CH_SWEEP_barrier && work->coll != CH_SWEEP_sync;
}

bool ch_work_scans(const struct ch_work *work)
{
    return work->coll == CH_SWEEP_inscan || work->coll == CH_SWEEP_exscan;
}

bool ch_work_reduces(const struct ch_work *work)
{
    return work->coll == CH_SWEEP_reduce || work->coll == CH_SWEEP_reducescatter ||
           work->coll == CH_SWEEP_reduce_to || ch_work_scans(work);
}

bool ch_work_is_to_each(enum ch_sweep_coll coll)
{
    return coll == CH_SWEEP_alltoall || coll == CH_SWEEP_alltoalls ||
           coll == CH_SWEEP_alltoallv || coll == CH_SWEEP_scatter;
}

bool ch_work_is_from_each(enum ch_sweep_coll coll)
{
    return coll == CH_SWEEP_fcollect || coll == CH_SWEEP_collect || coll == CH_SWEEP_gather ||
           (ch_work_is_to_each(coll) && coll != CH_SWEEP_scatter);
}

/* One block: what `count` counts. */
static size_t block_bytes(const struct ch_work *work)
{
    return ch_work_moves(work) ? work->count * ch_sweep_type_bytes[work->type] : 0;
}

size_t ch_work_source_bytes(const struct ch_work *work, uint32_t pes)
{
    const bool is_per_pe =
        ch_work_is_to_each(work->coll) || work->coll == CH_SWEEP_reducescatter;

    return block_bytes(work) * (is_per_pe ? pes : 1);
}

size_t ch_work_dest_bytes(const struct ch_work *work, uint32_t pes)
{
    return block_bytes(work) * (ch_work_is_from_each(work->coll) ? pes : 1);
}

uint64_t ch_work_bytes(const struct ch_work *work, uint32_t pes)
{
    return (uint64_t)block_bytes(work) * (work->coll == CH_SWEEP_reducescatter ? pes : 1);
}

size_t ch_work_count(enum ch_sweep_coll coll, chorus_type type, uint64_t bytes, uint32_t pes)
{
    const uint64_t blocks = coll == CH_SWEEP_reducescatter ? pes : 1;

    return (size_t)(bytes / (blocks * ch_sweep_type_bytes[type]));
}

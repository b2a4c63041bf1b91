/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep.h"

#include "tests/ref/ref_origin.h"

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
#define SCANS(dest, source, root, work) (CH_WORK_##work == CH_WORK_scans)
    return CH_COLLS(SCANS) >> work->coll & 1;
#undef SCANS
}

bool ch_work_reduces(const struct ch_work *work)
{
    return ch_coll_reduces((chorus_coll)work->coll);
}

bool ch_work_is_to_root(enum ch_sweep_coll coll)
{
    return ch_coll_has_root((chorus_coll)coll) && !ch_coll_is_from_root((chorus_coll)coll);
}

bool ch_work_is_to_each(enum ch_sweep_coll coll)
{
    return ref_is_to_each((chorus_coll)coll);
}

bool ch_work_is_from_each(enum ch_sweep_coll coll)
{
    return ref_is_of_each((chorus_coll)coll);
}

/* One block: what `count` counts. */
static size_t block_bytes(const struct ch_work *work)
{
    return ch_work_moves(work) ? work->count * ch_sweep_type_bytes[work->type] : 0;
}

static uint64_t blocks_of_message(enum ch_sweep_coll coll, uint32_t pes)
{
    return ch_coll_splits_result((chorus_coll)coll) ? pes : 1;
}

size_t ch_work_source_bytes(const struct ch_work *work, uint32_t pes)
{
    return block_bytes(work) * (ch_work_is_to_each(work->coll) ? pes : 1);
}

size_t ch_work_dest_bytes(const struct ch_work *work, uint32_t pes)
{
    return block_bytes(work) * (ch_work_is_from_each(work->coll) ? pes : 1);
}

uint64_t ch_work_bytes(const struct ch_work *work, uint32_t pes)
{
    return (uint64_t)block_bytes(work) * blocks_of_message(work->coll, pes);
}

size_t ch_work_count(enum ch_sweep_coll coll, chorus_type type, uint64_t bytes, uint32_t pes)
{
    return (size_t)(bytes / (blocks_of_message(coll, pes) * ch_sweep_type_bytes[type]));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_sweep: the sweep of chorus-sweep, made with the collectives of MPI. */
#include "bench/backend.h"

#include <mpi.h>
#include <stdlib.h>

#define PAGE_BYTES 4096u

/* MPI's constants of each type and operator. It has none for the 16-bit floating types. */
#define MPI_OF_i8 MPI_INT8_T
#define MPI_OF_i16 MPI_INT16_T
#define MPI_OF_i32 MPI_INT32_T
#define MPI_OF_i64 MPI_INT64_T
#define MPI_OF_u8 MPI_UINT8_T
#define MPI_OF_u16 MPI_UINT16_T
#define MPI_OF_u32 MPI_UINT32_T
#define MPI_OF_u64 MPI_UINT64_T
#define MPI_OF_f16 MPI_DATATYPE_NULL
#define MPI_OF_bf16 MPI_DATATYPE_NULL
#define MPI_OF_f32 MPI_FLOAT
#define MPI_OF_f64 MPI_DOUBLE
#define MPI_OF_f80 MPI_LONG_DOUBLE
#define MPI_OF_c64 MPI_C_FLOAT_COMPLEX
#define MPI_OF_c128 MPI_C_DOUBLE_COMPLEX

#define MPI_OF_and , MPI_BAND
#define MPI_OF_or , MPI_BOR
#define MPI_OF_xor , MPI_BXOR
#define MPI_OF_min , MPI_MIN
#define MPI_OF_max , MPI_MAX
#define MPI_OF_sum , MPI_SUM
#define MPI_OF_prod , MPI_PROD

static int me, pes;

static MPI_Datatype type_of(chorus_type type)
{
    static const MPI_Datatype types[CHORUS_TYPE_COUNT] = {
#define X(T, ctype, class, bytes) MPI_OF_##T,
        CHORUS_TYPE_LIST(X)
#undef X
    };

    return types[type];
}

static MPI_Op op_of(chorus_op op)
{
    static const MPI_Op ops[CHORUS_OP_COUNT] = {
#define X(OP) CH_ROW_OR(MPI_OF_##OP, MPI_OP_NULL),
        CHORUS_OP_LIST(X)
#undef X
    };

    return ops[op];
}

static void *allocate(size_t bytes)
{
    const size_t whole_pages = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    void *const area = aligned_alloc(PAGE_BYTES, whole_pages);

    if (area == NULL) {
        (void)fputs("mpi_sweep: no memory for -e bytes\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return area;
}

static void meet_all(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void gather(const void *mine, size_t bytes, void *all_out)
{
    MPI_Allgather(mine, (int)bytes, MPI_BYTE, all_out, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
}

/* Errors end the job in MPI's own handler, so a code that it returns is 0. */
static int call(const struct ch_work *work, void *dest, const void *source, uint32_t root)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    const MPI_Datatype type = type_of(work->type);
    const MPI_Op op = op_of(work->op);
    const int count = (int)work->count;
    void *const one_buffer = (uint32_t)me == root ? (void *)(uintptr_t)source : dest;

    if (type == MPI_DATATYPE_NULL || work->count > INT32_MAX) return CHORUS_ERR_UNSUPPORTED;
    if (ch_work_reduces(work) && op == MPI_OP_NULL) return CHORUS_ERR_UNSUPPORTED;
    switch (work->coll) {
    case CH_SWEEP_barrier:
    case CH_SWEEP_sync:
        return MPI_Barrier(world);
    case CH_SWEEP_broadcast:
        return MPI_Bcast(one_buffer, count, type, (int)root, world);
    case CH_SWEEP_fcollect:
        return MPI_Allgather(source, count, type, dest, count, type, world);
    case CH_SWEEP_alltoall:
        return MPI_Alltoall(source, count, type, dest, count, type, world);
    case CH_SWEEP_reduce:
        return MPI_Allreduce(source, dest, count, type, op, world);
    case CH_SWEEP_reducescatter:
        return MPI_Reduce_scatter_block(source, dest, count, type, op, world);
    default:
        return CHORUS_ERR_UNSUPPORTED;
    }
}

/* Calls are complete when they return, and no rank is outside the team. */
static void nothing(void)
{
}

/* MPI has no shared memory in which PEs could see which PEs have entered; its barrier is not
 * checked. */
static uint64_t meet(const struct ch_work *work)
{
    (void)work;
    return 0;
}

static void served(const struct ch_work *work, struct ch_served *served_out)
{
    (void)work;
    *served_out = (struct ch_served){.algo = "mpi", .proto = "mpi", .rule = "none", .ctas = 1};
}

static const char *reason(void)
{
    return "MPI has no such type, or the count does not fit in its int";
}

int main(int argc, char **argv)
{
    static struct ch_sweep_options options;
    static char version[MPI_MAX_LIBRARY_VERSION_STRING];
    struct ch_backend backend = {
        .program = "mpi_sweep",
        .version = version,
        .allocate = allocate,
        .release = free,
        .part = nothing,
        .sync = meet_all,
        .gather = gather,
        .call = call,
        .flush = nothing,
        .meet = meet,
        .served = served,
        .reason = reason,
    };
    int characters, status;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &pes);
    MPI_Get_library_version(version, &characters);
    backend.me = (uint32_t)me;
    backend.pes = (uint32_t)pes;
    (void)ch_sweep_options_read(argc, argv, &options);
    status = ch_sweep_run(&backend, &options, argc, argv);
    MPI_Finalize();
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* coordinator_mpi.c: the coordinator's backend of MPI, in messages between two sides. */
#include "apps/coordinator.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { ERROR_BYTES = 200, TAG = 0 };

/* What MPI gives as the code of the call that this is the end of. */
static int result(const char *function, int mpi_code)
{
    char why[MPI_MAX_ERROR_STRING] = "", message[ERROR_BYTES];
    int length = 0;

    if (mpi_code == MPI_SUCCESS) return CHORUS_OK;
    (void)MPI_Error_string(mpi_code, why, &length);
    (void)snprintf(message, sizeof(message), "MPI failed: %s", why);
    return chorusx_fail(CHORUS_ERR_SYSTEM, function, message);
}

static MPI_Comm comm_of(const struct chorusx_communicator *communicator)
{
    return *(const MPI_Comm *)communicator->comm;
}

/* --- environments and communicators ------------------------------------------------------- */
/* Takes comm over. MPI is to return its errors, in place of ending the job. */
static int fill_in(const char *function, struct chorusx_communicator *communicator,
                   MPI_Comm comm)
{
    MPI_Comm *const kept = malloc(sizeof(*kept));
    int code = MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);

    if (kept == NULL) {
        (void)MPI_Comm_free(&comm);
        return chorusx_fail(CHORUS_ERR_NOMEM, function, "no memory for the communicator");
    }
    *kept = comm;
    communicator->comm = kept;
    if (code == MPI_SUCCESS) code = MPI_Comm_rank(comm, &communicator->me);
    if (code == MPI_SUCCESS) code = MPI_Comm_size(comm, &communicator->n);
    return result(function, code);
}

static int leave(const char *function, struct chorusx_communicator *communicator)
{
    const int code = MPI_Comm_free(communicator->comm);

    free(communicator->comm);
    return result(function, code);
}

static int start(const char *function, struct chorusx_communicator *world, bool *is_starter)
{
    int has_begun = 0, has_ended = 0, code = MPI_Initialized(&has_begun);
    MPI_Comm comm;

    if (code == MPI_SUCCESS) code = MPI_Finalized(&has_ended);
    if (code == MPI_SUCCESS && has_ended)
        return chorusx_fail(CHORUS_ERR_STATE, function, "MPI has ended, and starts only once");
    *is_starter = !has_begun;
    if (code == MPI_SUCCESS && *is_starter) code = MPI_Init(NULL, NULL);
    if (code == MPI_SUCCESS) code = MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    return code == MPI_SUCCESS ? fill_in(function, world, comm) : result(function, code);
}

static int end(const char *function, struct chorusx_communicator *world, bool is_starter)
{
    const int code = leave(function, world);

    return code == CHORUS_OK && is_starter ? result(function, MPI_Finalize()) : code;
}

static int split(const char *function, const struct chorusx_communicator *parent, int color,
                 struct chorusx_communicator *split)
{
    MPI_Comm comm = MPI_COMM_NULL;
    const int code =
        MPI_Comm_split(comm_of(parent), color < 0 ? MPI_UNDEFINED : color, parent->me, &comm);

    if (code != MPI_SUCCESS || comm == MPI_COMM_NULL) return result(function, code);
    return fill_in(function, split, comm);
}

static void *allocate(const char *function, const struct chorusx_communicator *communicator,
                      size_t bytes)
{
    void *memory = calloc(bytes + 1, 1);
    int is_there = memory != NULL, are_there = 0;
    const int code =
        MPI_Allreduce(&is_there, &are_there, 1, MPI_INT, MPI_MIN, comm_of(communicator));

    if (result(function, code) == CHORUS_OK && are_there) return memory;
    if (code == MPI_SUCCESS)
        (void)chorusx_fail(CHORUS_ERR_NOMEM, function, "a PE has no memory for it");
    free(memory);
    return NULL;
}

static int release(const char *function, const struct chorusx_communicator *communicator,
                   void *memory)
{
    const int code = MPI_Barrier(comm_of(communicator));

    free(memory);
    return result(function, code);
}

/* --- messages ----------------------------------------------------------------------------- */
static int check(const char *function, const struct chorusx_coordinator *coordinator)
{
    if (coordinator->mode != CHORUSX_LAUNCH_HOST)
        return chorusx_fail(CHORUS_ERR_UNSUPPORTED, function,
                            "MPI has no calls inside kernels; take CHORUSX_LAUNCH_HOST or the "
                            "backend chorus");
    if (coordinator->stream == NULL) return CHORUS_OK;
    return chorusx_fail(CHORUS_ERR_UNSUPPORTED, function,
                        "MPI has no calls on streams; pass null or take the backend chorus");
}

/* Make room for the next request. */
static int make_room(const char *function, struct chorusx_coordinator *coordinator,
                     size_t bytes)
{
    MPI_Request *requests;

    if (bytes > INT_MAX)
        return chorusx_fail(CHORUS_ERR_ARG, function, "MPI's messages have less than 2 GiB");
    requests = ch_coordinator_grow(coordinator, coordinator->requests, sizeof(*requests));
    if (requests == NULL)
        return chorusx_fail(CHORUS_ERR_NOMEM, function, "no memory for the message");
    coordinator->requests = requests;
    return CHORUS_OK;
}

static MPI_Request *next_request(const struct chorusx_coordinator *coordinator)
{
    return (MPI_Request *)coordinator->requests + coordinator->n_pending;
}

static int post(const char *function, struct chorusx_coordinator *coordinator,
                const struct ch_message *m)
{
    int code = make_room(function, coordinator, m->bytes);

    if (code != CHORUS_OK) return code;
    code = MPI_Isend(m->source, (int)m->bytes, MPI_BYTE, m->pe, TAG,
                     comm_of(coordinator->communicator), next_request(coordinator));
    if (code == MPI_SUCCESS) coordinator->n_pending++;
    return result(function, code);
}

static int acknowledge(const char *function, struct chorusx_coordinator *coordinator,
                       const struct ch_message *m)
{
    int code = make_room(function, coordinator, m->bytes);

    if (code != CHORUS_OK) return code;
    code = MPI_Irecv(m->dest, (int)m->bytes, MPI_BYTE, m->pe, TAG,
                     comm_of(coordinator->communicator), next_request(coordinator));
    if (code == MPI_SUCCESS) coordinator->n_pending++;
    return result(function, code);
}

static int complete(const char *function, struct chorusx_coordinator *coordinator)
{
    const int n = (int)coordinator->n_pending;

    coordinator->n_pending = 0;
    return result(function, MPI_Waitall(n, coordinator->requests, MPI_STATUSES_IGNORE));
}

/* --- collective calls --------------------------------------------------------------------- */
static MPI_Datatype datatype(chorus_type type)
{
    switch (type) {
    case CHORUS_TYPE_i32:
        return MPI_INT32_T;
    case CHORUS_TYPE_i64:
        return MPI_INT64_T;
    case CHORUS_TYPE_u32:
        return MPI_UINT32_T;
    case CHORUS_TYPE_u64:
        return MPI_UINT64_T;
    case CHORUS_TYPE_f32:
        return MPI_FLOAT;
    case CHORUS_TYPE_f64:
        return MPI_DOUBLE;
    default:
        return MPI_BYTE;
    }
}

static MPI_Op operator_of(chorus_op op)
{
    if (op == CHORUS_OP_min) return MPI_MIN;
    return op == CHORUS_OP_max ? MPI_MAX : MPI_SUM;
}

static int run(MPI_Comm comm, int me, const struct ch_collective *c)
{
    const MPI_Datatype type = datatype(c->type);
    const void *const source = c->dest == c->source ? MPI_IN_PLACE : c->source;
    const int n = (int)c->n;

    switch (c->coll) {
    case CHORUS_COLL_barrier:
        return MPI_Barrier(comm);
    case CHORUS_COLL_broadcast:
        if (me == c->root && c->dest != c->source) memcpy(c->dest, c->source, c->n);
        return MPI_Bcast(c->dest, n, type, c->root, comm);
    case CHORUS_COLL_fcollect:
        return MPI_Allgather(c->source, n, type, c->dest, n, type, comm);
    case CHORUS_COLL_alltoall:
        return MPI_Alltoall(c->source, n, type, c->dest, n, type, comm);
    case CHORUS_COLL_reduce:
        return MPI_Allreduce(source, c->dest, n, type, operator_of(c->op), comm);
    default:
        return MPI_ERR_OTHER;
    }
}

static int collect(const char *function, struct chorusx_coordinator *coordinator,
                   const struct ch_collective *collective)
{
    const struct chorusx_communicator *const communicator = coordinator->communicator;

    if (collective->n > INT_MAX)
        return chorusx_fail(CHORUS_ERR_ARG, function,
                            "MPI's blocks have less than 2^31 elements");
    return result(function, run(comm_of(communicator), communicator->me, collective));
}

const struct ch_backend chorusx_backend_mpi = {
    .name = "mpi",
    .start = start,
    .end = end,
    .split = split,
    .leave = leave,
    .allocate = allocate,
    .release = release,
    .check = check,
    .post = post,
    .acknowledge = acknowledge,
    .complete = complete,
    .collect = collect,
};

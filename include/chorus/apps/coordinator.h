/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coordinator.h: one source for several libraries of communication, and for several ways of
 * launching work. Part of libchorus-apps, over the calls of chorus.h; what MPI does is in
 * libchorus-apps-mpi, which is loaded if a program asks for it. docs/coordinator.md has a
 * complete program, and coordinator.hpp the same calls for C++.
 *
 * An environment is a library of communication, a communicator some of its PEs and their
 * memory, and a coordinator what a PE does in a loop: it launches work, posts messages to its
 * neighbours and acknowledges theirs, and makes collective calls.
 */
#ifndef CHORUS_APPS_COORDINATOR_H
#define CHORUS_APPS_COORDINATOR_H

#include "chorus/chorusx.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct chorusx_environment *chorusx_environment_t;
typedef struct chorusx_communicator *chorusx_communicator_t;
typedef struct chorusx_coordinator *chorusx_coordinator_t;
#define CHORUSX_ENVIRONMENT_INVALID ((chorusx_environment_t)0)
#define CHORUSX_COMMUNICATOR_INVALID ((chorusx_communicator_t)0)
#define CHORUSX_COORDINATOR_INVALID ((chorusx_coordinator_t)0)

/* From where the calls of a coordinator are made. */
typedef enum {
    CHORUSX_LAUNCH_HOST,    /* all from the host, on the stream if there is one */
    CHORUSX_LAUNCH_PARTIAL, /* messages are posted inside kernels, all else from the host */
    CHORUSX_LAUNCH_DEVICE,  /* all inside kernels */
} chorusx_launch_mode_t;
enum { CHORUSX_LAUNCH_MODES = 3 };

/* The work of a launch mode: a function that computes, or that launches kernels on the stream.
 */
typedef void (*chorusx_launch_t)(void *arg, chorus_stream_t stream);

/**
 * Choose a library of communication. If the program has not started it, this does, and
 * destroying the environment ends it.
 *
 * @param backend          "chorus" or "mpi"; null: "chorus"
 * @param environment_out  [out] the environment; CHORUSX_ENVIRONMENT_INVALID if the call fails
 *
 * Collective: every PE of the job, with the same backend.
 * Threads:    one thread of each PE.
 * Ordering:   implies no barrier.
 * Errors:     ERR_ARG for another name; ERR_UNSUPPORTED if the backend's library cannot be
 *             loaded, which the message says why; as of chorus_init; ERR_NOMEM; ERR_SYSTEM if
 *             MPI fails.
 * Source:     UNICONN, Environment.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_environment_create(const char *backend,
                                           chorusx_environment_t *environment_out);

/**
 * End an environment, after its communicators and coordinators. Null does nothing.
 *
 * @param environment  of chorusx_environment_create
 *
 * Collective: every PE of the job.
 * Threads:    one thread of each PE.
 * Ordering:   as of chorus_finalize, if the environment has started the library.
 * Errors:     ERR_STATE if a communicator besides the world is left, and the environment stays;
 *             ERR_SYSTEM if MPI fails.
 * Source:     UNICONN, Environment.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_environment_destroy(chorusx_environment_t environment);

/**
 * Get the communicator of all PEs, which exists as long as the environment.
 *
 * @param environment  of chorusx_environment_create
 *
 * Collective: no, any PE.
 * Threads:    any.
 * Ordering:   implies no barrier.
 * Returns:    the communicator; CHORUSX_COMMUNICATOR_INVALID for null.
 * Source:     UNICONN, Communicator.
 * Since:      0.1
 */
CHORUS_API chorusx_communicator_t chorusx_environment_world(chorusx_environment_t environment);

/**
 * Split a communicator: PEs of one colour form a new one, in the order of their numbers.
 *
 * @param parent   whose PEs all call
 * @param color    0 or more; negative: the PE is in no new communicator
 * @param new_out  [out] the communicator of this PE; CHORUSX_COMMUNICATOR_INVALID if it is in
 *                 none, or if the call fails
 *
 * Collective: every PE of parent.
 * Threads:    one thread of each PE.
 * Ordering:   no PE returns before all have called.
 * Errors:     ERR_ARG for null, ERR_NOMEM, and as of chorusx_team_split_color; ERR_SYSTEM if
 *             MPI fails.
 * Source:     MPI, MPI_Comm_split.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_communicator_split(chorusx_communicator_t parent, int color,
                                           chorusx_communicator_t *new_out);

/**
 * Destroy a communicator of chorusx_communicator_split, after its coordinators and memory. Null
 * does nothing.
 *
 * @param communicator  not the world
 *
 * Collective: every PE of the communicator.
 * Threads:    one thread of each PE.
 * Ordering:   as of chorus_team_destroy.
 * Errors:     ERR_ARG for the world; ERR_SYSTEM if MPI fails.
 * Source:     MPI, MPI_Comm_free.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_communicator_destroy(chorusx_communicator_t communicator);

/**
 * Get the number of this PE in a communicator, or the number of its PEs.
 *
 * @param communicator  of this PE
 *
 * Collective: no, any PE.
 * Threads:    any.
 * Ordering:   implies no barrier.
 * Returns:    the number; -1 for null.
 * Source:     MPI, MPI_Comm_rank and MPI_Comm_size.
 * Since:      0.1
 */
CHORUS_API int chorusx_communicator_my_pe(chorusx_communicator_t communicator);
CHORUS_API int chorusx_communicator_n_pes(chorusx_communicator_t communicator);

/**
 * Allocate memory that messages are received in and that signals are in, of zeros; and free it,
 * where null does nothing.
 *
 * @param communicator  whose PEs call
 * @param bytes         the same on all PEs
 * @param memory        of chorusx_communicator_malloc
 *
 * Collective: every PE of the communicator.
 * Threads:    one thread of each PE.
 * Ordering:   a barrier of the communicator; nothing of the memory may be under way when it is
 *             freed.
 * Returns:    the memory; null if there is none, for which chorusx_last_error gives the reason.
 * Errors:     of free: as of chorusx_team_free.
 * Source:     UNICONN, Memory.
 * Since:      0.1
 */
CHORUS_MUST_CHECK CHORUS_API void *
chorusx_communicator_malloc(chorusx_communicator_t communicator, size_t bytes);
CHORUS_CODE int chorusx_communicator_free(chorusx_communicator_t communicator, void *memory);

/**
 * Create a coordinator.
 *
 * @param communicator     between whose PEs it communicates
 * @param mode             from where its calls are made
 * @param stream           on which they are made; null: at once, in the calling thread
 * @param coordinator_out  [out] the coordinator; CHORUSX_COORDINATOR_INVALID if the call fails
 *
 * Collective: every PE of the communicator, with the same mode.
 * Threads:    one thread of each PE.
 * Ordering:   implies no barrier.
 * Errors:     ERR_ARG for null or a mode that does not exist; ERR_UNSUPPORTED for what the
 *             backend cannot do: a stream or a mode other than HOST with MPI, a mode other than
 *             HOST where the heap is not on GPUs; ERR_NOMEM. No other mode is taken instead.
 * Source:     UNICONN, Coordinator.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_coordinator_create(chorusx_communicator_t communicator,
                                           chorusx_launch_mode_t mode, chorus_stream_t stream,
                                           chorusx_coordinator_t *coordinator_out);

/**
 * Destroy a coordinator, once the work of its stream has ended. Null does nothing.
 *
 * @param coordinator  of chorusx_coordinator_create
 *
 * Collective: every PE of the communicator.
 * Threads:    one thread of each PE.
 * Ordering:   implies no barrier.
 * Errors:     ERR_STATE between begin and end, and the coordinator stays.
 * Source:     UNICONN, Coordinator.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_coordinator_destroy(chorusx_coordinator_t coordinator);

/**
 * Give the coordinator the work of a launch mode; that of the modes that it does not have is
 * ignored, so that a program can bind all that it has.
 *
 * @param coordinator  of chorusx_coordinator_create
 * @param mode         whose work it is
 * @param launch       called by chorusx_coordinator_launch, with arg and the stream
 * @param arg          of launch; not read by the library
 *
 * Collective: no, any PE.
 * Threads:    one thread at a time on a coordinator.
 * Ordering:   implies no barrier.
 * Errors:     ERR_ARG for null or a mode that does not exist.
 * Source:     UNICONN, BindKernel.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_coordinator_bind(chorusx_coordinator_t coordinator,
                                         chorusx_launch_mode_t mode, chorusx_launch_t launch,
                                         void *arg);

/**
 * Launch the work that is bound to the coordinator's mode.
 *
 * @param coordinator  of chorusx_coordinator_create
 *
 * Collective: no, any PE.
 * Threads:    one thread at a time on a coordinator.
 * Ordering:   in the order of the stream, or at once.
 * Errors:     ERR_STATE if nothing is bound to the mode.
 * Source:     UNICONN, LaunchKernel.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_coordinator_launch(chorusx_coordinator_t coordinator);

/**
 * Post a message to a PE, and acknowledge one: wait for it. The messages of a PE to another one
 * are acknowledged there in the order in which they were posted, with the same dest, bytes,
 * signal and value.
 *
 * @param coordinator  of chorusx_coordinator_create
 * @param dest         [out] at the receiver, of chorusx_communicator_malloc: by the address of
 *                     its own object
 * @param source       [in] of the poster, in any memory that its mode can read
 * @param bytes        0: the message only tells
 * @param signal       a word of the receiver, as dest, of this message and of no other that may
 *                     be under way
 * @param value        larger than that of the message before with the same signal
 * @param pe           the other PE, number in the communicator
 *
 * Collective: both PEs.
 * Threads:    one thread at a time on a coordinator.
 * Ordering:   when acknowledge has been carried out, dest has the data. When post has, source
 *             may be changed; it may wait until the message is acknowledged. Chorus stores the
 *             data when it is posted, so the receiver must not read or write dest any more
 *             then.
 * Errors:     ERR_ARG for null and for a PE that does not exist; ERR_NOMEM; as of
 *             chorus_putmem_signal, chorusx_putmem_signal_on_stream and
 *             chorusx_signal_wait_until_on_stream; ERR_SYSTEM if MPI fails; ERR_TIMEOUT if a
 *             wait fails, also as the job ends.
 * Source:     UNICONN, Post and Acknowledge.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_coordinator_post(chorusx_coordinator_t coordinator, void *dest,
                                         const void *source, size_t bytes, uint64_t *signal,
                                         uint64_t value, int pe);
CHORUS_CODE int chorusx_coordinator_acknowledge(chorusx_coordinator_t coordinator, void *dest,
                                                size_t bytes, uint64_t *signal, uint64_t value,
                                                int pe);

/**
 * Make a group of posts and acknowledgements, in any order: none waits for another one, and all
 * are carried out at the end. A collective call is not possible in a group.
 *
 * @param coordinator  of chorusx_coordinator_create
 *
 * Collective: no, any PE.
 * Threads:    one thread at a time on a coordinator.
 * Ordering:   when end returns, or in stream order, the group has been carried out.
 * Errors:     ERR_STATE for begin after begin, and for end without one; of end, those of its
 *             calls.
 * Source:     UNICONN, CommStart; NCCL, ncclGroupStart and ncclGroupEnd.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_coordinator_begin(chorusx_coordinator_t coordinator);
CHORUS_CODE int chorusx_coordinator_end(chorusx_coordinator_t coordinator);

/**
 * Collective calls between the PEs of the communicator, with the meaning of chorus_barrier,
 * chorus_broadcastmem, chorus_fcollectmem, chorus_alltoallmem and chorus_T_OP_reduce.
 *
 * @param coordinator  of chorusx_coordinator_create
 * @param dest         [out] of chorusx_communicator_malloc, as of the call of Chorus
 * @param source       [in] likewise; may be dest in a reduce
 * @param bytes        of a block
 * @param root         of a broadcast, number in the communicator
 * @param n            elements
 * @param type         of elements: CHORUS_TYPE_i32, _i64, _u32, _u64, _f32 or _f64
 * @param op           CHORUS_OP_sum, _min or _max
 *
 * Collective: every PE of the communicator, with the same values but for addresses.
 * Threads:    one thread at a time on a coordinator.
 * Ordering:   as of the blocking calls, or those on streams.
 * Errors:     ERR_STATE in a group; ERR_ARG for null, a root, a type or an operator; as of the
 *             calls of Chorus; ERR_SYSTEM if MPI fails.
 * Source:     UNICONN, AllReduce and related calls.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_coordinator_barrier(chorusx_coordinator_t coordinator);
CHORUS_CODE int chorusx_coordinator_broadcast(chorusx_coordinator_t coordinator, void *dest,
                                              const void *source, size_t bytes, int root);
CHORUS_CODE int chorusx_coordinator_fcollect(chorusx_coordinator_t coordinator, void *dest,
                                             const void *source, size_t bytes);
CHORUS_CODE int chorusx_coordinator_alltoall(chorusx_coordinator_t coordinator, void *dest,
                                             const void *source, size_t bytes);
CHORUS_CODE int chorusx_coordinator_reduce(chorusx_coordinator_t coordinator, void *dest,
                                           const void *source, size_t n, chorus_type type,
                                           chorus_op op);

/* What kernels get of a coordinator, for the calls of coordinator_device.cuh. */
typedef struct {
    chorus_team_t team; /* of the communicator */
} chorusx_coordinator_device_t;

/**
 * Get the handle of a coordinator for kernels, which make calls of coordinator_device.cuh.
 *
 * @param coordinator  of chorusx_coordinator_create, not in the mode HOST
 * @param handle_out   [out] the handle, to pass to kernels by value
 *
 * Collective: no, any PE.
 * Threads:    any.
 * Ordering:   implies no barrier.
 * Errors:     ERR_ARG for null; ERR_STATE if the mode is HOST.
 * Source:     UNICONN, Coordinator in kernels.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_coordinator_device(chorusx_coordinator_t coordinator,
                                           chorusx_coordinator_device_t *handle_out);

/**
 * Wait until all work of the coordinator's stream has ended; without a stream, nothing.
 *
 * @param coordinator  of chorusx_coordinator_create
 *
 * Collective: no, any PE.
 * Threads:    one thread at a time on a coordinator.
 * Ordering:   as of chorusx_stream_synchronize.
 * Errors:     as of chorusx_stream_synchronize.
 * Source:     UNICONN; CUDA, cudaStreamSynchronize.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_coordinator_synchronize(chorusx_coordinator_t coordinator);

#ifdef __cplusplus
}
#endif

#endif /* CHORUS_APPS_COORDINATOR_H */

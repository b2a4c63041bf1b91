/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorusx.h: extensions, which NVSHMEM names nvshmemx_: streams, teams of any list of PEs,
 * types and operators as values, queries, PEs as threads. The head of chorus.h defines the
 * terms and describes errors and threads.
 */
#ifndef CHORUSX_H
#define CHORUSX_H

#include "chorus/chorus.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- setup ------------------------------------------------------------------------------ */
/* Members of chorusx_init_attr_t that are set. */
#define CHORUSX_INIT_HEAP 1u
#define CHORUSX_INIT_DEVICE 2u
#define CHORUSX_INIT_UNIQUEID                                      \
    4u /* rank, n_ranks and id; see chorusx_set_attr_uniqueid_args \
        */
#define CHORUSX_INIT_THREADS 8u

/* Identifies a job that a program creates itself, and is its secret: any process that has
 * the bytes can join. */
#define CHORUSX_UNIQUEID_BYTES 256
typedef struct chorusx_uniqueid_t {
    char bytes[CHORUSX_UNIQUEID_BYTES];
} chorusx_uniqueid_t;

/* Attributes of chorusx_init_attr. */
typedef struct chorusx_init_attr_t {
    chorus_heap heap;      /* where symmetric objects are; overrides CHORUS_HEAP */
    int device;            /* the GPU of this PE, as CUDA numbers it in this process */
    int rank;              /* the PE that this process becomes */
    int n_ranks;           /* PEs of the job */
    chorusx_uniqueid_t id; /* of the job */
    int threads;           /* level of thread support: a CHORUS_THREAD_ constant */
} chorusx_init_attr_t;

/**
 * As chorus_init, with attributes such as the place of symmetric objects and the GPU.
 *
 * Without a device, the GPU is the one that the program made current on this thread; if there
 * is none, GPUs are assigned to the PEs of a host in the order of their cores. If there are
 * fewer GPUs than PEs, processes share them, but not PEs of one process. The GPU is current on
 * this thread afterwards. A device without a heap selects CHORUS_HEAP_cuda.
 *
 * @param flags  CHORUSX_INIT_ constants, ored: the members of attr that are set; 0: as
 *               chorus_init
 * @param attr   [in] read before the return; null if flags is 0
 *
 * Collective: every PE of the job, in place of chorus_init, with the same heap; devices
 *             may differ.
 * Threads:    one thread of the process; grants the level that attr names, or
 *             CHORUS_THREAD_SINGLE.
 * Ordering:   no PE returns before all have called.
 * Errors:     those of chorus_init; with an id, ERR_ARG if two processes are the same PE or the
 *             numbers of PEs differ, ERR_TIMEOUT, which names the missing PEs, or if no process
 *             listens for the id; ERR_ARG for a flag, a heap or a level that does not exist, a
 *             device that this process does not see or that is given with CHORUS_HEAP_host. For
 *             a heap on GPUs ERR_SYSTEM if a PE has no driver or no GPU; ERR_UNSUPPORTED if its
 *             GPU lacks a feature or peer access to another GPU, if two PEs of one process have
 *             the same GPU, or if the library was built without CUDA; ERR_NOMEM if a GPU has no
 *             room for CHORUS_SYNC_MAX.
 * Source:     NVSHMEM, nvshmemx_init_attr, with other flags.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_init_attr(unsigned flags, const chorusx_init_attr_t *attr);

/**
 * Create an id for a job. The program distributes it to the processes that will be the PEs: by
 * a file, a socket, or a library that connects them already. From now on this process listens
 * for them, and it must be one of them.
 *
 * @param id  [out] bytes to copy unchanged; keep them secret from other processes
 *
 * Collective: no; one process of those that join calls it, once for each job. A second call
 *             invalidates the first id.
 * Threads:    any, before the process joins.
 * Ordering:   implies no barrier.
 * Errors:     ERR_ARG for null; ERR_SYSTEM if no socket can be created.
 * Source:     NVSHMEM, nvshmemx_get_uniqueid; there, too, one process creates it.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_get_uniqueid(chorusx_uniqueid_t *id);

/**
 * Fill in attr so that chorusx_init_attr with CHORUSX_INIT_UNIQUEID joins the job of an id. It
 * takes precedence over any launcher.
 *
 * @param rank     the PE that this process becomes, 0 to n_ranks - 1, different on each
 * @param n_ranks  PEs of the job, the same on all
 * @param id       [in] the id that chorusx_get_uniqueid created in one of the processes
 * @param attr     [out] its members rank, n_ranks and id; others are unchanged
 *
 * Collective: no, any process that will be a PE.
 * Threads:    any, before the process joins.
 * Ordering:   implies no barrier.
 * Errors:     ERR_ARG for null, a rank or number out of range, bytes that are not an id.
 * Source:     NVSHMEM, nvshmemx_set_attr_uniqueid_args, with a flag of another name.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_set_attr_uniqueid_args(int rank, int n_ranks,
                                               const chorusx_uniqueid_t *id,
                                               chorusx_init_attr_t *attr);

/* --- errors and inquiry ---------------------------------------------------------------- */
/**
 * Get the fixed text of a code.
 *
 * @param code  a chorus_status; any other gives "unknown status"
 *
 * Collective: no, any PE.
 * Threads:    any, at any time, also outside a job.
 * Ordering:   implies no barrier.
 * Errors:     none at any time.
 * Source:     own, after the C library's strerror.
 * Since:      0.1
 */
CHORUS_API const char *chorusx_strerror(int code);

/**
 * Get the message of this thread's last failure: what was asked, what was found, what to do.
 * Empty if there was none. It is valid until this thread's next failure.
 *
 * Collective: no, any PE.
 * Threads:    any, at any time, also outside a job; each thread has its own message.
 * Ordering:   implies no barrier.
 * Errors:     none at any time.
 * Source:     own, after libfabric and MPICH, which keep a message per error.
 * Since:      0.1
 */
CHORUS_API const char *chorusx_last_error(void);

/**
 * Set or add to a signal on a PE, without a put.
 *
 * @param sig_addr  [out] the word: symmetric, on pe, 8-byte aligned
 * @param signal    the value to set or to add
 * @param sig_op    CHORUS_SIGNAL_SET or CHORUS_SIGNAL_ADD
 * @param pe        number in the job
 *
 * Collective: no, any PE.
 * Threads:    any, at any time; concurrent ADDs to one word are all counted.
 * Ordering:   earlier puts are ordered only by a chorus_fence before it. Implies no barrier.
 * Errors:     ERR_ARG for pe, sig_op and alignment; ERR_NOT_SYMMETRIC for sig_addr; nothing is
 *             updated.
 * Source:     NVSHMEM, nvshmemx_signal_op, which is also a host call.
 * Since:      0.1
 */
CHORUS_API void chorusx_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);

/* Receives a failure of a function that returns no code; message is valid until it returns. */
typedef void (*chorusx_error_handler_t)(int code, const char *message);

/**
 * Set the handler for failures in functions that return no code; returns the previous one.
 *
 * @param handler  called on the thread of the call that failed, and may return; null, as at
 *                 the start: print the message on standard error and end the job
 *
 * Collective: no, any PE; each process has one handler, PEs that are threads share it.
 * Threads:    any, at any time, also outside a job.
 * Ordering:   implies no barrier.
 * Errors:     none at any time.
 * Source:     own, after the error handlers of MPI.
 * Since:      0.1
 */
CHORUS_API chorusx_error_handler_t chorusx_set_error_handler(chorusx_error_handler_t handler);

/**
 * Pass a failure that a call returned as a code to the error handler, with the message of
 * chorusx_last_error: for layers above Chorus whose callers do not test codes.
 *
 * @param code  the code that this thread's last call returned; CHORUS_OK does nothing
 *
 * Collective: no, any PE.
 * Threads:    any, on the thread of the call that failed.
 * Ordering:   implies no barrier.
 * Errors:     none at any time; returns if the handler does.
 * Source:     own, after MPI_Comm_call_errhandler.
 * Since:      0.1
 */
CHORUS_API void chorusx_raise(int code);

/**
 * Record a failure of a layer above Chorus, as a call of Chorus that fails does:
 * chorusx_last_error gives the message, and the log and CHORUS_ERRORS treat it in the same way.
 * Returns the code.
 *
 * @param code      a code of chorus/status.h, not CHORUS_OK
 * @param function  the name by which the program called the layer; the message begins with it
 * @param message   what was asked, what was found, what to do; null: keep the message of this
 *                  thread's last failure, which caused this one
 *
 * Collective: no, any PE.
 * Threads:    any, at any time.
 * Ordering:   implies no barrier.
 * Errors:     none at any time.
 * Source:     own, after MPI_Add_error_string, of layers above MPI.
 * Since:      0.1
 */
CHORUS_API int chorusx_fail(int code, const char *function, const char *message);

/**
 * As chorusx_raise, for a layer whose function made the call: the message names that function
 * in place of the call.
 *
 * @param function  the name by which the program called the layer, and any words that the
 *                  message needs about its arguments; up to 100 bytes
 * @param code      the code that this thread's last call returned; CHORUS_OK does nothing
 *
 * Collective: no, any PE.
 * Threads:    any, on the thread of the call that failed.
 * Ordering:   implies no barrier.
 * Errors:     none at any time; returns if the handler does.
 * Source:     own, after MPI_Comm_call_errhandler.
 * Since:      0.1
 */
CHORUS_API void chorusx_raise_in(const char *function, int code);

/**
 * Set the names of calls and constants in messages, for layers whose programs make calls by
 * other names: with "shmem", messages contain shmem_malloc for chorus_malloc, SHMEM_TEAM_WORLD
 * for CHORUS_TEAM_WORLD, and so on for all names that OpenSHMEM has. Other variables than
 * CHORUS_HEAP_MAX keep their names.
 *
 * @param prefix    "shmem", "nvshmem", or "": the names of Chorus, as at the start; kept
 * @param heap_max  the variable from which the layer has set CHORUS_HEAP_MAX, which messages
 *                  contain in its place; null leaves it as it is; kept
 *
 * Collective: no, any PE; each process has one setting, PEs that are threads share it.
 * Threads:    any, at any time, also outside a job.
 * Ordering:   implies no barrier.
 * Errors:     none at any time; an unknown prefix has the effect of "".
 * Source:     own; other libraries have one interface.
 * Since:      0.1
 */
CHORUS_API void chorusx_set_names(const char *prefix, const char *heap_max);

/**
 * Get the state of this PE: 0 before its first chorus_init, 1 in the job, 2 after
 * chorus_finalize, and in a child that a PE forked.
 *
 * Collective: no, any PE.
 * Threads:    any, at any time, also outside a job.
 * Ordering:   implies no barrier.
 * Errors:     none at any time.
 * Source:     NVSHMEM, nvshmemx_init_status, with other values.
 * Since:      0.1
 */
CHORUS_API int chorusx_init_status(void);

/**
 * Test whether a team can be used: CHORUS_OK, or the code of the first call on it that failed.
 *
 * @param team  a team that this PE is in
 *
 * Collective: no, any PE.
 * Threads:    any, while the team is not being destroyed.
 * Ordering:   implies no barrier.
 * Errors:     ERR_ARG for a bad team.
 * Source:     own, after ncclCommGetAsyncError.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_team_status(chorus_team_t team);

/* The plan of a collective call, and its rule. */
typedef struct chorusx_plan {
    char algo[32], proto[16]; /* names as in a rule table */
    int ctas, radix;
    char rule[256]; /* "file:line", or "forced" */
} chorusx_plan;

/**
 * Get the plan that a collective call on a team would have, without making the call.
 *
 * @param team      a team that this PE is in
 * @param coll      a CHORUS_COLL_ constant
 * @param type      a CHORUS_TYPE_ constant; a barrier's is CHORUS_TYPE_u8
 * @param op        a CHORUS_OP_ constant that supports type; only used by reductions
 * @param bytes     of the message as rules count it: one PE's block for fcollect and alltoall,
 *                  the whole of source for the others
 * @param plan_out  [out] the plan, when source and dest do not overlap
 *
 * Collective: no, any PE; every PE of team gets the same result.
 * Threads:    any, while the team is not being destroyed.
 * Ordering:   implies no barrier.
 * Errors:     ERR_ARG for a bad team, coll, type or op; ERR_UNSUPPORTED when no rule serves the
 *             call. plan_out is then unchanged.
 * Source:     own; chorus-info explain prints the same choice outside a job.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_explain(chorus_team_t team, chorus_coll coll, chorus_type type,
                                chorus_op op, size_t bytes, chorusx_plan *plan_out);

/* The symmetric heap of this PE; equal on all PEs except local_used_bytes and device. */
typedef struct chorusx_heap_info_t {
    size_t reserved_bytes;     /* the largest size to which it can grow */
    size_t committed_bytes;    /* backed by memory now */
    size_t used_bytes;         /* of objects, rounding included */
    size_t free_bytes;         /* reserved_bytes - used_bytes */
    size_t largest_free_bytes; /* the largest object that fits, growth included */
    size_t high_water_bytes;   /* the largest value that used_bytes has had */
    size_t blocks;             /* objects now */
    size_t
        local_used_bytes; /* memory of this PE's teams, which is outside the symmetric heap */
    chorus_heap heap;     /* where objects are: CHORUS_HEAP_host or CHORUS_HEAP_cuda */
    int device;           /* the GPU, as CUDA numbers it in this process; -1 on a host */
} chorusx_heap_info_t;

/**
 * Get the state of the symmetric heap.
 *
 * @param info_out  [out] see chorusx_heap_info_t
 *
 * Collective: no, any PE.
 * Threads:    any, while no other thread of this PE allocates or frees.
 * Ordering:   implies no barrier.
 * Errors:     none except ERR_STATE.
 * Source:     own, after mallinfo2 of the GNU C library.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_heap_info(chorusx_heap_info_t *info_out);

/**
 * Get the multicast address of an object: a store of a kernel there reaches the object on every
 * PE of a team.
 *
 * @param team  a team that this PE is in
 * @param addr  this PE's address of the object
 *
 * Collective: no, any PE.
 * Threads:    any, while the team is not being destroyed.
 * Ordering:   implies no barrier.
 * Errors:     null and a message for a team or an address outside their range. Null if there is
 *             no multicast: on hosts, without CHORUS_NVLS, in teams of fewer PEs than the job.
 * Source:     NVSHMEM 3.8, nvshmemx_mc_ptr.
 * Since:      0.1
 */
CHORUS_API void *chorusx_mc_ptr(chorus_team_t team, const void *addr);

/**
 * Make memory of the program a part of the symmetric heap, without changing its address; or end
 * this (unregister). The contents are kept.
 *
 * @param addr    [in,out] whole pages, which the program may write: from mmap or aligned_alloc,
 *                not on a stack. If the heap is on GPUs: memory that cuMemCreate created with a
 *                file descriptor as its handle type, or a fabric handle if GPUs of other
 *                hosts map it, and that one cuMemMap mapped there.
 *                Addresses may differ from PE to PE
 * @param bytes   a multiple of the page size (on GPUs, 2 MiB), the same on every PE
 * @param object  the result of chorusx_buffer_register_symmetric: the symmetric address of the
 *                same memory, for calls
 *
 * Collective: every PE of the job, in the same order of such calls and of allocations.
 * Threads:    one thread of a PE at a time allocates, frees, creates or destroys teams; no
 *             other accesses the memory meanwhile.
 * Ordering:   a barrier over the job on return, and on entry of the call that ends it.
 * Errors:     null and a message: ERR_ARG for memory that is not whole pages or, on a GPU, not
 *             all that was mapped at once; ERR_NOMEM if the heap is full; ERR_UNSUPPORTED, with
 *             the reason, for memory of a GPU that cannot be shared. ERR_ARG for an invalid
 *             object.
 * Source:     NVSHMEM, nvshmemx_buffer_register_symmetric and related calls.
 * Since:      0.1
 */
CHORUS_API void *chorusx_buffer_register_symmetric(void *addr, size_t bytes);
CHORUS_CODE int chorusx_buffer_unregister_symmetric(void *object);

/**
 * Make memory of the program as good as a symmetric object for collectives that are called with
 * its own address; or end this. The contents are kept. The pages are mapped to the PEs of the
 * host, and pinned if an RDMA device serves the heap. In a call, buffers in this memory must
 * have the same offset in it on every PE.
 *
 * @param addr   [in,out] as of chorusx_buffer_register_symmetric
 * @param bytes  as of chorusx_buffer_register_symmetric, too
 *
 * Collective: every PE of the job, in the same order of such calls and of allocations.
 * Threads:    as of chorusx_buffer_register_symmetric; no collective may run meanwhile.
 * Ordering:   a barrier over the job on return, and on entry of the call that ends it.
 * Errors:     the same on all PEs, and nothing is changed: ERR_ARG for memory that is not whole
 *             pages, is in the heap, or is registered already, and for an address that was not
 *             registered; ERR_NOMEM if the heap is full; ERR_SYSTEM if the pages cannot be
 *             mapped a second time; ERR_UNSUPPORTED, with the reason, for memory of a GPU that
 *             cannot be shared by a file descriptor, such as that of cudaMalloc.
 * Source:     NVSHMEM, nvshmemx_buffer_register, which registers for the calling PE only.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_buffer_register(void *addr, size_t bytes);
CHORUS_CODE int chorusx_buffer_unregister(void *addr);

/* A note of chorusx_pool_malloc or chorusx_pool_free: bytes is 0 for a block that was freed. */
typedef struct chorusx_pool_note {
    void *ptr;
    size_t bytes;
} chorusx_pool_note;

/**
 * Symmetric memory by the signatures that PyTorch's CUDAPluggableAllocator expects. Freeing
 * only notes the block; the program fetches the notes, and frees by chorus_free the blocks that
 * all PEs have noted.
 *
 * @param ptr        a block that chorusx_pool_malloc returned
 * @param bytes      of the block; the same on every PE
 * @param device     not used: blocks are where the symmetric heap is
 * @param stream     not used; blocks belong to no stream
 * @param notes_out  [out] the oldest notes that were not fetched yet, at most `most`
 * @param most       entries of notes_out
 *
 * Collective: chorusx_pool_malloc as chorus_malloc; the others no, any PE.
 * Threads:    chorusx_pool_malloc as chorus_malloc; the others any.
 * Ordering:   chorusx_pool_malloc is a barrier over the job.
 * Errors:     null, as of chorus_malloc; the number of notes, 0 if there are none. Blocks freed
 *             after chorus_finalize are not noted.
 * Source:     torch.cuda.memory.CUDAPluggableAllocator.
 * Since:      0.1
 */
CHORUS_API void *chorusx_pool_malloc(ptrdiff_t bytes, int device, void *stream);
CHORUS_API void chorusx_pool_free(void *ptr, ptrdiff_t bytes, int device, void *stream);
CHORUS_API size_t chorusx_pool_take(chorusx_pool_note *notes_out, size_t most);

/* --- teams ------------------------------------------------------------------------------ */
/**
 * Create a team of any PEs of another team, in any order.
 *
 * @param parent    the team whose PEs all call; pes contains numbers in this team
 * @param pes       [in] n different numbers; entry i becomes PE i of the new team
 * @param n         PEs of the new team, 1 or more
 * @param new_team  [out] the team; CHORUS_TEAM_INVALID on PEs outside it, and on failure
 *
 * Collective: every PE of parent, with the same list.
 * Threads:    one thread of a PE at a time allocates, frees, creates or destroys teams.
 * Ordering:   no PE returns before all have called; completes nothing.
 * Errors:     ERR_ARG for a bad parent or list, and ERR_NOMEM; the same on all PEs.
 * Source:     own, after MPI_Comm_create; OpenSHMEM has only triplets and grids.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_team_create(chorus_team_t parent, const int pes[], int n,
                                    chorus_team_t *new_team);

/**
 * As chorusx_team_create, called only by the new team's PEs.
 *
 * @param parent    a team that contains all of them; pes contains numbers in this team
 * @param pes       [in] n different numbers; entry i becomes PE i of the new team
 * @param n         PEs of the new team, 1 or more
 * @param tag       any number, the same on all of them: PEs that call with different tags fail
 * @param new_team  [out] the team; CHORUS_TEAM_INVALID on failure
 *
 * Collective: every PE of the list, with the same list; two PEs that are in several such lists
 *             of one parent make these calls in the same order.
 * Threads:    one thread of a PE at a time allocates, frees, creates or destroys teams.
 * Ordering:   no PE returns before all of the list have called; completes nothing.
 * Errors:     ERR_ARG for a bad parent, for a list without this PE, and on all PEs of the list
 *             for other invalid lists and for lists or tags that differ; ERR_NOMEM, on all of
 *             them.
 * Source:     own, after MPI_Comm_create_group.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_team_create_group(chorus_team_t parent, const int pes[], int n, int tag,
                                          chorus_team_t *new_team);

/**
 * Split a team: the PEs that pass the same colour form a new team.
 *
 * @param parent    the team whose PEs all call
 * @param color     0 or more; negative: this PE is in no new team
 * @param key       PEs of a colour are numbered in the order of their keys, and those with the
 *                  same key in that of their numbers in parent
 * @param new_team  [out] the team; CHORUS_TEAM_INVALID without a colour, and on failure
 *
 * Collective: every PE of parent; colours and keys may differ.
 * Threads:    one thread of a PE at a time allocates, frees, creates or destroys teams.
 * Ordering:   no PE returns before all have called; completes nothing.
 * Errors:     ERR_ARG for a bad parent; ERR_SYSTEM without memory for lists, on all PEs of
 *             parent, and ERR_NOMEM without symmetric memory, on all of a colour.
 * Source:     own, after MPI_Comm_split.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_team_split_color(chorus_team_t parent, int color, int key,
                                         chorus_team_t *new_team);

/**
 * Allocate an object that is symmetric on the PEs of a team, or free one; the other PEs of the
 * job take no part. Every call takes it for symmetric that accesses PEs of the team only:
 * collectives of the team, or of teams whose PEs are all in it, and puts, gets, atomics,
 * signals and waits. The memory is filled with zeros and is beside that of the team itself
 * (CHORUS_SYNC_MAX limits both), not in the heap from which chorus_malloc allocates.
 * chorus_team_destroy frees what the team still has.
 *
 * @param team   a team that this PE is in
 * @param bytes  the same on every PE of the team; 0 returns null
 * @param ptr    what chorusx_team_malloc returned for this team; null does nothing
 *
 * Collective: every PE of the team, in the same order of such calls on it; null and 0 bytes are
 *             not collective.
 * Threads:    one thread of a PE at a time allocates, frees, creates or destroys teams.
 * Ordering:   no PE returns before all of the team have called; completes nothing.
 * Errors:     the same on all PEs of the team, and nothing is changed. Of chorusx_team_malloc,
 *             null and a message: ERR_ARG for an invalid team and for bytes that differ,
 *             ERR_NOMEM if no place is free on all of them. Of chorusx_team_free: ERR_ARG for
 *             an invalid team, for memory that is not the start of an object of the team, and
 *             for different objects. Calls that access an object on a PE that is not in the
 *             team fail with ERR_NOT_SYMMETRIC.
 * Source:     own; the other libraries allocate over the whole job.
 * Since:      0.1
 */
CHORUS_API void *chorusx_team_malloc(chorus_team_t team, size_t bytes);
CHORUS_CODE int chorusx_team_free(chorus_team_t team, void *ptr);

/* --- PEs as threads ----------------------------------------------------------------------- */
/**
 * Run a job whose PEs are threads of this process; returns when all have ended.
 *
 * With a heap on GPUs each PE needs its own GPU.
 *
 * @param n_pes    threads to start, 1 or more
 * @param pe_main  runs on each, initialised as by chorus_init_thread(CHORUS_THREAD_MULTIPLE);
 *                 when it returns, chorus_finalize is called unless it was. Threads that it
 *                 starts itself are not PEs; their calls are made for the process's PE, if
 *                 there is one
 * @param arg      for pe_main, the same on every PE
 *
 * Collective: no; the process need not be in a job, and stays in the one it is in.
 * Threads:    any, and several such jobs may run at the same time.
 * Ordering:   writes before the call are visible to the PEs; their writes are visible after it.
 * Errors:     ERR_ARG for n_pes, and those of chorus_init and chorus_finalize of any PE, with
 *             its number; all PEs have ended in any case. Errors in pe_main go to the handler.
 * Source:     own; process-shared OpenSHMEM has no such call.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_run_threads(int n_pes, void (*pe_main)(void *arg), void *arg);

/* --- streams ------------------------------------------------------------------------------ */
/*
 * Calls that run one after another, in the order in which they were made, while the caller
 * continues.
 *
 * If objects are on GPUs, a stream is a cudaStream_t of this PE's GPU: created here or by CUDA,
 * cudaStreamPerThread, or null, which is CUDA's default stream of the GPU. A call on a stream
 * in capture becomes part of the graph: calls of a team in one capture keep their order, on
 * whatever streams. The program orders launches of graphs among themselves and with other calls
 * of the team, in the same way on all PEs; CHORUS_CHECK=1 reports violations. Up to 16 captures
 * with calls of a team may be filled in turns; a call in a 17th is accepted, and the oldest
 * capture is forgotten: calls of the team that are added to that one later, on another of its
 * streams, run in the order that the program gives them by events. Calls that are not on the
 * captured stream are not captured, and run at once. A team must exist as long as graphs with
 * its calls.
 *
 * After a call of a team has failed, later calls of the team, also those of graphs that are
 * launched again, are skipped: they fail, and chorusx_stream_synchronize reports it each time.
 * A late PE may still write into dest of the failed call until chorus_team_destroy returns,
 * which waits for the queued calls of all PEs; the program must not use those buffers before.
 *
 * A small call may be launched while the previous kernel of its stream runs, and waits for the
 * end of that kernel. A kernel of the program that is launched in the same way between two
 * calls (programmatic dependent launch) must also wait before it ends; CHORUS_EARLY=0 launches
 * no call early.
 *
 * CUDA may delay a kernel until one that was launched earlier has ended, on whatever streams.
 * All PEs must therefore queue the calls of several teams in the same order, even if each team
 * has its own stream.
 */
typedef struct chorus_stream *chorus_stream_t;

/**
 * Create a stream for this PE, which may have several.
 *
 * @param stream_out  [out] the stream; freed by chorusx_stream_destroy, or at the end
 *
 * Collective: no, any PE.
 * Threads:    one thread of a PE at a time creates or destroys streams, with no other in a call
 *             that uses one.
 * Ordering:   implies no barrier.
 * Errors:     ERR_ARG for null, ERR_SYSTEM if there is no thread or memory for it.
 * Source:     own, after cudaStreamCreate.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_stream_create(chorus_stream_t *stream_out);

/**
 * Run the queued calls of a stream, then destroy it.
 *
 * @param stream  of this PE, created by chorusx_stream_create
 *
 * Collective: no; waits for the queued calls, and so for the PEs they need.
 * Threads:    one thread of a PE at a time creates or destroys streams, with no other in a call
 *             that uses one.
 * Ordering:   as chorusx_stream_synchronize; call that before to learn of failures.
 * Errors:     ERR_ARG for a pointer that is not a stream of chorusx_stream_create, or a
 *             destroyed one.
 * Source:     own, after cudaStreamDestroy.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_stream_destroy(chorus_stream_t stream);

/**
 * Wait until the calls that are queued on a stream have run.
 *
 * @param stream  of this PE, created by chorusx_stream_create
 *
 * Collective: no; waits for the queued calls, and so for the PEs they need.
 * Threads:    any; if several wait, one of them gets a failure.
 * Ordering:   the results of the calls are complete, and their buffers may be reused.
 * Errors:     that of the first queued call that failed since the last time, with its message;
 *             on GPUs, of any stream, one team at a time. For a call that was skipped, also one
 *             in a graph, the code of its team's first failure; ERR_ARG for a pointer that is
 *             not a stream of this PE, ERR_STATE for a stream that is being captured.
 * Source:     own, after cudaStreamSynchronize.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_stream_synchronize(chorus_stream_t stream);

/**
 * As chorus_barrier and related calls, queued on a stream.
 *
 * @param team    a team that this PE is in
 * @param stream  of this PE; null only on GPUs
 *
 * Collective: every PE of the team, on streams or not, in the same order of calls on it.
 * Threads:    calls on one team run in the order in which they were made, on whatever streams;
 *             threads that share a team must make them in the same order on all PEs.
 * Ordering:   returns at once, unless very many calls are queued; the barrier is then reached
 *             in stream order. A barrier completes the puts and atomics that this PE made
 *             before the call that queued it, on a GPU also those that were queued on the
 *             stream before; a sync does not.
 * Errors:     ERR_ARG for a bad team or stream, ERR_STATE for a team that is unusable; nothing
 *             is queued. Later failures come from chorusx_stream_synchronize.
 * Source:     NVSHMEM, nvshmemx_barrier_on_stream and related calls.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_barrier_on_stream(chorus_team_t team, chorus_stream_t stream);
CHORUS_CODE int chorusx_barrier_all_on_stream(chorus_stream_t stream);
CHORUS_CODE int chorusx_team_sync_on_stream(chorus_team_t team, chorus_stream_t stream);
CHORUS_CODE int chorusx_sync_all_on_stream(chorus_stream_t stream);

/**
 * As chorus_T_broadcast, chorus_T_fcollect and chorus_T_alltoall, queued on a stream.
 *
 *     broadcast:  dest[i] = source of root [i]
 *     fcollect:   dest[p * nelems + i] = source of PE p [i]
 *     alltoall:   dest[p * nelems + i] = source of PE p [me * nelems + i],   0 <= i < nelems
 *
 * @param team    a team that this PE is in; me is this PE's number in it
 * @param dest    [out] any memory, as of the blocking call; not to be accessed until then
 * @param source  [in] any memory, as of the blocking call; not to be written until then
 * @param nelems  elements, as of the blocking call; 0 does nothing and queues nothing
 * @param bytes   of the mem forms, in place of nelems
 * @param root    number in team
 * @param stream  of this PE; null only on GPUs
 *
 * Collective: every PE of the team, on streams or not, in the same order of calls on it.
 * Threads:    as of chorusx_barrier_on_stream.
 * Ordering:   returns at once, unless very many calls are queued. dest is complete, and source
 *             may be reused, when the call has run: in stream order, and for the caller after
 *             chorusx_stream_synchronize. Implies no barrier.
 * Result:     a copy, bit for bit.
 * Errors:     those of chorus_T_broadcast, and ERR_ARG for stream; nothing is queued. Failures
 *             of the run come from chorusx_stream_synchronize.
 * Source:     NVSHMEM, nvshmemx_broadcast_on_stream and related calls; here nelems may be 0.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_broadcastmem_on_stream(chorus_team_t team, void *dest,
                                               const void *source, size_t bytes, int root,
                                               chorus_stream_t stream);
CHORUS_CODE int chorusx_fcollectmem_on_stream(chorus_team_t team, void *dest,
                                              const void *source, size_t bytes,
                                              chorus_stream_t stream);
CHORUS_CODE int chorusx_alltoallmem_on_stream(chorus_team_t team, void *dest,
                                              const void *source, size_t bytes,
                                              chorus_stream_t stream);

#define CHORUS_DECLARE_MOVE_ON_STREAM(NAME, T, kind)                                          \
    CHORUS_CODE int chorusx_##NAME##_broadcast_on_stream(chorus_team_t team, T *dest,         \
                                                         const T *source, size_t nelems,      \
                                                         int root, chorus_stream_t stream);   \
    CHORUS_CODE int chorusx_##NAME##_fcollect_on_stream(                                      \
        chorus_team_t team, T *dest, const T *source, size_t nelems, chorus_stream_t stream); \
    CHORUS_CODE int chorusx_##NAME##_alltoall_on_stream(                                      \
        chorus_team_t team, T *dest, const T *source, size_t nelems, chorus_stream_t stream);
CHORUS_RMA_TYPES(CHORUS_DECLARE_MOVE_ON_STREAM)
#undef CHORUS_DECLARE_MOVE_ON_STREAM

/**
 * As chorus_T_OP_reduce and chorus_T_OP_reducescatter, queued on a stream.
 *
 *     reduce:         dest[i] = source of PE 0 [i] OP ... OP source of PE n - 1 [i]
 *     reducescatter:  the same of source [me * nreduce + i],   0 <= i < nreduce
 *
 * @param team     a team that this PE is in; me is this PE's number in it, n the number of its
 *                 PEs
 * @param dest     [out] any memory, as of the blocking call; not to be accessed until then
 * @param source   [in] any memory, as of the blocking call; not to be written until then
 * @param nreduce  elements, as of the blocking call; 0 does nothing and queues nothing
 * @param stream   of this PE; null only on GPUs
 *
 * Collective: every PE of the team, on streams or not, in the same order of calls on it.
 * Threads:    as of chorusx_barrier_on_stream.
 * Ordering:   as of chorusx_T_broadcast_on_stream.
 * Result:     bit for bit that of the blocking call.
 * Errors:     as of chorusx_T_broadcast_on_stream.
 * Source:     NVSHMEM, nvshmemx_T_OP_reduce_on_stream; here nreduce may be 0.
 * Since:      0.1
 */
#define CHORUS_DECLARE_REDUCE_ON_STREAM(OP, NAME, T, kind)                                     \
    CHORUS_CODE int chorusx_##NAME##OP##_reduce_on_stream(                                     \
        chorus_team_t team, T *dest, const T *source, size_t nreduce, chorus_stream_t stream); \
    CHORUS_CODE int chorusx_##NAME##OP##_reducescatter_on_stream(                              \
        chorus_team_t team, T *dest, const T *source, size_t nreduce, chorus_stream_t stream);
#define CHORUS_DECLARE_STREAM_OP(OP, NAMES) NAMES(CHORUS_DECLARE_REDUCE_ON_STREAM, OP)
CHORUS_REDUCE_LIST(CHORUS_DECLARE_STREAM_OP)

/**
 * As chorus_T_collect, chorus_T_alltoalls, chorus_T_sum_inscan and chorus_T_sum_exscan, queued
 * on a stream.
 *
 *     collect, alltoalls, inscan, exscan:  dest as by the blocking call
 *
 * @param team      a team that this PE is in
 * @param dest      [out] any memory, as of the blocking call; not to be accessed until then
 * @param source    [in] any memory, as of the blocking call; not to be written until then
 * @param dst, sst  strides in elements, as of the blocking call
 * @param nelems    elements, as of the blocking call
 * @param bytes     of collectmem, in place of nelems
 * @param stream    of this PE; null only on GPUs
 *
 * Collective: every PE of the team, on streams or not, in the same order of calls on it.
 * Threads:    as of chorusx_barrier_on_stream.
 * Ordering:   as of chorusx_T_broadcast_on_stream.
 * Result:     bit for bit that of the blocking call.
 * Errors:     those of the blocking call, and as of chorusx_T_broadcast_on_stream.
 * Source:     own, after NVSHMEM's collectives on streams.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_collectmem_on_stream(chorus_team_t team, void *dest, const void *source,
                                             size_t bytes, chorus_stream_t stream);
CHORUS_CODE int chorusx_alltoallsmem_on_stream(chorus_team_t team, void *dest,
                                               const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                               size_t nelems, chorus_stream_t stream);
#define CHORUS_DECLARE_UNEVEN_ON_STREAM(NAME, T, kind)                                        \
    CHORUS_CODE int chorusx_##NAME##_collect_on_stream(                                       \
        chorus_team_t team, T *dest, const T *source, size_t nelems, chorus_stream_t stream); \
    CHORUS_CODE int chorusx_##NAME##_alltoalls_on_stream(                                     \
        chorus_team_t team, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,           \
        size_t nelems, chorus_stream_t stream);
CHORUS_RMA_TYPES(CHORUS_DECLARE_UNEVEN_ON_STREAM)
#undef CHORUS_DECLARE_UNEVEN_ON_STREAM
#define CHORUS_DECLARE_SCAN_ON_STREAM(NAME, T, kind)                                          \
    CHORUS_CODE int chorusx_##NAME##_sum_inscan_on_stream(                                    \
        chorus_team_t team, T *dest, const T *source, size_t nelems, chorus_stream_t stream); \
    CHORUS_CODE int chorusx_##NAME##_sum_exscan_on_stream(                                    \
        chorus_team_t team, T *dest, const T *source, size_t nelems, chorus_stream_t stream);
CHORUS_REDUCE_ARITHMETIC_TYPES(CHORUS_DECLARE_SCAN_ON_STREAM)
#undef CHORUS_DECLARE_SCAN_ON_STREAM

/* --- one-sided calls on streams ------------------------------------------------------------
 */
/**
 * As chorus_T_put, chorus_T_get and chorus_T_put_signal, queued on a stream.
 *
 * @param dest      [out] as of the blocking call; of a get not to be read until then
 * @param source    [in] as of the blocking call; not to be written until then
 * @param nelems    elements; 0 does nothing, or only signals
 * @param bytes     of the mem forms, in place of nelems
 * @param sig_addr  [out] the word: symmetric, on pe, outside dest
 * @param signal    the value to set or to add
 * @param sig_op    CHORUS_SIGNAL_SET or CHORUS_SIGNAL_ADD
 * @param pe        number in the job
 * @param stream    of this PE; null only on GPUs
 *
 * Collective: no, any PE.
 * Threads:    any, at any time.
 * Ordering:   returns at once, unless very many calls are queued. Runs in stream order: when
 *             later work of the stream runs, dest of a get is filled, and source of a put may
 *             be written. A put is complete after chorusx_quiet_on_stream, or after a
 *             chorus_quiet once the stream's work has ended.
 * Errors:     those of the blocking call, and ERR_ARG for stream; nothing is queued. Failures
 *             of the run come from chorusx_stream_synchronize; on a GPU later work of the
 *             stream is executed then, too.
 * Source:     NVSHMEM, nvshmemx_put_on_stream and related calls; there they return nothing.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_putmem_on_stream(void *dest, const void *source, size_t bytes, int pe,
                                         chorus_stream_t stream);
CHORUS_CODE int chorusx_getmem_on_stream(void *dest, const void *source, size_t bytes, int pe,
                                         chorus_stream_t stream);
CHORUS_CODE int chorusx_putmem_signal_on_stream(void *dest, const void *source, size_t bytes,
                                                uint64_t *sig_addr, uint64_t signal, int sig_op,
                                                int pe, chorus_stream_t stream);
#define CHORUS_DECLARE_RMA_ON_STREAM(NAME, T, kind)                                         \
    CHORUS_CODE int chorusx_##NAME##_put_on_stream(T *dest, const T *source, size_t nelems, \
                                                   int pe, chorus_stream_t stream);         \
    CHORUS_CODE int chorusx_##NAME##_get_on_stream(T *dest, const T *source, size_t nelems, \
                                                   int pe, chorus_stream_t stream);         \
    CHORUS_CODE int chorusx_##NAME##_put_signal_on_stream(                                  \
        T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,       \
        int sig_op, int pe, chorus_stream_t stream);
CHORUS_RMA_TYPES(CHORUS_DECLARE_RMA_ON_STREAM)
#undef CHORUS_DECLARE_RMA_ON_STREAM

/**
 * Update a signal on a PE, wait for a signal of this PE, or complete this PE's puts and
 * atomics, in the order of a stream.
 *
 * @param sig_addr   [in,out] the word: symmetric, 8-byte aligned; on pe, or waited for here
 * @param signal     the value to set or to add
 * @param sig_op     CHORUS_SIGNAL_SET or CHORUS_SIGNAL_ADD
 * @param pe         number in the job
 * @param cmp        a CHORUS_CMP_ constant: *sig_addr cmp cmp_value
 * @param cmp_value  the other operand
 * @param stream     of this PE; null only on GPUs
 *
 * Collective: no, any PE.
 * Threads:    any, at any time; concurrent ADDs to one word are all counted.
 * Ordering:   returns at once, unless very many calls are queued. Work that is queued after a
 *             wait runs after the signal has arrived, and sees the data that was sent with it;
 *             work behind a quiet, after the puts and atomics are complete.
 * Errors:     ERR_ARG for pe, sig_op, cmp, alignment and stream, ERR_NOT_SYMMETRIC; nothing is
 *             queued. A wait on a host fails as chorus_signal_wait_until does, by
 *             chorusx_stream_synchronize. A GPU waits for EQ, GE and GT without a deadline;
 *             then a chorusx_stream_synchronize, chorus_team_destroy or chorus_finalize that
 *             waits for that longer than CHORUS_TIMEOUT fails with ERR_TIMEOUT. A synchronize
 *             knows of waits on its stream, of those before earlier calls of the team of a call
 *             on it, and of those in graphs, but not what the program orders by events; and
 *             a wait whose word was changed again since, before a synchronize or in a graph,
 *             is to it one that is not over.
 * Source:     NVSHMEM, nvshmemx_signal_op_on_stream and related calls.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_signal_op_on_stream(uint64_t *sig_addr, uint64_t signal, int sig_op,
                                            int pe, chorus_stream_t stream);
CHORUS_CODE int chorusx_signal_wait_until_on_stream(uint64_t *sig_addr, int cmp,
                                                    uint64_t cmp_value, chorus_stream_t stream);
CHORUS_CODE int chorusx_quiet_on_stream(chorus_stream_t stream);

/**
 * As chorus_T_wait_until, chorus_T_wait_until_all and its vector form, queued on a stream.
 *
 * @param ivar        [in] the word: symmetric, aligned to its type
 * @param ivars       [in] the words: symmetric, aligned to their type
 * @param nelems      words; 0 waits for nothing
 * @param status      [in] words with a value other than 0 are skipped; null: none is
 * @param cmp         a CHORUS_CMP_ constant: word cmp value
 * @param cmp_value   the other operand
 * @param cmp_values  [in] the other operand for each word
 * @param stream      of this PE; null only on GPUs
 *
 * status and cmp_values are read when the call runs, and are not to be written until then. On a
 * GPU they are memory that it reaches, such as that of cudaMalloc.
 *
 * Collective: no, any PE.
 * Threads:    any, at any time.
 * Ordering:   returns at once, unless very many calls are queued. What is queued behind a wait
 *             runs after the words compare as asked, and sees what was written before them.
 * Errors:     those of the blocking call, and ERR_ARG for stream, on GPUs also for status and
 *             cmp_values; nothing is queued. A wait fails as chorus_T_wait_until does, by
 *             chorusx_stream_synchronize; on a GPU later work of the stream is executed then,
 *             too. A GPU waits for one unsigned word of 64 bits as for a signal, see
 *             chorusx_signal_wait_until_on_stream.
 * Source:     NVSHMEM, nvshmemx_T_wait_until_on_stream and related calls; there they return
 *             nothing.
 * Since:      0.1
 */
#define CHORUS_DECLARE_WAIT_ON_STREAM(NAME, T, kind)                                     \
    CHORUS_CODE int chorusx_##NAME##_wait_until_on_stream(T *ivar, int cmp, T cmp_value, \
                                                          chorus_stream_t stream);       \
    CHORUS_CODE int chorusx_##NAME##_wait_until_all_on_stream(                           \
        T *ivars, size_t nelems, const int *status, int cmp, T cmp_value,                \
        chorus_stream_t stream);                                                         \
    CHORUS_CODE int chorusx_##NAME##_wait_until_all_vector_on_stream(                    \
        T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values,        \
        chorus_stream_t stream);
CHORUS_WAIT_TYPES(CHORUS_DECLARE_WAIT_ON_STREAM)
#undef CHORUS_DECLARE_WAIT_ON_STREAM

/* --- collectives that neither standard has --------------------------------------------------
 */
/**
 * Copy the blocks of all PEs to one PE (gather), or to each PE its block of one PE's source
 * (scatter).
 *
 *     gather:   dest[p * nelems + i] = source of PE p [i],   on root; p is any PE of team
 *     scatter:  dest[i] = source of root [me * nelems + i],   0 <= i < nelems
 *
 * @param team    a team that this PE is in; me is this PE's number in it
 * @param dest    [out] any memory; of a gather, nelems elements for each PE of team, written
 *                only on root; of a scatter, nelems
 * @param source  [in] any memory; of a gather, nelems elements; of a scatter, nelems for each
 *                PE, read only on root. Must not overlap dest
 * @param nelems  elements of one block, the same on every PE; 0 does nothing
 * @param bytes   of the mem forms, in place of nelems
 * @param root    number in team
 * @param stream  of the _on_stream forms: of this PE
 *
 * On all PEs dest must be in the symmetric heap, or on all outside of it, also where it is not
 * written; the same holds for source, also where it is not read.
 *
 * Collective: every PE of team, with the same root, in the same order of calls on it.
 * Threads:    as of chorus_T_broadcast.
 * Ordering:   as of chorus_T_broadcast, on a stream as of chorusx_T_broadcast_on_stream.
 * Result:     a copy, bit for bit.
 * Errors:     those of chorus_T_broadcast.
 * Source:     own, after MPI_Gather and MPI_Scatter.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_gathermem(chorus_team_t team, void *dest, const void *source,
                                  size_t bytes, int root);
CHORUS_CODE int chorusx_gathermem_on_stream(chorus_team_t team, void *dest, const void *source,
                                            size_t bytes, int root, chorus_stream_t stream);
CHORUS_CODE int chorusx_scattermem(chorus_team_t team, void *dest, const void *source,
                                   size_t bytes, int root);
CHORUS_CODE int chorusx_scattermem_on_stream(chorus_team_t team, void *dest, const void *source,
                                             size_t bytes, int root, chorus_stream_t stream);
#define CHORUS_DECLARE_ROOTED(NAME, T, COLL)                                              \
    CHORUS_CODE int chorusx_##NAME##_##COLL(chorus_team_t team, T *dest, const T *source, \
                                            size_t nelems, int root);                     \
    CHORUS_CODE int chorusx_##NAME##_##COLL##_on_stream(chorus_team_t team, T *dest,      \
                                                        const T *source, size_t nelems,   \
                                                        int root, chorus_stream_t stream);
#define CHORUS_DECLARE_GATHER_SCATTER(NAME, T, kind) \
    CHORUS_DECLARE_ROOTED(NAME, T, gather)           \
    CHORUS_DECLARE_ROOTED(NAME, T, scatter)
CHORUS_RMA_TYPES(CHORUS_DECLARE_GATHER_SCATTER)
#undef CHORUS_DECLARE_GATHER_SCATTER

/**
 * Combine the elements of every PE of a team; one PE gets the result.
 *
 *     dest[i] = source of PE 0 [i] OP ... OP source of PE n - 1 [i],   on root
 *
 * @param team     a team that this PE is in; n is the number of its PEs
 * @param dest     [out] any memory, nreduce elements, written only on root
 * @param source   [in] any memory, nreduce elements. May be dest (on all PEs), must not overlap
 *                 it in part
 * @param nreduce  elements, the same on every PE; 0 does nothing
 * @param root     number in team
 * @param stream   of the _on_stream forms: of this PE
 *
 * On all PEs dest must be in the symmetric heap, or on all outside of it, also where it is not
 * written; the same holds for source.
 *
 * Collective: every PE of team, with the same root, in the same order of calls on it.
 * Threads:    as of chorus_T_broadcast.
 * Ordering:   as of chorus_T_broadcast, on a stream as of chorusx_T_broadcast_on_stream.
 * Result:     combined in PE order, and so the same from run to run; otherwise that of
 *             chorus_T_OP_reduce.
 * Errors:     those of chorus_T_OP_reduce.
 * Source:     own, after MPI_Reduce.
 * Since:      0.1
 */
#define CHORUS_DECLARE_REDUCE_TO(OP, NAME, T, kind)                                            \
    CHORUS_CODE int chorusx_##NAME##OP##_reduce_to(chorus_team_t team, T *dest,                \
                                                   const T *source, size_t nreduce, int root); \
    CHORUS_CODE int chorusx_##NAME##OP##_reduce_to_on_stream(                                  \
        chorus_team_t team, T *dest, const T *source, size_t nreduce, int root,                \
        chorus_stream_t stream);
#define CHORUS_DECLARE_TO_OP(OP, NAMES) NAMES(CHORUS_DECLARE_REDUCE_TO, OP)
CHORUS_REDUCE_LIST(CHORUS_DECLARE_TO_OP)

/**
 * Exchange blocks of any length between each two PEs of a team.
 *
 *     dest[dest_offsets[p] + i] = source of PE p [its source_offsets[me] + i],
 *     0 <= i < dest_counts[p], which is source_counts[me] of PE p
 *
 * @param team            a team that this PE is in; me is this PE's number in it
 * @param dest            [out] any memory, up to the end of the last block. A null pointer, of
 *                        a PE that receives nothing, counts as symmetric: where the others
 *                        pass other memory, such a PE passes any address outside the heap
 * @param dest_counts     [in] memory of the CPU: elements to receive from each PE of team, as
 *                        many as that PE sends to this one
 * @param dest_offsets    [in] memory of the CPU: their positions in dest, in elements; blocks
 *                        must not overlap
 * @param source          [in] any memory, up to the end of the last block; must not overlap
 *                        dest
 * @param source_counts   [in] memory of the CPU: elements to send to each PE of team
 * @param source_offsets  [in] memory of the CPU: their positions in source, in elements
 * @param stream          of the _on_stream forms: of this PE. The four arrays are read until
 *                        the call has run; if the heap is on GPUs, until this returns
 *
 * Collective: every PE of team, in the same order of calls on it.
 * Threads:    as of chorus_T_broadcast.
 * Ordering:   as of chorus_T_broadcast, on a stream as of chorusx_T_broadcast_on_stream.
 * Result:     a copy, bit for bit.
 * Errors:     those of chorus_T_broadcast; ERR_ARG for an array that is null. If a PE sends
 *             another number of elements than the receiver expects: on hosts, ERR_ARG on all
 *             PEs of team, in this call or in their next one on team, which then is unusable,
 *             and the message names both numbers; no more than the smaller number is copied.
 *             With heaps on GPUs, the smaller number is copied, the call completes on all PEs,
 *             and the sender, or both PEs, get ERR_ARG with that message: from this call or, on
 *             a stream, from chorusx_stream_synchronize; team can be used further.
 * Source:     own, after MPI_Alltoallv.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_alltoallvmem(chorus_team_t team, void *dest, const size_t dest_counts[],
                                     const size_t dest_offsets[], const void *source,
                                     const size_t source_counts[],
                                     const size_t source_offsets[]);
CHORUS_CODE int chorusx_alltoallvmem_on_stream(chorus_team_t team, void *dest,
                                               const size_t dest_counts[],
                                               const size_t dest_offsets[], const void *source,
                                               const size_t source_counts[],
                                               const size_t source_offsets[],
                                               chorus_stream_t stream);
#define CHORUS_DECLARE_ALLTOALLV(NAME, T, kind)                                               \
    CHORUS_CODE int chorusx_##NAME##_alltoallv(                                               \
        chorus_team_t team, T *dest, const size_t dest_counts[], const size_t dest_offsets[], \
        const T *source, const size_t source_counts[], const size_t source_offsets[]);        \
    CHORUS_CODE int chorusx_##NAME##_alltoallv_on_stream(                                     \
        chorus_team_t team, T *dest, const size_t dest_counts[], const size_t dest_offsets[], \
        const T *source, const size_t source_counts[], const size_t source_offsets[],         \
        chorus_stream_t stream);
CHORUS_RMA_TYPES(CHORUS_DECLARE_ALLTOALLV)
#undef CHORUS_DECLARE_ALLTOALLV

/* --- calls inside kernels ---------------------------------------------------------------- */
/**
 * Get the data with which kernels make calls, for chorusx_module_init of chorus_device.cuh,
 * which passes it to the kernels of a file. Programs call only that function.
 *
 * @param state_out  [out] on the host; only the header knows its layout
 * @param bytes      of state_out, by which header and library check that they match
 *
 * Collective: no, any PE.
 * Threads:    any, while no other thread is in chorus_init or chorus_finalize.
 * Ordering:   implies no barrier.
 * Errors:     ERR_UNSUPPORTED if the heap is not on GPUs or PEs are threads of a process;
 *             ERR_ARG if bytes differs from that of this library. state_out is then left alone.
 * Source:     own; used by the equivalent of NVSHMEM's nvshmemx_cumodule_init.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_device_state(void *state_out, size_t bytes);

/* The version of the headers, whose calls inside kernels agree with the library of that version
 * on how data are sent. */
#define CHORUSX_MODULE_VERSION (CHORUS_MAJOR_VERSION * 1000 + CHORUS_MINOR_VERSION)

/* A file of CUDA C++ whose kernels make calls. The first four are of the program, the others of
 * the library. */
struct chorusx_module {
    const char *file;
    size_t bytes; /* of the state that it has room for */
    /* Store the state, null for none, where its kernels find it, on the current GPU. Returns
     * null, or why CUDA refuses. */
    const char *(*store)(const void *state);
    int version; /* CHORUSX_MODULE_VERSION of its headers */
    int has_state, was_refused, is_reported;
    struct chorusx_module *next;
};

/**
 * Let the library give a file's kernels the state that they need to make calls: at once, or as
 * soon as there is one, and again if there is another; or no more. chorus_device.cuh calls
 * these when the file is loaded, and when it is closed. Programs do not.
 *
 * @param module  [in, out] the library's until it is unregistered
 *
 * Collective: no, any PE, before chorus_init and after chorus_finalize too.
 * Threads:    any, while no other thread is in chorus_init or chorus_finalize.
 * Ordering:   kernels launched later have the state, if there is one; implies no barrier.
 * Errors:     none are returned. A file of another version of the header is named by
 *             chorus_init, or by chorusx_last_error if it is loaded later; what CUDA refuses is
 *             in the log, and tried again by calls that allocate.
 * Source:     own; NVSHMEM has nvshmemx_cumodule_init, which programs call.
 * Since:      0.1
 */
CHORUS_API void chorusx_module_register(struct chorusx_module *module);
CHORUS_API void chorusx_module_unregister(struct chorusx_module *module);

/**
 * Give the kernels of a module that the program has loaded itself (cuModuleLoad,
 * cuLibraryLoadData) the state that they need to make calls, or take it away before the module
 * is used by another job.
 *
 * @param state  [out] the variable ch_state of the module, as cuModuleGetGlobal or
 *               cuLibraryGetGlobal gives its address on this PE's GPU
 * @param bytes  the size of the variable, as they give it
 *
 * Collective: no, any PE.
 * Threads:    any, while no other thread is in chorus_init or chorus_finalize; no kernel of the
 *             module is running.
 * Ordering:   kernels launched afterwards have the state, or none; implies no barrier.
 * Errors:     those of chorusx_device_state; ERR_SYSTEM if CUDA refuses the copy.
 * Source:     NVSHMEM, nvshmemx_cumodule_init, which gets the module.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_module_give(void *state, size_t bytes);
CHORUS_CODE int chorusx_module_take(void *state, size_t bytes);

/**
 * Set this thread's message to a failure of CUDA in the program's own code; used by
 * chorusx_module_init and chorusx_collective_launch of chorus_device.cuh.
 *
 * @param what  the operation, as the subject of "failed"
 * @param why   the text of CUDA for the error
 *
 * Collective: no, any PE.
 * Threads:    any, each has its own message.
 * Ordering:   implies no barrier.
 * Errors:     always returns ERR_SYSTEM; the message contains both.
 * Source:     own; a kernel is launched by the CUDA runtime that the program is linked with.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_device_failed(const char *what, const char *why);

/* --- collectives with type, operator and plan as values ------------------------------------
 */
/* acc = acc op in, for `count` elements: an operator of the program, which is associative
 * and commutative. A thread of the library may call it, and it must not make calls itself. */
typedef void (*chorusx_combine_t)(void *acc, const void *in, size_t count);

/* The arguments of chorusx_collective. Zero-initialise; fields that a collective does not
 * use are ignored. */
typedef struct chorusx_call {
    chorus_coll coll;
    chorus_team_t team;
    void *dest;
    const void *source;
    size_t count; /* elements: of one PE's block where there are several, of the result's for
                     reducescatter, of this PE's for collect, of the whole vector for the
                     others; not of alltoallv */
    chorus_type type;
    chorus_op op;
    int root;
    const char *algo;   /* "name" or "name:proto" to force; null: the rule table decides */
    int ctas;           /* with algo: CTAs to use, on GPUs no more than those of all PEs run at
                           the same time; 0 for one */
    int radix;          /* with algo: 0 for the default */
    ptrdiff_t dst, sst; /* of alltoalls: strides in dest and source, in elements */
    /* Of alltoallv, an entry for each PE of team, read until the call has run. */
    const size_t *dest_counts, *dest_offsets;     /* elements of the block from it, in dest */
    const size_t *source_counts, *source_offsets; /* elements of the block for it, in source */
    chorusx_combine_t combine; /* on hosts, where elements are combined: in place of op, which
                                  is CHORUS_OP_sum for the rules; null: none */
    int is_reached; /* on GPUs, not 0: the PE's GPU reaches dest and source, as the caller has
                       checked, so CUDA is not queried for them; if it does not, all CUDA work
                       of the process ends */
} chorusx_call;

/**
 * Make any collective call, with its type, operator and, optionally, algorithm as values.
 *
 * @param call    [in] the call; read before the return. A barrier is a chorus_team_sync
 * @param stream  of this PE; null: blocking
 *
 * Collective: every PE of the team, with the same values except dest and source.
 * Threads:    those of the typed calls.
 * Ordering:   that of the typed calls, blocking or on a stream.
 * Errors:     those of the typed calls; ERR_ARG for a value that is not a constant of its list,
 *             an algorithm that does not exist, CTAs or a radix out of range; ERR_UNSUPPORTED
 *             for an algorithm that cannot serve the call: no other one replaces it.
 * Source:     own; benchmarks and tests select every algorithm by it.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_collective(const chorusx_call *call, chorus_stream_t stream);

/**
 * Get the plan of a call with its buffers, without making it: whether they overlap, or are
 * outside the symmetric heap, has the same effect as in the call.
 *
 * @param call      borrowed; as of chorusx_collective
 * @param plan_out  [out] the plan; with call->algo, that of this algorithm
 *
 * Collective: no, any PE; every PE of the team gets the same answer for the same call.
 * Threads:    any, as chorusx_explain.
 * Ordering:   implies no barrier.
 * Errors:     ERR_ARG as of the call; ERR_UNSUPPORTED if no algorithm can serve it; the
 *             message has the reason.
 * Source:     own, see chorusx_explain.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_explain_call(const chorusx_call *call, chorusx_plan *plan_out);

/* A collective call, for profilers. Pointers are valid until the tracer returns. */
typedef struct chorusx_trace_event {
    int is_end;           /* 0: the call begins; 1: it is about to return */
    int status;           /* at the end: the returned code */
    const char *function; /* the name of the called function */
    chorus_coll coll;
    chorus_team_t team;
    chorus_type type;       /* of elements; CHORUS_TYPE_u8 for bytes */
    chorus_op op;           /* only for reductions */
    size_t bytes;           /* of the message, as rules count it; 0: the call will be refused */
    int is_on_stream;       /* the call returns when it is queued */
    chorus_stream_t stream; /* if so */
    const chorusx_plan *plan; /* the plan of the call and its rule; null: the call is refused */
} chorusx_trace_event;

typedef void (*chorusx_tracer_t)(const chorusx_trace_event *event, void *arg);

/**
 * Set a function that is called when a collective call of this process begins and when it
 * returns.
 *
 * Calls inside kernels are not traced. CHORUS_NVTX=1 makes ranges of the same events for
 * NVIDIA's profilers.
 *
 * @param tracer  called on the thread of the call; must not make calls of the library; null:
 *                none
 * @param arg     passed to it; if PEs are threads, the same for all of them
 *
 * Collective: no, any PE; each process has one tracer.
 * Threads:    any, while no thread of the process makes a collective call.
 * Ordering:   implies no barrier.
 * Errors:     none at any time.
 * Source:     own, after the profiler plugins of NCCL.
 * Since:      0.1
 */
CHORUS_API void chorusx_set_tracer(chorusx_tracer_t tracer, void *arg);

#ifdef __cplusplus
}
#endif

#endif /* CHORUSX_H */

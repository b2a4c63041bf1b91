/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorus.h: the standard API, OpenSHMEM's and NVSHMEM's with the prefix chorus_.
 *
 * Terms: a *PE* is a member of the job; a *team* is an ordered group of PEs; a *symmetric*
 * object is one that all PEs allocated by the same call (chorus_malloc and similar functions);
 * a PE passes the address of its own object. A *block* is what one PE contributes to, or gets
 * from, each other PE. docs/glossary.md has all terms.
 *
 * Errors: a function whose declaration has CHORUS_CODE returns 0 (CHORUS_OK) or a negative
 * chorus_status; compilers warn of calls that ignore it, unless CHORUS_NO_WARN_UNUSED is
 * defined. The first failure with each code in each function, and the first null of each
 * function that allocates, is also a line in the log on standard error; CHORUS_ERRORS=return
 * switches this off, and with CHORUS_ERRORS=fatal a failure ends the job. A function that
 * returns nothing, or a value, passes its failures to the handler of
 * chorusx_set_error_handler. The default handler prints the message and ends the job. If a
 * handler returns, the call has had no effect, and its value is 0 unless stated otherwise. In
 * both cases chorusx_last_error() returns the message of this thread. Every call that has an
 * effect fails with ERR_STATE before chorus_init and after chorus_finalize; this is not
 * repeated below.
 *
 * Memory: objects are in host memory or, if the job's heap is on GPUs (CHORUS_HEAP,
 * chorusx_init_attr), on the GPU of their PE. Kernels may access objects on a GPU by their
 * addresses, the CPU must not: it uses put, get, atomics, signals and waits, or copies by CUDA.
 * The buffer of a put or get on this PE's side may be host memory or GPU memory in any case.
 *
 * Types: the description of a family holds for each of its types and sizes; T is the type. In
 * C11 the type may be left out of some names, which chorus/generic.h lists.
 *
 * Threads: "any" means that several threads of a PE may be in such calls at the same time.
 */
#ifndef CHORUS_H
#define CHORUS_H

#include "chorus/lists.h"
#include "chorus/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef CHORUS_API /* chorus_device.cuh defines another one: kernels also use some of the \
                      names */
#define CHORUS_API __attribute__((visibility("default")))
#endif

#define CHORUS_MAJOR_VERSION 0
#define CHORUS_MINOR_VERSION 1
#define CHORUS_VENDOR_STRING "Chorus"
#define CHORUS_MAX_NAME_LEN 64

/* A team. Valid on the PE that created it. The handle of a destroyed team is recognised,
 * since no handle is used twice; a PE can create 2^31 teams. */
typedef int32_t chorus_team_t;
#define CHORUS_TEAM_INVALID ((chorus_team_t)-1)
#define CHORUS_TEAM_WORLD ((chorus_team_t)0)  /* all PEs of the job */
#define CHORUS_TEAM_SHARED ((chorus_team_t)1) /* PEs whose memory is mapped */
#define CHORUS_TEAM_NODE ((chorus_team_t)2)   /* PEs of this host */
/* The PEs that have the same number in CHORUS_TEAM_NODE on their hosts. */
#define CHORUS_TEAM_SAME_MYPE_NODE ((chorus_team_t)3)

typedef struct chorus_team_config_t {
    int num_contexts; /* contexts that will be created from the team; stored, without an effect
                         yet */
} chorus_team_config_t;
#define CHORUS_TEAM_NUM_CONTEXTS 1L

enum {
    CHORUS_THREAD_SINGLE,
    CHORUS_THREAD_FUNNELED,
    CHORUS_THREAD_SERIALIZED,
    CHORUS_THREAD_MULTIPLE
};

enum {
#define X(name, operator) CHORUS_CMP_##name,
    CHORUS_CMP_LIST(X)
#undef X
};

enum { CHORUS_SIGNAL_SET, CHORUS_SIGNAL_ADD };

/* --- setup --------------------------------------------------------------------------- */
/**
 * Join the job that this process was started in by chorusrun or another launcher; without a
 * launcher, a job of one PE. After chorus_finalize a process may join again if chorusrun
 * started the PEs on one host, or without a launcher: this is a new job of the same PEs,
 * without the objects, teams and contexts of the previous job.
 *
 * Collective: every PE of the job, before any other call, as often as chorus_finalize.
 * Threads:    one thread of the process; grants CHORUS_THREAD_SINGLE.
 * Ordering:   no PE returns before all have called.
 * Errors:     ERR_STATE when called twice without chorus_finalize between; ERR_UNSUPPORTED when
 *             called again under a launcher that does not allow this; ERR_ARG for an
 *             environment variable that is invalid or differs between PEs; ERR_TABLE for a rule
 *             table; ERR_SYSTEM, ERR_TIMEOUT, ERR_ABORTED. Everything is undone; other calls
 *             may be used only after ERR_STATE.
 * Source:     OpenSHMEM 1.6, shmem_init; here it returns a code, as NVSHMEM's does.
 * Since:      0.1
 */
CHORUS_CODE int chorus_init(void);

/**
 * As chorus_init, with a level of thread support.
 *
 * @param requested  a CHORUS_THREAD_ constant
 * @param provided   [out] the level granted, which is always the one requested
 *
 * Collective: every PE of the job, in place of chorus_init.
 * Threads:    one thread of the process makes this call.
 * Ordering:   no PE returns before all have called.
 * Errors:     those of chorus_init; ERR_ARG for a level that does not exist, nothing done.
 * Source:     OpenSHMEM 1.5, shmem_init_thread.
 * Since:      0.1
 */
CHORUS_CODE int chorus_init_thread(int requested, int *provided);

/**
 * Get the level of thread support that was granted at the start.
 *
 * @param provided  [out] a CHORUS_THREAD_ constant
 *
 * Collective: no, any PE.
 * Threads:    any, at any time between init and finalize.
 * Ordering:   implies no barrier.
 * Errors:     a message outside of init and finalize; provided is then unchanged, and the error
 *             handler is not called.
 * Source:     OpenSHMEM 1.5, shmem_query_thread.
 * Since:      0.1
 */
CHORUS_API void chorus_query_thread(int *provided);

/**
 * Leave the job: complete this PE's operations, wait for all PEs, free all memory.
 *
 * Collective: every PE of the job, after its last call other than chorus_init.
 * Threads:    one thread, with no other in a call.
 * Ordering:   a barrier over the job; all puts and atomics are complete after it.
 * Errors:     ERR_TIMEOUT, ERR_ABORTED when a PE does not call; this PE is still in the job.
 * Source:     OpenSHMEM 1.5, shmem_finalize.
 * Since:      0.1
 */
CHORUS_API void chorus_finalize(void);

/**
 * End the whole job at once, every PE with this exit status. Does not return.
 *
 * @param status  the exit status of the process, and of the job, of which the system keeps the
 *                low 8 bits; if these are 0 and status is not, as for 256, it is 1
 *
 * Collective: no, any PE; the others are ended, whatever they are doing.
 * Threads:    any, the first one wins; also in a signal handler. Exit handlers run for up to
 *             2 s, also in a signal handler, where they may wait for what it has interrupted.
 * Ordering:   nothing in flight is completed.
 * Errors:     none; before chorus_init it ends only this process.
 * Source:     OpenSHMEM 1.5, shmem_global_exit.
 * Since:      0.1
 */
CHORUS_API void chorus_global_exit(int status);

/**
 * Get this PE's number in the job, 0 to chorus_n_pes() - 1.
 *
 * Collective: no, any PE.
 * Threads:    any, at any time between init and finalize.
 * Ordering:   implies no barrier.
 * Errors:     -1 and a message outside of init and finalize; the error handler is not called.
 * Source:     OpenSHMEM 1.5, shmem_my_pe.
 * Since:      0.1
 */
CHORUS_API int chorus_my_pe(void);

/**
 * Get the number of PEs in the job. It never changes.
 *
 * Collective: no, any PE.
 * Threads:    any, at any time between init and finalize.
 * Ordering:   implies no barrier.
 * Errors:     -1 and a message outside of init and finalize; the error handler is not called.
 * Source:     OpenSHMEM 1.5, shmem_n_pes.
 * Since:      0.1
 */
CHORUS_API int chorus_n_pes(void);

/**
 * Test whether calls of this PE can access a PE, or an object on a PE: 1 or 0.
 *
 * @param addr  address of this PE's copy of the object
 * @param pe    number in the job; any number is allowed
 *
 * Collective: no, any PE.
 * Threads:    any, at any time.
 * Ordering:   implies no barrier.
 * Errors:     none; PEs and objects that do not exist are not accessible, and outside a job
 *             none is.
 * Source:     OpenSHMEM 1.5, shmem_pe_accessible and shmem_addr_accessible.
 * Since:      0.1
 */
CHORUS_API int chorus_pe_accessible(int pe);
CHORUS_API int chorus_addr_accessible(const void *addr, int pe);

/**
 * Get the version of this API that the library implements.
 *
 * @param major  [out] as CHORUS_MAJOR_VERSION
 * @param minor  [out] as CHORUS_MINOR_VERSION
 *
 * Collective: no, any PE.
 * Threads:    any, at any time, also outside a job.
 * Ordering:   implies no barrier.
 * Errors:     none at any time.
 * Source:     OpenSHMEM 1.5, shmem_info_get_version.
 * Since:      0.1
 */
CHORUS_API void chorus_info_get_version(int *major, int *minor);

/**
 * Get the name of the library.
 *
 * @param name  [out] CHORUS_MAX_NAME_LEN bytes, ended by a zero
 *
 * Collective: no, any PE.
 * Threads:    any, at any time, also outside a job.
 * Ordering:   implies no barrier.
 * Errors:     none at any time.
 * Source:     OpenSHMEM 1.5, shmem_info_get_name.
 * Since:      0.1
 */
CHORUS_API void chorus_info_get_name(char *name);

/* --- memory -------------------------------------------------------------------------- */
/* Hints for chorus_malloc_with_hints: the most frequent operations of other PEs on an object.
 */
#define CHORUS_MALLOC_ATOMICS_REMOTE 1L
#define CHORUS_MALLOC_SIGNAL_REMOTE 2L

/**
 * Allocate a symmetric object on every PE; null on all PEs if it does not fit.
 *
 * @param alignment  a power of two; the other functions align to a cache line
 * @param count      elements, which chorus_calloc fills with zeros
 * @param bytes      of the object, or of an element for chorus_calloc; the same on every PE; 0
 *                   does nothing and returns null
 * @param hints      CHORUS_MALLOC_ constants, ored, or 0. They have no effect, since all memory
 *                   is equally suitable for all uses; other bits are ignored
 *
 * Collective: every PE of the job, in the same order of such calls.
 * Threads:    one thread of a PE at a time allocates, frees, creates or destroys teams.
 * Ordering:   a barrier over the job on return, which completes earlier puts: the object may be
 *             written on any PE at once. No barrier when the result is null.
 * Errors:     null and a message when the heap is full (bytes requested, free, largest block),
 *             when count * bytes overflows, when alignment is not a power of two; the heap is
 *             unchanged. Any other failure goes to the error handler.
 * Source:     OpenSHMEM 1.5, shmem_malloc, shmem_calloc, shmem_align, shmem_malloc_with_hints.
 * Since:      0.1
 */
CHORUS_API void *chorus_malloc(size_t bytes);
CHORUS_API void *chorus_calloc(size_t count, size_t bytes);
CHORUS_API void *chorus_align(size_t alignment, size_t bytes);
CHORUS_API void *chorus_malloc_with_hints(size_t bytes, long hints);

/**
 * Change the size of a symmetric object, which may move. Contents are kept up to the smaller
 * size.
 *
 * @param ptr    the start of an object, the same one on every PE; null allocates
 * @param bytes  the new size, the same on every PE; 0 frees and returns null
 *
 * Collective: every PE of the job, in the same order of such calls.
 * Threads:    one thread of a PE at a time allocates, frees, creates or destroys teams.
 * Ordering:   a barrier over the job on entry and on return, which completes earlier puts.
 * Errors:     null when it does not fit: the object is unchanged. A ptr that is not an object
 *             is ERR_NOT_SYMMETRIC or ERR_ARG, with null, and the heap is unchanged.
 * Source:     OpenSHMEM 1.5, shmem_realloc; the alignment of chorus_align is not kept.
 * Since:      0.1
 */
CHORUS_API void *chorus_realloc(void *ptr, size_t bytes);

/**
 * Free a symmetric object, on every PE.
 *
 * @param ptr  the start of an object, the same one on every PE; null does nothing
 *
 * Collective: every PE of the job, in the same order of such calls.
 * Threads:    one thread of a PE at a time allocates, frees, creates or destroys teams.
 * Ordering:   a barrier over the job on entry, which completes earlier puts.
 * Errors:     ERR_NOT_SYMMETRIC for an address outside the heap, ERR_ARG for one that is inside
 *             an object or was freed already; the heap is unchanged.
 * Source:     OpenSHMEM 1.5, shmem_free.
 * Since:      0.1
 */
CHORUS_API void chorus_free(void *ptr);

/**
 * Get an address for loads and stores to a PE's copy of an object; null if there is none. In a
 * job whose heap is on GPUs, the loads and stores of kernels on this PE's GPU.
 *
 * @param addr  this PE's address of the object
 * @param pe    number in the job
 *
 * Collective: no, any PE.
 * Threads:    any, at any time between init and finalize.
 * Ordering:   implies no barrier; chorus_fence and similar calls order loads and stores.
 * Errors:     null and a message for a PE or an address outside their range.
 * Source:     OpenSHMEM 1.5, shmem_ptr.
 * Since:      0.1
 */
CHORUS_API void *chorus_ptr(const void *addr, int pe);

/**
 * As chorus_ptr, for a PE given by its number in a team.
 *
 * @param team  a team that this PE is in
 * @param dest  this PE's address of the object
 * @param pe    number in team
 *
 * Collective: no, any PE.
 * Threads:    any, while the team is not being destroyed.
 * Ordering:   as of chorus_ptr; implies no barrier.
 * Errors:     null and a message for a team, a PE or an address outside their range.
 * Source:     OpenSHMEM 1.6, shmem_team_ptr.
 * Since:      0.1
 */
CHORUS_API void *chorus_team_ptr(int32_t team, const void *dest, int pe);

/* --- teams --------------------------------------------------------------------------- */
/**
 * Get this PE's number in a team, or the number of PEs that are in it.
 *
 * @param team  a team that this PE is in
 *
 * Collective: no, any PE.
 * Threads:    any, while the team is not being destroyed.
 * Ordering:   implies no barrier.
 * Errors:     -1 and a message for CHORUS_TEAM_INVALID, a team that was destroyed, or a handle
 *             that the library never returned.
 * Source:     OpenSHMEM 1.5, shmem_team_my_pe and shmem_team_n_pes.
 * Since:      0.1
 */
CHORUS_API int chorus_team_my_pe(chorus_team_t team);
CHORUS_API int chorus_team_n_pes(chorus_team_t team);

/**
 * Get the configuration with which a team was created.
 *
 * @param team         a team that this PE is in
 * @param config_mask  fields to get: 0, or CHORUS_TEAM_NUM_CONTEXTS
 * @param config       [out] the fields of the mask; others are unchanged
 *
 * Collective: no, any PE.
 * Threads:    any, while the team is not being destroyed.
 * Ordering:   implies no barrier.
 * Errors:     ERR_ARG for a bad team or mask; config is unchanged.
 * Source:     OpenSHMEM 1.5, shmem_team_get_config.
 * Since:      0.1
 */
CHORUS_CODE int chorus_team_get_config(chorus_team_t team, long config_mask,
                                       chorus_team_config_t *config);

/**
 * Translate the number of a PE in one team to its number in another; -1 if it is not in both.
 *
 * @param src_team   a team that this PE is in
 * @param src_pe     a number in src_team
 * @param dest_team  a team that this PE is in
 *
 * Collective: no, any PE.
 * Threads:    any, while neither team is being destroyed.
 * Ordering:   implies no barrier.
 * Errors:     -1, with a message for a bad team.
 * Source:     OpenSHMEM 1.5, shmem_team_translate_pe.
 * Since:      0.1
 */
CHORUS_API int chorus_team_translate_pe(chorus_team_t src_team, int src_pe,
                                        chorus_team_t dest_team);

/**
 * Create a team of the PEs start, start + stride, ... of another team.
 *
 * @param parent       the team whose PEs all call; the triplet contains numbers in this team
 * @param start        the PE that becomes 0
 * @param stride       distance of successive PEs; may be negative, and 0 if count is 1
 * @param count        PEs of the new team, 1 or more; all in the parent, and different
 * @param config       the fields of the mask, or null when that is 0
 * @param config_mask  fields to use: 0, or CHORUS_TEAM_NUM_CONTEXTS
 * @param new_team     [out] the team; CHORUS_TEAM_INVALID on PEs outside it, and on failure
 *
 * Collective: every PE of parent, with the same triplet.
 * Threads:    one thread of a PE at a time allocates, frees, creates or destroys teams.
 * Ordering:   no PE returns before all have called; completes nothing.
 * Errors:     ERR_ARG for a bad parent, triplet or mask, and ERR_NOMEM; the same on all PEs.
 * Source:     OpenSHMEM 1.5, shmem_team_split_strided.
 * Since:      0.1
 */
CHORUS_CODE int chorus_team_split_strided(chorus_team_t parent, int start, int stride,
                                          int count, const chorus_team_config_t *config,
                                          long config_mask, chorus_team_t *new_team);

/**
 * Create a team for each row and each column of a grid: PE p of the parent is at (p % xrange, p
 * / xrange). The last row may be shorter.
 *
 * @param parent        the team whose PEs all call
 * @param xrange        PEs in a row, 1 or more
 * @param xaxis_config  for the row teams: the fields of the mask, or null when that is 0
 * @param xaxis_mask    fields of xaxis_config to use
 * @param xaxis_team    [out] this PE's row, in which its number is its x; or INVALID
 * @param yaxis_config  the same for the column teams
 * @param yaxis_mask    fields of yaxis_config to use
 * @param yaxis_team    [out] this PE's column, in which its number is its y; or INVALID
 *
 * Collective: every PE of parent, with the same xrange.
 * Threads:    one thread of a PE at a time allocates, frees, creates or destroys teams.
 * Ordering:   no PE returns before all have called; completes nothing.
 * Errors:     ERR_ARG for a bad parent, xrange or mask, and no team is created; ERR_NOMEM, with
 *             all teams of an axis created or none.
 * Source:     OpenSHMEM 1.5, shmem_team_split_2d.
 * Since:      0.1
 */
CHORUS_CODE int chorus_team_split_2d(chorus_team_t parent, int xrange,
                                     const chorus_team_config_t *xaxis_config, long xaxis_mask,
                                     chorus_team_t *xaxis_team,
                                     const chorus_team_config_t *yaxis_config, long yaxis_mask,
                                     chorus_team_t *yaxis_team);

/**
 * Destroy a team and free its memory. Teams split from it remain.
 *
 * @param team  a team that this PE is in, not a predefined one; CHORUS_TEAM_INVALID does
 *              nothing
 *
 * Collective: every PE of team, after its last call on it, those on streams included.
 * Threads:    one thread of a PE at a time allocates, frees, creates or destroys teams; no
 *             other is in a call on this team.
 * Ordering:   no PE returns before all have called; completes nothing.
 * Errors:     ERR_ARG for a bad or predefined team; ERR_TIMEOUT, ERR_ABORTED.
 * Source:     OpenSHMEM 1.5, shmem_team_destroy.
 * Since:      0.1
 */
CHORUS_API void chorus_team_destroy(chorus_team_t team);

/* --- remote memory access ------------------------------------------------------------ */
/**
 * Copy one element to a PE (p), or from it (g, as the value).
 *
 * @param dest    [out] symmetric, one element on pe
 * @param source  [in] symmetric, one element on pe
 * @param value   the value to store
 * @param pe      number in the job
 *
 * Collective: no, any PE.
 * Threads:    any, at any time.
 * Ordering:   p: the element is stored by one access, and ordered by chorus_fence and
 *             chorus_quiet. g: the value is returned. Implies no barrier.
 * Errors:     ERR_ARG for pe, ERR_NOT_SYMMETRIC for the address; nothing is done, and the value
 *             is 0.
 * Source:     OpenSHMEM 1.5, shmem_p and shmem_g; also for the types of NVSHMEM.
 * Since:      0.1
 */
#define CHORUS_DECLARE_ELEMENT(NAME, T, kind)                    \
    CHORUS_API void chorus_##NAME##_p(T *dest, T value, int pe); \
    CHORUS_API T chorus_##NAME##_g(const T *source, int pe);
CHORUS_RMA_TYPES(CHORUS_DECLARE_ELEMENT)
#undef CHORUS_DECLARE_ELEMENT

/**
 * Copy elements to a PE (put) or from it (get).
 *
 * @param dest    [out] put: symmetric, on pe. get: any memory of this PE
 * @param source  [in] put: any memory of this PE. get: symmetric, on pe. They may be equal, but
 *                must not overlap in part
 * @param nelems  elements of T, or of this number of bits; 0 does nothing
 * @param bytes   of the mem forms, which copy bytes; 0 does nothing
 * @param pe      number in the job
 *
 * Collective: no, any PE.
 * Threads:    any, at any time.
 * Ordering:   put: source may be reused on return. get: dest is filled on return. The nbi forms
 *             promise both only after chorus_quiet. chorus_fence orders the data of a put, and
 *             chorus_quiet completes it. Implies no barrier.
 * Errors:     ERR_ARG for pe and for nelems that overflow, ERR_NOT_SYMMETRIC for dest of a put
 *             and source of a get; nothing is copied.
 * Source:     OpenSHMEM 1.5, shmem_put, shmem_get and related calls; also for the types of
 *             NVSHMEM.
 * Since:      0.1
 */
#define CHORUS_DECLARE_RMA(NAME, T, kind)                                                     \
    CHORUS_API void chorus_##NAME##_put(T *dest, const T *source, size_t nelems, int pe);     \
    CHORUS_API void chorus_##NAME##_get(T *dest, const T *source, size_t nelems, int pe);     \
    CHORUS_API void chorus_##NAME##_put_nbi(T *dest, const T *source, size_t nelems, int pe); \
    CHORUS_API void chorus_##NAME##_get_nbi(T *dest, const T *source, size_t nelems, int pe);
CHORUS_RMA_TYPES(CHORUS_DECLARE_RMA)
#undef CHORUS_DECLARE_RMA

#define CHORUS_DECLARE_SIZED(BITS, bytes)                                                    \
    CHORUS_API void chorus_put##BITS(void *dest, const void *source, size_t nelems, int pe); \
    CHORUS_API void chorus_get##BITS(void *dest, const void *source, size_t nelems, int pe); \
    CHORUS_API void chorus_put##BITS##_nbi(void *dest, const void *source, size_t nelems,    \
                                           int pe);                                          \
    CHORUS_API void chorus_get##BITS##_nbi(void *dest, const void *source, size_t nelems,    \
                                           int pe);
CHORUS_SIZES(CHORUS_DECLARE_SIZED)
#undef CHORUS_DECLARE_SIZED

CHORUS_API void chorus_putmem(void *dest, const void *source, size_t bytes, int pe);
CHORUS_API void chorus_getmem(void *dest, const void *source, size_t bytes, int pe);
CHORUS_API void chorus_putmem_nbi(void *dest, const void *source, size_t bytes, int pe);
CHORUS_API void chorus_getmem_nbi(void *dest, const void *source, size_t bytes, int pe);

/**
 * Copy elements with strides: element i * sst of source to element i * dst of dest.
 *
 * @param dest    [out] of a put: symmetric, on pe. Of a get: any memory of this PE
 * @param source  [in] of a put: any memory of this PE. Of a get: symmetric, on pe
 * @param dst     stride in dest in elements, 1 or more
 * @param sst     stride in source in elements, 1 or more
 * @param nelems  elements copied; 0 does nothing
 * @param pe      number in the job
 *
 * Collective: no, any PE.
 * Threads:    any, at any time.
 * Ordering:   as of chorus_T_put and chorus_T_get.
 * Errors:     ERR_ARG for a stride, pe, or an extent that overflows; ERR_NOT_SYMMETRIC; nothing
 *             is copied.
 * Source:     OpenSHMEM 1.5, shmem_iput and shmem_iget.
 * Since:      0.1
 */
#define CHORUS_DECLARE_STRIDED(NAME, T, kind)                                     \
    CHORUS_API void chorus_##NAME##_iput(T *dest, const T *source, ptrdiff_t dst, \
                                         ptrdiff_t sst, size_t nelems, int pe);   \
    CHORUS_API void chorus_##NAME##_iget(T *dest, const T *source, ptrdiff_t dst, \
                                         ptrdiff_t sst, size_t nelems, int pe);
CHORUS_RMA_TYPES(CHORUS_DECLARE_STRIDED)
#undef CHORUS_DECLARE_STRIDED

#define CHORUS_DECLARE_SIZED_STRIDED(BITS, bytes)                                    \
    CHORUS_API void chorus_iput##BITS(void *dest, const void *source, ptrdiff_t dst, \
                                      ptrdiff_t sst, size_t nelems, int pe);         \
    CHORUS_API void chorus_iget##BITS(void *dest, const void *source, ptrdiff_t dst, \
                                      ptrdiff_t sst, size_t nelems, int pe);
CHORUS_SIZES(CHORUS_DECLARE_SIZED_STRIDED)
#undef CHORUS_DECLARE_SIZED_STRIDED

/**
 * Copy blocks of elements with strides: block i, which begins at element i * sst of source, to
 * element i * dst of dest.
 *
 * @param dest     [out] of a put: symmetric, on pe. Of a get: any memory of this PE
 * @param source   [in] of a put: any memory of this PE. Of a get: symmetric, on pe
 * @param dst      elements between the starts of successive blocks in dest, bsize or more
 * @param sst      the same in source
 * @param bsize    elements of a block; 0 does nothing
 * @param nblocks  blocks copied; 0 does nothing
 * @param pe       number in the job
 *
 * Collective: no, any PE.
 * Threads:    any, at any time.
 * Ordering:   as of chorus_T_put and chorus_T_get.
 * Errors:     ERR_ARG for a stride, pe, or an extent that overflows; ERR_NOT_SYMMETRIC; nothing
 *             is copied.
 * Source:     OpenSHMEM 1.6, shmem_ibput and shmem_ibget.
 * Since:      0.1
 */
#define CHORUS_DECLARE_BLOCKS(NAME, T, kind)                                           \
    CHORUS_API void chorus_##NAME##_ibput(T *dest, const T *source, ptrdiff_t dst,     \
                                          ptrdiff_t sst, size_t bsize, size_t nblocks, \
                                          int pe);                                     \
    CHORUS_API void chorus_##NAME##_ibget(T *dest, const T *source, ptrdiff_t dst,     \
                                          ptrdiff_t sst, size_t bsize, size_t nblocks, \
                                          int pe);
CHORUS_RMA_TYPES(CHORUS_DECLARE_BLOCKS)
#undef CHORUS_DECLARE_BLOCKS

#define CHORUS_DECLARE_SIZED_BLOCKS(BITS, bytes)                                             \
    CHORUS_API void chorus_ibput##BITS(void *dest, const void *source, ptrdiff_t dst,        \
                                       ptrdiff_t sst, size_t bsize, size_t nblocks, int pe); \
    CHORUS_API void chorus_ibget##BITS(void *dest, const void *source, ptrdiff_t dst,        \
                                       ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
CHORUS_SIZES(CHORUS_DECLARE_SIZED_BLOCKS)
#undef CHORUS_DECLARE_SIZED_BLOCKS

/**
 * Copy elements to a PE, then update a word there: a PE that sees the update also sees the
 * elements.
 *
 * @param dest      [out] symmetric, on pe
 * @param source    [in] any memory of this PE; must not overlap dest in part
 * @param nelems    elements of T, or of this number of bits; 0 only signals
 * @param bytes     of the mem forms, which copy bytes; 0 only signals
 * @param sig_addr  [out] the word: symmetric, on pe, outside dest
 * @param signal    the value to set or to add
 * @param sig_op    CHORUS_SIGNAL_SET or CHORUS_SIGNAL_ADD
 * @param pe        number in the job
 *
 * Collective: no, any PE.
 * Threads:    any, at any time; concurrent ADDs to one word are all counted.
 * Ordering:   the update is a release: pairs with chorus_signal_wait_until and
 *             chorus_signal_fetch. Orders no other puts. Source may be reused on return, and in
 *             nbi forms after chorus_quiet.
 * Errors:     ERR_ARG for pe, sig_op, alignment of sig_addr, nelems that overflow;
 *             ERR_NOT_SYMMETRIC for dest or sig_addr; nothing is copied or updated.
 * Source:     OpenSHMEM 1.5, shmem_put_signal.
 * Since:      0.1
 */
#define CHORUS_DECLARE_PUT_SIGNAL(NAME, T, kind)                                            \
    CHORUS_API void chorus_##NAME##_put_signal(T *dest, const T *source, size_t nelems,     \
                                               uint64_t *sig_addr, uint64_t signal,         \
                                               int sig_op, int pe);                         \
    CHORUS_API void chorus_##NAME##_put_signal_nbi(T *dest, const T *source, size_t nelems, \
                                                   uint64_t *sig_addr, uint64_t signal,     \
                                                   int sig_op, int pe);
CHORUS_RMA_TYPES(CHORUS_DECLARE_PUT_SIGNAL)
#undef CHORUS_DECLARE_PUT_SIGNAL

#define CHORUS_DECLARE_SIZED_SIGNAL(BITS, bytes)                                               \
    CHORUS_API void chorus_put##BITS##_signal(void *dest, const void *source, size_t nelems,   \
                                              uint64_t *sig_addr, uint64_t signal, int sig_op, \
                                              int pe);                                         \
    CHORUS_API void chorus_put##BITS##_signal_nbi(void *dest, const void *source,              \
                                                  size_t nelems, uint64_t *sig_addr,           \
                                                  uint64_t signal, int sig_op, int pe);
CHORUS_SIZES(CHORUS_DECLARE_SIZED_SIGNAL)
#undef CHORUS_DECLARE_SIZED_SIGNAL

CHORUS_API void chorus_putmem_signal(void *dest, const void *source, size_t bytes,
                                     uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
CHORUS_API void chorus_putmem_signal_nbi(void *dest, const void *source, size_t bytes,
                                         uint64_t *sig_addr, uint64_t signal, int sig_op,
                                         int pe);

/**
 * Set a signal word at a PE, or add to it, without a put.
 *
 * @param sig_addr  [out] the word: symmetric, on pe, 8-byte aligned
 * @param signal    the value to set or to add
 * @param pe        number in the job
 *
 * Collective: no, any PE.
 * Threads:    any, at any time; concurrent adds to one word are all counted.
 * Ordering:   earlier puts are ordered only by a chorus_fence before it. Implies no barrier.
 * Errors:     ERR_ARG for pe and alignment; ERR_NOT_SYMMETRIC; nothing is updated.
 * Source:     OpenSHMEM 1.6, shmem_signal_set and shmem_signal_add.
 * Since:      0.1
 */
CHORUS_API void chorus_signal_set(uint64_t *sig_addr, uint64_t signal, int pe);
CHORUS_API void chorus_signal_add(uint64_t *sig_addr, uint64_t signal, int pe);

/**
 * Read a signal word of this PE.
 *
 * @param sig_addr  [in] symmetric, 8-byte aligned
 *
 * Collective: no, any PE.
 * Threads:    any, at any time.
 * Ordering:   an acquire: the data that was sent with the returned signal has arrived.
 * Errors:     ERR_NOT_SYMMETRIC or ERR_ARG for the address.
 * Source:     OpenSHMEM 1.5, shmem_signal_fetch.
 * Since:      0.1
 */
CHORUS_API uint64_t chorus_signal_fetch(const uint64_t *sig_addr);

/**
 * Wait until a signal word of this PE meets a condition; returns the value that met it.
 *
 * @param sig_addr   [in] symmetric, 8-byte aligned
 * @param cmp        a CHORUS_CMP_ constant: *sig_addr cmp cmp_value
 * @param cmp_value  the other operand
 *
 * Collective: no, any PE.
 * Threads:    any, several may wait for one word.
 * Ordering:   an acquire: the data that was sent with the returned signal has arrived.
 * Errors:     those of chorus_T_wait_until; the value is then the last one seen, or 0.
 * Source:     OpenSHMEM 1.5, shmem_signal_wait_until.
 * Since:      0.1
 */
CHORUS_API uint64_t chorus_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value);

/**
 * Order this PE's operations. fence: earlier operations to each PE take effect before later
 * ones to the same PE; quiet: completes all.
 *
 * Collective: no, any PE.
 * Threads:    any; covers the calling thread's operations, and earlier ones of other threads.
 * Ordering:   covers puts, atomics and stores to symmetric memory. quiet also completes nbi
 *             forms: sources may be reused, and results of gets and fetches have arrived.
 *             Implies no barrier.
 * Errors:     none except ERR_STATE.
 * Source:     OpenSHMEM 1.5, shmem_fence and shmem_quiet.
 * Since:      0.1
 */
CHORUS_API void chorus_fence(void);
CHORUS_API void chorus_quiet(void);

/**
 * Complete this PE's operations to some PEs, as chorus_quiet does those to all.
 *
 * @param target_pes  [in] numbers in the job; duplicates are allowed
 * @param npes        their number; 0 completes nothing
 *
 * Collective: no, any PE.
 * Threads:    any; covers the calling thread's operations, and earlier ones of other threads.
 * Ordering:   as of chorus_quiet; operations to other PEs may be completed too.
 * Errors:     ERR_ARG for a PE that is not in the job; nothing done.
 * Source:     OpenSHMEM 1.6, shmem_pe_quiet.
 * Since:      0.1
 */
CHORUS_API void chorus_pe_quiet(const int *target_pes, size_t npes);

/* --- locks ---------------------------------------------------------------------------- */
/**
 * Acquire a lock, waiting for it (set); acquire it if it is free (test); release it (clear).
 *
 * PEs get a lock in the order of their requests. chorus_test_lock returns 0 if this PE holds it
 * now, else 1.
 *
 * @param lock  [in,out] symmetric, 0 on every PE before its first use; from then on only the
 *              library accesses it
 *
 * Collective: no, any PE.
 * Threads:    one thread of a PE at a time uses a lock.
 * Ordering:   clear completes this PE's operations first (chorus_quiet); the next PE that holds
 *             the lock sees them.
 * Errors:     ERR_ARG for alignment, for clear of a lock that this PE does not hold, and for
 *             set of one that it holds: nothing done. ERR_NOT_SYMMETRIC; ERR_TIMEOUT,
 *             ERR_ABORTED, which name the PE that holds the lock: the lock is then unusable.
 *             ERR_UNSUPPORTED in jobs of more than 32767 PEs.
 * Source:     OpenSHMEM 1.5, shmem_set_lock, shmem_test_lock and shmem_clear_lock; the queue of
 *             Mellor-Crummey and Scott.
 * Since:      0.1
 */
CHORUS_API void chorus_set_lock(long *lock);
CHORUS_API int chorus_test_lock(long *lock);
CHORUS_API void chorus_clear_lock(long *lock);

/* --- atomics ------------------------------------------------------------------------- */
/**
 * Read, write or exchange a word on a PE atomically; fetch and swap return the old value.
 *
 * @param fetch   [out] of nbi forms: where the value is stored, any memory of this PE
 * @param source  [in] symmetric, one element on pe
 * @param dest    [out] symmetric, one element on pe
 * @param value   the value to store; floats are exchanged bit for bit
 * @param pe      number in the job
 *
 * Collective: no, any PE.
 * Threads:    any; atomic with respect to all other atomics of the same type and to waits.
 * Ordering:   among themselves, in one order that all PEs see. Ordered with puts by
 *             chorus_fence and chorus_quiet. nbi forms: *fetch is set after chorus_quiet.
 * Errors:     ERR_ARG for pe or an address not aligned to the type, ERR_NOT_SYMMETRIC; nothing
 *             is changed, and the fetched value is 0.
 * Source:     OpenSHMEM 1.5, shmem_atomic_fetch, _set, _swap.
 * Since:      0.1
 */
#define CHORUS_DECLARE_AMO_EXTENDED(NAME, T, kind)                                       \
    CHORUS_API T chorus_##NAME##_atomic_fetch(const T *source, int pe);                  \
    CHORUS_API void chorus_##NAME##_atomic_set(T *dest, T value, int pe);                \
    CHORUS_API T chorus_##NAME##_atomic_swap(T *dest, T value, int pe);                  \
    CHORUS_API void chorus_##NAME##_atomic_fetch_nbi(T *fetch, const T *source, int pe); \
    CHORUS_API void chorus_##NAME##_atomic_swap_nbi(T *fetch, T *dest, T value, int pe);
CHORUS_AMO_EXTENDED_TYPES(CHORUS_DECLARE_AMO_EXTENDED)
#undef CHORUS_DECLARE_AMO_EXTENDED

/**
 * Compare and swap, increment or add to a word on a PE atomically; the fetching forms return
 * the old value.
 *
 * @param fetch  [out] of nbi forms: where the value is stored, any memory of this PE
 * @param dest   [in,out] symmetric, one element on pe
 * @param cond   value is written only if *dest is this
 * @param value  the value to store or to add; sums wrap around
 * @param pe     number in the job
 *
 * Collective: no, any PE.
 * Threads:    any; atomic with respect to all other atomics of the same type and to waits.
 * Ordering:   as of chorus_T_atomic_fetch.
 * Errors:     those of chorus_T_atomic_fetch.
 * Source:     OpenSHMEM 1.5, shmem_atomic_compare_swap, _inc, _add and the fetching forms.
 * Since:      0.1
 */
#define CHORUS_DECLARE_AMO_STANDARD(NAME, T, kind)                                      \
    CHORUS_API T chorus_##NAME##_atomic_compare_swap(T *dest, T cond, T value, int pe); \
    CHORUS_API T chorus_##NAME##_atomic_fetch_inc(T *dest, int pe);                     \
    CHORUS_API void chorus_##NAME##_atomic_inc(T *dest, int pe);                        \
    CHORUS_API T chorus_##NAME##_atomic_fetch_add(T *dest, T value, int pe);            \
    CHORUS_API void chorus_##NAME##_atomic_add(T *dest, T value, int pe);               \
    CHORUS_API void chorus_##NAME##_atomic_compare_swap_nbi(T *fetch, T *dest, T cond,  \
                                                            T value, int pe);           \
    CHORUS_API void chorus_##NAME##_atomic_fetch_inc_nbi(T *fetch, T *dest, int pe);    \
    CHORUS_API void chorus_##NAME##_atomic_fetch_add_nbi(T *fetch, T *dest, T value, int pe);
CHORUS_AMO_STANDARD_TYPES(CHORUS_DECLARE_AMO_STANDARD)
#undef CHORUS_DECLARE_AMO_STANDARD

/**
 * Combine a word on a PE with bits atomically; the fetching forms return the old value.
 *
 * @param fetch  [out] of nbi forms: where the value is stored, any memory of this PE
 * @param dest   [in,out] symmetric, one element on pe
 * @param value  the other operand of and, or, xor
 * @param pe     number in the job
 *
 * Collective: no, any PE.
 * Threads:    any; atomic with respect to all other atomics of the same type and to waits.
 * Ordering:   as of chorus_T_atomic_fetch.
 * Errors:     those of chorus_T_atomic_fetch.
 * Source:     OpenSHMEM 1.5, shmem_atomic_and, _or, _xor and the fetching forms.
 * Since:      0.1
 */
#define CHORUS_DECLARE_AMO_BITWISE_OP(NAME, T, OP)                            \
    CHORUS_API T chorus_##NAME##_atomic_fetch_##OP(T *dest, T value, int pe); \
    CHORUS_API void chorus_##NAME##_atomic_##OP(T *dest, T value, int pe);    \
    CHORUS_API void chorus_##NAME##_atomic_fetch_##OP##_nbi(T *fetch, T *dest, T value, int pe);
#define CHORUS_DECLARE_AMO_BITWISE(NAME, T, kind) \
    CHORUS_DECLARE_AMO_BITWISE_OP(NAME, T, and)   \
    CHORUS_DECLARE_AMO_BITWISE_OP(NAME, T, or)    \
    CHORUS_DECLARE_AMO_BITWISE_OP(NAME, T, xor)
CHORUS_AMO_BITWISE_TYPES(CHORUS_DECLARE_AMO_BITWISE)
#undef CHORUS_DECLARE_AMO_BITWISE
#undef CHORUS_DECLARE_AMO_BITWISE_OP

/* --- point-to-point synchronization -------------------------------------------------- */
/**
 * Wait until words of this PE, which other PEs write, meet a condition; or test whether they
 * do.
 *
 * The set consists of the elements of ivars whose status is 0. wait_until and _all wait until
 * each element has met the condition once; _any returns the index of one that does; _some fills
 * indices with all that do and returns their number, 1 or more. The test forms check once: test
 * and _all return 1 or 0, _any an index or SIZE_MAX, _some a number or 0. With an empty set
 * there is no wait: _any returns SIZE_MAX, _some 0, test_all 1. Repeated calls of _any return
 * every index that meets the condition, also when none is masked.
 *
 * @param ivar        [in] symmetric, one element of this PE
 * @param ivars       [in] symmetric, nelems elements of this PE
 * @param nelems      elements of ivars, and of the other arrays; 0 is an empty set
 * @param indices     [out] room for nelems; in ascending order
 * @param status      [in] not 0: the element is not in the set. Null: all are
 * @param cmp         a CHORUS_CMP_ constant: *ivar cmp cmp_value
 * @param cmp_value   the other operand, for all elements
 * @param cmp_values  [in] of the vector forms: cmp_values[i] is the other operand for element i
 *
 * Collective: no, any PE.
 * Threads:    any, several may wait for one word.
 * Ordering:   an acquire for each element that met the condition: data that its writer ordered
 *             before it (chorus_fence, put with signal) has arrived.
 * Errors:     ERR_ARG for cmp, nelems that overflow or alignment; ERR_NOT_SYMMETRIC for ivars;
 *             ERR_TIMEOUT, which names the missing element; ERR_ABORTED. _any then returns
 *             SIZE_MAX, the others 0.
 * Source:     OpenSHMEM 1.5, shmem_wait_until, shmem_test and related calls. Its text gives
 *             test_all of an empty set both 0 and 1; here it is 1.
 * Since:      0.1
 */
#define CHORUS_DECLARE_WAIT(NAME, T, kind)                                                     \
    CHORUS_API void chorus_##NAME##_wait_until(T *ivar, int cmp, T cmp_value);                 \
    CHORUS_API void chorus_##NAME##_wait_until_all(T *ivars, size_t nelems, const int *status, \
                                                   int cmp, T cmp_value);                      \
    CHORUS_API size_t chorus_##NAME##_wait_until_any(T *ivars, size_t nelems,                  \
                                                     const int *status, int cmp, T cmp_value); \
    CHORUS_API size_t chorus_##NAME##_wait_until_some(                                         \
        T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T cmp_value);    \
    CHORUS_API void chorus_##NAME##_wait_until_all_vector(                                     \
        T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values);             \
    CHORUS_API size_t chorus_##NAME##_wait_until_any_vector(                                   \
        T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values);             \
    CHORUS_API size_t chorus_##NAME##_wait_until_some_vector(                                  \
        T *ivars, size_t nelems, size_t *indices, const int *status, int cmp,                  \
        const T *cmp_values);                                                                  \
    CHORUS_API int chorus_##NAME##_test(T *ivar, int cmp, T cmp_value);                        \
    CHORUS_API int chorus_##NAME##_test_all(T *ivars, size_t nelems, const int *status,        \
                                            int cmp, T cmp_value);                             \
    CHORUS_API size_t chorus_##NAME##_test_any(T *ivars, size_t nelems, const int *status,     \
                                               int cmp, T cmp_value);                          \
    CHORUS_API size_t chorus_##NAME##_test_some(T *ivars, size_t nelems, size_t *indices,      \
                                                const int *status, int cmp, T cmp_value);      \
    CHORUS_API int chorus_##NAME##_test_all_vector(T *ivars, size_t nelems, const int *status, \
                                                   int cmp, const T *cmp_values);              \
    CHORUS_API size_t chorus_##NAME##_test_any_vector(                                         \
        T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values);             \
    CHORUS_API size_t chorus_##NAME##_test_some_vector(T *ivars, size_t nelems,                \
                                                       size_t *indices, const int *status,     \
                                                       int cmp, const T *cmp_values);
CHORUS_WAIT_TYPES(CHORUS_DECLARE_WAIT)
#undef CHORUS_DECLARE_WAIT

/* --- collectives --------------------------------------------------------------------- */
/*
 * If a call ends with ERR_TIMEOUT, its PE has entered it: a PE that makes the call late may
 * still write into its dest. The program may use the buffers of that call again when
 * chorus_team_destroy returns, which waits for the calls of all PEs; if the team is predefined,
 * after chorus_finalize.
 *
 * "Any memory" is memory of this PE, symmetric or not; if the heap is on GPUs, memory of this
 * PE's GPU, or memory that its kernels can access. Fewer algorithms serve buffers outside of
 * the symmetric heap: long messages are sent chunk by chunk through the team's sync memory,
 * which is symmetric (chorusx_explain_call).
 *
 * On all PEs of the team dest must be in the symmetric heap, or on all of them outside of it;
 * the same holds for source. This includes a buffer that the call does not access on this PE,
 * such as the source of a PE that is not the root of a broadcast. If PEs that differ in this
 * choose different algorithms, the call fails with ERR_ARG; on GPUs that is certain only with
 * CHORUS_CHECK=1.
 */

/**
 * Wait until every PE of a team, or of the job, has entered the call.
 *
 * @param team  a team that this PE is in
 *
 * Collective: every PE of the team, in the same order of calls on it.
 * Threads:    calls on one team run one after another; threads that share a team must make
 *             them in the same order on all PEs.
 * Ordering:   a barrier completes this PE's puts and atomics first (chorus_quiet); a sync does
 *             not. Stores and completed operations before the call are visible to all PEs after
 *             it.
 * Errors:     ERR_ARG for a bad team; ERR_TIMEOUT, ERR_ABORTED: the team is then unusable, and
 *             further calls return ERR_STATE.
 * Source:     OpenSHMEM 1.5, shmem_barrier_all, shmem_sync_all, shmem_team_sync; NVSHMEM's
 *             barrier of a team.
 * Since:      0.1
 */
CHORUS_CODE int chorus_barrier(chorus_team_t team);
CHORUS_API void chorus_barrier_all(void);
CHORUS_CODE int chorus_team_sync(chorus_team_t team);
CHORUS_API void chorus_sync_all(void);

/**
 * Copy the data of one PE of a team to every PE.
 *
 *     dest[i] = source of root [i],   0 <= i < nelems, on every PE, root included
 *
 * @param team    a team that this PE is in
 * @param dest    [out] any memory, nelems elements
 * @param source  [in] any memory, nelems elements; read only on root. May be dest (on all PEs),
 *                must not overlap it in part
 * @param nelems  elements, the same on every PE; 0 does nothing
 * @param bytes   of the mem form, in place of nelems
 * @param root    number in team
 *
 * Collective: every PE of team, with the same root, in the same order of calls on it.
 * Threads:    calls on one team run one after another; threads that share a team must make
 *             them in the same order on all PEs.
 * Ordering:   dest is complete and source may be reused on return, on this PE; implies no
 *             barrier. The dest of a PE is not written before that PE has entered the call.
 * Result:     a copy, bit for bit.
 * Errors:     ERR_ARG for team, root, alignment, overlap, null or nelems that overflow;
 *             ERR_NOT_SYMMETRIC for a buffer that ends past the heap's end or, with a heap on
 *             GPUs, that the PE's GPU cannot access; nothing is done. ERR_TIMEOUT, ERR_ABORTED,
 *             and ERR_ARG when a peer makes another call: dest is undefined and the team
 *             unusable. ERR_UNSUPPORTED when no rule serves the call.
 * Source:     OpenSHMEM 1.5, shmem_broadcast; here nelems may be 0.
 * Since:      0.1
 */
CHORUS_CODE int chorus_broadcastmem(chorus_team_t team, void *dest, const void *source,
                                    size_t bytes, int root);
#define CHORUS_DECLARE_BROADCAST(NAME, T, kind)                                             \
    CHORUS_CODE int chorus_##NAME##_broadcast(chorus_team_t team, T *dest, const T *source, \
                                              size_t nelems, int root);
CHORUS_RMA_TYPES(CHORUS_DECLARE_BROADCAST)
#undef CHORUS_DECLARE_BROADCAST

/**
 * Copy the blocks of all PEs of a team to every PE, one after another.
 *
 *     dest[p * nelems + i] = source of PE p [i],   0 <= i < nelems, 0 <= p < PEs of team
 *
 * @param team    a team that this PE is in
 * @param dest    [out] any memory, nelems elements for each PE of team
 * @param source  [in] any memory, nelems elements. In place: may be this PE's block of dest,
 *                dest + me * nelems; must not overlap dest otherwise
 * @param nelems  elements of one PE's block, the same on every PE; 0 does nothing
 * @param bytes   of the mem form, in place of nelems
 *
 * Collective: every PE of team, in the same order of calls on it; in place on all or on none.
 * Threads:    as of chorus_T_broadcast.
 * Ordering:   as of chorus_T_broadcast.
 * Result:     a copy, bit for bit.
 * Errors:     those of chorus_T_broadcast.
 * Source:     OpenSHMEM 1.5, shmem_fcollect; here nelems may be 0, and in place is allowed.
 * Since:      0.1
 */
CHORUS_CODE int chorus_fcollectmem(chorus_team_t team, void *dest, const void *source,
                                   size_t bytes);
#define CHORUS_DECLARE_FCOLLECT(NAME, T, kind)                                             \
    CHORUS_CODE int chorus_##NAME##_fcollect(chorus_team_t team, T *dest, const T *source, \
                                             size_t nelems);
CHORUS_RMA_TYPES(CHORUS_DECLARE_FCOLLECT)
#undef CHORUS_DECLARE_FCOLLECT

/**
 * Exchange a block between each two PEs of a team.
 *
 *     dest[p * nelems + i] = source of PE p [me * nelems + i],   0 <= i < nelems
 *
 * @param team    a team that this PE is in; me is this PE's number in it
 * @param dest    [out] any memory, nelems elements for each PE of team
 * @param source  [in] any memory, nelems elements for each PE of team; must not overlap dest
 * @param nelems  elements of one block, the same on every PE; 0 does nothing
 * @param bytes   of the mem form, in place of nelems
 *
 * Collective: every PE of team, in the same order of calls on it.
 * Threads:    as of chorus_T_broadcast.
 * Ordering:   as of chorus_T_broadcast.
 * Result:     a copy, bit for bit.
 * Errors:     those of chorus_T_broadcast.
 * Source:     OpenSHMEM 1.5, shmem_alltoall; here nelems may be 0.
 * Since:      0.1
 */
CHORUS_CODE int chorus_alltoallmem(chorus_team_t team, void *dest, const void *source,
                                   size_t bytes);
#define CHORUS_DECLARE_ALLTOALL(NAME, T, kind)                                             \
    CHORUS_CODE int chorus_##NAME##_alltoall(chorus_team_t team, T *dest, const T *source, \
                                             size_t nelems);
CHORUS_RMA_TYPES(CHORUS_DECLARE_ALLTOALL)
#undef CHORUS_DECLARE_ALLTOALL

/**
 * Copy the blocks of all PEs of a team, which may have different lengths, to every PE, one
 * after another.
 *
 *     dest[first + i] = source of PE p [i],   0 <= i < nelems of PE p, 0 <= p < PEs of team,
 *     first = nelems of PE 0 + ... + nelems of PE p - 1
 *
 * @param team    a team that this PE is in
 * @param dest    [out] any memory, the nelems elements of every PE together
 * @param source  [in] any memory, nelems elements; must not overlap dest
 * @param nelems  elements of this PE's block; 0 adds none, but the PE must call
 * @param bytes   of the mem form, in place of nelems
 *
 * Collective: every PE of team, in the same order of calls on it.
 * Threads:    as of chorus_T_broadcast.
 * Ordering:   as of chorus_T_broadcast.
 * Result:     a copy, bit for bit.
 * Errors:     those of chorus_T_broadcast; a dest that is too short for all blocks is not
 *             detected.
 * Source:     OpenSHMEM 1.5, shmem_collect.
 * Since:      0.1
 */
CHORUS_CODE int chorus_collectmem(chorus_team_t team, void *dest, const void *source,
                                  size_t bytes);
#define CHORUS_DECLARE_COLLECT(NAME, T, kind)                                             \
    CHORUS_CODE int chorus_##NAME##_collect(chorus_team_t team, T *dest, const T *source, \
                                            size_t nelems);
CHORUS_RMA_TYPES(CHORUS_DECLARE_COLLECT)
#undef CHORUS_DECLARE_COLLECT

/**
 * Exchange a block of elements with strides between each two PEs of a team.
 *
 *     dest[(p * nelems + i) * dst] = source of PE p [(me * nelems + i) * sst],   0 <= i <
 * nelems
 *
 * @param team    a team that this PE is in; me is this PE's number in it
 * @param dest    [out] any memory; the gaps between the elements are not changed
 * @param source  [in] any memory; must not overlap dest or its gaps
 * @param dst     stride in dest in elements, 1 or more, the same on every PE
 * @param sst     stride in source in elements, 1 or more, the same on every PE
 * @param nelems  elements of one block, the same on every PE; 0 does nothing. Bytes in the mem
 *                form
 *
 * Collective: every PE of team, in the same order of calls on it.
 * Threads:    as of chorus_T_broadcast.
 * Ordering:   as of chorus_T_broadcast.
 * Result:     a copy, bit for bit.
 * Errors:     those of chorus_T_broadcast; ERR_ARG for a stride below 1.
 * Source:     OpenSHMEM 1.5, shmem_alltoalls; here nelems may be 0.
 * Since:      0.1
 */
CHORUS_CODE int chorus_alltoallsmem(chorus_team_t team, void *dest, const void *source,
                                    ptrdiff_t dst, ptrdiff_t sst, size_t nelems);
#define CHORUS_DECLARE_ALLTOALLS(NAME, T, kind)                                             \
    CHORUS_CODE int chorus_##NAME##_alltoalls(chorus_team_t team, T *dest, const T *source, \
                                              ptrdiff_t dst, ptrdiff_t sst, size_t nelems);
CHORUS_RMA_TYPES(CHORUS_DECLARE_ALLTOALLS)
#undef CHORUS_DECLARE_ALLTOALLS

/**
 * Combine the elements of every PE of a team: each PE gets the whole result (reduce), or its
 * block of it (reducescatter).
 *
 *     reduce:         dest[i] = source of PE 0 [i] OP ... OP source of PE n - 1 [i]
 *     reducescatter:  dest[i] = source of PE 0 [j] OP ... OP source of PE n - 1 [j],
 *                     j = me * nreduce + i,   0 <= i < nreduce
 *
 * @param team     a team that this PE is in; me is this PE's number in it, n the number of its
 *                 PEs
 * @param dest     [out] any memory, nreduce elements
 * @param source   [in] any memory, nreduce elements, n times as many for reducescatter. In
 *                 place: may be dest, or for reducescatter have it at source + me * nreduce.
 *                 Must not overlap dest otherwise
 * @param nreduce  elements of the result that a PE gets, the same on every PE; 0 does nothing
 *
 * Collective: every PE of team, in the same order of calls on it; in place on all or on none.
 * Threads:    as of chorus_T_broadcast.
 * Ordering:   as of chorus_T_broadcast.
 * Result:     bitwise equal on every PE, and from run to run for the same plan; the order of
 *             combination depends on the algorithm, and is stated in docs/algorithms.md. half
 *             and bfloat16 are combined in float and rounded once. A NaN on any PE is the
 *             result of min and max.
 * Errors:     those of chorus_T_broadcast.
 * Source:     OpenSHMEM 1.5, shmem_T_OP_reduce; NVSHMEM's reducescatter; here nreduce may be 0.
 * Since:      0.1
 */
#define CHORUS_DECLARE_REDUCE(OP, NAME, T, kind)                                             \
    CHORUS_CODE int chorus_##NAME##OP##_reduce(chorus_team_t team, T *dest, const T *source, \
                                               size_t nreduce);                              \
    CHORUS_CODE int chorus_##NAME##OP##_reducescatter(chorus_team_t team, T *dest,           \
                                                      const T *source, size_t nreduce);
#define CHORUS_DECLARE_OP(OP, NAMES) NAMES(CHORUS_DECLARE_REDUCE, OP)
CHORUS_REDUCE_LIST(CHORUS_DECLARE_OP)

/**
 * Add up the elements of the PEs of a team up to this one: with its own (inscan), or without
 * (exscan).
 *
 *     inscan:  dest[i] = source of PE 0 [i] + ... + source of PE me [i]
 *     exscan:  dest[i] = source of PE 0 [i] + ... + source of PE me - 1 [i], 0 on PE 0
 *
 * @param team    a team that this PE is in; me is this PE's number in it
 * @param dest    [out] any memory, nelems elements
 * @param source  [in] any memory, nelems elements. May be dest (on all PEs), must not overlap
 *                it in part
 * @param nelems  elements, the same on every PE; 0 does nothing
 *
 * Collective: every PE of team, in the same order of calls on it; in place on all or on none.
 * Threads:    as of chorus_T_broadcast.
 * Ordering:   as of chorus_T_broadcast.
 * Result:     added in PE order, and so the same from run to run. half and bfloat16 are added
 *             in float and rounded once.
 * Errors:     those of chorus_T_OP_reduce.
 * Source:     OpenSHMEM 1.6, shmem_sum_inscan and shmem_sum_exscan; here nelems may be 0.
 * Since:      0.1
 */
#define CHORUS_DECLARE_SCAN(NAME, T, kind)                                                   \
    CHORUS_CODE int chorus_##NAME##_sum_inscan(chorus_team_t team, T *dest, const T *source, \
                                               size_t nelems);                               \
    CHORUS_CODE int chorus_##NAME##_sum_exscan(chorus_team_t team, T *dest, const T *source, \
                                               size_t nelems);
CHORUS_REDUCE_ARITHMETIC_TYPES(CHORUS_DECLARE_SCAN)
#undef CHORUS_DECLARE_SCAN

#ifdef __cplusplus
}
#endif

#include "chorus/ctx.h"
#include "chorus/generic.h"

#endif /* CHORUS_H */

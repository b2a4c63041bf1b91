/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context.h: the state of a PE between init and finalize, and what all calls need of it.
 *
 * The only mutable global of the library is the pointer to this state: one for the process
 * and, where PEs are threads, one for each thread, which is used first.
 */
#ifndef CH_CONTEXT_H
#define CH_CONTEXT_H

#include "base/door.h"
#include "base/option.h"
#include "base/record.h"
#include "boot/boot.h"
#include "heap/heap.h"
#include "select/select.h"
#include "team/team.h"
#include "transport/links.h"

#include <pthread.h>

struct ch_workers; /* worker threads for calls of several CTAs */

/* A context of the program; its number on the transport is CH_CTX_PROGRAM plus its slot. */
#define CH_CTX_SLOTS 1024
struct ch_ctx_slot {
    uint32_t state; /* generation * 2, plus 1 while it exists; atomic */
    ch_team_handle team;
};

/* Results of the allocator functions for other libraries, until the program fetches them; see
 * memory.c. */
struct ch_pool {
    pthread_mutex_t lock; /* guards the list of notes, which begins with the oldest */
    struct chorusx_pool_note *notes;
    size_t count, room;
};

/* Freed memory of CHORUS_CHECK=2, which the program must not write; see guard.c. */
struct ch_guard {
    struct ch_freed *freed;
    size_t n, room;
};

struct ch_context {
    struct ch_options options;
    struct ch_boot *boot;
    struct ch_heap *heap;
    struct ch_links *links;
    struct ch_wait_policy policy;
    struct ch_teams *teams;
    struct ch_select *select;
    struct ch_workers *workers;      /* of blocking calls on a host */
    struct ch_gpu *gpu;              /* of all calls, if the heap is on a GPU; else null */
    uint32_t share_ctas;             /* the smallest of all PEs, see ch_gpu_share_ctas; on hosts
                                        no limit */
    bool keeps_lines;                /* whether the link between the GPUs keeps lines whole */
    struct ch_stream_entry *streams; /* all of this PE's, see stream.c */
    struct ch_buffer *buffers;       /* memory of the program in the heap, see buffer.c */
    struct ch_pool pool;
    struct ch_guard guard;
    int thread_level;
    pthread_t owner; /* the thread that made it */
    struct ch_ctx_slot ctxs[CH_CTX_SLOTS];
    uint64_t n_scans; /* of wait and test calls so far; the next one begins at it */
    uint32_t n_near;  /* PEs of the job for the fast path of rma.h; 0 if calls are checked or no
                         PE is mapped */
    struct ch_near near[]; /* copied from the links, so that a call finds them at once */
};

/* The status for chorusx_init_status; in a forked child, as after finalize. */
enum ch_phase { CH_PHASE_BEFORE, CH_PHASE_RUNNING, CH_PHASE_AFTER, CH_PHASE_FORKED };

/* The only PE of this process; null also if any thread has had its own context. Only
 * ch_context_get reads it: most calls can use it and avoid thread-local storage, which costs a
 * shared library a function call. */
extern struct ch_context *ch_context_only;

/* Returns what ch_context_get does if ch_context_only is null: this thread's own context, else
 * that of the process. */
CH_COLD struct ch_context *ch_context_find(void);

/* The context of the PE for which this thread runs; null before init, after finalize, and in a
 * child that the PE forked. The child is not a PE, although it has copies of the PE's memory
 * and socket. */
static inline struct ch_context *ch_context_get(void)
{
    struct ch_context *context = __atomic_load_n(&ch_context_only, __ATOMIC_ACQUIRE);

    return context != NULL ? context : ch_context_find();
}
/* Returns how far the PE for which this thread runs has come. */
enum ch_phase ch_context_phase(void);

/* Is this thread a PE of its own, or was it one? */
bool ch_context_is_of_thread(void);

/* Set the context of the process. */
void ch_context_set_process(struct ch_context *context);

/* After finalize: forget the context of this thread if it has its own, else that of the
 * process. */
void ch_context_mark_finalized(void);

/* Record ERR_STATE, for example "chorus_reduce called before chorus_init". */
CH_COLD void ch_context_fail_missing(const char *function);

/* Set *out to the context of this thread's PE. Without one, set it to null, and fail with the
 * message of ch_context_fail_missing. */
CH_MUST_CHECK static inline chorus_status ch_context_require(const char *function,
                                                             struct ch_context **out)
{
    struct ch_context *context = ch_context_get();

    *out = context;
    if (context != NULL) return CHORUS_OK;
    ch_context_fail_missing(function);
    return CHORUS_ERR_STATE;
}

/*
 * Create the state of a PE, from the heap to the teams. Collective over the job. Takes
 * ownership of boot: closes it on failure, as ch_context_close does later. options is copied.
 */
CH_MUST_CHECK chorus_status ch_context_open(const struct ch_options *options,
                                            struct ch_boot *boot, int thread_level,
                                            struct ch_context **context_out);
/* Destroy the state of a PE. Not collective; if other PEs may still write to this PE, it must
 * synchronise with them first. */
void ch_context_close(struct ch_context *context); /* null is a no-op */

/* Complete this PE's puts, those of kernels that have failed too, and synchronise with all PEs
 * of the job, as malloc and free promise. */
CH_MUST_CHECK chorus_status ch_context_quiet_and_sync(struct ch_context *context);

/* Compare over boot the values that must be equal on all PEs; `mine` is this PE's state so far.
 * If any PE fails, all fail with its message. Collective over the job. */
CH_MUST_CHECK chorus_status ch_context_agree(struct ch_boot *boot,
                                             const struct ch_options *options,
                                             uint64_t select_digest, chorus_status mine);

/* Apply CHORUS_LOG; once per process, before threads log. */
CH_MUST_CHECK chorus_status ch_log_start(const struct ch_options *options);

/* Run what is queued on this PE's streams and destroy them. */
void ch_streams_close(struct ch_context *context);

/* Restore private memory in place of all registered buffers. */
void ch_buffers_close(struct ch_context *context);

/* The symmetric address if `at` is in memory that was registered by chorusx_buffer_register;
 * else `at`. */
void *ch_buffer_to_symmetric(const struct ch_context *context, void *at, size_t bytes);

/* Initialise an empty list of notes; free a list. */
void ch_pool_open(struct ch_pool *pool);
void ch_pool_close(struct ch_pool *pool);

/* Implements chorus_finalize for the PE of this thread. */
CH_MUST_CHECK chorus_status ch_finish(const char *function);

/* Report a failure in a function that returns nothing: pass code and message to the handler.
 * CHORUS_OK is a no-op. */
CH_COLD void ch_report_failure(chorus_status status);
static inline void ch_report(chorus_status status)
{
    if (status != CHORUS_OK) ch_report_failure(status);
}

/* Before a public function returns a code: report a failure as CHORUS_ERRORS selects. Returns
 * the same status. */
CH_COLD void ch_handle_failure(const char *function, chorus_status status);
static inline chorus_status ch_handle_status(const char *function, chorus_status status)
{
    if (__builtin_expect(status != CHORUS_OK, 0)) ch_handle_failure(function, status);
    return status;
}

/* Do as ch_handle_status, in functions whose failures libchorus-shmem passes to the error
 * handler: in a program of OpenSHMEM, nothing. */
CH_COLD void ch_handle_or_raise_failure(const char *function, chorus_status status);
static inline chorus_status ch_handle_or_raise(const char *function, chorus_status status)
{
    if (__builtin_expect(status != CHORUS_OK, 0)) ch_handle_or_raise_failure(function, status);
    return status;
}

/* --- calls other than collectives, in the record and compared ----------------------------- */

/* CHORUS_CHECK: compare a call that has begun with those of the peers. If the call is refused,
 * its entry in the record is ended. */
CH_MUST_CHECK chorus_status ch_check_entry(const char *function, struct ch_team *team,
                                           const struct ch_doing *doing, uint64_t index);

/* Begin a call on memory or teams that is collective over `team`. count: bytes, offset or
 * number of PEs, as reports show it. ch_doing_end ends the call, with *index_out. */
CH_MUST_CHECK chorus_status ch_doing_begin(const struct ch_context *context,
                                           const char *function, enum ch_doing_what what,
                                           struct ch_team *team, uint64_t count,
                                           uint64_t *index_out);
/* Begin such a call that is collective over all PEs of the job. */
CH_MUST_CHECK chorus_status ch_doing_begin_all(const struct ch_context *context,
                                               const char *function, enum ch_doing_what what,
                                               uint64_t count, uint64_t *index_out);

/* Begin a call of this PE alone; returns its index, for ch_doing_end. */
uint64_t ch_doing_begin_alone(const struct ch_context *context, const struct ch_doing *doing);

/* End the call with this index in the record; returns the given status. After a timeout,
 * appends to the message for which PEs the call waited. */
chorus_status ch_doing_end(const struct ch_context *context, uint64_t index,
                           chorus_status status);

/* --- the environment ---------------------------------------------------------------------- */

/* Warn of each CHORUS_ variable that does not exist but has a name similar to one that does.
 * Variables with other names are ignored, since other programs may use them. */
void ch_warn_of_unknown_variables(void);

#endif /* CH_CONTEXT_H */

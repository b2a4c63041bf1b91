/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context.h: the state of a PE between init and finalize.
 *
 * The only mutable global of the library is the pointer to this state: one for the process
 * and, where PEs are threads, one for each thread, which is used first.
 */
#ifndef CH_CONTEXT_H
#define CH_CONTEXT_H

#include "base/door.h"
#include "base/option.h"
#include "boot/boot.h"
#include "heap/heap.h"
#include "select/select.h"
#include "team/team.h"
#include "transport/transport.h"

#include <pthread.h>

struct ch_crew; /* worker threads for calls of several CTAs */

/* A context of the program; its number on the transport is the slot's, from
 * CH_CTX_PROGRAM. */
#define CH_CTX_SLOTS 1024
struct ch_ctx_slot {
    uint32_t state; /* generation * 2, and 1 while it is one; atomic */
    ch_team_handle team;
};

/* What the allocator of another library did, until the program takes it; see pool.c. */
struct ch_pool {
    pthread_mutex_t lock; /* guards the notes, of which the first is the oldest */
    struct chorusx_pool_note *notes;
    size_t count, room;
};

struct ch_context {
    struct ch_options options;
    struct ch_boot *boot;
    struct ch_heap *heap;
    struct ch_network *network; /* to peers of other hosts; null: there are none */
    const struct ch_transport_ops *link;
    struct ch_transport *transport;
    struct ch_patience patience;
    struct ch_teams *teams;
    struct ch_select *select;
    struct ch_crew *crew;            /* of blocking calls on a host */
    struct ch_gpu *gpu;              /* of all calls, if the heap lies on one; else null */
    bool keeps_lines;                /* the link between GPUs, if so */
    struct ch_stream_entry *streams; /* all of this PE's, see stream.c */
    struct ch_buffer *buffers;       /* memory of the program in the heap, see buffer.c */
    struct ch_pool pool;
    int thread_level;
    pthread_t owner; /* the thread that made it */
    struct ch_ctx_slot ctxs[CH_CTX_SLOTS];
    uint64_t n_scans;      /* wait and test calls so far: where the next one begins to look */
    uint32_t n_near;       /* PEs of the job; 0: calls are looked at, or nobody is near */
    struct ch_near near[]; /* as the transport has them, where a call finds them at once */
};

/* What chorusx_init_status says; of a forked child, that it is after the end. */
enum ch_phase { CH_PHASE_BEFORE, CH_PHASE_RUNNING, CH_PHASE_AFTER, CH_PHASE_FORKED };

/* The running process's one PE; null also where any thread had a context of its own. Read by
 * ch_context_get alone: most calls are made where a look into the thread's memory, which a
 * shared library pays a function call for, is not needed. */
extern struct ch_context *ch_context_only;

/* ch_context_get, where threads may have their own. */
CH_COLD struct ch_context *ch_context_find(void);

/* The context of the PE this thread runs for; null before init, after finalize, and in a child
 * that the PE forked: the child is no PE, though it has the PE's memory and socket. */
static inline struct ch_context *ch_context_get(void)
{
    struct ch_context *context = __atomic_load_n(&ch_context_only, __ATOMIC_ACQUIRE);

    return context != NULL ? context : ch_context_find();
}
enum ch_phase ch_context_phase(void);

/* Does this thread stand for a PE of its own, or did it? */
bool ch_context_is_of_thread(void);

/* Say which PE this thread runs for (workers of streams and crews, PEs as threads); null: the
 * process's again. */
void ch_context_set_thread(struct ch_context *context);

/* The process's context from now on. */
void ch_context_set_process(struct ch_context *context);

/* Finalised: forget the context, of this thread if it has its own, else of the process. */
void ch_context_retire(void);

/* Record ERR_STATE, "chorus_reduce called before chorus_init" and the like. */
CH_COLD void ch_context_miss(const char *function);

/* That unless there is a context; gives it. */
CH_MUST_CHECK static inline chorus_status ch_context_require(const char *function,
                                                             struct ch_context **out)
{
    struct ch_context *context = ch_context_get();

    *out = context;
    if (context != NULL) return CHORUS_OK;
    ch_context_miss(function);
    return CHORUS_ERR_STATE;
}

/*
 * Make everything a PE has, from the heap to the teams. Collective over the job. Takes boot:
 * closes it on failure, as ch_context_close does later. options is copied.
 */
CH_MUST_CHECK chorus_status ch_context_open(const struct ch_options *options,
                                            struct ch_boot *boot, int thread_level,
                                            struct ch_context **context_out);
/* Not collective; a PE that others may still write to must meet them first. */
void ch_context_close(struct ch_context *context); /* null is a no-op */

/* Complete this PE's puts and meet all PEs of the job: what malloc and free promise. */
CH_MUST_CHECK chorus_status ch_context_meet(struct ch_context *context);

/* Compare over boot what all PEs must have alike; `mine` is this PE's state so far, and a
 * failure of any PE fails all, with its message. Collective over the job. */
CH_MUST_CHECK chorus_status ch_context_agree(struct ch_boot *boot,
                                             const struct ch_options *options,
                                             uint64_t select_digest, chorus_status mine);

/* Obey CHORUS_LOG; once per process, before threads log. */
CH_MUST_CHECK chorus_status ch_log_start(const struct ch_options *options);

/* Run what is queued on this PE's streams and destroy them. */
void ch_streams_close(struct ch_context *context);

/* Give the program's memory back to it. */
void ch_buffers_close(struct ch_context *context);

/* The symmetric address of memory that chorusx_buffer_register was called for; else `at`. */
void *ch_buffer_named(const struct ch_context *context, void *at, size_t bytes);

void ch_pool_open(struct ch_pool *pool);
void ch_pool_close(struct ch_pool *pool);

/* What chorus_finalize does, for the PE this thread runs for. */
CH_MUST_CHECK chorus_status ch_finish(const char *function);

/* A failure in a function that returns nothing: hand code and message to the handler.
 * CHORUS_OK is a no-op. */
CH_COLD void ch_report_failure(chorus_status status);
static inline void ch_report(chorus_status status)
{
    if (status != CHORUS_OK) ch_report_failure(status);
}

#endif /* CH_CONTEXT_H */

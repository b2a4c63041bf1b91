/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot.h: the number of this PE and of all PEs, and exchange of small blobs before there is a
 * heap.
 *
 * There is one static const table for each way of starting. All calls are collective over the
 * job and slow; they are not used to transfer user data.
 */
#ifndef CH_BOOT_H
#define CH_BOOT_H

#include "base/door.h"
#include "base/error.h"
#include "base/option.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ch_boot;

enum { CH_BOOT_SECRET_BYTES = 32 };

/* All functions set *_out only when they return CHORUS_OK. */
struct ch_boot_ops {
    const char *name; /* "alone", "launcher", "threads" or "tree" */

    /*
     * Every PE gives `bytes` bytes and, if fd >= 0, a descriptor; every PE gets all of them in
     * PE order: blobs_out has room for n * bytes, fds_out (may be null if fd < 0) for n.
     * Received descriptors are close-on-exec and belong to the caller; the own entry is the
     * caller's fd duplicated, those of PEs on other hosts are -1. `bytes` and whether a
     * descriptor is given are the same on all PEs. Returns when all have called: it is a
     * barrier too. ERR_ABORTED when the job is ending, ERR_TIMEOUT when a PE does not come.
     */
    chorus_status (*exchange)(struct ch_boot *boot, const void *blob, size_t bytes, int fd,
                              void *blobs_out, int *fds_out);

    /* Leave the job: the launcher no longer treats this PE's exit as a failure. Frees boot. */
    void (*close)(struct ch_boot *boot);

    /*
     * Tell the launcher that the whole job must end with this status. The others are sent
     * SIGTERM at once; this one is to exit by itself, within half a second. Null: nobody to
     * tell.
     */
    void (*abort_job)(struct ch_boot *boot, int status);

    /*
     * The control plane of PEs that may be on several hosts; null where they are on one.
     * watch gives a descriptor to poll. When it is readable, and once a second, one thread of
     * the PE calls serve, which moves messages without waiting, and may run beside exchange.
     * ERR_ABORTED: the job is over, and the message names the PE, and its host, that was lost.
     */
    int (*watch)(struct ch_boot *boot);
    chorus_status (*serve)(struct ch_boot *boot);

    /* Tell all PEs, this one too, that the job is over, and why; the first to do so is heard.
     * Null: nobody to tell. */
    void (*give_up)(struct ch_boot *boot, const char *why);

    /* When the job is over, abort this door, of the PE itself, and set why_over before. Null:
     * it is about to go. Null function: the PE does not hear of that. */
    void (*guard)(struct ch_boot *boot, struct ch_door *door);

    /* Let chorusrun look at this memory of the PE, which holds the record of its calls. Null:
     * it does, or there is none. */
    void (*show)(struct ch_boot *boot, int fd);

    /* In a child that the PE forked: let go of its connections, so that they end with the PE.
     * Null: the PE's end is noticed otherwise. */
    void (*abandon)(struct ch_boot *boot);
};

/* Head of every boot; the ways of starting extend it. */
struct ch_boot {
    const struct ch_boot_ops *ops;
    uint32_t me, n;      /* this PE, and PEs of the job */
    uint32_t n_cores;    /* cores that all PEs of this host may use together */
    uint64_t timeout_ns; /* how long exchange waits for the slowest PE; 0: for ever */
    const char *spare;   /* hardware threads that no PE is bound to, see place.h; or null */

    /* An exchange that lasts warn_ns calls warn, once; 0: none does. `missing` names the PEs
     * that have not come; null: this PE does not know. */
    uint64_t warn_ns;
    void (*warn)(void *arg, const char *missing, uint64_t waited_ns);
    void *warn_arg;

    /* Set by ch_boot_locate, and freed by close. */
    uint32_t n_nodes;         /* hosts of the job; 0 before */
    const uint32_t *nodes;    /* [n]: the host of each PE, numbered by first appearance; null:
                                 all are on one */
    const char *const *hosts; /* [n_nodes]: names, for messages; null with nodes */
    uint32_t n_beside;        /* PEs that share n_cores, with this one */
    bool is_crowded;          /* on some host, PEs are more than cores */

    unsigned char secret[CH_BOOT_SECRET_BYTES]; /* of the job; 0 where no network is used */
    const char *why_over; /* why the job is over; null while it is not; atomic */
};

/* Is the warning of an exchange due before its end? */
static inline bool ch_boot_may_warn(const struct ch_boot *boot)
{
    return boot->warn_ns != 0 && (boot->timeout_ns == 0 || boot->warn_ns < boot->timeout_ns);
}

/* Must PEs share cores, on any host of the job? The same on all PEs. */
static inline bool ch_boot_shares_cores(const struct ch_boot *boot)
{
    return boot->n_nodes == 0 ? boot->n > boot->n_cores : boot->is_crowded;
}

/* The host of a PE, and whether it is this PE's own. */
static inline uint32_t ch_boot_node(const struct ch_boot *boot, uint32_t pe)
{
    return boot->nodes == NULL ? 0 : boot->nodes[pe];
}

static inline bool ch_boot_is_near(const struct ch_boot *boot, uint32_t pe)
{
    return ch_boot_node(boot, pe) == ch_boot_node(boot, boot->me);
}

/* The job this process was started into: by chorusrun, or alone as a job of one PE. */
CH_MUST_CHECK chorus_status ch_boot_open(uint64_t timeout_ns, bool is_again,
                                         struct ch_boot **boot_out);

/*
 * PEs as threads of this process: makes `n` connected boots, boots_out[0..n). Each belongs to
 * the thread that runs that PE and is closed by it; the last close frees what they share.
 */
CH_MUST_CHECK chorus_status ch_boot_threads(uint32_t n, uint64_t timeout_ns,
                                            struct ch_boot **boots_out);

/*
 * Find out which PEs are on which host, once, right after a boot was opened: by CHORUS_NODES or
 * CHORUS_NODE, else by the machine itself. Collective; settings that disagree are ERR_ARG on
 * all PEs alike.
 */
CH_MUST_CHECK chorus_status ch_boot_locate(struct ch_boot *boot,
                                           const struct ch_options *options);

#endif /* CH_BOOT_H */

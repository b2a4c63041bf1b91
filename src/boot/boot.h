/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot.h: the number of this PE and of all PEs, exchange of small blobs before there is a heap,
 * and votes.
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

enum { CH_BOOT_SECRET_BYTES = 32, CH_BOOT_IP_BYTES = 16 };

/* 127.0.0.1, mapped into IPv6. */
#define CH_BOOT_LOOPBACK                               \
    {                                                  \
        [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 \
    }

/* All functions set *_out only when they return CHORUS_OK. */
struct ch_boot_ops {
    const char *name; /* "alone", "launcher", "threads" or "tree" */

    /*
     * Every PE sends `bytes` bytes and, if fd >= 0, a descriptor, and receives those of all PEs
     * in the order of PEs: blobs_out has room for n * bytes, fds_out (may be null if fd < 0)
     * for n. Received descriptors are close-on-exec and belong to the caller; the entry of this
     * PE is a duplicate of fd, and those of PEs on other hosts are -1. `bytes`, and whether a
     * descriptor is sent, are the same on all PEs. Returns when all PEs have called, so it is
     * also a barrier. ERR_ABORTED if the job is ending, ERR_TIMEOUT if a PE does not call.
     */
    chorus_status (*exchange)(struct ch_boot *boot, const void *blob, size_t bytes, int fd,
                              void *blobs_out, int *fds_out);

    /* Leave the job: the launcher no longer treats the exit of this PE as a failure. Frees
     * boot. */
    void (*close)(struct ch_boot *boot);

    /*
     * Inform the launcher that the whole job must end with this status. It sends SIGTERM to the
     * other PEs at once; this PE must exit by itself, within half a second. Null function:
     * there is no launcher.
     */
    void (*abort_job)(struct ch_boot *boot, int status);

    /*
     * The control plane of PEs that may be on several hosts; null if all are on one. watch
     * returns a descriptor to poll. When it is readable, and once a second, one thread of the
     * PE calls serve, which does not wait, and may run at the same time as exchange. It returns
     * ERR_ABORTED if the job is over; the message names the PE that was lost, and its host.
     */
    int (*watch)(struct ch_boot *boot);
    chorus_status (*serve)(struct ch_boot *boot);

    /* This PE can no longer take part in the job, for the reason `why`. On several hosts, all
     * PEs learn that the job is over; under a chorusrun that watches the PEs, exchanges of this
     * PE fail, and its exit ends the job. Only the first reason counts. Called by a thread that
     * may run at the same time as exchange. Null: there is no other PE. */
    void (*give_up)(struct ch_boot *boot, const char *why);

    /* When the job is over, abort the waits on this doorbell of the PE, after setting why_over.
     * Null doorbell: it is about to be freed. Null function: the PE is not informed. */
    void (*guard)(struct ch_boot *boot, struct ch_door *door);

    /* Give chorusrun access to this memory of the PE, which contains the record of its calls.
     * Null: it has access, or there is no chorusrun. */
    void (*show)(struct ch_boot *boot, int fd);

    /* In a child that the PE forked: close its copies of the PE's connections, so that they end
     * with the PE. Null: the PE's end is detected otherwise. */
    void (*abandon)(struct ch_boot *boot);
};

/* First member of every boot; the ways of starting extend it. */
struct ch_boot {
    const struct ch_boot_ops *ops;
    uint32_t me, n;      /* number of this PE, and of all PEs of the job */
    uint32_t n_cores;    /* cores that all PEs of this host may use together */
    uint64_t timeout_ns; /* how long exchange waits for the slowest PE; 0: for ever */
    const char *spare;   /* hardware threads that no PE is bound to, see place.h; may be null */

    /* An exchange that lasts warn_ns calls warn, once; 0: no exchange does. `missing` names the
     * missing PEs; null: this PE does not know them. */
    uint64_t warn_ns;
    void (*warn)(void *arg, const char *missing, uint64_t waited_ns);
    void *warn_arg;

    /* Set by ch_boot_locate; freed by close. */
    uint32_t n_nodes;      /* number of hosts of the job; 0 before */
    const uint32_t *nodes; /* [n]: the host of each PE, numbered by first appearance; null: all
                              PEs are on one host */
    const char *const *hosts; /* [n_nodes]: names, for messages; null with nodes */
    const char *why_apart; /* why PEs of different nodes are on different hosts: a static text;
                              null with nodes */
    uint32_t n_beside;     /* number of PEs that share n_cores, this one included */
    bool is_crowded;       /* on at least one host, there are more PEs than cores */

    unsigned char secret[CH_BOOT_SECRET_BYTES]; /* of the job; 0: the PEs have none yet */
    unsigned char listen[CH_BOOT_IP_BYTES]; /* address at which networks over sockets listen,
                                               IPv4 mapped into IPv6; 0: at all addresses */
    const char *why_over; /* the reason once the job is over, else null; atomic */
};

/* Can an exchange last so long that it must be reported before its end? */
static inline bool ch_boot_may_warn(const struct ch_boot *boot)
{
    return boot->warn_ns != 0 && (boot->timeout_ns == 0 || boot->warn_ns < boot->timeout_ns);
}

/* Do PEs share cores on any host of the job? The same result on all PEs. */
static inline bool ch_boot_shares_cores(const struct ch_boot *boot)
{
    return boot->n_nodes == 0 ? boot->n > boot->n_cores : boot->is_crowded;
}

/* Returns the number of the PE's host. */
static inline uint32_t ch_boot_node(const struct ch_boot *boot, uint32_t pe)
{
    return boot->nodes == NULL ? 0 : boot->nodes[pe];
}

/* Is the PE on the host of this PE? */
static inline bool ch_boot_is_near(const struct ch_boot *boot, uint32_t pe)
{
    return ch_boot_node(boot, pe) == ch_boot_node(boot, boot->me);
}

/* Join the job that this process was started in: by a launcher, or as a job of one PE.
 * is_again: the process was in a job before, which fails if its way of starting allows only
 * one. */
CH_MUST_CHECK chorus_status ch_boot_open(uint64_t timeout_ns, bool is_again,
                                         struct ch_boot **boot_out);

/*
 * PEs as threads of this process: creates `n` connected boots, boots_out[0..n). Each belongs to
 * the thread that runs that PE, which closes it; the last close frees the memory that they
 * share.
 */
CH_MUST_CHECK chorus_status ch_boot_open_threads(uint32_t n, uint64_t timeout_ns,
                                                 struct ch_boot **boots_out);

/*
 * Determine which PEs are on which host, once, after a boot was opened: from CHORUS_NODES or
 * CHORUS_NODE, otherwise from the machine itself. Collective; if the settings of PEs differ,
 * all PEs return ERR_ARG.
 */
CH_MUST_CHECK chorus_status ch_boot_locate(struct ch_boot *boot,
                                           const struct ch_options *options);

/* ---- a job that a program creates by itself ---- */

/*
 * One process creates an id, the program distributes it to the others by any means, and all
 * join with it. The process that created the id is the root of the tree, whichever PE it
 * becomes.
 */

/* Create an id and listen for processes that join with it. A process listens only for its last
 * id. */
CH_MUST_CHECK chorus_status ch_uniqueid_make(char *id_out, size_t bytes);

/* Was this made by ch_uniqueid_make? Checks what can be checked. */
bool ch_uniqueid_check(const char *id, size_t bytes);

/* Join the job as PE `me` of n. */
CH_MUST_CHECK chorus_status ch_uniqueid_open(const char *id, uint32_t me, uint32_t n,
                                             uint64_t timeout_ns, struct ch_boot **boot_out);

/* ---- votes: a step that must succeed on all PEs before any PE begins the next one ---- */

/*
 * Every PE sends to all others whether the step succeeded there, and possibly some values. All
 * return the failure of the first PE, in the order of PEs, that had one, with its message.
 * Messages are sent in a separate exchange, and only after a failure, so most votes are short.
 */

/* The voters: PEs that an exchange connects. */
struct ch_voters {
    uint32_t n;
    void *self; /* borrowed; passed to all functions */
    /* Every voter sends `bytes` bytes and receives those of all voters, in their order. */
    chorus_status (*exchange)(void *self, const void *blob, size_t bytes, void *blobs_out);
    uint32_t (*number)(const void *self,
                       uint32_t voter); /* the number of that voter in the job */
    /* The name of that voter's host, for messages; null: not known, or all PEs are on one. The
     * function may be null, too. */
    const char *(*host)(const void *self, uint32_t voter);
};

/* The ballot of this PE. The step and `bytes` are the same on all PEs. */
struct ch_vote {
    const char *step;   /* begins the message of a failure: "STEP: PE 3: its message", or
                           "STEP: PE 3 on host NAME: its message" */
    chorus_status mine; /* the status of this PE; the message of a failure is the last one of
                           this thread */
    const void *values; /* borrowed; sent in any case */
    size_t bytes;       /* of the values; 0: all_out may be null */
};

/* Vote: return CHORUS_OK on all PEs, with the values of all in all_out, or the first failure on
 * all. Collective. A failure of the exchange itself also ends the vote. */
CH_MUST_CHECK chorus_status ch_vote(const struct ch_voters *voters, const struct ch_vote *vote,
                                    void *all_out);

/* Returns the voters of a vote of all PEs of the job; boot is borrowed. */
struct ch_voters ch_boot_voters(struct ch_boot *boot);

/* ch_vote of all PEs of the job. */
CH_MUST_CHECK chorus_status ch_boot_vote(struct ch_boot *boot, const struct ch_vote *vote,
                                         void *all_out);

#endif /* CH_BOOT_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ways.h: the ways of starting, one file each, of which boot.c chooses one; and what the PEs of
 * one user on a host share.
 */
#ifndef CH_WAYS_H
#define CH_WAYS_H

#include "boot/boot.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { CH_WAY_WHY_BYTES = 256 };

/* Characters of a host's name in DNS, with brackets and a port. */
enum { CH_ADDRESS_CHARS_MAX = 261 };

/* A way by which a process may have been started. The first one that applies is used. */
struct ch_way {
    const char *name;
    /* Was this process started in this way? why_out is what shows it, or what is missing. */
    bool (*applies)(char why_out[CH_WAY_WHY_BYTES]);
    /* ERR_ARG: the environment is not as this launcher sets it. */
    chorus_status (*open)(uint64_t timeout_ns, struct ch_boot **boot_out);
    bool may_repeat; /* a process that has left its job may join again */
};

/* In the order of preference; the last one always applies. */
extern const struct ch_way *const ch_ways[];
extern const size_t ch_ways_count;

extern const struct ch_way ch_way_hosts;    /* chorusrun, on one of several hosts */
extern const struct ch_way ch_way_launcher; /* chorusrun, on one host */
extern const struct ch_way ch_way_torchrun;
extern const struct ch_way ch_way_pmix;
extern const struct ch_way ch_way_alone;

/* Returns the value of a variable; null if it is not set, or empty. why_out states which is the
 * case. */
const char *ch_way_read_variable(const char *name, char why_out[CH_WAY_WHY_BYTES]);

/* Read a variable that must be a whole number lo..hi. who: what sets it, for the message. */
CH_MUST_CHECK chorus_status ch_way_read_number(const char *name, const char *who, uint64_t lo,
                                               uint64_t hi, uint64_t *out);

/* Fail with ERR_ARG if a variable is longer than any address of a host with its port. */
CH_MUST_CHECK chorus_status ch_way_check_host(const char *name);

/* Free what ch_boot_locate allocated; for close. */
void ch_boot_forget_nodes(struct ch_boot *boot);

/* Duplicate with close-on-exec. ERR_SYSTEM has the reason of the system. */
CH_MUST_CHECK chorus_status ch_fd_dup(int fd, int *fd_out);

/* Start a thread of the library, which receives no signal: the program's own threads handle
 * its signals. */
CH_MUST_CHECK chorus_status ch_thread_start(void *(*run)(void *), void *arg,
                                            pthread_t *thread_out);

/* Undo an incomplete exchange: close fds[0..n), except those that are -1. */
void ch_fd_close_all(const int *fds, uint32_t n);

/* ---- the PEs of one user on a host ---- */

/*
 * The PEs that one user has on this host agree on a secret that only they know, before
 * they have any connection.
 *
 * They know a name of the job. In a folder of the user alone (own.c), the first PE that may
 * and locks the file of this name makes the secret, listens at a UNIX socket of this name, and
 * gives the secret to every PE that asks, until its start has ended. Both ends check that the
 * other belongs to the same user. The lock ends with its process, so the files of a PE that was
 * killed are neither used nor in the way, and the next PE that makes a secret removes them.
 */

enum { CH_SHARE_NAME_BYTES = 32 };

struct ch_share;

struct ch_share_terms {
    char name[CH_SHARE_NAME_BYTES]; /* of the job: letters, digits and '-' */
    /* The secret is given only to PEs with an equal claim. */
    unsigned char claim[CH_BOOT_SECRET_BYTES];
    /* Called by at most one PE with this claim at a time. */
    chorus_status (*make)(const void *arg, unsigned char secret_out[CH_BOOT_SECRET_BYTES]);
    const void *arg;
    bool is_for_others;  /* another PE makes the secret, not this one */
    uint64_t timeout_ns; /* for the wait for the PE that makes it; 0: without limit */
};

/*
 * Get the secret, or make it. If this PE has made it, *share_out gives it to the others until
 * ch_share_close, which must not be called before these have it; else *share_out is null. A PE
 * whose claim differs makes a secret for itself. ERR_UNSUPPORTED: there is no folder for the
 * files.
 */
CH_MUST_CHECK chorus_status ch_share_open(const struct ch_share_terms *terms,
                                          unsigned char secret_out[CH_BOOT_SECRET_BYTES],
                                          struct ch_share **share_out);
void ch_share_close(struct ch_share *share); /* removes the files; null is a no-op */

/* True once a PE has asked for the secret while this process had no descriptor for it. */
bool ch_share_is_at_limit(const struct ch_share *share);

/* In a child that this process forked: close its copies of the descriptors. */
void ch_share_abandon(const struct ch_share *share);

/* ---- what belongs to the user of this process (own.c) ---- */

enum { CH_OWN_PATH_BYTES = 64 };

/*
 * Open a folder to which only this user has access: `chorus` in $XDG_RUNTIME_DIR or in
 * /run/user/<uid>, /tmp/chorus-<uid>, or .chorus in $HOME, the first that can be had. It is
 * created with mode 0700, or must have it; other users can neither replace it nor make it a
 * link. Returns its path, and a descriptor of it, close-on-exec. ERR_UNSUPPORTED: there is
 * none; the message names the reason of each.
 */
CH_MUST_CHECK chorus_status ch_open_own_folder(char path_out[CH_OWN_PATH_BYTES], int *fd_out);

/* Is the process that connected this UNIX socket, or that listens at it, of this user? */
bool ch_is_peer_own_user(int sock);

#endif /* CH_WAYS_H */

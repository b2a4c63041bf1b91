/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.h: the PEs that one user has on this host agree on a secret that only they know, before
 * they have any connection.
 *
 * They know a name of the job. In a folder of the user alone (own.c), the first PE that may
 * and locks the file of this name makes the secret, listens at a UNIX socket of this name, and
 * gives the secret to every PE that asks, until its start has ended. Both ends check that the
 * other belongs to the same user. The lock ends with its process, so the files of a PE that was
 * killed are neither used nor in the way, and the next PE that makes a secret removes them.
 */
#ifndef CH_SHARE_H
#define CH_SHARE_H

#include "boot/boot.h"

#include <stdbool.h>
#include <stdint.h>

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
 * The secret. If this PE has made it, *share_out gives it to the others until ch_share_close,
 * which must not be called before these have it; else *share_out is null. A PE whose claim
 * differs makes a secret for itself. ERR_UNSUPPORTED: there is no folder for the
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
 * A folder to which only this user has access: `chorus` in $XDG_RUNTIME_DIR or in
 * /run/user/<uid>, /tmp/chorus-<uid>, or .chorus in $HOME, the first that can be had. It is
 * created with mode 0700, or must have it; other users can neither replace it nor make it a
 * link. Returns its path, and a descriptor of it, close-on-exec. ERR_UNSUPPORTED: there is
 * none; the message names the reason of each.
 */
CH_MUST_CHECK chorus_status ch_own_folder(char path_out[CH_OWN_PATH_BYTES], int *fd_out);

/* Is the process that connected this UNIX socket, or that listens at it, of this user? */
bool ch_own_peer(int sock);

#endif /* CH_SHARE_H */

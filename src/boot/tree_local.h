/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_local.h: passes descriptors among the PEs of one host, since TCP cannot carry them. The
 * PE of the host with the lowest number has a UNIX socket, to which the others connect at the
 * first exchange; it collects the descriptors and sends all to each. The name of the socket is
 * random and sent over the tree, so no other user can take it before; and both ends check that
 * the other belongs to the same user.
 */
#ifndef CH_TREE_LOCAL_H
#define CH_TREE_LOCAL_H

#include "boot/boot.h"

struct ch_local;

struct ch_local_name {
    unsigned char bytes[16];
};

/* Not collective. All PEs then exchange their names, and pass these to ch_local_meet. */
CH_MUST_CHECK chorus_status ch_local_open(const struct ch_boot *boot,
                                          struct ch_local_name *name_out,
                                          struct ch_local **out);
void ch_local_meet(struct ch_local *local, const struct ch_local_name *names);
void ch_local_close(struct ch_local *local); /* null is a no-op */

/* In a child that this process forked: close its copies of the descriptors. */
void ch_local_abandon(const struct ch_local *local);

/* Send fd, and receive those of the host's PEs at their indices of fds_out; other entries
 * become -1. Collective over the host, after ch_local_meet. After a failure, all
 * later calls fail. */
CH_MUST_CHECK chorus_status ch_local_exchange(struct ch_local *local, int fd, int *fds_out,
                                              uint64_t deadline_ns);

#endif /* CH_TREE_LOCAL_H */

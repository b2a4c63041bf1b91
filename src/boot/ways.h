/* SPDX-License-Identifier: Apache-2.0 */
/* ways.h: the ways of starting, one file each; boot.c chooses. */
#ifndef CH_WAYS_H
#define CH_WAYS_H

#include "boot/boot.h"

/* A job of one PE: this process. */
CH_MUST_CHECK chorus_status ch_boot_alone(uint64_t timeout_ns, struct ch_boot **boot_out);

/* A PE of a job that chorusrun started. ERR_ARG: the environment is not as chorusrun sets it.
 */
CH_MUST_CHECK chorus_status ch_boot_launcher(uint64_t timeout_ns, struct ch_boot **boot_out);

/* Free what ch_boot_locate set; for close. */
void ch_boot_forget_nodes(struct ch_boot *boot);

/* Duplicate, close-on-exec. ERR_SYSTEM says what the system refused. */
CH_MUST_CHECK chorus_status ch_fd_dup(int fd, int *fd_out);

/* Undo an exchange in part: close fds[0..n), but those that are -1. */
void ch_fd_close_all(const int *fds, uint32_t n);

#endif /* CH_WAYS_H */

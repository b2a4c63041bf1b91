/* SPDX-License-Identifier: Apache-2.0 */
/* ways.h: the ways of starting, one file each; boot.c chooses one. */
#ifndef CH_WAYS_H
#define CH_WAYS_H

#include "boot/boot.h"

#include <pthread.h>

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

/* The value of a variable, if it is not empty; why_out states whether it is set. */
const char *ch_way_variable(const char *name, char why_out[CH_WAY_WHY_BYTES]);

/* The value of a variable that `who` sets, a whole number lo..hi. */
CH_MUST_CHECK chorus_status ch_way_number(const char *name, const char *who, uint64_t lo,
                                          uint64_t hi, uint64_t *out);

/* ERR_ARG if a variable is longer than any address of a host with its port. */
CH_MUST_CHECK chorus_status ch_way_host(const char *name);

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

#endif /* CH_WAYS_H */

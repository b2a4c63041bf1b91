/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits.h: limits that the machine and its site set: the memory and the time on cores of this
 * process, how long a network may be silent, and whether NVLink switches may multicast.
 */
#ifndef CH_LIMITS_H
#define CH_LIMITS_H

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- control groups ----------------------------------------------------------------------- */
/*
 * The groups that limit the memory, or the time on cores, of this process: its own group and
 * those above it, in both versions of the interface. The limit of each of them applies.
 */

enum { CH_CGROUP_BYTES = 1024 };

struct ch_cgroup {
    char folder[CH_CGROUP_BYTES]; /* of its files */
    size_t top_bytes; /* of the name of the folder at which the hierarchy is mounted */
    bool is_v1;
};

/* This process's group of a controller, "memory" or "cpu", which version 1 mounts separately.
 * False: there is none, or it is not accessible. `root` is prepended to every absolute path:
 * "", except in tests. */
bool ch_cgroup_find(const char *root, const char *controller, struct ch_cgroup *out);

/* Go to the parent group. False: there is none that is accessible. */
bool ch_cgroup_to_parent(struct ch_cgroup *group);

/* Read the number after `key` in a file of the group; key "": at the beginning of the file.
 * False: there is none, or its value is "max". */
bool ch_cgroup_read_number(const struct ch_cgroup *group, const char *file, const char *key,
                           uint64_t *out);

/* ch_cgroup_read_number for any file. */
bool ch_read_number_in_file(const char *path, const char *key, uint64_t *out);

/* --- silence of a network ----------------------------------------------------------------- */
/*
 * For how long the network of another host may be silent before its PEs are lost.
 *
 * An interruption of up to CHORUS_LINK_TIMEOUT is survived. The kernel repeats a packet at
 * intervals, so the first one that passes after an interruption may be sent a while after its
 * end; limits therefore have a margin.
 */

/* The margin where repetitions are at most a second apart. */
#define CH_SILENCE_MARGIN_NS (3 * CH_NS_PER_S / 2)

/* Limits are not shorter than with this CHORUS_LINK_TIMEOUT, since keepalive probes have
 * intervals of whole seconds. */
#define CH_SILENCE_LEAST_NS CH_NS_PER_S

/* Returns for how long a network may be silent if CHORUS_LINK_TIMEOUT is link_ns. */
static inline uint64_t ch_silence_limit_ns(uint64_t link_ns)
{
    return (link_ns > CH_SILENCE_LEAST_NS ? link_ns : CH_SILENCE_LEAST_NS) +
           CH_SILENCE_MARGIN_NS;
}

/*
 * Set a TCP socket so that interruptions of link_ns end no connection while nothing is sent,
 * and that longer ones do. Returns the time without an answer after which one is lost while
 * data is sent: more than ch_silence_limit_ns where the kernel doubles the intervals of
 * repetitions without limit (before Linux 6.15).
 */
uint64_t ch_set_silence_limit(int fd, uint64_t link_ns);

/* --- multicast of NVLink switches --------------------------------------------------------- */
/*
 * It may be used only if CHORUS_NVLS requests it, and no variable is set by which a site
 * disables it for other libraries.
 */

/* secure_getenv, or a function of a test. */
typedef char *ch_environment(const char *name);

/* Returns the name of the variable that disables multicast; null: it may be used. is_asked: the
 * value of CHORUS_NVLS. */
const char *ch_nvls_forbidding_variable(bool is_asked, ch_environment *get);

#endif /* CH_LIMITS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.h: the control groups that limit the memory, or the time on cores, of this process:
 * its own group and those above it, in both versions of the interface. The limit of each of
 * them applies.
 */
#ifndef CH_CGROUP_H
#define CH_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
bool ch_cgroup_up(struct ch_cgroup *group);

/* The number after `key` in a file of the group; "": at the beginning of the file. False: there
 * is none, or its value is "max". */
bool ch_cgroup_number(const struct ch_cgroup *group, const char *file, const char *key,
                      uint64_t *out);

/* The same for any file. */
bool ch_number_in(const char *path, const char *key, uint64_t *out);

#endif /* CH_CGROUP_H */

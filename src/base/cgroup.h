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
    size_t top_bytes;             /* of the folder's name: where the hierarchy is mounted */
    bool is_v1;
};

/* This process's group of a controller, "memory" or "cpu", which version 1 mounts one by one.
 * False: there is none, or it cannot be seen. `root` comes before every absolute path: "", but
 * for tests that pretend. */
bool ch_cgroup_find(const char *root, const char *controller, struct ch_cgroup *out);

/* Go to the group above. False: there is none that can be seen. */
bool ch_cgroup_up(struct ch_cgroup *group);

/* The number behind `key` in a file of the group; "": at its start. False: there is none, as
 * where it says "max". */
bool ch_cgroup_number(const struct ch_cgroup *group, const char *file, const char *key,
                      uint64_t *out);

/* The same of any file. */
bool ch_number_in(const char *path, const char *key, uint64_t *out);

#endif /* CH_CGROUP_H */

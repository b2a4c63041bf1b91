/* SPDX-License-Identifier: Apache-2.0 */
#include "heap/machine.h"

#include "base/cgroup.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* The memory left to other programs is the total divided by this number. */
enum { SPARE_PARTS = 32 };

size_t ch_memory_of_machine(void)
{
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

/* The free bytes `has`, less the part of `limit` that is left to others. */
static uint64_t after_spare(uint64_t limit, uint64_t has)
{
    return has > limit / SPARE_PARTS ? has - limit / SPARE_PARTS : 0;
}

static uint64_t left_of_machine(const char *root)
{
    char path[CH_CGROUP_BYTES];
    uint64_t total_kib, has_kib;

    (void)snprintf(path, sizeof(path), "%s/proc/meminfo", root);
    if (!ch_number_in(path, "MemTotal", &total_kib) ||
        !ch_number_in(path, "MemAvailable", &has_kib))
        return UINT64_MAX; /* the system has no such file */
    return after_spare(total_kib * 1024, has_kib * 1024);
}

/* Pages that the system would drop from its file cache first; shared memory is not among
 * them. */
static uint64_t cached_in(const struct ch_cgroup *group)
{
    uint64_t inactive = 0, active = 0;

    (void)ch_cgroup_number(group, "memory.stat",
                           group->is_v1 ? "total_inactive_file" : "inactive_file", &inactive);
    (void)ch_cgroup_number(group, "memory.stat",
                           group->is_v1 ? "total_active_file" : "active_file", &active);
    return inactive + active;
}

static uint64_t left_of_group(const struct ch_cgroup *group)
{
    uint64_t limit, used, cached;

    if (!ch_cgroup_number(group, group->is_v1 ? "memory.limit_in_bytes" : "memory.max", "",
                          &limit) ||
        !ch_cgroup_number(group, group->is_v1 ? "memory.usage_in_bytes" : "memory.current", "",
                          &used))
        return UINT64_MAX; /* there is no limit */
    cached = cached_in(group);
    used = used > cached ? used - cached : 0;
    return used > limit ? 0 : after_spare(limit, limit - used);
}

void ch_memory_left(const char *root, struct ch_memory *out)
{
    struct ch_cgroup group;
    uint64_t least = left_of_machine(root);
    bool is_there = ch_cgroup_find(root, "memory", &group);

    (void)snprintf(out->of, sizeof(out->of), "the machine");
    for (; is_there; is_there = ch_cgroup_up(&group)) {
        const uint64_t left = left_of_group(&group);

        if (left >= least) continue;
        least = left;
        (void)snprintf(out->of, sizeof(out->of), "the control group %.200s", group.folder);
    }
    out->bytes = least;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "boot/quota.h"

#include "base/cgroup.h"

#include <inttypes.h>
#include <stdio.h>

/* The two numbers that version 2 has in one file; the second one follows the first. */
static bool read_max(const struct ch_cgroup *group, uint64_t *quota_out, uint64_t *period_out)
{
    char first[24];

    if (!ch_cgroup_number(group, "cpu.max", "", quota_out)) return false;
    (void)snprintf(first, sizeof(first), "%" PRIu64, *quota_out);
    return ch_cgroup_number(group, "cpu.max", first, period_out);
}

static bool read_cfs(const struct ch_cgroup *group, uint64_t *quota_out, uint64_t *period_out)
{
    return ch_cgroup_number(group, "cpu.cfs_quota_us", "", quota_out) &&
           ch_cgroup_number(group, "cpu.cfs_period_us", "", period_out);
}

/* UINT32_MAX: the group sets no quota. */
static uint32_t cores_of(const struct ch_cgroup *group)
{
    uint64_t quota, period;
    const bool is_set =
        group->is_v1 ? read_cfs(group, &quota, &period) : read_max(group, &quota, &period);

    if (!is_set || period == 0 || quota / period > UINT32_MAX) return UINT32_MAX;
    return quota < period ? 1 : (uint32_t)(quota / period);
}

uint32_t ch_quota_cores(const char *root)
{
    struct ch_cgroup group;
    uint32_t least = UINT32_MAX;
    bool is_there = ch_cgroup_find(root, "cpu", &group);

    for (; is_there; is_there = ch_cgroup_up(&group)) {
        const uint32_t cores = cores_of(&group);

        if (cores < least) least = cores;
    }
    return least;
}

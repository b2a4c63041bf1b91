/* SPDX-License-Identifier: Apache-2.0 */
/* quota.h: how many of a host's cores the control groups allow this process to use. */
#ifndef CH_QUOTA_H
#define CH_QUOTA_H

#include <stdint.h>

/*
 * The CPU quotas of this process's control groups, of either version, and of all groups above
 * them, in whole cores; at least 1. UINT32_MAX: there is no quota. PEs that use more cores than
 * that are all stopped for the rest of a period once they have used up the quota. This has the
 * same effect as sharing cores, but for longer. `root` is that of ch_cgroup_find.
 */
uint32_t ch_quota_cores(const char *root);

#endif /* CH_QUOTA_H */

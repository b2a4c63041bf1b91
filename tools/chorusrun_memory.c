/* SPDX-License-Identifier: Apache-2.0 */
#include "chorusrun.h"

#include "base/limits.h"

/* Number of processes that the kernel has killed because of a lack of memory, in chorusrun's
 * control group, which contains the PEs, and on the machine; 0 if not known. */
struct kills {
    uint64_t of_group, of_machine;
};

static struct kills at_start;

static struct kills count(void)
{
    struct kills kills = {0, 0};
    struct ch_cgroup group;

    if (ch_cgroup_find("", "memory", &group))
        (void)ch_cgroup_read_number(&group,
                                    group.is_v1 ? "memory.oom_control" : "memory.events",
                                    "oom_kill", &kills.of_group);
    (void)ch_read_number_in_file("/proc/vmstat", "oom_kill", &kills.of_machine);
    return kills;
}

void memory_watch(void)
{
    at_start = count();
}

const char *memory_blame(int signo)
{
    struct kills now;

    if (signo != SIGKILL) return "";
    now = count();
    if (now.of_group > at_start.of_group)
        return ": the kernel's out-of-memory killer has ended processes of its control group "
               "since the job began; take less memory, or start fewer PEs";
    if (now.of_machine > at_start.of_machine)
        return ": the kernel's out-of-memory killer has ended processes of this machine since "
               "the job began; take less memory, or start fewer PEs";
    return "";
}

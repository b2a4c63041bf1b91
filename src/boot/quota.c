/* SPDX-License-Identifier: Apache-2.0 */
#include "boot/quota.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* One line of a file; false if there is none. */
static bool read_line(const char *path, char line[static PATH_MAX])
{
    FILE *file = fopen(path, "re");
    bool is_read;

    if (file == NULL) return false;
    is_read = fgets(line, PATH_MAX, file) != NULL;
    (void)fclose(file);
    return is_read;
}

static int64_t read_number(const char *folder, const char *name)
{
    char path[PATH_MAX], line[PATH_MAX];
    int64_t number = -1;

    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= PATH_MAX ||
        !read_line(path, line) || sscanf(line, "%" SCNd64, &number) != 1)
        return -1;
    return number;
}

/* What one group allows; -1: it sets no quota, or has no such file. */
static void group_quota(const char *folder, int64_t *quota_out, int64_t *period_out)
{
    char path[PATH_MAX], line[PATH_MAX];

    *quota_out = read_number(folder, "cpu.cfs_quota_us");
    *period_out = read_number(folder, "cpu.cfs_period_us");
    if (snprintf(path, sizeof(path), "%s/cpu.max", folder) >= PATH_MAX ||
        !read_line(path, line))
        return;
    if (sscanf(line, "%" SCNd64 " %" SCNd64, quota_out, period_out) != 2) *quota_out = -1;
}

/* The least of the quotas of a group and those above it, up to the folder that they are under.
 * A container may see its own group there and nothing above. */
static uint32_t least_of(const char *root, const char *controller, char *group)
{
    uint32_t least = UINT32_MAX;
    char folder[PATH_MAX], *slash;
    int64_t quota, period;

    do {
        if (snprintf(folder, sizeof(folder), "%s/sys/fs/cgroup%s%s", root, controller, group) <
            PATH_MAX) {
            group_quota(folder, &quota, &period);
            if (quota > 0 && period > 0 && quota / period < least)
                least = quota < period ? 1 : (uint32_t)(quota / period);
        }
        slash = strrchr(group, '/');
        if (slash != NULL) *slash = '\0';
    } while (slash != NULL);
    return least;
}

static bool names_cpu(const char *controllers)
{
    size_t at = 0, bytes;

    do {
        bytes = strcspn(controllers + at, ",");
        if (bytes == 3 && memcmp(controllers + at, "cpu", 3) == 0) return true;
        at += bytes + 1;
    } while (controllers[at - 1] != '\0');
    return false;
}

/* A line is "number:controllers:group", without controllers for version 2. */
static uint32_t quota_of_line(const char *root, char *line)
{
    char *controllers = strchr(line, ':'), *group;

    if (controllers == NULL) return UINT32_MAX;
    controllers++;
    group = strchr(controllers, ':');
    if (group == NULL) return UINT32_MAX;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (controllers[0] == '\0') return least_of(root, "", group);
    return names_cpu(controllers) ? least_of(root, "/cpu", group) : UINT32_MAX;
}

uint32_t ch_quota_cores(const char *root)
{
    char path[PATH_MAX], line[PATH_MAX];
    uint32_t least = UINT32_MAX;
    FILE *file = NULL;

    if (snprintf(path, sizeof(path), "%s/proc/self/cgroup", root) < PATH_MAX)
        file = fopen(path, "re");
    if (file == NULL) return least;
    while (fgets(line, sizeof(line), file) != NULL) {
        const uint32_t quota = quota_of_line(root, line);

        if (quota < least) least = quota;
    }
    (void)fclose(file);
    return least;
}

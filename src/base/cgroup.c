/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cgroup.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 4096 }; /* and the widths in the formats below */

/* Is `word` an element of this comma-separated list? */
static bool has_word(const char *list, const char *word)
{
    const size_t bytes = strlen(word);

    while (*list != '\0') {
        if (strncmp(list, word, bytes) == 0 && (list[bytes] == ',' || list[bytes] == '\0'))
            return true;
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return false;
}

static FILE *open_at(const char *root, const char *path)
{
    char name[CH_CGROUP_BYTES];

    (void)snprintf(name, sizeof(name), "%s%s", root, path);
    return fopen(name, "re");
}

/* The path of this process's group, as the system names it. A controller of version 1 is not in
 * the hierarchy of version 2. */
static bool find_path(const char *root, const char *controller, char path_out[LINE_BYTES],
                      bool *is_v1_out)
{
    FILE *const groups = open_at(root, "/proc/self/cgroup");
    char line[LINE_BYTES], controllers[LINE_BYTES], path[LINE_BYTES];
    bool is_found = false;

    *is_v1_out = false;
    if (groups == NULL) return false;
    while (!*is_v1_out && fgets(line, sizeof(line), groups) != NULL) {
        const bool is_v2 = sscanf(line, "0::%4095[^\n]", path) == 1;

        if (!is_v2 && sscanf(line, "%*d:%4095[^:]:%4095[^\n]", controllers, path) != 2)
            continue;
        *is_v1_out = !is_v2 && has_word(controllers, controller);
        if (!is_v2 && !*is_v1_out) continue;
        is_found = true;
        memcpy(path_out, path, strlen(path) + 1);
    }
    (void)fclose(groups);
    return is_found;
}

/* A line of mountinfo: what is mounted, where, as what file system, with which options. */
struct mount {
    char what[LINE_BYTES], where[LINE_BYTES], type[LINE_BYTES], options[LINE_BYTES];
};

static bool read_mount(const char *line, struct mount *out)
{
    const char *const rest = strstr(line, " - ");

    return rest != NULL &&
           sscanf(line, "%*d %*d %*s %4095s %4095s", out->what, out->where) == 2 &&
           sscanf(rest, " - %4095s %*s %4095s", out->type, out->options) == 2;
}

static bool find_mount(const char *root, const char *controller, bool is_v1, struct mount *out)
{
    FILE *const mounts = open_at(root, "/proc/self/mountinfo");
    char line[LINE_BYTES];
    bool is_found = false;

    if (mounts == NULL) return false;
    while (!is_found && fgets(line, sizeof(line), mounts) != NULL)
        is_found = read_mount(line, out) &&
                   strcmp(out->type, is_v1 ? "cgroup" : "cgroup2") == 0 &&
                   (!is_v1 || has_word(out->options, controller));
    (void)fclose(mounts);
    return is_found;
}

/* In a container, the mounted folder may be the container's own group, or one of its
 * ancestors. */
bool ch_cgroup_find(const char *root, const char *controller, struct ch_cgroup *out)
{
    char path[LINE_BYTES];
    const char *below = path;
    struct mount mount;
    int bytes, below_bytes;

    if (!find_path(root, controller, path, &out->is_v1) ||
        !find_mount(root, controller, out->is_v1, &mount))
        return false;
    if (strcmp(mount.what, "/") != 0) {
        const size_t prefix = strlen(mount.what);

        below = strncmp(path, mount.what, prefix) == 0 ? path + prefix : "";
    }
    bytes = snprintf(out->folder, sizeof(out->folder), "%s%s", root, mount.where);
    if (bytes < 0 || (size_t)bytes >= sizeof(out->folder)) return false;
    out->top_bytes = (size_t)bytes;
    below_bytes =
        snprintf(out->folder + bytes, sizeof(out->folder) - (size_t)bytes, "%s", below);
    if (bytes + below_bytes >= (int)sizeof(out->folder) || access(out->folder, F_OK) != 0)
        out->folder[bytes] = '\0';
    return true;
}

bool ch_cgroup_up(struct ch_cgroup *group)
{
    size_t bytes = strlen(group->folder);

    while (bytes > group->top_bytes && group->folder[bytes - 1] == '/')
        bytes--;
    if (bytes == group->top_bytes) return false;
    while (bytes > group->top_bytes && group->folder[bytes - 1] != '/')
        bytes--;
    group->folder[bytes] = '\0';
    return true;
}

static bool number_behind(const char *key, const char *line, uint64_t *out)
{
    const size_t bytes = strlen(key);
    const char *at = line + bytes;

    if (strncmp(line, key, bytes) != 0) return false;
    if (bytes != 0 && strspn(at, ": ") == 0)
        return false; /* this key is only a prefix of a longer one */
    at += strspn(at, ": ");
    if (*at < '0' || *at > '9') return false;
    return sscanf(at, "%" SCNu64, out) == 1;
}

bool ch_number_in(const char *path, const char *key, uint64_t *out)
{
    FILE *const file = fopen(path, "re");
    char line[LINE_BYTES];
    bool is_found = false;

    if (file == NULL) return false;
    while (!is_found && fgets(line, sizeof(line), file) != NULL)
        is_found = number_behind(key, line, out);
    (void)fclose(file);
    return is_found;
}

bool ch_cgroup_number(const struct ch_cgroup *group, const char *file, const char *key,
                      uint64_t *out)
{
    char path[CH_CGROUP_BYTES + 64];

    (void)snprintf(path, sizeof(path), "%s/%s", group->folder, file);
    return ch_number_in(path, key, out);
}

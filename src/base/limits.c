/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c: limits that the machine and its site set. */
#include "base/limits.h"

#include "base/text.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- control groups ----------------------------------------------------------------------- */
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

/* Open the file root/path for reading; null: it cannot be opened. */
static FILE *open_at(const char *root, const char *path)
{
    char name[CH_CGROUP_BYTES];

    (void)snprintf(name, sizeof(name), "%s%s", root, path);
    return fopen(name, "re");
}

/* Find the path of this process's group, as the system names it: in the hierarchy of version 1
 * that has the controller (*is_v1_out), else in that of version 2. False: there is none. */
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

/* Parse a line of mountinfo. False: it has another form. */
static bool read_mount(const char *line, struct mount *out)
{
    const char *const rest = strstr(line, " - ");

    return rest != NULL &&
           sscanf(line, "%*d %*d %*s %4095s %4095s", out->what, out->where) == 2 &&
           sscanf(rest, " - %4095s %*s %4095s", out->type, out->options) == 2;
}

/* Find where the hierarchy that find_path chose is mounted. False: nowhere. */
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

bool ch_cgroup_to_parent(struct ch_cgroup *group)
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

/* Parse a line that consists of `key`, blanks or colons, and a number. False: it does not. */
static bool parse_number_after(const char *key, const char *line, uint64_t *out)
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

bool ch_read_number_in_file(const char *path, const char *key, uint64_t *out)
{
    FILE *const file = fopen(path, "re");
    char line[LINE_BYTES];
    bool is_found = false;

    if (file == NULL) return false;
    while (!is_found && fgets(line, sizeof(line), file) != NULL)
        is_found = parse_number_after(key, line, out);
    (void)fclose(file);
    return is_found;
}

bool ch_cgroup_read_number(const struct ch_cgroup *group, const char *file, const char *key,
                           uint64_t *out)
{
    char path[CH_CGROUP_BYTES + 64];

    (void)snprintf(path, sizeof(path), "%s/%s", group->folder, file);
    return ch_read_number_in_file(path, key, out);
}

/* --- silence of a network ----------------------------------------------------------------- */
/* Keepalive: idle time before the first probe, and the largest number of probes that the kernel
 * accepts. They are a second apart, or more if there would be too many; the connection ends
 * within ch_silence_limit_ns and the time between two probes. */
enum { IDLE_S = 1, PROBES_MAX = 127 };

/* The longest interval between two repetitions of a packet. The kernel starts at about 0.2 s,
 * and doubles each time. */
enum { REPEAT_MS = 1000 };

#ifndef TCP_RTO_MAX_MS /* Linux 6.15; older headers do not have it */
#define TCP_RTO_MAX_MS 44
#endif

static void set_socket_option(int fd, int level, int name, int value)
{
    (void)setsockopt(fd, level, name, &value, sizeof(value));
}

uint64_t ch_set_silence_limit(int fd, uint64_t link_ns)
{
    const uint64_t limit_ns = ch_silence_limit_ns(link_ns);
    const uint64_t limit_s = (limit_ns - 1) / CH_NS_PER_S;
    const uint64_t apart_s = (limit_s + PROBES_MAX - 1) / PROBES_MAX;
    const int repeat = REPEAT_MS;

    set_socket_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_socket_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S);
    set_socket_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, (int)apart_s);
    set_socket_option(fd, IPPROTO_TCP, TCP_KEEPCNT, (int)((limit_s + apart_s - 1) / apart_s));
    if (setsockopt(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, &repeat, sizeof(repeat)) == 0)
        return limit_ns;
    return limit_ns + link_ns; /* a repetition may come after twice the interruption */
}

/* --- multicast of NVLink switches --------------------------------------------------------- */
/* Other variables that disable it. A value that is not a number counts as a disabling one. */
static const struct {
    const char *name;
    bool permits; /* false: 0 disables; true: every other number disables */
} sites[] = {
    {"NCCL_NVLS_ENABLE", true},
    {"NVSHMEM_DISABLE_NVLS", false},
    {"TORCH_SYMM_MEM_DISABLE_MULTICAST", false},
};

/* Does this value of a variable disable multicast? permits: see sites. */
static bool forbids_nvls(const char *text, bool permits)
{
    uint64_t value;

    return !ch_number_whole(text, 0, UINT64_MAX, &value) || (value != 0) != permits;
}

const char *ch_nvls_forbidding_variable(bool is_asked, ch_environment *get)
{
    if (!is_asked) return "CHORUS_NVLS";
    for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++) {
        const char *text = get(sites[i].name);

        if (text != NULL && *text != '\0' && forbids_nvls(text, sites[i].permits))
            return sites[i].name;
    }
    return NULL;
}

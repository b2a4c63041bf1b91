/* SPDX-License-Identifier: Apache-2.0 */
/* own.c: what belongs to the user of this process: a folder for sockets, and their peers. */
#include "boot/ways.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OTHERS = S_IRWXG | S_IRWXO, OTHERS_WRITE = S_IWGRP | S_IWOTH, WHY_BYTES = 400 };

/* What the reasons are collected in. */
struct reasons {
    char text[WHY_BYTES];
    size_t used;
    bool is_at_limit; /* this process has no descriptor left */
};

/* Append that `path` cannot be used, for this reason. */
static void add_reason(struct reasons *why, const char *path, const char *reason)
{
    if (why->used < sizeof(why->text))
        why->used +=
            (size_t)snprintf(why->text + why->used, sizeof(why->text) - why->used, "%s%.*s %s",
                             why->used == 0 ? "" : ", ", CH_OWN_PATH_BYTES, path, reason);
}

/* Can only this user and root replace what is in the folder? */
static bool is_safe_parent(const char *path)
{
    struct stat at;

    if (stat(path, &at) != 0) return false;
    if (at.st_uid == geteuid() && (at.st_mode & OTHERS_WRITE) == 0) return true;
    return at.st_uid == 0 && ((at.st_mode & S_ISVTX) != 0 || (at.st_mode & OTHERS_WRITE) == 0);
}

/* Open the folder `path` in `parent`, after creating it if it is missing. Returns a descriptor;
 * -1: it cannot be used, or not by this user alone. */
static int open_folder(const char *parent, const char *path, struct reasons *why)
{
    struct stat at;
    int fd;

    if (!is_safe_parent(parent)) {
        add_reason(why, parent, "is missing, or another user may write to it");
        return -1;
    }
    if (mkdir(path, S_IRWXU) != 0 && errno != EEXIST) {
        add_reason(why, path, strerror(errno));
        return -1;
    }
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &at) == 0 && at.st_uid == geteuid() && (at.st_mode & OTHERS) == 0)
        return fd;
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) why->is_at_limit = true;
    add_reason(why, path, fd < 0 ? strerror(errno) : "is another user's, or has not mode 0700");
    if (fd >= 0) (void)close(fd);
    return -1;
}

/* open_folder for `name` in `parent`, whose path is put into path_out. -1 also if there is no
 * parent. */
static int open_folder_in(const char *parent, const char *name,
                          char path_out[CH_OWN_PATH_BYTES], struct reasons *why)
{
    if (parent == NULL || *parent != '/') return -1;
    if (snprintf(path_out, CH_OWN_PATH_BYTES, "%s/%s", parent, name) >= CH_OWN_PATH_BYTES) {
        add_reason(why, parent, "has too many characters");
        return -1;
    }
    return open_folder(parent, path_out, why);
}

chorus_status ch_open_own_folder(char path_out[CH_OWN_PATH_BYTES], int *fd_out)
{
    const unsigned uid = geteuid();
    struct reasons why = {.used = 0};
    char run[32], tmp[32];
    int fd;

    (void)snprintf(run, sizeof(run), "/run/user/%u", uid);
    (void)snprintf(tmp, sizeof(tmp), "chorus-%u", uid);
    fd = open_folder_in(secure_getenv("XDG_RUNTIME_DIR"), "chorus", path_out, &why);
    if (fd < 0) fd = open_folder_in(run, "chorus", path_out, &why);
    if (fd < 0) fd = open_folder_in("/tmp", tmp, path_out, &why);
    if (fd < 0) fd = open_folder_in(secure_getenv("HOME"), ".chorus", path_out, &why);
    if (fd < 0 && why.is_at_limit)
        return CH_FAIL(CHORUS_ERR_SYSTEM,
                       "no descriptor for the folder of a job: %s; " CH_LIMIT_ADVICE, why.text);
    if (fd < 0)
        return CH_FAIL(
            CHORUS_ERR_UNSUPPORTED,
            "there is no folder of this user alone for the sockets of a job: %s; set "
            "XDG_RUNTIME_DIR to a folder of your own with mode 0700",
            why.text);
    *fd_out = fd;
    return CHORUS_OK;
}

bool ch_is_peer_own_user(int sock)
{
    struct ucred who;
    socklen_t bytes = sizeof(who);

    return getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &who, &bytes) == 0 && who.uid == geteuid();
}

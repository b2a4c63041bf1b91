/* SPDX-License-Identifier: Apache-2.0 */
#include "boot/ways.h"

#include "base/clock.h"
#include "base/error.h"
#include "boot/message.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* Pauses between attempts, how many of the longest a PE without a descriptor makes, and the
 * time limit of one conversation. */
enum { PAUSE_MS = 1, DOUBLINGS = 4, MISSES_MAX = 30 };
#define TALK_NS (1 * CH_NS_PER_S)

static const char lock_end[] = ".lock", sock_end[] = ".sock";

enum { FILE_BYTES = CH_SHARE_NAME_BYTES + sizeof(lock_end) };

struct ch_share {
    pthread_t thread;
    int stop;   /* eventfd: the thread must end */
    int sock;   /* listens */
    int folder; /* of the two files */
    int lock;
    int spare;         /* closed to accept a PE where no other descriptor is left; or -1 */
    uint32_t n_misses; /* attempts since then to accept a PE, without a descriptor */
    bool is_at_limit;  /* a PE asks, and no descriptor is left; atomic */
    char lock_name[FILE_BYTES], sock_name[FILE_BYTES];
    unsigned char claim[CH_BOOT_SECRET_BYTES], secret[CH_BOOT_SECRET_BYTES];
};

struct reply {
    uint32_t is_given;
    unsigned char secret[CH_BOOT_SECRET_BYTES];
};

/* ---- the PE that has the secret ---- */

/* Open a file of the folder, with these flags of open(2), and lock it. Returns its descriptor,
 * which keeps the lock. -1, EWOULDBLOCK: another process has the lock, or the file was removed
 * meanwhile. */
static int take_lock(int folder, const char *name, int flags)
{
    const int fd =
        openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, S_IRUSR | S_IWUSR);
    struct stat mine, there;

    if (fd < 0) return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &mine) == 0 &&
        fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        mine.st_ino == there.st_ino && mine.st_dev == there.st_dev)
        return fd;
    (void)close(fd);
    errno = EWOULDBLOCK;
    return -1;
}

/* Write "x.sock" for "x.lock". False: lock_name is no such name. */
static bool socket_name_of(const char *lock_name, char sock_out[FILE_BYTES])
{
    const char *const end = strstr(lock_name, lock_end);

    if (end == NULL || end[sizeof(lock_end) - 1] != '\0' || strlen(lock_name) >= FILE_BYTES)
        return false;
    (void)snprintf(sock_out, FILE_BYTES, "%.*s%s", (int)(end - lock_name), lock_name, sock_end);
    return true;
}

/* Remove the files of processes that were killed: nobody has their locks. */
static void remove_stale_files(int folder)
{
    const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *const dir = fd >= 0 ? fdopendir(fd) : NULL;
    char sock_name[FILE_BYTES];

    if (dir == NULL) {
        if (fd >= 0) (void)close(fd);
        return;
    }
    for (const struct dirent *each; (each = readdir(dir)) != NULL;) {
        int lock;
        if (!socket_name_of(each->d_name, sock_name)) continue;
        lock = take_lock(folder, each->d_name, 0);
        if (lock < 0) continue;
        (void)unlinkat(folder, sock_name, 0);
        (void)unlinkat(folder, each->d_name, 0);
        (void)close(lock);
    }
    (void)closedir(dir);
}

/* Sleep before the next attempt, the longer the more attempts (`turn`) there were. */
static void back_off(uint32_t turn)
{
    const uint32_t ms = (uint32_t)PAUSE_MS << (turn < DOUBLINGS ? turn : DOUBLINGS);
    const struct timespec pause = {.tv_nsec = (long)(ms * CH_NS_PER_MS)};

    (void)nanosleep(&pause, NULL);
}

/* Receive the claim of the PE at `sock`, and give it the secret if the claim is equal. */
static void answer_claim(const struct ch_share *share, int sock)
{
    const uint64_t until_ns = ch_clock_ns() + TALK_NS;
    unsigned char claim[CH_BOOT_SECRET_BYTES];
    struct reply reply = {.is_given = 0};

    if (!ch_is_peer_own_user(sock) ||
        ch_wire_recv(sock, claim, sizeof(claim), until_ns) != CHORUS_OK)
        return;
    if (sodium_memcmp(claim, share->claim, sizeof(claim)) == 0) {
        reply.is_given = 1;
        memcpy(reply.secret, share->secret, sizeof(reply.secret));
    }
    if (ch_wire_send(sock, &reply, sizeof(reply), -1, until_ns) != CHORUS_OK)
        CH_LOG(DEBUG, "a PE of this host did not wait for the job's secret");
    sodium_memzero(&reply, sizeof(reply));
}

/* Accept a connection, if need be with the spare descriptor. -1: none is there, or no
 * descriptor. Another thread may get the spare descriptor, and free one later. */
static int accept_one(struct ch_share *share)
{
    int sock = accept4(share->sock, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (sock < 0 && (errno == EMFILE || errno == ENFILE)) {
        if (share->spare >= 0) (void)close(share->spare);
        share->spare = -1;
        sock = accept4(share->sock, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (sock < 0 && share->n_misses++ == MISSES_MAX)
            __atomic_store_n(&share->is_at_limit, true, __ATOMIC_RELEASE);
        if (sock < 0) back_off(DOUBLINGS);
    }
    if (sock >= 0) share->n_misses = 0;
    return sock;
}

/* Close a connection. Its descriptor becomes the spare one if that is missing, before another
 * thread gets it. */
static void close_connection(struct ch_share *share, int sock)
{
    if (share->spare < 0 && dup3(share->stop, sock, O_CLOEXEC) == sock)
        share->spare = sock;
    else
        (void)close(sock);
}

/* The thread that gives the secret to other PEs, until `stop` is signalled. */
static void *serve(void *arg)
{
    struct ch_share *const share = arg;
    struct pollfd fds[2] = {{share->stop, POLLIN, 0}, {share->sock, POLLIN, 0}};

    while (fds[0].revents == 0) {
        int sock;
        if (poll(fds, 2, -1) < 0 || fds[1].revents == 0) continue;
        sock = accept_one(share);
        if (sock < 0) continue;
        answer_claim(share, sock);
        close_connection(share, sock);
    }
    return NULL;
}

/* Set *out to the address of the UNIX socket folder/name; returns its length for bind(2). */
static socklen_t fill_socket_address(const char *folder, const char *name,
                                     struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    (void)snprintf(out->sun_path, sizeof(out->sun_path), "%s/%s", folder, name);
    return sizeof(*out);
}

/* Open the descriptors of `share`, and listen in the folder `path`. False: errno is the reason.
 * A socket that a killed process left has no lock, so this PE, which has it, may remove it. */
static bool open_socket(struct ch_share *share, const char *path)
{
    struct sockaddr_un at;
    const socklen_t bytes = fill_socket_address(path, share->sock_name, &at);

    (void)unlinkat(share->folder, share->sock_name, 0);
    share->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (share->stop < 0) return false;
    share->sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (share->sock < 0) return false;
    share->spare = fcntl(share->stop, F_DUPFD_CLOEXEC, 0);
    return share->spare >= 0 && bind(share->sock, (const struct sockaddr *)&at, bytes) == 0 &&
           listen(share->sock, SOMAXCONN) == 0;
}

static void share_free(struct ch_share *share)
{
    (void)unlinkat(share->folder, share->sock_name, 0);
    (void)unlinkat(share->folder, share->lock_name, 0);
    ch_share_abandon(share);
    sodium_memzero(share, sizeof(*share));
    free(share);
}

void ch_share_abandon(const struct ch_share *share)
{
    const int fds[] = {share->stop, share->sock, share->folder, share->lock, share->spare};

    ch_fd_close_all(fds, sizeof(fds) / sizeof(fds[0]));
}

bool ch_share_is_at_limit(const struct ch_share *share)
{
    return __atomic_load_n(&share->is_at_limit, __ATOMIC_ACQUIRE);
}

void ch_share_close(struct ch_share *share)
{
    const uint64_t one = 1;

    if (share == NULL) return;
    if (write(share->stop, &one, sizeof(one)) == (ssize_t)sizeof(one))
        (void)pthread_join(share->thread, NULL);
    share_free(share);
}

/* ---- all PEs ---- */

struct place {
    char path[CH_OWN_PATH_BYTES];
    int folder;
    char lock_name[FILE_BYTES], sock_name[FILE_BYTES];
};

/* Returns the end of a message about this errno: what the user can do. */
static const char *advice_for(int error)
{
    return error == EMFILE ? "; " CH_LIMIT_ADVICE : "";
}

/* Make the secret, and start the thread that gives it to others. Takes ownership of the lock,
 * and duplicates the folder. */
static chorus_status make_share(const struct ch_share_terms *terms, const struct place *place,
                                int lock, struct ch_share **share_out)
{
    struct ch_share *const share = calloc(1, sizeof(*share));
    chorus_status status;

    if (share == NULL) {
        (void)close(lock);
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the secret of a job");
    }
    *share = (struct ch_share){.stop = -1, .sock = -1, .folder = -1, .lock = lock, .spare = -1};
    memcpy(share->lock_name, place->lock_name, sizeof(share->lock_name));
    memcpy(share->sock_name, place->sock_name, sizeof(share->sock_name));
    memcpy(share->claim, terms->claim, sizeof(share->claim));
    CH_TRY_GOTO(status, ch_fd_dup(place->folder, &share->folder), out_share);
    remove_stale_files(share->folder);
    CH_TRY_GOTO(status, terms->make(terms->arg, share->secret), out_share);
    if (!open_socket(share, place->path)) {
        status = CH_FAIL(CHORUS_ERR_SYSTEM, "cannot listen at %s/%s: %s%s", place->path,
                         share->sock_name, strerror(errno), advice_for(errno));
        goto out_share;
    }
    CH_TRY_GOTO(status, ch_thread_start(serve, share, &share->thread), out_share);
    *share_out = share;
    return CHORUS_OK;

out_share:
    share_free(share);
    return status;
}

enum asked { NOBODY, GIVEN, DENIED };

/* Ask the PE that has the secret for it. NOBODY: no PE answers; DENIED: its claim differs. */
static enum asked ask_for_secret(const struct ch_share_terms *terms, const struct place *place,
                                 unsigned char *secret_out)
{
    const int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const uint64_t until_ns = ch_clock_ns() + 2 * TALK_NS;
    enum asked asked = NOBODY;
    struct reply reply;
    struct sockaddr_un at;
    const socklen_t bytes = fill_socket_address(place->path, place->sock_name, &at);

    if (sock < 0) return NOBODY;
    if (connect(sock, (const struct sockaddr *)&at, bytes) == 0 && ch_is_peer_own_user(sock) &&
        ch_wire_send(sock, terms->claim, sizeof(terms->claim), -1, until_ns) == CHORUS_OK &&
        ch_wire_recv(sock, &reply, sizeof(reply), until_ns) == CHORUS_OK) {
        asked = reply.is_given != 0 ? GIVEN : DENIED;
        if (asked == GIVEN) memcpy(secret_out, reply.secret, sizeof(reply.secret));
        sodium_memzero(&reply, sizeof(reply));
    }
    (void)close(sock);
    return asked;
}

/* Get the secret from the PE that has it, or make it if this PE may and gets the lock; else try
 * again until the time limit. */
static chorus_status find_or_make_secret(const struct ch_share_terms *terms,
                                         const struct place *place, unsigned char *secret_out,
                                         struct ch_share **share_out)
{
    const uint64_t since_ns = ch_clock_ns();

    for (uint32_t turn = 0;; turn++) {
        const enum asked asked = ask_for_secret(terms, place, secret_out);
        int lock;

        if (asked == GIVEN) return CHORUS_OK;
        if (asked == DENIED) return terms->make(terms->arg, secret_out);
        errno = EWOULDBLOCK;
        lock = terms->is_for_others ? -1 : take_lock(place->folder, place->lock_name, O_CREAT);
        if (lock >= 0) {
            CH_TRY(make_share(terms, place, lock, share_out));
            memcpy(secret_out, (*share_out)->secret, CH_BOOT_SECRET_BYTES);
            return CHORUS_OK;
        }
        if (errno != EWOULDBLOCK)
            return CH_FAIL(CHORUS_ERR_SYSTEM, "cannot open %s/%s: %s%s", place->path,
                           place->lock_name, strerror(errno), advice_for(errno));
        if (terms->timeout_ns != 0 && ch_clock_ns() - since_ns > terms->timeout_ns)
            return CH_FAIL(CHORUS_ERR_TIMEOUT,
                           "the PE of this host that makes the job's secret did not give it "
                           "within %.3g s, at %s/%s; was it started, and is it not stopped?",
                           (double)terms->timeout_ns / (double)CH_NS_PER_S, place->path,
                           place->sock_name);
        back_off(turn);
    }
}

chorus_status ch_share_open(const struct ch_share_terms *terms,
                            unsigned char secret_out[CH_BOOT_SECRET_BYTES],
                            struct ch_share **share_out)
{
    struct place place;
    chorus_status status;

    *share_out = NULL;
    if (sodium_init() < 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "libsodium has no source of random numbers");
    CH_TRY(ch_open_own_folder(place.path, &place.folder));
    (void)snprintf(place.lock_name, sizeof(place.lock_name), "%s%s", terms->name, lock_end);
    (void)snprintf(place.sock_name, sizeof(place.sock_name), "%s%s", terms->name, sock_end);
    status = find_or_make_secret(terms, &place, secret_out, share_out);
    (void)close(place.folder);
    return status;
}

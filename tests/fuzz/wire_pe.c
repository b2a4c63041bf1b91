/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_pe: what chorusrun may answer to a PE. The input is what comes on the PE's socket, in
 * pieces with descriptors; a PE makes two exchanges and leaves.
 */
#include "fuzz.h"

#include "boot/boot.h"
#include "boot/message.h"
#include "boot/ways.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { INHERITED = 100, PES = 2, BLOB_BYTES = 8, PIECES_MAX = 64, FDS_MAX = 5 };

/* The descriptor that came with JOIN: chorusrun's end of the PE's own socket. */
static int receive_join(int sock)
{
    char data[sizeof(struct ch_wire_head) + sizeof(struct ch_wire_join)];
    int fds[CH_WIRE_CONTROL_FDS];
    union ch_wire_control control;
    struct iovec part = {data, sizeof(data)};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

    m.msg_control = &control;
    m.msg_controllen = sizeof(control);
    FUZZ_CHECK(recvmsg(sock, &m, 0) == (ssize_t)sizeof(data));
    FUZZ_CHECK(ch_wire_extract_fds(&m, fds) == 1);
    return fds[0];
}

/* chorusrun's end of the socket by which the PE joins next: the inherited one at first, which
 * stays open, since its end would end this process; then that of the PE that left last. */
static int inherited = -1, joins_by = -1;

static struct ch_boot *join(void)
{
    struct ch_boot *boot;
    int launcher;

    FUZZ_CHECK(ch_way_launcher.open(0, &boot) == CHORUS_OK);
    launcher = receive_join(joins_by);
    if (joins_by != inherited) (void)close(joins_by);
    joins_by = launcher;
    return boot;
}

/* And read what the PE has said. */
static void leave(struct ch_boot *boot)
{
    char byte;

    boot->ops->close(boot);
    while (recv(joins_by, &byte, 1, MSG_DONTWAIT) == 1)
        continue;
}

static void start_pe(void)
{
    int pair[2];

    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    FUZZ_CHECK(dup2(pair[1], INHERITED) == INHERITED);
    (void)close(pair[1]);
    joins_by = inherited = pair[0];
    leave(join());
}

static int count_open(void)
{
    int n = 0;

    for (int fd = 0; fd < INHERITED; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void send_piece(int sock, struct fuzz_input *in)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control;
    const int fds[FDS_MAX] = {STDIN_FILENO, STDIN_FILENO, STDIN_FILENO, STDIN_FILENO,
                              STDIN_FILENO};
    const size_t n_fds = fuzz_byte(in) % (FDS_MAX + 1), most = fuzz_byte(in);
    struct iovec part;
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

    part.iov_base = (void *)(uintptr_t)fuzz_bytes(in, most, &part.iov_len);
    if (part.iov_len == 0) return;
    if (n_fds > 0) {
        memset(&control, 0, sizeof(control));
        m.msg_control = &control;
        m.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(&control.head), fds, n_fds * sizeof(int));
    }
    (void)sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void exchange(struct ch_boot *boot, bool with_fd)
{
    uint8_t blob[BLOB_BYTES] = {1}, blobs[PES * BLOB_BYTES];
    int fds[PES];

    if (boot->ops->exchange(boot, blob, sizeof(blob), with_fd ? STDIN_FILENO : -1, blobs,
                            fds) == CHORUS_OK) {
        if (with_fd) ch_fd_close_all(fds, PES);
    } else {
        FUZZ_CHECK(ch_error_message()[0] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_input in = {data, data + bytes};
    const uint8_t with_fds = fuzz_byte(&in);
    struct ch_boot *boot;
    int n_open;

    (void)setenv("CHORUS_BOOT_FD", "100", 1);
    (void)setenv("CHORUS_PE", "0", 1);
    (void)setenv("CHORUS_N_PES", "2", 1);
    (void)setenv("CHORUS_N_CORES", "1", 1);
    if (joins_by < 0) start_pe();
    n_open = count_open();
    boot = join();
    for (int i = 0; i < PIECES_MAX && in.at < in.end; i++)
        send_piece(joins_by, &in);
    (void)shutdown(joins_by, SHUT_WR); /* no wait without end */
    exchange(boot, with_fds & 1);
    exchange(boot, with_fds & 2);
    leave(boot);
    FUZZ_CHECK(count_open() == n_open);
    return 0;
}

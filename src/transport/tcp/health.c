/* SPDX-License-Identifier: Apache-2.0 */
/*
 * health.c: socket options of this network, and detection of hosts that do not answer.
 *
 * A host that was disconnected shows only by its silence. While no operation is outstanding,
 * TCP keepalive detects it. While one is, the kernel would retransmit for a quarter of an
 * hour. A limit of that time (TCP_USER_TIMEOUT) would also end connections to PEs that are
 * stopped, or that compute and read nothing, although their hosts answer every probe. This
 * file therefore checks for silence itself.
 */
#include "transport/tcp/tcp.h"

#include "base/limits.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>

enum {
    CONGESTION_BYTES = 16,
    BUFFER_BYTES =
        4 << 20, /* of a socket, for each direction; a limit, which uses no memory by itself */
};

/*
 * Collectives send bursts with pauses between them, over links whose round trips take
 * microseconds. The estimates of bbr take these for slow links, and cubic ends its slow start
 * far too early: with messages of 64 KiB and more, reno was three times as fast
 * (docs/design/transport.md). If a site has chosen any other algorithm, such as dctcp, it has
 * chosen it for such links, and it is kept. A connection that has begun with bbr continues to
 * send at a measured rate after a change to reno, so the algorithm is set before: for accepted
 * connections, on the listening socket.
 */
static void choose_congestion(int fd)
{
    char name[CONGESTION_BYTES] = "";
    socklen_t bytes = sizeof(name) - 1;

    if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &bytes) != 0) return;
    if (strcmp(name, "bbr") == 0 || strcmp(name, "cubic") == 0)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", strlen("reno"));
}

/*
 * The kernel starts a connection with buffers of some tens of KiB and enlarges them as data is
 * transferred. Until then, the end of a longer message stays with the sender until its PE runs
 * again, which takes long if PEs share cores. Setting a size stops the kernel from enlarging
 * the buffer, unless SO_BUF_LOCK (Linux 5.16) allows it again; older kernels keep their own
 * sizes.
 */
static void enlarge_buffers(int fd)
{
#ifdef SO_BUF_LOCK
    const int unlocked = 0, bytes = BUFFER_BYTES;

    if (setsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &unlocked, sizeof(unlocked)) != 0) return;
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    (void)setsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &unlocked, sizeof(unlocked));
#else
    (void)fd;
#endif
}

/*
 * The kernel acknowledges each short message while it is read, which takes the reader as long
 * as sending one, unless it takes the connection for one of requests and replies: then an
 * acknowledgement travels with the next message, or follows after two messages or 40 ms. If it
 * had to follow after 40 ms, the kernel no longer takes the connection for such a one.
 */
void ch_tcp_acknowledge_late(int fd)
{
    const int off = 0;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &off, sizeof(off));
}

void ch_tcp_socket_prepare(struct ch_endpoint *ep, int fd)
{
    const int on = 1;

    ep->silent_ns = ch_silence_set(fd, ep->terms.options->link_ns);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    choose_congestion(fd);
    enlarge_buffers(fd);
}

/* Since when operations are in flight is not known here, so a long time without an answer may
 * be one without a question. */
static bool is_unanswered(int fd, uint64_t time_ns)
{
    const uint32_t most_ms = (uint32_t)(time_ns / CH_NS_PER_MS);
    struct tcp_info info;
    socklen_t bytes = sizeof(info);

    memset(&info, 0, sizeof(info));
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return false;
    return (info.tcpi_unacked != 0 || info.tcpi_probes != 0) &&
           info.tcpi_last_ack_recv > most_ms && info.tcpi_last_data_recv > most_ms;
}

bool ch_tcp_is_silent(const struct ch_endpoint *ep, int fd, uint64_t *since_ns, uint64_t now_ns)
{
    if (!is_unanswered(fd, CH_TCP_CHECK_NS)) {
        *since_ns = 0;
        return false;
    }
    if (*since_ns == 0) *since_ns = now_ns - CH_TCP_CHECK_NS;
    return now_ns - *since_ns > ep->silent_ns && is_unanswered(fd, ep->silent_ns);
}

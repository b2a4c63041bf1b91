/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local.c: passes descriptors among the PEs of one host, since TCP cannot carry them. The PE of
 * the host with the lowest number has a UNIX socket, to which the others connect at the first
 * exchange; it collects the descriptors and sends all to each. The name of the socket is random
 * and sent over the tree, so no other user can take it before; and both ends check that the
 * other belongs to the same user.
 */
#include "boot/tree/inside.h"

#include "base/clock.h"
#include "boot/message.h"
#include "boot/ways.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct ch_local {
    const struct ch_boot *boot; /* borrowed */
    uint32_t leader, n_near;
    struct ch_local_name name; /* of the leader's socket */
    int listener; /* the leader's listening socket, until all have connected; else -1 */
    int *socks;   /* [n]: connections between the leader and the other PEs; -1: none */
    bool is_broken;
};

/* Set *out to the address of the socket with this name; returns its bytes. It is in the
 * abstract namespace, so that no file remains. */
static socklen_t name_socket(const struct ch_local_name *name, struct sockaddr_un *out)
{
    char text[2 * sizeof(name->bytes) + 1];

    (void)sodium_bin2hex(text, sizeof(text), name->bytes, sizeof(name->bytes));
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)snprintf(out->sun_path + 1, sizeof(out->sun_path) - 1,
                                        "chorus-%s", text));
}

/* The leader: choose a name, and listen at the socket of this name. */
static chorus_status listen_here(struct ch_local *local)
{
    struct sockaddr_un name;
    socklen_t bytes;

    randombytes_buf(local->name.bytes, sizeof(local->name.bytes));
    bytes = name_socket(&local->name, &name);
    local->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (local->listener >= 0 && bind(local->listener, (struct sockaddr *)&name, bytes) == 0 &&
        listen(local->listener, SOMAXCONN) == 0)
        return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_SYSTEM,
                   "cannot make the socket by which the PEs of this host pass descriptors: %s",
                   strerror(errno));
}

chorus_status ch_local_open(const struct ch_boot *boot, struct ch_local_name *name_out,
                            struct ch_local **out)
{
    struct ch_local *local = calloc(1, sizeof(*local));
    int *socks = calloc(boot->n, sizeof(*socks));
    chorus_status status = CHORUS_OK;

    if (local == NULL || socks == NULL) {
        free(local);
        free(socks);
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to pass descriptors");
    }
    *local = (struct ch_local){.boot = boot, .listener = -1, .socks = socks, .leader = boot->n};
    for (uint32_t pe = boot->n; pe-- > 0;) {
        local->socks[pe] = -1;
        if (!ch_boot_is_near(boot, pe)) continue;
        local->leader = pe;
        local->n_near++;
    }
    if (local->leader == boot->me && local->n_near > 1) status = listen_here(local);
    if (status != CHORUS_OK) {
        ch_local_close(local);
        return status;
    }
    *name_out = local->name;
    *out = local;
    return CHORUS_OK;
}

void ch_local_set_leader(struct ch_local *local, const struct ch_local_name *names)
{
    local->name = names[local->leader];
}

/* Close all sockets: PEs that wait for this PE find that it has left. */
static void close_sockets(struct ch_local *local)
{
    local->is_broken = true;
    ch_fd_close_all(&local->listener, 1);
    ch_fd_close_all(local->socks, local->boot->n);
    local->listener = -1;
    for (uint32_t pe = 0; pe < local->boot->n; pe++)
        local->socks[pe] = -1;
}

void ch_local_abandon(const struct ch_local *local)
{
    ch_fd_close_all(&local->listener, 1);
    ch_fd_close_all(local->socks, local->boot->n);
}

void ch_local_close(struct ch_local *local)
{
    if (local == NULL) return;
    close_sockets(local);
    free(local->socks);
    free(local);
}

/* Receive the number of the PE that has connected, and keep its socket; close it if it is no PE
 * of this host. */
static void accept_member(struct ch_local *local, int sock, uint64_t deadline_ns)
{
    const struct ch_boot *const boot = local->boot;
    const uint64_t soon = ch_clock_ns() + CH_NS_PER_S;
    uint32_t pe;

    if (ch_is_peer_own_user(sock) &&
        ch_wire_recv(sock, &pe, sizeof(pe),
                     deadline_ns != 0 && deadline_ns < soon ? deadline_ns : soon) ==
            CHORUS_OK &&
        pe < boot->n && pe != boot->me && ch_boot_is_near(boot, pe) && local->socks[pe] < 0)
        local->socks[pe] = sock;
    else
        (void)close(sock);
}

/* The leader: wait until all PEs of the host have connected. The tree's thread closes none of
 * these sockets, so the wait checks regularly whether the job is over. */
static chorus_status accept_all_members(struct ch_local *local, uint64_t deadline_ns)
{
    struct ch_boot *const boot = (struct ch_boot *)(uintptr_t)local->boot;
    uint32_t n_here = 1;

    while (n_here < local->n_near) {
        struct pollfd p = {local->listener, POLLIN, 0};
        int sock;

        CH_TRY(boot->ops->serve(boot));
        if (deadline_ns != 0 && ch_clock_ns() >= deadline_ns) return CHORUS_ERR_TIMEOUT;
        if (poll(&p, 1, 50) <= 0) continue;
        sock = accept4(local->listener, NULL, NULL, SOCK_CLOEXEC);
        if (sock < 0 && (errno == EMFILE || errno == ENFILE))
            return CH_FAIL(CHORUS_ERR_SYSTEM,
                           "exchange among all PEs: PE %u has no descriptor left for a "
                           "connection from another PE of its host; " CH_LIMIT_ADVICE,
                           boot->me);
        if (sock >= 0) accept_member(local, sock, deadline_ns);
        n_here = 1;
        for (uint32_t pe = 0; pe < boot->n; pe++)
            n_here += local->socks[pe] >= 0;
    }
    ch_fd_close_all(&local->listener, 1);
    local->listener = -1;
    return CHORUS_OK;
}

/* The leader: receive the descriptors of the other PEs of the host, each at its index of
 * fds. */
static chorus_status collect_fds(struct ch_local *local, int fd, int *fds, uint64_t deadline_ns)
{
    const struct ch_boot *const boot = local->boot;

    if (local->listener >= 0) CH_TRY(accept_all_members(local, deadline_ns));
    CH_TRY(ch_fd_dup(fd, &fds[boot->me]));
    for (uint32_t pe = 0; pe < boot->n; pe++)
        if (local->socks[pe] >= 0)
            CH_TRY(ch_wire_recv_fds(local->socks[pe], 1, &fds[pe], deadline_ns));
    return CHORUS_OK;
}

/* The leader: send the descriptors to the other PEs. fds has those of all PEs, with -1 for
 * those of other hosts, since the numbers of a host's PEs need not be consecutive. */
static chorus_status send_all_fds(struct ch_local *local, const int *fds, uint64_t deadline_ns)
{
    const uint32_t n = local->boot->n;
    int *dense = calloc(local->n_near, sizeof(int));
    chorus_status status = CHORUS_OK;
    uint32_t k = 0;

    if (dense == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to pass descriptors");
    for (uint32_t pe = 0; pe < n; pe++)
        if (fds[pe] >= 0) dense[k++] = fds[pe];
    for (uint32_t pe = 0; pe < n && status == CHORUS_OK; pe++)
        if (local->socks[pe] >= 0)
            status = ch_wire_send_fds(local->socks[pe], k, dense, deadline_ns);
    free(dense);
    return status;
}

/* The part of the leader in ch_local_exchange. A failure closes all received descriptors. */
static chorus_status exchange_as_leader(struct ch_local *local, int fd, int *fds_out,
                                        uint64_t deadline_ns)
{
    chorus_status status = collect_fds(local, fd, fds_out, deadline_ns);

    if (status == CHORUS_OK) status = send_all_fds(local, fds_out, deadline_ns);
    if (status == CHORUS_OK) return CHORUS_OK;
    ch_fd_close_all(fds_out, local->boot->n);
    return status;
}

/* Connect to the leader, and send it the number of this PE. */
static chorus_status connect_leader(struct ch_local *local)
{
    struct sockaddr_un name;
    const socklen_t bytes = name_socket(&local->name, &name);
    const int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (sock >= 0 && connect(sock, (struct sockaddr *)&name, bytes) == 0 &&
        ch_is_peer_own_user(sock)) {
        local->socks[local->leader] = sock;
        return ch_wire_send(sock, &local->boot->me, sizeof(uint32_t), -1, 0);
    }
    if (sock >= 0) (void)close(sock);
    return CH_FAIL(CHORUS_ERR_SYSTEM,
                   "cannot reach PE %u, which is on this host, to pass descriptors: %s",
                   local->leader, strerror(errno));
}

/* The part of another PE: send fd to the leader, and receive those of all PEs of the host. */
static chorus_status exchange_as_member(struct ch_local *local, int fd, int *fds_out,
                                        uint64_t deadline_ns)
{
    const struct ch_boot *const boot = local->boot;
    const char byte = 0;
    uint32_t k = local->n_near;

    if (local->socks[local->leader] < 0) CH_TRY(connect_leader(local));
    CH_TRY(ch_wire_send(local->socks[local->leader], &byte, 1, fd, deadline_ns));
    CH_TRY(ch_wire_recv_fds(local->socks[local->leader], k, fds_out, deadline_ns));
    for (uint32_t pe = boot->n; pe-- > 0;)
        fds_out[pe] = ch_boot_is_near(boot, pe) ? fds_out[--k] : -1;
    return CHORUS_OK;
}

chorus_status ch_local_exchange(struct ch_local *local, int fd, int *fds_out,
                                uint64_t deadline_ns)
{
    struct ch_boot *const boot = (struct ch_boot *)(uintptr_t)local->boot;
    chorus_status status;

    if (local->is_broken)
        return CH_FAIL(CHORUS_ERR_ABORTED,
                       "exchange among all PEs: an earlier one failed half way");
    for (uint32_t pe = 0; pe < boot->n; pe++)
        fds_out[pe] = -1;
    if (local->leader == boot->me)
        status = exchange_as_leader(local, fd, fds_out, deadline_ns);
    else
        status = exchange_as_member(local, fd, fds_out, deadline_ns);
    if (status == CHORUS_OK) return CHORUS_OK;
    close_sockets(local);
    if (status == CHORUS_ERR_TIMEOUT)
        return CH_FAIL(status,
                       "exchange among all PEs: the PEs of this host did not all pass their "
                       "descriptors in time");
    if (status != CHORUS_ERR_ABORTED) return status;
    CH_TRY(boot->ops->serve(boot)); /* the reason of the job's end is the better message */
    return CH_FAIL(status,
                   "exchange among all PEs: a PE of this host gave up passing descriptors");
}

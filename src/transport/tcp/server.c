/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c: a thread that sends and receives the parts of one channel of each link.
 *
 * It holds its lock while it passes over its channels once, which takes one system call for
 * each channel and direction with work, of a bounded number of bytes. After some time without
 * work it sleeps until a part is posted, or a socket is ready for a part.
 */
#include "transport/tcp/tcp.h"

#include "base/clock.h"
#include "base/error.h"
#include "boot/place.h"
#include "boot/ways.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* Bytes of one system call. */
enum { STEP_BYTES = 256 << 10 };

/* Time without work before the thread sleeps: longer than what a collective computes between
 * two messages, since waking a thread takes tens of microseconds. */
#define SPIN_NS (200 * CH_NS_PER_US)

/* Has the channel a part to send? */
static bool has_out(const struct ch_tcp_channel *channel)
{
    return __atomic_load_n(&channel->out_end, __ATOMIC_SEQ_CST) !=
           __atomic_load_n(&channel->out_first, __ATOMIC_RELAXED);
}

/* Has the channel a part to receive? */
static bool has_in(const struct ch_tcp_channel *channel)
{
    return __atomic_load_n(&channel->in_end, __ATOMIC_SEQ_CST) !=
           __atomic_load_n(&channel->in_first, __ATOMIC_RELAXED);
}

/* Has the connection of the channel ended? */
static bool has_ended(const struct ch_tcp_channel *channel)
{
    return __atomic_load_n(&channel->error, __ATOMIC_RELAXED) != 0;
}

static void signal_eventfd(int fd)
{
    const uint64_t one = 1;

    if (write(fd, &one, sizeof(one)) < 0) return; /* the counter is full: nobody sleeps */
}

/* Inform the network that a part was sent or received, or that a channel has failed; wake its
 * thread if that sleeps. */
static void notify_network(const struct ch_tcp_server *server)
{
    (void)__atomic_add_fetch(&server->wake->steps, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&server->wake->is_watched, __ATOMIC_SEQ_CST))
        signal_eventfd(server->wake->fd);
}

/* Handle the error of a system call that has moved no byte: unless the call may be repeated,
 * the channel fails. False: it may be repeated once the socket is ready. */
static bool fail_unless_again(const struct ch_tcp_server *server,
                              struct ch_tcp_channel *channel, int error)
{
    if (error == EINTR) return true;
    if (error == EAGAIN) return false;
    __atomic_store_n(&channel->error, error, __ATOMIC_RELEASE);
    __atomic_store_n(&server->wake->has_failed, 1, __ATOMIC_RELEASE);
    notify_network(server);
    return true;
}

/* Receive bytes of the channel's part. False: none have arrived. */
static bool receive_some(const struct ch_tcp_server *server, struct ch_tcp_channel *channel)
{
    const size_t left = channel->in.bytes - channel->in_got;
    const ssize_t got = recv(channel->fd, channel->in.at + channel->in_got,
                             left < STEP_BYTES ? left : STEP_BYTES, MSG_DONTWAIT);

    if (got <= 0) return fail_unless_again(server, channel, got == 0 ? CH_TCP_CLOSED : errno);
    channel->in_got += (size_t)got;
    if ((size_t)got < left) return true;
    __atomic_store_n(&channel->in_first, channel->in_first + 1, __ATOMIC_RELEASE);
    notify_network(server);
    return true;
}

/* Send bytes of the channel's first part. False: the socket has no room. */
static bool send_some(const struct ch_tcp_server *server, struct ch_tcp_channel *channel)
{
    const struct ch_tcp_part *part = &channel->out[channel->out_first % CH_TCP_PARTS];
    const size_t left = part->bytes - channel->out_sent;
    const ssize_t taken =
        send(channel->fd, part->at + channel->out_sent, left < STEP_BYTES ? left : STEP_BYTES,
             MSG_NOSIGNAL | MSG_DONTWAIT);

    if (taken < 0) return fail_unless_again(server, channel, errno);
    channel->out_sent += (size_t)taken;
    if ((size_t)taken < left) return true;
    channel->out_sent = 0;
    __atomic_store_n(&channel->out_first, channel->out_first + 1, __ATOMIC_RELEASE);
    notify_network(server);
    return true;
}

/* Send and receive once on each channel that has parts. Returns whether anything was moved. */
static bool move_parts_once(struct ch_tcp_server *server)
{
    bool has_moved = false;

    while (__atomic_load_n(&server->n_queued, __ATOMIC_ACQUIRE) != 0)
        (void)sched_yield();
    (void)pthread_mutex_lock(&server->lock);
    for (uint32_t i = 0; i < server->n; i++) {
        struct ch_tcp_channel *channel = server->channels[i];

        if (!has_ended(channel) && has_in(channel)) has_moved |= receive_some(server, channel);
        if (!has_ended(channel) && has_out(channel)) has_moved |= send_some(server, channel);
    }
    (void)pthread_mutex_unlock(&server->lock);
    return has_moved;
}

/* List in server->polls the eventfd, and the sockets that must be ready for the next part.
 * Returns their number. */
static nfds_t gather_sockets(struct ch_tcp_server *server)
{
    nfds_t n = 0;

    server->polls[n++] = (struct pollfd){server->fd, POLLIN, 0};
    ch_tcp_server_lock(server);
    for (uint32_t i = 0; i < server->n; i++) {
        const struct ch_tcp_channel *channel = server->channels[i];
        const int in = has_in(channel) ? POLLIN : 0, out = has_out(channel) ? POLLOUT : 0;

        if ((in | out) != 0 && !has_ended(channel))
            server->polls[n++] = (struct pollfd){channel->fd, (short)(in | out), 0};
    }
    ch_tcp_server_unlock(server);
    return n;
}

/* Sleep until a part is posted, or a socket is ready for a part. A channel gets a part before
 * `is_asleep` is read, and that is set here before parts are looked for, so no part is
 * overlooked by both. */
static void sleep_until_ready(struct ch_tcp_server *server)
{
    uint64_t count;
    nfds_t n;

    __atomic_store_n(&server->is_asleep, 1, __ATOMIC_SEQ_CST);
    n = gather_sockets(server);
    if (!__atomic_load_n(&server->is_ending, __ATOMIC_ACQUIRE))
        (void)poll(server->polls, n, -1);
    __atomic_store_n(&server->is_asleep, 0, __ATOMIC_SEQ_CST);
    if (read(server->fd, &count, sizeof(count)) < 0) return; /* a socket is ready */
}

static void *server_main(void *arg)
{
    struct ch_tcp_server *server = arg;
    uint64_t moved_ns = ch_clock_ns();

    ch_log_name_pe((int)server->me);
    if (server->spare != NULL && ch_place_move_thread(server->spare) != 0)
        CH_LOG(INFO, "tcp: a thread for further connections shares the core of its PE");
    while (!__atomic_load_n(&server->is_ending, __ATOMIC_ACQUIRE)) {
        if (move_parts_once(server)) {
            moved_ns = ch_clock_ns();
        } else if (ch_clock_ns() - moved_ns < SPIN_NS) {
            (void)sched_yield(); /* to a PE, if it shares the core */
        } else {
            sleep_until_ready(server);
            moved_ns = ch_clock_ns();
        }
    }
    return NULL;
}

void ch_tcp_server_lock(struct ch_tcp_server *server)
{
    (void)__atomic_add_fetch(&server->n_queued, 1, __ATOMIC_ACQ_REL);
    (void)pthread_mutex_lock(&server->lock);
    (void)__atomic_sub_fetch(&server->n_queued, 1, __ATOMIC_ACQ_REL);
}

void ch_tcp_server_unlock(struct ch_tcp_server *server)
{
    (void)pthread_mutex_unlock(&server->lock);
}

bool ch_tcp_server_wake(struct ch_tcp_server *server)
{
    if (!__atomic_load_n(&server->is_asleep, __ATOMIC_SEQ_CST) ||
        !__atomic_exchange_n(&server->is_asleep, 0, __ATOMIC_SEQ_CST))
        return true;
    signal_eventfd(server->fd);
    return false;
}

void ch_tcp_server_add(struct ch_tcp_server *server, struct ch_tcp_channel *channel)
{
    ch_tcp_server_lock(server);
    server->channels[server->n++] = channel;
    ch_tcp_server_unlock(server);
}

/* A socket that a thread polls is closed only when poll returns. */
void ch_tcp_server_remove(struct ch_tcp_server *server, struct ch_tcp_channel *channel)
{
    ch_tcp_server_lock(server);
    for (uint32_t i = 0; i < server->n; i++)
        if (server->channels[i] == channel) server->channels[i] = server->channels[--server->n];
    ch_tcp_server_unlock(server);
    (void)ch_tcp_server_wake(server);
}

bool ch_tcp_server_start(struct ch_tcp_server *server, uint32_t most)
{
    server->channels = calloc(most, sizeof(struct ch_tcp_channel *));
    server->polls = calloc((size_t)most + 1, sizeof(*server->polls));
    server->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->channels != NULL && server->polls != NULL && server->fd >= 0) {
        (void)pthread_mutex_init(&server->lock, NULL);
        server->is_running = ch_thread_start(server_main, server, &server->thread) == CHORUS_OK;
        if (server->is_running) return true;
        ch_error_forget();
        (void)pthread_mutex_destroy(&server->lock);
    }
    if (server->fd >= 0) (void)close(server->fd);
    free(server->channels);
    free(server->polls);
    return false;
}

void ch_tcp_server_stop(struct ch_tcp_server *server)
{
    if (!server->is_running) return;
    __atomic_store_n(&server->is_ending, 1, __ATOMIC_RELEASE);
    signal_eventfd(server->fd);
    (void)pthread_join(server->thread, NULL);
    server->is_running = false;
    (void)pthread_mutex_destroy(&server->lock);
    (void)close(server->fd);
    free(server->channels);
    free(server->polls);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorusrun_outlet.c: standard output and standard error of chorusrun.
 *
 * A write blocks as long as nobody reads, and chorusrun must handle signals and deadlines
 * meanwhile. O_NONBLOCK would change the file for every process that shares it. Each outlet
 * therefore has a thread that writes; the main thread only queues, and stops reading from PEs
 * while the queue is full. The thread is started with the first byte, after the PEs.
 */
#include "chorusrun.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes in the queue, and bytes being written. */
enum { QUEUE_BYTES = 1 << 20 };

struct outlet {
    int fd, wake;
    const char *name;
    bool is_started,
        is_told; /* used by the main thread: there is a thread; its failure was handled */
    pthread_mutex_t lock;  /* guards the rest */
    pthread_cond_t filled; /* signalled when bytes_queued becomes more than 0 */
    char *queue;           /* QUEUE_BYTES long */
    char *leaving;         /* the same, read by the thread without the lock */
    size_t bytes_queued, bytes_leaving;
    int error; /* errno of the write that failed, after which nothing is taken; 0: none */
};

static struct outlet outlets[] = {
    {.fd = STDOUT_FILENO,
     .name = "standard output",
     .lock = PTHREAD_MUTEX_INITIALIZER,
     .filled = PTHREAD_COND_INITIALIZER},
    {.fd = STDERR_FILENO,
     .name = "standard error",
     .lock = PTHREAD_MUTEX_INITIALIZER,
     .filled = PTHREAD_COND_INITIALIZER},
};

/* As write(2), but also waits if another process made the file non-blocking. */
static ssize_t write_some(int fd, const char *data, size_t bytes)
{
    struct pollfd p = {fd, POLLOUT, 0};
    ssize_t n;

    while ((n = write(fd, data, bytes)) < 0 && (errno == EAGAIN || errno == EINTR))
        (void)poll(&p, 1, -1);
    return n;
}

/* Write bytes_leaving bytes. Called, and returns, with the lock. */
static void write_leaving(struct outlet *o)
{
    const char *at = o->leaving;

    while (o->bytes_leaving > 0 && o->error == 0) {
        const size_t bytes = o->bytes_leaving;
        ssize_t n;
        (void)pthread_mutex_unlock(&o->lock);
        n = write_some(o->fd, at, bytes);
        (void)pthread_mutex_lock(&o->lock);
        if (n < 0) {
            o->error = errno;
        } else {
            at += n;
            o->bytes_leaving -= (size_t)n;
        }
    }
}

static void *run_outlet(void *arg)
{
    const uint64_t one = 1;
    struct outlet *o = arg;

    (void)pthread_mutex_lock(&o->lock);
    while (o->error == 0) {
        char *filled = o->queue;
        while (o->bytes_queued == 0)
            (void)pthread_cond_wait(&o->filled, &o->lock);
        o->queue = o->leaving;
        o->leaving = filled;
        o->bytes_leaving = o->bytes_queued;
        o->bytes_queued = 0;
        write_leaving(o);
        if (write(o->wake, &one, sizeof(one)) < 0) break; /* the counter is far from full */
    }
    (void)pthread_mutex_unlock(&o->lock);
    return NULL;
}

/* Returns false if the system has no memory or thread left. */
static bool start_thread(struct outlet *o)
{
    sigset_t all, old;
    pthread_t thread;
    int rc;

    if (o->queue == NULL) o->queue = malloc(QUEUE_BYTES);
    if (o->leaving == NULL) o->leaving = malloc(QUEUE_BYTES);
    if (o->queue == NULL || o->leaving == NULL) return false;
    /* SIGPIPE included: the failed write reports it, and chorusrun must end the PEs first. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&thread, NULL, run_outlet, o);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc == 0 && pthread_detach(thread) == 0;
}

struct outlet *outlet_of(int fd, int wake)
{
    struct stat out, err;
    struct outlet *o = &outlets[fd == STDERR_FILENO];

    /* If both are one file, one queue keeps lines whole and in order. */
    if (fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
        out.st_dev == err.st_dev && out.st_ino == err.st_ino)
        o = &outlets[0];
    o->wake = wake;
    return o;
}

size_t outlet_room(struct outlet *o)
{
    size_t room;

    (void)pthread_mutex_lock(&o->lock);
    room = o->error != 0 ? QUEUE_BYTES : QUEUE_BYTES - o->bytes_queued;
    (void)pthread_mutex_unlock(&o->lock);
    return room;
}

void outlet_put(struct outlet *o, const void *data, size_t bytes)
{
    if (!o->is_started && !start_thread(o)) {
        /* In this case the message is more important than the risk that it blocks. */
        if (write_some(o->fd, data, bytes) < 0) o->error = errno;
        return;
    }
    o->is_started = true;
    (void)pthread_mutex_lock(&o->lock);
    if (o->error == 0 && bytes <= QUEUE_BYTES - o->bytes_queued) {
        if (o->bytes_queued == 0) (void)pthread_cond_signal(&o->filled);
        memcpy(o->queue + o->bytes_queued, data, bytes);
        o->bytes_queued += bytes;
    }
    (void)pthread_mutex_unlock(&o->lock);
}

size_t outlet_pending(struct outlet *o)
{
    size_t bytes;

    (void)pthread_mutex_lock(&o->lock);
    bytes = o->error != 0 ? 0 : o->bytes_queued + o->bytes_leaving;
    (void)pthread_mutex_unlock(&o->lock);
    return bytes;
}

int outlet_take_error(struct outlet *o)
{
    int error = 0;

    (void)pthread_mutex_lock(&o->lock);
    if (!o->is_told) error = o->error;
    (void)pthread_mutex_unlock(&o->lock);
    if (error != 0) o->is_told = true;
    return error;
}

const char *outlet_name(const struct outlet *o)
{
    return o->name;
}

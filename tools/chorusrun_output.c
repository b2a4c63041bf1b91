/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorusrun_output.c: lines of PEs with --tag, and messages of chorusrun.
 *
 * In each round of the main loop a stream is read once, up to a limited number of bytes, and
 * only while its outlet has space for all lines that these can contain. A PE that writes more
 * waits until its output is read. Neither such a PE nor a reader that stops reading keeps
 * chorusrun from handling signals and deadlines.
 */
#include "chorusrun_agent.h"
#include "chorusrun_front.h"

#include "base/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    LINE_MAX_BYTES = 64 * 1024, /* a longer line is forwarded in pieces, each as a line */
    READ_BYTES = 16 * 1024,
    TAG_BYTES = sizeof("[1023] ") - 1,
    MESSAGES_BYTES =
        64 * 1024, /* bytes of the queue that are kept for chorusrun's own messages */
    /* The largest number of bytes into which a read can turn, if it consists of newlines after
     * an unfinished line. */
    ROOM_BYTES = MESSAGES_BYTES + LINE_MAX_BYTES + READ_BYTES * (TAG_BYTES + 1)
};

/* Time limit for readers at the end, if the job must end soon, and again to report this. */
#define LAST_WAIT_NS (500 * CH_NS_PER_MS)
#define MESSAGE_NS (100 * CH_NS_PER_MS)

void output_open(struct job *job)
{
    job->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    job->out = outlet_of(STDOUT_FILENO, job->wake);
    job->err = outlet_of(STDERR_FILENO, job->wake);
}

void say(struct job *job, const char *format, ...)
{
    static const char name[] = "chorusrun: ";
    char line[sizeof(name) + 2 * CH_WIRE_REASON_BYTES];
    size_t used = sizeof(name) - 1;
    va_list args;

    memcpy(line, name, used);
    va_start(args, format);
    (void)vsnprintf(line + used, sizeof(line) - used - 1, format, args);
    va_end(args);
    used = strlen(line);
    line[used] = '\n';
    outlet_put(job->err, line, used + 1);
}

void stream_open(struct stream *stream, int fd, struct outlet *to)
{
    *stream = (struct stream){.fd = fd, .to = to, .bytes_left = SIZE_MAX};
    stream->room = malloc(TAG_BYTES + LINE_MAX_BYTES + 1);
    if (stream->room == NULL) {
        (void)fprintf(stderr, "chorusrun: no memory to forward output\n");
        exit(STATUS_CANNOT_RUN);
    }
}

/* Forward a line, which ends with its newline. Its tag is written in front of it, into the room
 * of a tag or over a line that was forwarded already. */
static void put_line(const struct stream *stream, uint32_t pe, char *line, size_t bytes)
{
    char tag[TAG_BYTES + 1];
    const size_t tag_bytes = (size_t)snprintf(tag, sizeof(tag), "[%u] ", pe);

    memcpy(line - tag_bytes, tag, tag_bytes);
    outlet_put(stream->to, line - tag_bytes, tag_bytes + bytes);
}

static void put_unfinished(struct stream *stream, uint32_t pe)
{
    char *line = stream->room + TAG_BYTES;

    if (stream->used == 0) return;
    line[stream->used] = '\n';
    put_line(stream, pe, line, stream->used + 1);
    stream->used = 0;
}

static void put_whole_lines(struct stream *stream, uint32_t pe)
{
    char *const first = stream->room + TAG_BYTES, *const end = first + stream->used;
    char *at = first, *newline;

    while ((newline = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        put_line(stream, pe, at, (size_t)(newline + 1 - at));
        at = newline + 1;
    }
    stream->used = (size_t)(end - at);
    memmove(first, at, stream->used);
    if (stream->used == LINE_MAX_BYTES) put_unfinished(stream, pe);
}

static void stream_close(struct stream *stream, uint32_t pe)
{
    if (stream->room == NULL) return;
    put_unfinished(stream, pe);
    if (stream->fd >= 0) (void)close(stream->fd);
    free(stream->room);
    *stream = (struct stream){.fd = -1};
}

/* An agent forwards its output to the front, which has granted credits for it. */
static bool has_room(const struct job *job, const struct stream *stream)
{
    if (job->agent != NULL) return agent_window(job->agent) > 0;
    return outlet_room(stream->to) >= ROOM_BYTES;
}

bool stream_has_room(const struct job *job, const struct stream *stream)
{
    return stream->fd >= 0 && has_room(job, stream);
}

/* A piece without bytes is the end of an agent's stream. */
static void stream_end(struct job *job, struct pe *pe, struct stream *stream)
{
    if (job->agent != NULL) agent_output(job, pe, stream == &pe->err, NULL, 0);
    stream_close(stream, pe->number);
}

/* New bytes are behind the used ones. */
static void stream_grew(struct job *job, struct pe *pe, struct stream *stream, size_t bytes)
{
    if (job->agent != NULL) {
        agent_output(job, pe, stream == &pe->err, stream->room + TAG_BYTES, bytes);
        return;
    }
    stream->used += bytes;
    put_whole_lines(stream, pe->number);
}

/* Returns false if there was no room. */
static bool stream_forward(struct job *job, struct pe *pe, struct stream *stream)
{
    size_t bytes = LINE_MAX_BYTES - stream->used;
    ssize_t n;

    if (!stream_has_room(job, stream)) return stream->fd < 0;
    if (bytes > READ_BYTES) bytes = READ_BYTES;
    if (bytes > stream->bytes_left) bytes = stream->bytes_left;
    if (job->agent != NULL && bytes > agent_window(job->agent))
        bytes = agent_window(job->agent);
    n = read(stream->fd, stream->room + TAG_BYTES + stream->used, bytes);
    if (n > 0) {
        if (stream->bytes_left != SIZE_MAX) stream->bytes_left -= (size_t)n;
        stream_grew(job, pe, stream, (size_t)n);
    } else if (n == 0 || stream->bytes_left != SIZE_MAX || errno != EAGAIN) {
        stream_end(job, pe, stream);
    }
    return true;
}

bool output_take(struct job *job, struct pe *pe, bool is_err, const char *data, size_t bytes)
{
    struct stream *stream = is_err ? &pe->err : &pe->out;
    struct outlet *to = is_err ? job->err : job->out;

    if (outlet_room(to) < ROOM_BYTES) return false;
    if (!job->args->is_tagged) {
        outlet_put(to, data, bytes);
        return true;
    }
    if (stream->room == NULL) stream_open(stream, -1, to);
    if (bytes == 0) put_unfinished(stream, pe->number);
    while (bytes > 0) {
        size_t here = LINE_MAX_BYTES - stream->used;
        if (here > bytes) here = bytes;
        memcpy(stream->room + TAG_BYTES + stream->used, data, here);
        stream_grew(job, pe, stream, here);
        data += here;
        bytes -= here;
    }
    return true;
}

void output_forward(struct job *job, const struct pollfd *fds)
{
    const uint32_t first = job->turn;
    bool is_refused = false;

    if (job->front != NULL) front_forward(job);
    for (uint32_t k = 0; k < job->n_started; k++) {
        const uint32_t i = (first + k) % job->n_started;
        struct pe *pe = &job->pes[i];
        bool is_done = true;

        if (fds == NULL || (pe->out_at != 0 && fds[pe->out_at].revents != 0))
            is_done = stream_forward(job, pe, &pe->out);
        if (fds == NULL || (pe->err_at != 0 && fds[pe->err_at].revents != 0))
            is_done = stream_forward(job, pe, &pe->err) && is_done;
        if (is_done || is_refused) continue;
        is_refused = true;
        job->turn = i; /* the PE for which there was no room is first next time */
    }
}

/* A process that a PE left behind may hold the pipe open, and continue to write. */
static void limit(struct stream *stream)
{
    int bytes = 0;

    if (stream->fd >= 0 && ioctl(stream->fd, FIONREAD, &bytes) == 0)
        stream->bytes_left = (size_t)bytes;
}

void output_finish(struct job *job)
{
    for (uint32_t i = 0; i < job->n_started; i++) {
        limit(&job->pes[i].out);
        limit(&job->pes[i].err);
    }
    if (job->is_hurried) job->give_up_at_ns = ch_clock_ns() + LAST_WAIT_NS;
}

static bool is_pending(const struct job *job, struct outlet *o)
{
    for (uint32_t i = 0; i < job->n_started; i++) {
        const struct pe *pe = &job->pes[i];
        if (pe->out.fd >= 0 && pe->out.to == o) return true;
        if (pe->err.fd >= 0 && pe->err.to == o) return true;
    }
    if (job->front != NULL && front_is_holding(job, o)) return true;
    return outlet_pending(o) > 0;
}

bool output_is_pending(const struct job *job)
{
    return is_pending(job, job->out) || is_pending(job, job->err);
}

void output_hurry(struct job *job)
{
    if (job->is_hurried) return;
    job->is_hurried = true;
    job->give_up_at_ns = ch_clock_ns() + LAST_WAIT_NS;
}

bool output_lost_reader(void)
{
    struct pollfd ends[] = {{STDOUT_FILENO, 0, 0}, {STDERR_FILENO, 0, 0}};

    return poll(ends, 2, 0) > 0 &&
           ((ends[0].revents | ends[1].revents) & (POLLERR | POLLHUP)) != 0;
}

static void check_outlet(struct job *job, struct outlet *o)
{
    const int error = outlet_take_error(o);

    if (error == EPIPE)
        job_end(job, STATUS_SIGNAL + SIGPIPE, "the reader of %s has closed it; ending the job",
                outlet_name(o));
    else if (error != 0)
        job_end(job, STATUS_CANNOT_WRITE, "cannot write to %s: %s; ending the job",
                outlet_name(o), strerror(error));
}

void output_check(struct job *job)
{
    uint64_t count;

    /* The counter has no meaning; reading it lets poll sleep again. */
    if (read(job->wake, &count, sizeof(count)) < 0 && errno != EAGAIN) return;
    check_outlet(job, job->out);
    check_outlet(job, job->err);
}

static void give_up(struct job *job, const struct outlet *o)
{
    if (job->is_ending)
        say(job, "no process reads %s: the last output is lost", outlet_name(o));
    else
        job_end(job, STATUS_CANNOT_WRITE, "no process reads %s: the last output is lost",
                outlet_name(o));
}

void output_close(struct job *job)
{
    const uint64_t until_ns = ch_clock_ns() + MESSAGE_NS;
    struct pollfd p = {job->wake, POLLIN, 0};
    bool is_out_lost, is_err_lost;

    output_check(job);
    is_out_lost = is_pending(job, job->out);
    is_err_lost = is_pending(job, job->err);
    if (is_out_lost) give_up(job, job->out);
    if (is_err_lost && job->err != job->out) give_up(job, job->err);
    for (uint32_t i = 0; i < job->n_started; i++) {
        stream_close(&job->pes[i].out, job->pes[i].number);
        stream_close(&job->pes[i].err, job->pes[i].number);
    }
    while (outlet_pending(job->err) > 0 && ch_clock_ns() < until_ns) {
        (void)poll(&p, 1, MESSAGE_NS / CH_NS_PER_MS);
        output_check(job);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* chorusrun_talk.c: messages of the front to an agent, and from it. */
#include "chorusrun_front.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_BYTES = 16 * 1024 };

static const char wrong_frame[] =
    "its agent sent a message that no agent of this version sends";

void host_fail(struct job *job, const struct host *host, const char *what)
{
    job_end(job, STATUS_CANNOT_RUN, "host %s: %s", host->name, what);
}

void host_flush(struct host *host)
{
    while (host->in >= 0 && buffer_bytes(&host->to) > 0)
        if (buffer_write(&host->to, host->in) < 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN) return;
            (void)close(host->in); /* its launcher has ended, and is judged by its status */
            host->in = -1;
        }
}

/* The agents that share the cores of this host, and the position of its own PEs among
 * theirs. */
static void find_place(const struct front *front, const struct host *host, struct order *out)
{
    for (uint32_t i = 0; i < front->n_hosts; i++) {
        const struct host *other = &front->hosts[i];
        if (strcmp(other->cores, host->cores) != 0) continue;
        out->n_beside += other->n_pes;
        if (other < host) out->place += other->n_pes;
    }
}

/* "NAME=VALUE" for each variable that is passed to PEs on hosts; the caller frees the list. */
static const char **list_variables(const struct args *args, uint32_t *n_out)
{
    static const char own[] = "CHORUS_";
    const char **list;
    uint32_t n = 0;

    while (environ[n] != NULL)
        n++;
    list = calloc(n + 1, sizeof(*list));
    *n_out = 0;
    for (char **at = environ; list != NULL && *at != NULL; at++) {
        const size_t bytes = strcspn(*at, "=");
        bool is_asked = strncmp(*at, own, sizeof(own) - 1) == 0;
        for (uint32_t i = 0; i < args->n_exports; i++)
            if (strcspn(args->exports[i], "=") == bytes &&
                strncmp(args->exports[i], *at, bytes) == 0)
                is_asked = true;
        if (is_asked) list[(*n_out)++] = *at;
    }
    return list;
}

static void begin(struct job *job)
{
    struct front *front = job->front;
    char *folder = getcwd(NULL, 0);
    struct order order = {.n = job->args->n,
                          .root = root_addresses(job),
                          .secret = root_secret(job),
                          .folder = folder,
                          .keeps_records = job->args->record != NULL,
                          .command = (const char *const *)job->args->command};

    if (folder == NULL) {
        job_end(job, STATUS_CANNOT_RUN, "cannot find the working directory, for hosts: %s",
                strerror(errno));
        return;
    }
    order.variables = list_variables(job->args, &order.n_variables);
    for (uint32_t i = 0; i < front->n_hosts; i++) {
        struct host *host = &front->hosts[i];
        order.host = host->name;
        order.first = host->first;
        order.n_pes = host->n_pes;
        order.n_beside = order.place = 0;
        find_place(front, host, &order);
        order_put(&host->to, &order);
        host_flush(host);
    }
    front->has_begun = true;
    free((void *)(uintptr_t)order.variables);
    free(folder);
}

void front_begin(struct job *job)
{
    const struct front *front = job->front;

    if (front->has_begun || job->is_ending) return;
    for (uint32_t i = 0; i < front->n_hosts; i++)
        if (!front->hosts[i].is_ready) return;
    begin(job);
}

/* Skip output of a shell, up to the agent's greeting. Returns false while that has not
 * arrived. */
static bool take_hello(struct job *job, struct host *host)
{
    struct buffer *b = &host->from;
    char version[32];
    char *at, *end;

    buffer_put(b, "", 1); /* a null byte, temporarily: no greeting contains one */
    b->used--;
    at = strstr(b->data + b->at, AGENT_HELLO);
    end = at == NULL ? NULL : strchr(at, '\n');
    if (end == NULL) {
        if (buffer_bytes(b) > HELLO_BYTES_MAX)
            host_fail(job, host,
                      "64 KiB were received from there, and no greeting of an agent");
        return false;
    }
    if (sscanf(at, AGENT_HELLO "%31s %255s", version, host->cores) != 2)
        (void)snprintf(version, sizeof(version), "unknown");
    if (strcmp(version, CHORUS_VERSION) != 0)
        job_end(job, STATUS_CANNOT_RUN,
                "host %s has chorusrun %s and this is %s; install one version on all hosts",
                host->name, version, CHORUS_VERSION);
    buffer_skip(b, (size_t)(end + 1 - (b->data + b->at)));
    host->is_ready = true;
    return true;
}

static void take_frame(struct job *job, struct host *host, const struct frame *frame,
                       const char *bytes)
{
    char text[CH_WIRE_REASON_BYTES];
    const bool is_of_pe = frame->kind <= FRAME_RECORD;

    if (frame->kind == 0 ||
        (frame->kind == FRAME_RECORD && !where_can_be(bytes, frame->bytes)) ||
        frame->kind > FRAME_PONG ||
        (is_of_pe && (frame->pe < host->first || frame->pe - host->first >= host->n_pes))) {
        host_fail(job, host, wrong_frame);
        return;
    }
    (void)snprintf(text, sizeof(text), "%.*s", (int)frame->bytes, bytes);
    host->is_heard = true;
    host->n_unanswered = 0;
    if (frame->kind < NEWS_COUNT)
        job_hear(job, &job->pes[frame->pe],
                 &(struct news){(enum news_kind)frame->kind, frame->value, text});
    else if (frame->kind == FRAME_RECORD)
        where_take(&job->pes[frame->pe], bytes);
    else if (is_of_pe)
        frame_put(&host->held, *frame, bytes);
    else if (frame->kind == FRAME_END)
        job_end(job, frame->value, "host %s: %s", host->name, text);
    else if (frame->kind == FRAME_TAKEN)
        job->front->input_window += (size_t)frame->value;
}

/* Handle a message of the agent. Returns false when there are no more now. */
bool host_hear_agent(struct job *job, struct host *host)
{
    const ssize_t n = buffer_read(&host->from, host->out);
    enum frame_state state = FRAME_PART;
    struct frame frame;
    const char *bytes;

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (host->is_ready || take_hello(job, host))
        while ((state = frame_take(&host->from, &frame, &bytes)) == FRAME_WHOLE)
            take_frame(job, host, &frame, bytes);
    if (state == FRAME_FAULT) host_fail(job, host, wrong_frame);
    if (n > 0 && state != FRAME_FAULT) return true;
    (void)close(host->out);
    host->out = -1;
    return false;
}

/* Forward a piece of output for which outlets have room. */
static bool forward_one(struct job *job, struct host *host)
{
    const size_t at = host->held.at;
    struct frame frame;
    const char *bytes;

    if (frame_take(&host->held, &frame, &bytes) != FRAME_WHOLE) return false;
    if (!output_take(job, &job->pes[frame.pe], frame.kind == FRAME_ERR, bytes, frame.bytes)) {
        host->held.at = at;
        job->front->turn = (uint32_t)(host - job->front->hosts);
        return false;
    }
    if (frame.bytes > 0 && !host->is_over)
        frame_put(&host->to, (struct frame){FRAME_CREDIT, 0, (int32_t)frame.bytes, 0}, NULL);
    return true;
}

void front_forward(struct job *job)
{
    struct front *front = job->front;
    const uint32_t first = front->turn;

    for (uint32_t k = 0; k < front->n_hosts; k++) {
        struct host *host = &front->hosts[(first + k) % front->n_hosts];
        while (forward_one(job, host))
            continue;
        host_flush(host);
    }
}

bool front_is_holding(const struct job *job, const struct outlet *to)
{
    for (uint32_t i = 0; i < job->front->n_hosts; i++) {
        const struct buffer *held = &job->front->hosts[i].held;
        struct frame next;
        if (buffer_bytes(held) < sizeof(next)) continue;
        memcpy(&next, held->data + held->at, sizeof(next));
        if ((next.kind == FRAME_ERR ? job->err : job->out) == to) return true;
    }
    return false;
}

void front_read_input(struct front *front)
{
    char bytes[INPUT_BYTES];
    const size_t room = front->input_window < INPUT_BYTES ? front->input_window : INPUT_BYTES;
    const ssize_t n = read(STDIN_FILENO, bytes, room);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    front->is_input_over = n <= 0;
    if (n > 0) front->input_window -= (size_t)n;
    frame_put(&front->hosts[0].to, (struct frame){FRAME_IN, 0, 0, n > 0 ? (uint32_t)n : 0},
              bytes);
    host_flush(&front->hosts[0]);
}

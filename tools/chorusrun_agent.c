/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorusrun_agent.c: chorusrun on one of several hosts. It starts the PEs that the front
 * orders. It ends them when the front orders this, has ended, or has sent nothing for a long
 * time.
 */
#include "chorusrun_agent.h"

#include "base/clock.h"
#include "base/option.h"
#include "base/record.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The front sends a message every second. If none has arrived for this time and
 * CHORUS_LINK_TIMEOUT, the front is treated as lost, even if the connection has not ended; this
 * time is longer than a user stops a front for a moment. */
#define SILENCE_NS (30 * CH_NS_PER_S)

enum { NODE_BYTES_MAX = 64 }; /* of CHORUS_NODE, with the null byte */

struct agent {
    struct buffer in; /* the bytes received from the front */
    char *order_bytes;
    struct order order;
    char *root; /* its addresses, the one that answered first in front; null: not needed yet */
    bool has_front; /* its end was not detected */
    uint64_t heard_at_ns;
    uint64_t link_ns;   /* CHORUS_LINK_TIMEOUT */
    size_t window;      /* of output */
    struct buffer held; /* input for PE 0 */
    int input;          /* pipe to PE 0; -1: PE 0 is on another host, or reads no more */
    bool is_input_over;
    uint32_t n_records;     /* of its PEs, that the front was sent */
    nfds_t in_at, input_at; /* indices among the descriptors of poll; 0: not watched */
};

/* The id of the kernel's boot, and the cores that this process may use: agents for which
 * both are equal share cores. */
static void say_hello(void)
{
    char boot[64] = "", mask[CPU_SETSIZE / 4 + 1];
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    size_t used = 0;
    cpu_set_t set;

    if (file != NULL) {
        if (fscanf(file, "%63s", boot) != 1) boot[0] = '\0';
        (void)fclose(file);
    }
    CPU_ZERO(&set);
    (void)sched_getaffinity(0, sizeof(set), &set);
    for (int cpu = CPU_SETSIZE - 4; cpu >= 0; cpu -= 4) {
        int digit = 0;
        for (int i = 0; i < 4; i++)
            if (CPU_ISSET((size_t)(cpu + i), &set)) digit |= 1 << i;
        if (used > 0 || digit != 0) mask[used++] = "0123456789abcdef"[digit];
    }
    mask[used] = '\0';
    (void)printf(AGENT_HELLO CHORUS_VERSION " %s:%s\n", boot, mask);
    (void)fflush(stdout);
}

static void give_up(const char *why)
{
    (void)fprintf(stderr, "chorusrun: %s\n", why);
    exit(STATUS_CANNOT_RUN);
}

/* Receive the order, before there are PEs and any other work. */
static void await_order(struct agent *agent)
{
    struct pollfd p = {STDIN_FILENO, POLLIN, 0};
    enum frame_state state = FRAME_PART;
    const char *bytes = NULL;
    struct frame frame = {0};

    while (state != FRAME_WHOLE || frame.kind != FRAME_ORDER) {
        state = frame_take(&agent->in, &frame, &bytes);
        if (state == FRAME_FAULT) break;
        if (state == FRAME_WHOLE && frame.kind == FRAME_STOP) exit(0);
        if (state == FRAME_WHOLE) continue;
        if (poll(&p, 1, (int)(SILENCE_NS / CH_NS_PER_MS)) == 0)
            give_up("no message came from the chorusrun that started this agent");
        if (buffer_read(&agent->in, STDIN_FILENO) == 0)
            exit(0); /* the front ended before the job began */
    }
    agent->order_bytes = malloc(frame.bytes);
    if (state == FRAME_FAULT || agent->order_bytes == NULL)
        give_up("an agent is started by another chorusrun, with --hosts");
    memcpy(agent->order_bytes, bytes, frame.bytes);
    if (!order_read(agent->order_bytes, frame.bytes, &agent->order))
        give_up(
            "the chorusrun that started this agent sent a message that it does not understand");
}

struct agent *agent_open(struct args *args, struct share *share_out)
{
    struct agent *agent = calloc(1, sizeof(*agent));

    if (agent == NULL) give_up("no memory for an agent");
    *agent = (struct agent){.input = -1, .has_front = true, .window = OUTPUT_WINDOW};
    (void)signal(SIGPIPE, SIG_IGN); /* PE 0 may close its input, and the front may end */
    say_hello();
    await_order(agent);
    agent->heard_at_ns = ch_clock_ns();
    args->n = agent->order.n;
    args->is_tagged = true;                                   /* PEs write to pipes */
    args->command = (char **)(uintptr_t)agent->order.command; /* exec does not change this */
    *share_out = (struct share){.first = agent->order.first,
                                .n_pes = agent->order.n_pes,
                                .n_beside = agent->order.n_beside,
                                .place = agent->order.place,
                                .root = agent->order.root,
                                .secret = agent->order.secret,
                                .input = -1};
    return agent;
}

void agent_close(struct agent *agent)
{
    if (agent == NULL) return;
    free((void *)(uintptr_t)agent->order.variables);
    free(agent->order_bytes);
    free(agent->root);
    buffer_free(&agent->in);
    buffer_free(&agent->held);
    free(agent);
}

/* The PEs of one host share memory, and messages name the host as the user wrote it; the
 * user may set both otherwise. A name that is too long for the library is omitted. */
static void name_host(const char *host)
{
    if (getenv(ch_variable_name(CH_VARIABLE_NODES)) != NULL || strlen(host) >= NODE_BYTES_MAX)
        return;
    (void)setenv(ch_variable_name(CH_VARIABLE_NODE), host, 0);
}

static bool take_variables(struct job *job, const struct order *order)
{
    for (uint32_t i = 0; i < order->n_variables; i++) {
        const char *const given = order->variables[i];
        char *name = strdup(given), *equals;
        bool is_set = false;

        equals = name == NULL ? NULL : strchr(name, '=');
        if (equals != NULL) {
            *equals = '\0';
            is_set = setenv(name, equals + 1, 1) == 0;
        }
        free(name);
        if (is_set) continue;
        job_end(job, STATUS_CANNOT_RUN, "cannot set the variable \"%s\"",
                ch_variable_shown(given, given));
        return false;
    }
    return true;
}

/* Non-blocking on this side: PE 0 must not stop the agent by not reading. */
static bool open_input(struct job *job, struct share *share)
{
    int ends[2];

    if (share->first != 0) return true;
    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0) {
        job_end(job, STATUS_CANNOT_RUN, "cannot make a pipe: %s", strerror(errno));
        return false;
    }
    share->input = ends[0];
    job->agent->input = ends[1];
    return true;
}

bool agent_begin(struct job *job, struct share *share)
{
    const struct order *order = &job->agent->order;
    char why[CH_WIRE_REASON_BYTES];

    struct ch_options options;

    if (!take_variables(job, order)) return false;
    if (ch_options_read(&options) == CHORUS_OK) job->agent->link_ns = options.link_ns;
    name_host(order->host);
    if (chdir(order->folder) != 0) {
        job_end(job, STATUS_CANNOT_RUN, "cannot enter the working directory %s: %s",
                order->folder, strerror(errno));
        return false;
    }
    if (order->root[0] == '\0') return open_input(job, share);
    share->root = job->agent->root = reach_root(order->root, why);
    if (share->root == NULL) {
        job_end(job, STATUS_CANNOT_RUN, "%s", why);
        return false;
    }
    return open_input(job, share);
}

static void tell(struct outlet *out, struct frame frame, const void *bytes)
{
    struct buffer b = {0};

    frame_put(&b, frame, bytes);
    outlet_put(out, b.data, b.used);
    buffer_free(&b);
}

void agent_tell(struct job *job, const struct pe *pe, const struct news *news)
{
    tell(job->out,
         (struct frame){news->kind, pe->number, news->value, (uint32_t)strlen(news->text)},
         news->text);
}

void agent_tell_end(struct job *job, int status, const char *reason)
{
    tell(job->out, (struct frame){FRAME_END, 0, status, (uint32_t)strlen(reason)}, reason);
}

size_t agent_window(const struct agent *agent)
{
    return agent->window;
}

void agent_output(struct job *job, const struct pe *pe, bool is_err, const void *data,
                  size_t bytes)
{
    job->agent->window -= bytes;
    tell(job->out,
         (struct frame){is_err ? FRAME_ERR : FRAME_OUT, pe->number, 0, (uint32_t)bytes}, data);
}

void agent_record(struct job *job, const struct pe *pe, const struct ch_record *record)
{
    tell(job->out, (struct frame){FRAME_RECORD, pe->number, 0, sizeof(*record)}, record);
}

bool agent_has_records(const struct job *job)
{
    const struct agent *agent = job->agent;

    return agent->order.keeps_records != 0 && agent->has_front &&
           agent->n_records < job->n_started;
}

/* When PEs end, or have ended; as far as there is room, which is kept for other frames, too. */
static void send_records(struct job *job)
{
    if (!job->is_ending && job->n_alive > 0) return;
    while (agent_has_records(job) &&
           outlet_room(job->out) > 2 * OUTPUT_WINDOW + sizeof(struct ch_record))
        where_send(job, &job->pes[job->agent->n_records++]);
}

/* No front will decide when to end. */
static void lose_front(struct job *job)
{
    job->agent->has_front = false;
    output_hurry(job);
    job_end(job, STATUS_NOT_LEFT, NULL);
}

static void obey(struct job *job, const struct frame *frame, const char *bytes)
{
    struct agent *agent = job->agent;

    switch (frame->kind) {
    case FRAME_SIGNAL:
        signal_all(job, frame->value);
        return;
    case FRAME_WHERE:
        where_say(job);
        return;
    case FRAME_PING:
        tell(job->out, (struct frame){.kind = FRAME_PONG}, NULL);
        return;
    case FRAME_STOP:
        job_name_stopped(job);
        job_end(job, 0, NULL);
        return;
    case FRAME_IN:
        if (frame->bytes == 0) agent->is_input_over = true;
        buffer_put(&agent->held, bytes, frame->bytes);
        return;
    case FRAME_CREDIT:
        agent->window += (size_t)frame->value;
        return;
    default:
        return;
    }
}

static void hear_front(struct job *job)
{
    struct agent *agent = job->agent;
    const ssize_t n = buffer_read(&agent->in, STDIN_FILENO);
    enum frame_state state;
    struct frame frame;
    const char *bytes;

    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    agent->heard_at_ns = ch_clock_ns();
    while ((state = frame_take(&agent->in, &frame, &bytes)) == FRAME_WHOLE)
        obey(job, &frame, bytes);
    if (n <= 0 || state == FRAME_FAULT) lose_front(job);
}

/* Input that PE 0 does not read, because it has closed it, is discarded. */
static void write_input(struct job *job)
{
    struct agent *agent = job->agent;
    const size_t before = buffer_bytes(&agent->held);

    if (agent->input >= 0 && before > 0 && buffer_write(&agent->held, agent->input) < 0 &&
        errno != EAGAIN && errno != EINTR) {
        (void)close(agent->input);
        agent->input = -1;
    }
    if (agent->input < 0) buffer_skip(&agent->held, buffer_bytes(&agent->held));
    if (before > buffer_bytes(&agent->held))
        tell(job->out,
             (struct frame){FRAME_TAKEN, 0, (int32_t)(before - buffer_bytes(&agent->held)), 0},
             NULL);
    if (buffer_bytes(&agent->held) > 0 || !agent->is_input_over || agent->input < 0) return;
    (void)close(agent->input);
    agent->input = -1;
}

void agent_watch(struct agent *agent, struct pollfd *fds, nfds_t *n)
{
    const bool has_input = agent->input >= 0 && buffer_bytes(&agent->held) > 0;

    agent->in_at = watch_one(fds, n, agent->has_front ? STDIN_FILENO : -1, POLLIN);
    agent->input_at = watch_one(fds, n, has_input ? agent->input : -1, POLLOUT);
}

void agent_serve(struct job *job, const struct pollfd *fds)
{
    const struct agent *agent = job->agent;

    if (agent->in_at != 0 && fds[agent->in_at].revents != 0) hear_front(job);
    write_input(job);
}

uint64_t agent_due(const struct agent *agent)
{
    return agent->has_front ? agent->heard_at_ns + SILENCE_NS + agent->link_ns : UINT64_MAX;
}

void agent_do_due(struct job *job)
{
    if (agent_due(job->agent) <= ch_clock_ns()) lose_front(job);
    send_records(job);
}

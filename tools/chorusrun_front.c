/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorusrun_front.c: the job in the front. No PE starts before all agents have reported, so
 * faults of a host are found before anything runs.
 */
#include "chorusrun_front.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/option.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Time limit for the greeting of agents, and time between two pings. */
#define READY_NS (30 * CH_NS_PER_S)
#define PING_NS CH_NS_PER_S

/* Time that PEs that fail have until other PEs are known as the cause. */
#define DECIDE_NS (100 * CH_NS_PER_MS)

/* An agent does not answer for a PE whose NEWS_DID it has sent, which may arrive after the
 * question was sent. */
bool front_awaits(const struct job *job, const struct pe *pe)
{
    return job->front != NULL && job->front->has_asked && !pe->is_told;
}

bool front_is_open(const struct front *front)
{
    for (uint32_t i = 0; i < front->n_hosts; i++)
        if (!front->hosts[i].is_over) return true;
    return false;
}

static void make_host(struct job *job, struct host *host, const struct place *place,
                      uint32_t first)
{
    *host =
        (struct host){.first = first, .n_pes = place->n_pes, .in = -1, .out = -1, .err = -1};
    host->name = strndup(place->name, (size_t)place->name_bytes);
    if (host->name == NULL) job_end(job, STATUS_CANNOT_RUN, "no memory for a host's name");
    for (uint32_t i = first; i < first + place->n_pes; i++)
        job->pes[i].host = host->name;
    host->is_over = true; /* until it is launched */
}

/* PEs have CHORUS_TIMEOUT for an answer. The connection to an agent is that of ssh, which may
 * continue as late after an interruption as that was long. */
static uint64_t silent_pings(void)
{
    struct ch_options options;
    uint64_t silent_ns;

    if (ch_options_read(&options) != CHORUS_OK || options.timeout_ns == 0)
        return 0; /* PEs report an option that is wrong */
    silent_ns = ch_silence_limit_ns(options.link_ns) + options.link_ns;
    if (options.timeout_ns > silent_ns) silent_ns = options.timeout_ns;
    return (silent_ns + PING_NS - 1) / PING_NS;
}

void front_open(struct job *job, const sigset_t *mask)
{
    const struct args *args = job->args;
    struct front *front = job->front;
    uint32_t first = 0;

    front->n_hosts = args->n_hosts;
    front->hosts = calloc(args->n_hosts, sizeof(*front->hosts));
    if (front->hosts == NULL) {
        front->n_hosts = 0;
        job_end(job, STATUS_CANNOT_RUN, "no memory for %u hosts", args->n_hosts);
        return;
    }
    front->ready_by_ns = ch_clock_ns() + READY_NS;
    front->input_window = INPUT_WINDOW;
    front->silent_pings = silent_pings();
    job->n_started = args->n;
    for (uint32_t i = 0; i < args->n_hosts; i++) {
        make_host(job, &front->hosts[i], &args->hosts[i], first);
        first += args->hosts[i].n_pes;
    }
    root_open(job);
    /* A write finds that a reader has gone; the terminal stops only the front. */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGTSTP, SIG_IGN);
    for (uint32_t i = 0; i < front->n_hosts && !job->is_ending; i++)
        front->hosts[i].is_over = !host_launch(job, &front->hosts[i], mask);
}

static void host_close(struct host *host)
{
    if (host->in >= 0) (void)close(host->in);
    if (host->out >= 0) (void)close(host->out);
    if (host->err >= 0) (void)close(host->err);
    buffer_free(&host->to);
    buffer_free(&host->from);
    buffer_free(&host->held);
    buffer_free(&host->said);
    free(host->name);
}

void front_close(struct job *job)
{
    struct front *front = job->front;

    if (front == NULL) return;
    root_close(job);
    for (uint32_t i = 0; i < front->n_hosts; i++)
        host_close(&front->hosts[i]);
    free(front->hosts);
}

static void send_to_all(struct front *front, uint32_t kind, int32_t value)
{
    for (uint32_t i = 0; i < front->n_hosts; i++) {
        struct host *host = &front->hosts[i];
        if (host->is_over) continue;
        frame_put(&host->to, (struct frame){kind, 0, value, 0}, NULL);
        host_flush(host);
    }
}

void front_signal(struct front *front, int signo)
{
    if (signo != SIGKILL) {
        send_to_all(front, FRAME_SIGNAL, signo);
        return;
    }
    for (uint32_t i = 0; i < front->n_hosts; i++)
        if (!front->hosts[i].is_over) (void)kill(-front->hosts[i].launcher, SIGKILL);
}

void front_ask(struct job *job)
{
    struct who w;

    job->front->has_asked = true;
    for (uint32_t i = 0; i < job->n_started; i++) {
        struct pe *pe = &job->pes[i];
        pe->is_told = pe->did != NULL;
        if (pe->is_told) say(job, "  %s %s", who(pe, &w), pe->did);
    }
    send_to_all(job->front, FRAME_WHERE, 0);
}

void front_end(struct job *job, int status, const char *reason)
{
    struct front *front = job->front;

    front_ask(job); /* before PEs learn of the end */
    root_abort(job, status, reason);
    send_to_all(front, FRAME_STOP, 0);
    for (uint32_t i = 0; i < front->n_hosts; i++) {
        struct host *host = &front->hosts[i];
        /* A launcher that has not found its host does not read its input. */
        if (!host->is_over && !host->is_ready) (void)kill(-host->launcher, SIGTERM);
    }
}

void front_fail_start(struct job *job, const char *reason)
{
    root_abort(job, STATUS_NOT_LEFT, reason);
}

const char *front_missing(const struct front *front)
{
    for (uint32_t i = 0; i < front->n_hosts; i++)
        if (!front->hosts[i].is_ready) return front->hosts[i].name;
    return NULL;
}

bool front_ends_early(struct job *job, int signo)
{
    if (job->front == NULL || job->front->has_begun) return false;
    job_end(job, STATUS_SIGNAL + signo, "signal %d (%s) came before the job began", signo,
            strsignal(signo));
    return true;
}

void front_watch(struct job *job, struct pollfd *fds, nfds_t *n)
{
    struct front *front = job->front;
    const bool takes_input =
        !front->is_input_over && front->input_window > 0 && job->pes[0].is_alive;

    front->input_at = watch_one(fds, n, takes_input ? STDIN_FILENO : -1, POLLIN);
    root_watch(job, fds, n);
    for (uint32_t i = 0; i < front->n_hosts; i++) {
        struct host *host = &front->hosts[i];
        host->in_at = watch_one(fds, n, buffer_bytes(&host->to) > 0 ? host->in : -1, POLLOUT);
        host->out_at = watch_one(fds, n, host->out, POLLIN);
        host->err_at = watch_one(fds, n, host->err, POLLIN);
    }
}

void front_serve(struct job *job, const struct pollfd *fds)
{
    struct front *front = job->front;

    root_serve(job, fds);
    if (front->input_at != 0 && fds[front->input_at].revents != 0) front_read_input(front);
    for (uint32_t i = 0; i < front->n_hosts; i++) {
        struct host *host = &front->hosts[i];
        if (host->in_at != 0 && fds[host->in_at].revents != 0) host_flush(host);
        if (host->err_at != 0 && fds[host->err_at].revents != 0) host_hear_launcher(job, host);
        if (host->out_at != 0 && fds[host->out_at].revents != 0)
            (void)host_hear_agent(job, host);
    }
    front_begin(job);
}

/* Its last output is read before its exit is judged; a child of it may hold the pipes open. */
static void end_host(struct job *job, struct host *host, int wait_status)
{
    while (host->out >= 0 && host_hear_agent(job, host))
        continue;
    if (host->err >= 0) host_hear_launcher(job, host);
    if (host->in >= 0) (void)close(host->in);
    if (host->out >= 0) (void)close(host->out);
    if (host->err >= 0) (void)close(host->err);
    host->in = host->out = host->err = -1;
    host_judge(job, host, wait_status);
}

void front_reap(struct job *job)
{
    struct front *front = job->front;
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (uint32_t i = 0; i < front->n_hosts; i++)
            if (!front->hosts[i].is_over && front->hosts[i].launcher == pid)
                end_host(job, &front->hosts[i], status);
}

void front_suspect(struct job *job, const struct pe *pe)
{
    struct front *front = job->front;

    if (front->suspect != NULL || job->is_ending) return;
    front->suspect = pe;
    front->decide_at_ns = ch_clock_ns() + DECIDE_NS;
}

/* By now it is known whether a PE was killed or a host lost, either of which ends the job at
 * once. The tree knows which PE it lost first, among those that failed. */
static void decide(struct job *job)
{
    const struct pe *suspect = job->front->suspect;

    job->front->suspect = NULL;
    if (!root_judge(job)) job_judge_late(job, suspect);
}

void front_settle(struct job *job)
{
    if (job->front != NULL && job->front->suspect != NULL) decide(job);
}

/* Before its first frame, an agent connects to the front, and does not serve its input. */
static uint64_t silent_pings_of(const struct front *front, const struct host *host)
{
    const uint64_t to_begin = READY_NS / PING_NS;

    return host->is_heard || front->silent_pings > to_begin ? front->silent_pings : to_begin;
}

/* The time of pings counts and not that of the clock, since the front itself may have been
 * stopped. */
static void ping(struct job *job)
{
    struct front *front = job->front;

    send_to_all(front, FRAME_PING, 0);
    for (uint32_t i = 0; i < front->n_hosts; i++) {
        struct host *host = &front->hosts[i];
        if (host->is_over || !front->has_begun || front->silent_pings == 0) continue;
        if (host->n_unanswered++ < silent_pings_of(front, host)) continue;
        job_end(
            job, STATUS_NOT_LEFT,
            "host %s: its chorusrun has not answered for %u s; is it stopped? ending the job",
            host->name, host->n_unanswered - 1);
    }
}

uint64_t front_due(const struct front *front)
{
    uint64_t due = root_due(front);

    if (front->ping_at_ns < due) due = front->ping_at_ns;
    if (!front->has_begun && front->ready_by_ns < due) due = front->ready_by_ns;
    if (front->suspect != NULL && front->decide_at_ns < due) due = front->decide_at_ns;
    return due;
}

void front_do_due(struct job *job)
{
    struct front *front = job->front;
    const uint64_t now = ch_clock_ns();

    root_do_due(job);
    if (front->suspect != NULL && now >= front->decide_at_ns) decide(job);
    if (now >= front->ping_at_ns) {
        ping(job);
        front->ping_at_ns = now + PING_NS;
    }
    if (front->has_begun || now < front->ready_by_ns) return;
    front->ready_by_ns = UINT64_MAX;
    for (uint32_t i = 0; i < front->n_hosts; i++)
        if (!front->hosts[i].is_ready && !front->hosts[i].is_over)
            host_fail(job, &front->hosts[i], "no agent has connected within 30 s");
}

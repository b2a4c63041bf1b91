/* SPDX-License-Identifier: Apache-2.0 */
/* chorusrun: start the PEs of a job, connect them, and end them together. */
#include "chorusrun_agent.h"
#include "chorusrun_front.h"

#include "base/clock.h"
#include "boot/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* The descriptors that poll watches: the signals, the outlets, standard input, the control
 * plane and an agent's input; then a socket and two streams of each PE, or of each host. */
enum { FDS_OF_JOB = 5, FDS_PER_PE = 3 };

/* How often to look whether a PE that is ending has ended, while another waits for judgement.
 */
#define SUSPECT_LOOK_NS (10 * CH_NS_PER_MS)

/* Milliseconds before a send that was refused is tried again. */
enum { RETRY_MS = 1 };

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT};

static void die(const char *what)
{
    (void)fprintf(stderr, "chorusrun: %s: %s\n", what, strerror(errno));
    exit(STATUS_CANNOT_RUN);
}

/* Descriptors of PEs must not be the standard three. */
static void fill_standard_files(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR);
        if (fd < 0) die("cannot open /dev/null");
    } while (fd <= STDERR_FILENO);
    (void)close(fd);
}

/* Signals are read from the returned descriptor; PEs get the signal mask that was in force
 * before. */
static int take_signals(sigset_t *old_out)
{
    sigset_t mask;
    int fd;

    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD);
    for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
        (void)sigaddset(&mask, forwarded[i]);
    (void)sigprocmask(SIG_BLOCK, &mask, old_out);
    fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) die("cannot receive signals");
    return fd;
}

static void hear_end(struct job *job, struct pe *pe, int wait_status)
{
    const bool is_killed = WIFSIGNALED(wait_status);
    char why[CH_WIRE_REASON_BYTES];
    int status;

    if (wait_status != 0) where_say_last(job, pe);
    if (!is_killed && wait_status != 0 && spawn_has_failed(job, &status, why))
        job_hear(job, pe, &(struct news){NEWS_UNRUN, status, why});
    else
        job_hear(job, pe,
                 &(struct news){NEWS_ENDED, wait_status,
                                is_killed ? memory_blame(WTERMSIG(wait_status)) : ""});
}

/* Reap all processes that have ended before judging any: each decision depends on which
 * others are still running, and on the last message of each PE. */
static void reap(struct job *job)
{
    int *statuses = calloc(job->n_pes, sizeof(int));
    int status;
    pid_t pid;

    if (statuses == NULL) die("cannot reap PEs");
    for (uint32_t i = 0; i < job->n_started; i++)
        statuses[i] = -1;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (uint32_t i = 0; i < job->n_started; i++) {
            struct pe *pe = &job->pes[i];
            if (!pe->is_alive || pe->pid != pid) continue;
            pe->is_alive = false;
            job->n_alive--;
            statuses[i] = status;
        }
    }
    for (uint32_t i = 0; i < job->n_started; i++)
        mail_receive(job, &job->pes[i]);
    for (uint32_t i = 0; i < job->n_started; i++)
        if (statuses[i] != -1) mail_close(job, &job->pes[i].mail);
    /* A PE that was killed is not a consequence of another's end. */
    for (uint32_t i = 0; i < job->n_started; i++)
        if (statuses[i] != -1 && WIFSIGNALED(statuses[i]))
            hear_end(job, &job->pes[i], statuses[i]);
    for (uint32_t i = 0; i < job->n_started; i++)
        if (statuses[i] != -1 && !WIFSIGNALED(statuses[i]))
            hear_end(job, &job->pes[i], statuses[i]);
    free(statuses);
}

static bool is_to_end(uint32_t signo)
{
    return signo == SIGINT || signo == SIGTERM || signo == SIGHUP;
}

/* To the PEs, unless the terminal has sent it to them as well. */
static void pass_on(struct job *job, const struct signalfd_siginfo *info)
{
    if (is_to_end(info->ssi_signo)) job->told_to_end = (int)info->ssi_signo;
    if (info->ssi_code != SI_KERNEL || job->front != NULL)
        signal_all(job, (int)info->ssi_signo);
}

static void handle_signals(struct job *job, int signals)
{
    struct signalfd_siginfo info;

    while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (is_to_end(info.ssi_signo)) output_hurry(job);
        if (info.ssi_signo == SIGCHLD && job->front != NULL)
            front_reap(job);
        else if (info.ssi_signo == SIGCHLD)
            reap(job);
        else if (info.ssi_signo == SIGQUIT && job->front == NULL)
            where_say(job); /* the job continues */
        else if (info.ssi_signo == SIGQUIT)
            front_ask(job);
        else if (is_to_end(info.ssi_signo) && front_ends_early(job, (int)info.ssi_signo))
            continue;
        else
            pass_on(job, &info);
    }
}

/* Is there a PE, or a host that may have PEs? */
static bool is_running(const struct job *job)
{
    return job->n_alive > 0 || (job->front != NULL && front_is_open(job->front)) ||
           (job->agent != NULL && agent_has_records(job));
}

/* The next deadline of the job itself: UINT64_MAX if there is none. */
static uint64_t job_due(const struct job *job)
{
    if (!is_running(job)) return job->is_hurried ? job->give_up_at_ns : job->end_at_ns;
    if (job->is_killed) return UINT64_MAX;
    if (job->is_ending) return job->kill_at_ns;
    if (job->suspect != NULL) return ch_clock_ns() + SUSPECT_LOOK_NS;
    return job->end_at_ns < job->lost_at_ns ? job->end_at_ns : job->lost_at_ns;
}

/* The next deadline, if no event occurs before. */
static uint64_t next_due(const struct job *job)
{
    const uint64_t of_job = job_due(job);
    uint64_t other = UINT64_MAX;

    if (job->front != NULL && is_running(job)) other = front_due(job->front);
    if (job->agent != NULL) other = agent_due(job->agent);
    return of_job < other ? of_job : other;
}

static void do_due(struct job *job)
{
    const uint64_t now = ch_clock_ns();

    if (job->front != NULL) front_do_due(job);
    if (job->agent != NULL) agent_do_due(job);
    if (!job->is_ending && now >= job->lost_at_ns) job_judge_missed(job);
    job_judge_suspect(job);
    if (now >= job->end_at_ns && (!job->is_ending || !is_running(job))) job_end_late(job);
    if (job->is_ending && !job->is_killed && now >= job->kill_at_ns) job_kill(job);
}

/* For poll; -1 if nothing is due. */
static int poll_ms(const struct job *job)
{
    const uint64_t at = next_due(job), now = ch_clock_ns();
    uint64_t ms;

    if (job->must_retry) return RETRY_MS;
    if (at == UINT64_MAX) return -1;
    if (at <= now) return 0;
    ms = (at - now + CH_NS_PER_MS - 1) / CH_NS_PER_MS;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

nfds_t watch_one(struct pollfd *fds, nfds_t *n, int fd, short events)
{
    if (fd < 0) return 0;
    fds[*n] = (struct pollfd){fd, events, 0};
    return (*n)++;
}

/* Returns their number: poll refuses more than the limit of open files, so closed ones are
 * omitted. Index 0 is that of the signals; for a PE it means "not watched". */
static nfds_t watch(struct job *job, int signals, struct pollfd *fds)
{
    nfds_t n = 0;

    (void)watch_one(fds, &n, signals, POLLIN);
    (void)watch_one(fds, &n, job->wake, POLLIN);
    if (job->agent != NULL) agent_watch(job->agent, fds, &n);
    if (job->front != NULL) front_watch(job, fds, &n);
    for (uint32_t i = 0; i < job->n_started; i++) {
        struct pe *pe = &job->pes[i];
        pe->mail_at = watch_one(fds, &n, pe->mail.sock, mail_events(&pe->mail));
        pe->out_at =
            stream_has_room(job, &pe->out) ? watch_one(fds, &n, pe->out.fd, POLLIN) : 0;
        pe->err_at =
            stream_has_room(job, &pe->err) ? watch_one(fds, &n, pe->err.fd, POLLIN) : 0;
    }
    return n;
}

/* Signals first: the other events take a while if PEs write much output. */
static void handle_events(struct job *job, int signals, const struct pollfd *fds)
{
    const bool must_retry = job->must_retry;

    if (fds[0].revents != 0) handle_signals(job, signals);
    if (job->agent != NULL) agent_serve(job, fds);
    if (job->front != NULL) front_serve(job, fds);
    job->must_retry = false;
    for (uint32_t i = 0; i < job->n_started; i++) {
        struct pe *pe = &job->pes[i];
        const int mail = pe->mail_at != 0 ? fds[pe->mail_at].revents : 0;
        if (mail & ~POLLOUT) mail_receive(job, pe);
        if (mail != 0 || must_retry) mail_send(job, pe);
    }
    output_forward(job, fds);
    output_check(job);
}

static void take_turn(struct job *job, int signals, struct pollfd *fds)
{
    nfds_t n;

    do_due(job);
    n = watch(job, signals, fds);
    if (poll(fds, n, poll_ms(job)) < 0 && errno != EINTR) die("cannot wait for PEs");
    handle_events(job, signals, fds);
}

static bool has_time(const struct job *job)
{
    return !job->is_hurried || ch_clock_ns() < job->give_up_at_ns;
}

static void run_job(struct job *job, int signals)
{
    struct pollfd *fds = calloc(FDS_OF_JOB + FDS_PER_PE * (size_t)job->n_pes, sizeof(*fds));

    if (fds == NULL) die("cannot watch PEs");
    while (is_running(job))
        take_turn(job, signals, fds);
    job_judge_suspect(job);
    front_settle(job);
    if (job->front != NULL && job->status != 0) where_keep(job);
    if (job->is_ending) job_sweep();
    output_finish(job);
    for (output_forward(job, NULL); output_is_pending(job) && has_time(job);
         output_forward(job, NULL))
        take_turn(job, signals, fds);
    output_close(job);
    free(fds);
}

/* The PEs that this chorusrun started, numbered from `first`. */
static void make_pes(struct job *job, uint32_t first, uint32_t n)
{
    job->n_pes = n;
    job->pes = calloc(n, sizeof(*job->pes));
    if (job->pes == NULL) die("cannot make a job");
    for (uint32_t i = 0; i < n; i++) {
        struct pe *pe = &job->pes[i];
        pe->number = first + i;
        pe->mail.sock = pe->lifeline = pe->out.fd = pe->err.fd = -1;
    }
}

static void free_job(struct job *job)
{
    for (uint32_t i = 0; i < job->n_pes; i++) { /* pipes with unread output are open */
        free(job->pes[i].did);
        where_free(&job->pes[i]);
        free(job->pes[i].out.room);
        free(job->pes[i].err.room);
    }
    front_close(job);
    agent_close(job->agent);
    free(job->pes);
}

/* Start the PEs, on this host or by agents. */
static void begin(struct job *job, struct share *share, const sigset_t *mask)
{
    /* Processes that PEs leave behind become children of chorusrun, which can then end them. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    memory_watch();
    if (job->front != NULL)
        front_open(job, mask);
    else if (job->agent == NULL || agent_begin(job, share))
        spawn_all(job, job->agent == NULL ? NULL : share, mask);
    if (job->args->timeout_ns != 0) job->end_at_ns = ch_clock_ns() + job->args->timeout_ns;
}

static uint32_t cores_here(void)
{
    const uint32_t n = ch_place_count_cores();

    return n < CH_WIRE_PES_MAX ? n : CH_WIRE_PES_MAX;
}

int main(int argc, char **argv)
{
    static struct args args;
    static struct front front;
    struct job job = {
        .args = &args, .exec_errors = -1, .end_at_ns = UINT64_MAX, .lost_at_ns = UINT64_MAX};
    struct share share = {.input = -1};
    sigset_t mask;
    int signals;

    fill_standard_files();
    argv[0] = program_invocation_short_name; /* use one name in all messages */
    args_read(argc, argv, &args);
    if (args.n == 0 && !args.is_agent) args.n = cores_here();
    if (args.is_agent) job.agent = agent_open(&args, &share);
    if (args.n_hosts > 0) job.front = &front;
    make_pes(&job, share.first, args.is_agent ? share.n_pes : args.n);
    signals = take_signals(&mask);
    output_open(&job);
    if (job.wake < 0) die("cannot watch outputs");
    begin(&job, &share, &mask);
    run_job(&job, signals);
    free_job(&job);
    return args.is_agent ? 0 : job.status;
}

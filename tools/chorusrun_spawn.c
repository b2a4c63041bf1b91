/* SPDX-License-Identifier: Apache-2.0 */
#include "chorusrun.h"

#include "base/option.h"
#include "boot/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* The data from which a new process becomes a PE. */
struct start {
    uint32_t i;                /* its index among those of this launcher */
    uint32_t pe;               /* its number in the job */
    const struct share *share; /* null: there is no agent */
    int secret;                /* descriptor of the job's secret; -1: there is none */
    int sock;                  /* its end of the socket pair */
    int out, err;              /* write ends of its pipes; -1: inherited */
    int exec_error;            /* where it writes errno if exec fails */
    pid_t launcher;
    uint32_t n_cores;
    uint32_t n_all_cores, n_beside;  /* of this machine, and the PEs that use them */
    const struct ch_place *place;    /* null: it is not bound */
    char spare[CH_PLACE_LIST_BYTES]; /* the cores that no PE is bound to; "" if none are left */
    const sigset_t *mask;
    struct rlimit files;
};

/* In a child, before exec: errors can only be reported through the pipe. */
static void child_fail(const struct start *s)
{
    const int error = errno;

    if (write(s->exec_error, &error, sizeof(error)) < 0) _exit(STATUS_CANNOT_RUN);
    _exit(error == ENOENT || error == ENOTDIR ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN);
}

static void set_number(enum ch_variable_id id, long value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%ld", value);
    (void)setenv(ch_variable_name(id), text, 1);
}

static void child_files(const struct start *s)
{
    int null;

    (void)fcntl(s->sock, F_SETFD, 0);
    if (s->out >= 0) (void)dup2(s->out, STDOUT_FILENO);
    if (s->err >= 0) (void)dup2(s->err, STDERR_FILENO);
    if (s->secret >= 0) (void)fcntl(s->secret, F_SETFD, 0);
    if (s->pe == 0 && s->share == NULL) return;
    if (s->pe == 0) {
        (void)dup2(s->share->input, STDIN_FILENO);
        return;
    }
    null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0) child_fail(s);
    (void)dup2(null, STDIN_FILENO);
}

static void child_variables(const struct start *s, const struct args *args)
{
    set_number(CH_VARIABLE_PE, s->pe);
    set_number(CH_VARIABLE_N_PES, args->n);
    set_number(CH_VARIABLE_N_CORES, s->n_cores);
    set_number(CH_VARIABLE_BOOT_FD, s->sock);
    if (s->spare[0] != '\0')
        (void)setenv(ch_variable_name(CH_VARIABLE_SPARE), s->spare, 1);
    else
        (void)unsetenv(ch_variable_name(CH_VARIABLE_SPARE));
    (void)unsetenv(ch_variable_name(CH_VARIABLE_ROOT));
    (void)unsetenv(ch_variable_name(CH_VARIABLE_SECRET_FD));
    if (s->share == NULL || s->secret < 0) return;
    (void)setenv(ch_variable_name(CH_VARIABLE_ROOT), s->share->root, 1);
    set_number(CH_VARIABLE_SECRET_FD, s->secret);
}

/* Of the cores, in their order. Where PEs share them, those of a host are on the same ones, as
 * if the host were a machine of its own. */
static uint32_t core_of(const struct start *s)
{
    const uint32_t place = s->i + (s->share != NULL ? s->share->place : 0);

    if (s->n_all_cores >= s->n_beside) return place;
    return (uint32_t)((uint64_t)place * s->n_all_cores / s->n_beside);
}

static void child_run(const struct start *s, const struct args *args)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != s->launcher)
        _exit(STATUS_CANNOT_RUN); /* chorusrun ended before the line above */
    child_files(s);
    (void)setrlimit(RLIMIT_NOFILE, &s->files);
    child_variables(s, args);
    if (s->place != NULL) (void)ch_place_bind(s->place, core_of(s)); /* unbound works too */
    (void)signal(SIGPIPE, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, s->mask, NULL);
    (void)execvp(args->command[0], args->command);
    child_fail(s);
}

/* The connections of a PE: [0] is this process's end, [1] the PE's; -1: there is none. */
struct wires {
    int sock[2], out[2], err[2];
    int secret; /* the PE's */
};

static void wires_close(const struct wires *w, int end)
{
    if (w->sock[end] >= 0) (void)close(w->sock[end]);
    if (w->out[end] >= 0) (void)close(w->out[end]);
    if (w->err[end] >= 0) (void)close(w->err[end]);
    if (end == 1 && w->secret >= 0) (void)close(w->secret);
}

/* A pipe whose read end does not block. */
static int make_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    return fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

/* The secret is in the pipe before the PE exists; no other process can read it. */
static int wires_secret(const struct share *share, struct wires *w)
{
    int ends[2];
    bool is_written;

    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    is_written = write(ends[1], share->secret, strlen(share->secret)) >= 0;
    (void)close(ends[1]);
    w->secret = ends[0];
    return is_written ? 0 : -1;
}

static int wires_make(bool is_tagged, const struct share *share, struct wires *w)
{
    *w = (struct wires){{-1, -1}, {-1, -1}, {-1, -1}, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, w->sock) != 0) return -1;
    if (share != NULL && wires_secret(share, w) != 0) return -1;
    if (!is_tagged) return 0;
    return make_pipe(w->out) == 0 ? make_pipe(w->err) : -1;
}

/* Returns 0, or an errno, and then nothing was started. */
static int spawn(struct job *job, struct start *s)
{
    struct pe *pe = &job->pes[s->i];
    struct wires w;
    int error = 0;
    pid_t pid = 0;

    if (wires_make(job->args->is_tagged, s->share, &w) != 0) error = errno;
    s->pe = pe->number;
    s->sock = w.sock[1];
    s->out = w.out[1];
    s->err = w.err[1];
    s->secret = w.secret;
    if (error == 0 && (pid = fork()) < 0) error = errno;
    if (error == 0 && pid == 0) child_run(s, job->args);
    wires_close(&w, 1);
    if (error != 0) {
        wires_close(&w, 0);
        return error;
    }
    mail_open(&pe->mail, w.sock[0]);
    if (job->args->is_tagged) stream_open(&pe->out, w.out[0], job->out);
    if (job->args->is_tagged) stream_open(&pe->err, w.err[0], job->err);
    job->n_started++;
    job_hear(job, pe, &(struct news){NEWS_STARTED, pid, ""});
    return 0;
}

/* A socket, a descriptor in an exchange and two pipes for each PE may exceed the limit of
 * ordinary programs. PEs get the old limit back. */
static struct rlimit raise_files(void)
{
    struct rlimit old, most;

    (void)getrlimit(RLIMIT_NOFILE, &old);
    most = old;
    most.rlim_cur = most.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &most);
    return old;
}

bool spawn_has_failed(const struct job *job, int *status_out,
                      char why_out[CH_WIRE_REASON_BYTES])
{
    const char *program = job->args->command[0];
    int error;

    if (read(job->exec_errors, &error, sizeof(error)) != (ssize_t)sizeof(error)) return false;
    *status_out = error == ENOENT || error == ENOTDIR ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN;
    if (error == ENOENT && strchr(program, '/') != NULL && access(program, F_OK) == 0)
        (void)snprintf(why_out, CH_WIRE_REASON_BYTES,
                       "cannot run %s: the interpreter it names does not exist", program);
    else
        (void)snprintf(why_out, CH_WIRE_REASON_BYTES, "cannot run %s: %s", program,
                       strerror(error));
    return true;
}

/* Whole cores for these PEs: those of an agent use a part of what PEs of other agents use too.
 */
static uint32_t part_of_cores(const struct job *job, const struct start *s)
{
    return (uint32_t)((uint64_t)s->n_all_cores * job->n_pes / s->n_beside);
}

/* Each PE has a core, or the machine stands for several hosts, and this one's part is at least
 * a core. Else PEs go where the system finds room. */
static bool is_bound(const struct job *job, const struct start *s)
{
    if (s->n_all_cores >= s->n_beside) return true;
    return s->n_beside > job->n_pes && part_of_cores(job, s) > 0;
}

void spawn_all(struct job *job, const struct share *share, const sigset_t *mask)
{
    struct ch_place *place = ch_place_open();
    struct start s = {.share = share, .launcher = getpid(), .mask = mask};
    int ends[2], error = 0;

    s.n_all_cores = place != NULL ? ch_place_cores(place) : 1;
    s.n_beside = share != NULL ? share->n_beside : job->n_pes;
    s.n_cores = share == NULL ? s.n_all_cores : part_of_cores(job, &s);
    if (s.n_cores == 0) s.n_cores = 1;
    s.files = raise_files();
    if (is_bound(job, &s)) s.place = place;
    if (s.n_all_cores >= s.n_beside && place != NULL)
        ch_place_spare_text(place, s.n_beside, s.spare, sizeof(s.spare));
    if (make_pipe(ends) != 0) {
        job_end(job, STATUS_CANNOT_RUN, "cannot make a pipe: %s", strerror(errno));
        ch_place_close(place);
        return;
    }
    job->exec_errors = ends[0];
    s.exec_error = ends[1];
    for (; s.i < job->n_pes && error == 0; s.i++) {
        error = spawn(job, &s);
        if (error != 0)
            job_end(job, STATUS_CANNOT_RUN, "cannot start PE %u of %u: %s%s",
                    job->pes[s.i].number, job->args->n, strerror(error),
                    error == EMFILE ? "; " CH_LIMIT_ADVICE : "");
    }
    (void)close(ends[1]);
    if (share != NULL && share->input >= 0) (void)close(share->input);
    ch_place_close(place);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* chorusrun_launch.c: starts the programs, such as ssh, that start agents. */
#include "chorusrun_front.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 64, PATH_BYTES = 4096 };

/* The pipes of a launcher: [0] is the read end. */
struct pipes {
    int in[2], out[2], err[2];
    int error[2]; /* the child writes errno here if exec fails */
};

static void close_pair(int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0) (void)close(pair[i]);
}

static int pipes_open(struct pipes *p)
{
    *p = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    if (pipe2(p->in, O_CLOEXEC) != 0 || pipe2(p->out, O_CLOEXEC) != 0) return -1;
    if (pipe2(p->err, O_CLOEXEC) != 0 || pipe2(p->error, O_CLOEXEC) != 0) return -1;
    if (fcntl(p->in[1], F_SETFL, O_NONBLOCK) != 0) return -1;
    if (fcntl(p->out[0], F_SETFL, O_NONBLOCK) != 0) return -1;
    return fcntl(p->err[0], F_SETFL, O_NONBLOCK);
}

/* In a separate process group, so that Ctrl-C reaches PEs only through the front. */
static void child_run(const struct pipes *p, char **words, const sigset_t *mask)
{
    (void)setpgid(0, 0);
    (void)dup2(p->in[0], STDIN_FILENO);
    (void)dup2(p->out[1], STDOUT_FILENO);
    (void)dup2(p->err[1], STDERR_FILENO);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGTSTP, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    (void)execvp(words[0], words);
    if (write(p->error[1], &errno, sizeof(errno)) < 0) _exit(STATUS_CANNOT_RUN);
    _exit(STATUS_CANNOT_RUN);
}

/* Returns the child, or -1 with the errno of the failure. */
static pid_t start(struct pipes *p, char **words, const sigset_t *mask)
{
    const pid_t pid = fork();
    int error = 0;

    if (pid == 0) child_run(p, words, mask);
    if (pid < 0) return -1;
    (void)close(p->error[1]);
    p->error[1] = -1;
    if (read(p->error[0], &error, sizeof(error)) <= 0) return pid; /* exec has closed it */
    (void)waitpid(pid, NULL, 0);
    errno = error;
    return -1;
}

/* The words of the launcher, the host, and the command. `text` is split into them. */
static bool make_words(char *text, char *host, char *self, char **words_out)
{
    static char agent[] = "--agent";
    size_t n = 0;

    for (char *word = strtok_r(text, " ", &text); word != NULL;
         word = strtok_r(NULL, " ", &text)) {
        if (n == WORDS_MAX) return false;
        words_out[n++] = word;
    }
    words_out[n++] = host;
    words_out[n++] = self;
    words_out[n++] = agent;
    words_out[n] = NULL;
    return true;
}

/* The folder of this program: agents are in the same folder. */
static bool find_self(char path_out[PATH_BYTES])
{
    const ssize_t n = readlink("/proc/self/exe", path_out, PATH_BYTES - 1);

    if (n > 0) path_out[n] = '\0';
    return n > 0;
}

bool host_launch(struct job *job, struct host *host, const sigset_t *mask)
{
    char *text = strdup(job->args->launcher), *words[WORDS_MAX + 4], self[PATH_BYTES];
    struct pipes p;
    bool is_made = false;

    if (pipes_open(&p) != 0)
        job_end(job, STATUS_CANNOT_RUN, "cannot make pipes for %s: %s%s", host->name,
                strerror(errno), errno == EMFILE ? "; " CH_LIMIT_ADVICE : "");
    else if (text == NULL || !find_self(self) || !make_words(text, host->name, self, words))
        job_end(job, STATUS_CANNOT_RUN, "cannot make a command of the launcher \"%s\"",
                job->args->launcher);
    else if ((host->launcher = start(&p, words, mask)) < 0)
        job_end(job, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN,
                "cannot run the launcher %s: %s; name another with --launcher", words[0],
                strerror(errno));
    else
        is_made = true;
    if (is_made) {
        host->in = p.in[1];
        host->out = p.out[0];
        host->err = p.err[0];
        p.in[1] = p.out[0] = p.err[0] = -1;
    }
    close_pair(p.in);
    close_pair(p.out);
    close_pair(p.err);
    close_pair(p.error);
    free(text);
    return is_made;
}

static void say_last(struct job *job, struct host *host)
{
    if (host->last[0] != '\0') say(job, "%s: %s", host->name, host->last);
    host->last[0] = '\0';
}

/* The last line before the agent's greeting is kept: it may be the reason why no agent
 * connects. */
static void take_line(struct job *job, struct host *host, const char *line, size_t bytes)
{
    say_last(job, host);
    if (bytes > 0 && line[bytes - 1] == '\r') bytes--;
    if (bytes >= LINE_BYTES) bytes = LINE_BYTES - 1;
    memcpy(host->last, line, bytes);
    host->last[bytes] = '\0';
    if (host->is_ready) say_last(job, host);
}

void host_hear_launcher(struct job *job, struct host *host)
{
    struct buffer *b = &host->said;
    ssize_t n;

    do {
        n = buffer_read(b, host->err);
        for (;;) {
            const char *at = b->data + b->at;
            const char *end = memchr(at, '\n', buffer_bytes(b));
            if (end == NULL) break;
            take_line(job, host, at, (size_t)(end - at));
            buffer_skip(b, (size_t)(end - at) + 1);
        }
        if (buffer_bytes(b) < LINE_BYTES && n != 0) continue;
        if (buffer_bytes(b) > 0) take_line(job, host, b->data + b->at, buffer_bytes(b));
        buffer_skip(b, buffer_bytes(b));
    } while (n > 0);
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        (void)close(host->err);
        host->err = -1;
    }
}

static void describe(const struct job *job, int wait_status, char *out, size_t bytes)
{
    const char *launcher = job->args->launcher + strspn(job->args->launcher, " ");
    const int n = (int)strcspn(launcher, " ");

    if (WIFSIGNALED(wait_status))
        (void)snprintf(out, bytes, "%.*s was killed by signal %d (%s)", n, launcher,
                       WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
    else
        (void)snprintf(out, bytes, "%.*s exited with status %d", n, launcher,
                       WEXITSTATUS(wait_status));
}

/* A hint about an agent that did not connect. */
static const char *hint(int wait_status)
{
    const int status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;

    if (status == STATUS_USAGE || status == STATUS_NOT_FOUND || status == STATUS_CANNOT_RUN)
        return "; chorusrun " CHORUS_VERSION " must be in the same folder there as here";
    return "";
}

void host_judge(struct job *job, struct host *host, int wait_status)
{
    const bool has_last = host->last[0] != '\0';
    bool is_lost = wait_status != 0;
    char what[LINE_BYTES];

    host->is_over = true;
    for (uint32_t i = host->first; i < host->first + host->n_pes; i++) {
        struct pe *pe = &job->pes[i];
        if (pe->is_alive || pe->pid == 0) is_lost = true;
        if (pe->is_alive) job->n_alive--;
        pe->is_alive = pe->is_inside = false;
    }
    if (!is_lost || job->is_ending) return;
    describe(job, wait_status, what, sizeof(what));
    if (host->is_ready)
        job_end(job, STATUS_NOT_LEFT, "host %s was lost: %s; ending the job", host->name, what);
    else
        job_end(job, STATUS_CANNOT_RUN, "cannot start PEs on host %s: %s%s%s%s", host->name,
                what, has_last ? ": " : "", host->last, hint(wait_status));
}

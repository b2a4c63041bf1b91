/* SPDX-License-Identifier: Apache-2.0 */
/* chorusrun_front.h: with --hosts, these functions replace those that start PEs. */
#ifndef CHORUSRUN_FRONT_H
#define CHORUSRUN_FRONT_H

#include "chorusrun.h"
#include "chorusrun_frame.h"

enum { LINE_BYTES = 256 };

/* A host of the job, and the program that leads to its agent. */
struct host {
    char *name; /* owned */
    uint32_t first, n_pes;
    pid_t launcher;
    bool is_ready;                /* its agent has said hello */
    bool is_over;                 /* its launcher has ended, and what that means was said */
    int in, out, err;             /* of the launcher; -1 when closed */
    struct buffer to, from;       /* frames */
    struct buffer held;           /* frames of output that outlets have no room for yet */
    struct buffer said;           /* by the launcher on standard error: an unfinished line */
    char last[LINE_BYTES];        /* the line before that, while it is not said; or "" */
    char cores[LINE_BYTES];       /* of its agent's hello */
    nfds_t in_at, out_at, err_at; /* among what poll watches; 0: not watched */
};

struct front {
    struct host *hosts;
    uint32_t n_hosts;
    bool has_begun;       /* agents have their orders */
    uint64_t ready_by_ns; /* when all agents must have said hello */
    uint64_t ping_at_ns;
    uint32_t turn; /* the host whose output is first when there is room again */
    bool is_input_over;
    const struct pe *suspect; /* the first that exited with a status; null: none */
    uint64_t decide_at_ns;    /* when that is judged */
    size_t input_window;      /* that PE 0's agent takes */
    nfds_t input_at;
    struct root *root;
};

/* Start an agent on each host, or end the job. `mask` is the signal mask for launchers. */
void front_open(struct job *job, const sigset_t *mask);
void front_close(struct job *job);
bool front_is_open(const struct front *front); /* some agent's launcher has not ended */

void front_watch(struct job *job, struct pollfd *fds, nfds_t *n);
void front_serve(struct job *job, const struct pollfd *fds);
void front_reap(struct job *job);
void front_settle(
    struct job *job); /* all have ended: judge what was put off; null front: no-op */
uint64_t front_due(const struct front *front);
void front_do_due(struct job *job);
/* A signal to end before agents have their orders ends the front alone; false: they have. */
bool front_ends_early(struct job *job, int signo);

/* root: the tree that PEs of all hosts join, and what they need for that. */
void root_open(struct job *job);
void root_close(struct job *job);
const char *root_addresses(const struct job *job);
const char *root_secret(const struct job *job);
void root_watch(struct job *job, struct pollfd *fds, nfds_t *n);
void root_serve(struct job *job, const struct pollfd *fds);
void root_abort(struct job *job, int status, const char *reason);
uint64_t root_due(const struct front *front);
void root_do_due(struct job *job);
/* End the job for what the tree has lost, if it has; false: it has not. */
bool root_judge(struct job *job);

/* launch: run the launcher for a host; false: it has ended the job. */
bool host_launch(struct job *job, struct host *host, const sigset_t *mask);
/* What it writes on standard error, now. */
void host_hear_launcher(struct job *job, struct host *host);
/* It has ended, with a status as of wait(2). */
void host_judge(struct job *job, struct host *host, int wait_status);

/* talk */
void host_fail(struct job *job, const struct host *host, const char *what); /* end the job */
void host_flush(struct host *host); /* write what there is to say, as far as it is taken */
/* What the agent said. Returns false when there is no more now. */
bool host_hear_agent(struct job *job, struct host *host);
void front_begin(struct job *job); /* order all agents to start PEs, once all are there */
void front_read_input(struct front *front);

#endif /* CHORUSRUN_FRONT_H */

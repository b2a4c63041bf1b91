/* SPDX-License-Identifier: Apache-2.0 */
/* chorusrun_front.h: with --hosts, these functions replace those that start PEs. */
#ifndef CHORUSRUN_FRONT_H
#define CHORUSRUN_FRONT_H

#include "chorusrun.h"
#include "chorusrun_frame.h"

enum { LINE_BYTES = 256 };

/* A host of the job, and the program that starts its agent. */
struct host {
    char *name; /* owned */
    uint32_t first, n_pes;
    pid_t launcher;
    bool is_ready;          /* its agent has sent its greeting */
    bool is_over;           /* its launcher has ended, and this was reported */
    bool is_heard;          /* its agent has sent a frame, so it serves its input */
    uint32_t n_unanswered;  /* pings since its last frame, one each second */
    int in, out, err;       /* of the launcher; -1 when closed */
    struct buffer to, from; /* frames */
    struct buffer held;     /* frames of output for which outlets have no room yet */
    struct buffer said;     /* output of the launcher on standard error: an unfinished line */
    char last[LINE_BYTES];  /* the line before that, until it is reported; or "" */
    char cores[LINE_BYTES]; /* from its agent's greeting */
    nfds_t in_at, out_at, err_at; /* indices among the descriptors of poll; 0: not watched */
};

struct front {
    struct host *hosts;
    uint32_t n_hosts;
    bool has_begun;       /* agents have their orders */
    bool has_asked;       /* front_ask was called */
    uint64_t ready_by_ns; /* deadline for the greetings of all agents */
    uint64_t ping_at_ns;
    uint64_t silent_pings; /* pings that an agent leaves unanswered if it is stopped; 0: any
                              number */
    uint32_t turn;         /* the host whose output is handled first when there is room again */
    bool is_input_over;
    const struct pe *suspect; /* the first launcher that exited with a status; null: none */
    uint64_t decide_at_ns;    /* when this is judged */
    size_t input_window;      /* bytes of input that PE 0's agent accepts */
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
    struct job *job); /* all have ended: judge the exit that was put off; null front: no-op */
uint64_t front_due(const struct front *front);
void front_do_due(struct job *job);
/* A signal before agents have their orders ends only the front; false: they have. */
bool front_ends_early(struct job *job, int signo);

/* root: the tree that PEs of all hosts join, and the data that they need to join. */
void root_open(struct job *job);
void root_close(struct job *job);
const char *root_addresses(const struct job *job);
const char *root_secret(const struct job *job);
void root_watch(struct job *job, struct pollfd *fds, nfds_t *n);
void root_serve(struct job *job, const struct pollfd *fds);
void root_abort(struct job *job, int status, const char *reason);
uint64_t root_due(const struct front *front);
void root_do_due(struct job *job);
/* End the job if the tree has lost a PE; false: it has not. */
bool root_judge(struct job *job);

/* launch: run the launcher for a host; false: it has ended the job. */
bool host_launch(struct job *job, struct host *host, const sigset_t *mask);
/* Read its output on standard error, now. */
void host_hear_launcher(struct job *job, struct host *host);
/* It has ended, with a status as of wait(2). */
void host_judge(struct job *job, struct host *host, int wait_status);

/* talk */
void host_fail(struct job *job, const struct host *host, const char *what); /* end the job */
void host_flush(struct host *host); /* write the waiting frames, as far as they are accepted */
/* Read messages of the agent. Returns false when there are no more now. */
bool host_hear_agent(struct job *job, struct host *host);
void front_begin(struct job *job); /* order all agents to start PEs, once all have connected */
void front_read_input(struct front *front);

#endif /* CHORUSRUN_FRONT_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorusrun.h: the launcher: one thread around one poll, and a thread for each file that it
 * writes.
 *
 * chorusrun.c waits and dispatches events; args reads the command line; spawn starts PEs; mail
 * and reply answer the messages on their sockets; where reports what they are doing; output
 * forwards lines with --tag, and outlet writes them; judge decides what an event of a PE means
 * for the job, and end ends the job.
 *
 * With --hosts there are two kinds of chorusrun. The front, which the user started, starts an
 * agent on each host, makes decisions, and writes all output (front, launch, root). An agent
 * starts the PEs of its host, and forwards their events and output to the front instead of
 * deciding and writing (agent). They exchange frames over the standard input and output of the
 * agent.
 */
#ifndef CHORUSRUN_H
#define CHORUSRUN_H

#include "boot/message.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Exit statuses of chorusrun itself; otherwise that of a PE, or 128 + signal if one killed
 * it. */
enum {
    STATUS_NOT_LEFT =
        1, /* a PE exited with status 0 inside the job, or violated the protocol */
    STATUS_USAGE = 2,
    STATUS_TIMEOUT = 124, /* the same as those of env, nohup and timeout */
    STATUS_CANNOT_WRITE = 125,
    STATUS_CANNOT_RUN = 126,
    STATUS_NOT_FOUND = 127,
    STATUS_SIGNAL = 128
};

enum { EXPORTS_MAX = 64 };

/* A host of --hosts: its name is not null-terminated. */
struct place {
    const char *name;
    int name_bytes;
    uint32_t n_pes;
};

struct args {
    uint32_t n;          /* 0: the cores that this process may use */
    uint64_t timeout_ns; /* 0: none */
    bool is_tagged;
    const char *record;   /* file for the PEs' last calls if the job fails; may be null */
    bool is_agent;        /* started by another chorusrun, which sends the other arguments */
    const char *launcher; /* starts an agent; the host and its command follow */
    char **command; /* null-terminated; it and all other texts are borrowed from main's argv */
    uint32_t n_hosts; /* from --hosts; 0: PEs are on this machine */
    struct place hosts[CH_WIRE_PES_MAX];
    uint32_t n_exports;
    const char *exports[EXPORTS_MAX]; /* variables for PEs on hosts besides those of CHORUS_ */
};

struct agent;
struct front;

/* An answer that is being sent to one PE or to all; the last one frees it. */
struct reply {
    uint32_t refs;
    uint32_t n_fds; /* owned; sent after the data, CH_WIRE_FDS at a time */
    int *fds;
    size_t bytes; /* of data: the head and what follows it */
    char data[];
};

/* A PE's message that is being received, and its answer that is being sent. */
struct mail {
    int sock; /* chorusrun's end of the pair; -1 when closed */
    struct ch_message in;
    enum ch_wire_stage stage;
    bool is_waiting; /* `in` is its part of the exchange in progress */
    struct reply *reply;
    size_t bytes_sent;
    uint32_t fds_sent;
    bool is_crowded; /* the last send failed with ETOOMANYREFS, in which case poll cannot tell
                        when to continue */
};

struct ch_record;

struct outlet; /* standard output or error of chorusrun, or both if they are the same file */

/* Output of a PE that is forwarded to an outlet. */
struct stream {
    int fd; /* read end, non-blocking; -1 when closed */
    struct outlet *to;
    char *room;        /* room for a tag, an unfinished line and its newline */
    size_t used;       /* of the line */
    size_t bytes_left; /* bytes to read at the end of the job; SIZE_MAX before: no limit */
};

/* Events of a PE. An agent sends those of its PEs to the front. */
enum news_kind {
    NEWS_STARTED = 1, /* value: the process of the PE */
    NEWS_JOINED,      /* value: the process that joined */
    NEWS_LEFT,
    NEWS_ABORTED, /* value: the status with which it ended the job */
    NEWS_BROKE,   /* it violated the protocol; text continues "PE 1 ..." */
    NEWS_MISSED,  /* the process that joined has ended, or executes another program */
    NEWS_UNRUN,   /* its program cannot be executed; value: chorusrun's status; text: why */
    NEWS_ENDED,   /* value: status as of wait(2); text: what the message adds */
    NEWS_STOPPED, /* value: the signal that stopped it */
    NEWS_DOING,   /* what it is doing; text continues "PE 1 ..." */
    NEWS_DID,     /* the same for what it did last; precedes the event of its failure */
    NEWS_COUNT
};

struct news {
    enum news_kind kind;
    int32_t value;
    const char *text; /* borrowed; "" if there is none */
};

struct pe {
    uint32_t number;
    const char *host; /* null: this one */
    pid_t pid;
    bool is_alive;
    bool has_joined, has_left;
    uint32_t n_joins; /* PEs may join again after they have left */
    uint64_t left_as; /* how many PEs had left before, which shows the first one that left */
    bool is_inside;   /* it has joined, and has not ended yet */
    bool has_aborted; /* it ended the job, and is about to exit */
    int wait_status;  /* as of wait(2), once it has ended */
    pid_t program;    /* the process that joined, which a wrapper may have started; 0: none */
    uint64_t lost_at_ns; /* when it counts as lost, its socket being closed; 0: never */
    struct mail mail;
    const struct ch_record *record; /* of its calls, mapped, or of another host's PE a copy;
                                       null: not yet */
    char *did;                      /* text of its NEWS_DID, owned; or null */
    bool is_told;                   /* a line about it was printed since front_ask */
    int lifeline; /* the socket by which it joined, open as long as chorusrun runs; or -1 */
    struct stream out, err;
    nfds_t mail_at, out_at,
        err_at; /* their indices among the descriptors of poll; 0: not watched */
};

struct moment {
    uint64_t ns, ticks; /* 0: it is yet to come */
};

struct job {
    const struct args *args;
    struct front *front; /* null: PEs are on this machine */
    struct agent *agent; /* null: this chorusrun decides and writes itself */
    struct pe *pes;      /* the PEs that this chorusrun started */
    uint32_t n_pes;
    uint32_t n_started;
    uint32_t n_alive;
    uint32_t n_waiting;
    uint64_t n_left; /* times that a PE left */
    int exec_errors; /* read end of the pipe on which PEs report a failed exec */
    bool must_retry; /* a send was refused for now, and poll cannot tell when to continue */
    struct outlet *out, *err;
    int wake;        /* readable when an outlet has written bytes, or failed */
    uint32_t turn;   /* the PE whose output is read first when there is room again */
    bool is_hurried; /* at the end, readers have time until give_up_at_ns */
    uint64_t give_up_at_ns;
    bool is_ending;     /* a reason for the end is known */
    bool is_killed;     /* SIGKILL has been sent after SIGTERM */
    int status;         /* the exit status of chorusrun */
    int told_to_end;    /* the signal that chorusrun got to end the job; 0: none */
    struct moment kept; /* of all records, so that a reader can compare their times */
    uint64_t end_at_ns; /* --timeout; UINT64_MAX: never */
    uint64_t kill_at_ns;
    uint64_t lost_at_ns; /* the earliest of the PEs' lost_at_ns; UINT64_MAX: none */
    const struct pe
        *suspect; /* it exited with a status, while another PE was ending; or null */
    uint64_t suspect_until_ns; /* when it is judged at the latest */
    const struct pe *absent; /* the first PE that exited with 0 and never joined; null: none */
    char reason[CH_WIRE_REASON_BYTES]; /* the reason why exchanges fail from now on; "": they do
                                          not */
};

/* Add a descriptor to poll; returns its index, 0 if there is none. */
nfds_t watch_one(struct pollfd *fds, nfds_t *n, int fd, short events);

/* args: returns only if the command line is valid. */
void args_read(int argc, char **argv, struct args *out);
/* The hosts in a text like "a:4,b"; null: it is valid, else what is wrong with it. */
const char *args_read_hosts(const char *text, struct args *out,
                            char why_out[CH_WIRE_REASON_BYTES]);

/* What the PEs of an agent need besides, and their numbers. */
struct share {
    uint32_t first, n_pes;
    uint32_t n_beside,
        place; /* number of PEs of the job that use these cores; of those before the first PE */
    const char *root;   /* addresses at which they reach the front */
    const char *secret; /* its secret: hexadecimal digits */
    int input;          /* PE 0's standard input; -1: PE 0 is on another host */
};

/* spawn: starts all PEs or ends the job. `mask` is the signal mask of PEs; null share: these
 * are all PEs of the job. */
void spawn_all(struct job *job, const struct share *share, const sigset_t *mask);
/* Could some program not be executed? Reports the reason, and sets the exit status. Once for
 * each. */
bool spawn_has_failed(const struct job *job, int *status_out,
                      char why_out[CH_WIRE_REASON_BYTES]);

/* mail: reads and writes as much as possible now. May end the job. */
void mail_open(struct mail *mail, int sock);
void mail_receive(struct job *job, struct pe *pe);
void mail_close(struct job *job, struct mail *mail);
/* From now on every exchange fails for this reason; the first reason is kept. */
void mail_fail_all(struct job *job, const char *reason);
/* A PE has left, or ended after leaving: exchanges that it is missing from fail. */
void mail_miss(struct job *job, const struct pe *pe);

/* reply */
/* Allocates `bytes` after the head and room for n_fds, which the caller fills in; null: no
 * memory. */
struct reply *reply_make(enum ch_wire_kind kind, int code, uint32_t n_fds, size_t bytes);
void reply_release(struct reply *reply); /* null is a no-op */
void mail_send(struct job *job, struct pe *pe);
short mail_events(const struct mail *mail); /* what to poll for */

/* output */
void output_open(struct job *job); /* wake is -1 if there is none */
void stream_open(struct stream *stream, int fd, struct outlet *to);
/* Open, and to be watched by poll. */
bool stream_has_room(const struct job *job, const struct stream *stream);
/* Output of a PE of another host; false: there is no room now. No bytes: the end. */
bool output_take(struct job *job, struct pe *pe, bool is_err, const char *data, size_t bytes);
/* Reads a limited number of bytes of each stream that poll reported; null: of all. */
void output_forward(struct job *job, const struct pollfd *fds);
bool output_lost_reader(void);      /* of standard output or error, where they are pipes */
void output_check(struct job *job); /* after poll; a write that failed ends the job */
void output_hurry(
    struct job *job); /* a signal or --timeout: readers have only little time now */
void output_finish(
    struct job *job); /* PEs have ended: forward the contents of the pipes, and no more */
bool output_is_pending(const struct job *job);
void output_close(struct job *job); /* pending output is discarded */
/* A line on standard error, after the name of this program. */
void say(struct job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* outlet: these functions do not block. */
struct outlet *outlet_of(int fd, int wake);
size_t outlet_room(struct outlet *o); /* bytes that can be queued */
void outlet_put(struct outlet *o, const void *data,
                size_t bytes);           /* discarded if there is no room */
size_t outlet_pending(struct outlet *o); /* bytes queued and not yet written */
int outlet_take_error(struct outlet *o); /* errno of a failed write, once; 0: none */
const char *outlet_name(const struct outlet *o);

/* memory: did the kernel end processes because of a lack of memory? The addition to the
 * message about a PE that this signal killed; "": not known. */
void memory_watch(void); /* before PEs start */
const char *memory_blame(int signo);

/* agent */
void agent_tell(struct job *job, const struct pe *pe, const struct news *news);
void agent_tell_end(struct job *job, int status, const char *reason);
void agent_record(struct job *job, const struct pe *pe, const struct ch_record *record);
void agent_output(struct job *job, const struct pe *pe, bool is_err, const void *data,
                  size_t bytes); /* no bytes: the end of the input */
size_t
agent_window(const struct agent *agent); /* number of bytes of output that the front accepts */

/* Has it records that the front has not been sent, and wants? */
bool agent_has_records(const struct job *job);

/* front */
void front_signal(struct front *front, int signo); /* SIGKILL: only to launchers */
/* For a line about each PE; reports what failed PEs did. */
void front_ask(struct job *job);
/* It has asked, and printed nothing about this PE since. */
bool front_awaits(const struct job *job, const struct pe *pe);
void front_end(struct job *job, int status, const char *reason);
/* The PEs will not all join: those that wait for them are informed. */
void front_fail_start(struct job *job, const char *reason);
/* A host's launcher exited with a status, which may be the first failure or a consequence of
 * one. */
void front_suspect(struct job *job, const struct pe *pe);
const char *
front_missing(const struct front *front); /* a host whose agent has not connected, or null */
void front_forward(struct job *job);
/* Output for this outlet that was not forwarded yet. */
bool front_is_holding(const struct job *job, const struct outlet *to);

/* judge */
void job_hear(struct job *job, struct pe *pe, const struct news *news);
/* Judge a PE that exited with a status some time ago. */
void job_judge_late(struct job *job, const struct pe *pe);
bool job_has_inside(const struct job *job); /* number of PEs that have joined and not left */
/* Judge the PE whose exit may have been caused by that of another, once this is known. */
void job_judge_suspect(struct job *job);
/* Judge the PEs whose socket was closed half a second ago, and whose process has not ended. */
void job_judge_missed(struct job *job);
/* "PE 1 (pid 42)", with its host if that is another. */
struct who {
    char text[96];
};
const char *who(const struct pe *pe, struct who *out);
/* where: what PEs are doing, and what they did last. */
void where_watch(struct pe *pe, int fd); /* a descriptor that the PE sent in an exchange */
void where_forget(struct pe *pe);        /* it joins again, with another segment */
void where_say(struct job *job); /* prints a line for each PE; an agent sends it to the front */
/* For an agent, about a PE that failed; not about one that is ended with the job, of which the
 * front has asked before. */
void where_say_last(struct job *job, struct pe *pe);
/* Write records of all PEs, those of other hosts too, into the file of --record. */
void where_keep(struct job *job);
/* A record of a PE on another host came as these bytes: from an agent as it ends. */
bool where_can_be(const char *bytes, size_t n_bytes);
void where_take(struct pe *pe, const char *bytes);
void where_send(struct job *job, const struct pe *pe); /* an agent, to the front */
void where_free(struct pe *pe); /* the copy that where_take made; else a no-op */

/* end: the first reason is kept; printed on standard error unless `text` is null. */
void job_end(struct job *job, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void job_end_late(struct job *job);     /* the time of --timeout has passed */
void job_kill(struct job *job);         /* the time after SIGTERM has passed */
void job_name_stopped(struct job *job); /* report the PEs that are stopped */
void job_sweep(void); /* kill processes that PEs left behind, after all PEs have ended */
void signal_all(const struct job *job, int signo);

#endif /* CHORUSRUN_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorusrun_frame.h: the messages between a front and its agents, as bytes.
 *
 * An agent first writes a line, AGENT_HELLO with its version and the cores that it may use;
 * output of a shell before that line is skipped. After it, both directions carry frames: a
 * head, and the bytes that it counts. An agent sends its first frame after it has received
 * FRAME_ORDER.
 *
 * Output never stops either side from reading: output is queued until it can be written, and
 * each side sends only as much as the window allows that the other's FRAME_CREDITs have
 * opened. Events, signals and the end of the job are therefore delivered while nobody reads
 * the output.
 */
#ifndef CHORUSRUN_FRAME_H
#define CHORUSRUN_FRAME_H

#include "chorusrun.h"

#define AGENT_HELLO "chorusrun-agent "

enum {
    HELLO_BYTES_MAX = 64 * 1024, /* before and with the hello */
    FRAME_BYTES_MAX = 8 << 20,   /* after a head: more than execve accepts */
    OUTPUT_WINDOW = 256 * 1024,  /* output of all PEs of an agent, before the first credit */
    INPUT_WINDOW = 64 * 1024
};

/* Kinds below NEWS_COUNT are events of a PE, with their value and text. */
enum frame_kind {
    /* From an agent to the front. */
    FRAME_OUT = NEWS_COUNT, /* a piece of a PE's standard output; no bytes: its end */
    FRAME_ERR,              /* the same of its standard error */
    FRAME_RECORD,           /* its struct ch_record, of an agent whose order keeps records */
    FRAME_END,   /* the job must end with status `value`, for the reason in the bytes */
    FRAME_TAKEN, /* `value` bytes of input were written */
    FRAME_PONG,  /* the answer to FRAME_PING */
    /* From the front to an agent. */
    FRAME_ORDER = 64, /* the order: texts, each with its null byte; see struct order */
    FRAME_SIGNAL,     /* to all PEs: signal `value` */
    FRAME_STOP,       /* end all PEs */
    FRAME_IN,         /* for PE 0's standard input; no bytes: its end */
    FRAME_CREDIT,     /* `value` more bytes of output may come */
    FRAME_PING, /* sent regularly, to show that the front runs, and to see that the agent does
                 */
    FRAME_WHERE /* send what PEs are doing, as NEWS_DOING */
};

struct frame {
    uint32_t kind;
    uint32_t pe;
    int32_t value;
    uint32_t bytes;
};

/* Bytes that are being transferred: [at, used) of data. It grows; the program ends if there
 * is no memory. */
struct buffer {
    char *data;
    size_t at, used, room;
};

void buffer_put(struct buffer *b, const void *data, size_t bytes);
void buffer_skip(struct buffer *b, size_t bytes);
void buffer_free(struct buffer *b);
static inline size_t buffer_bytes(const struct buffer *b)
{
    return b->used - b->at;
}
/* As read(2) and write(2), at most some KiB at a time. */
ssize_t buffer_read(struct buffer *b, int fd);
ssize_t buffer_write(struct buffer *b, int fd);

/* One complete frame; bytes_out points into b until b is used next. */
enum frame_state { FRAME_PART, FRAME_WHOLE, FRAME_FAULT };
void frame_put(struct buffer *b, struct frame frame, const void *bytes);
enum frame_state frame_take(struct buffer *b, struct frame *frame_out, const char **bytes_out);

/* FRAME_ORDER's bytes. Texts are borrowed. */
struct order {
    uint32_t n;               /* number of PEs of the job */
    uint32_t first, n_pes;    /* those of this agent */
    uint32_t n_beside, place; /* see struct share */
    uint32_t n_variables;
    uint32_t keeps_records; /* 1: the front wants those of all PEs when they end */
    const char *host;       /* its name, as the user wrote it */
    const char *root, *secret, *folder;
    const char *const *variables; /* "NAME=VALUE" */
    const char *const *command;   /* null-terminated */
};

void order_put(struct buffer *b, const struct order *order);
/* Texts point into `bytes`; the caller frees the lists by freeing `variables`. False: it is
 * not an order. */
bool order_read(const char *bytes, size_t n_bytes, struct order *out);

#endif /* CHORUSRUN_FRAME_H */

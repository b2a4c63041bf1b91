/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.h: the messages between a PE and chorusrun. Only the functions at the end read and
 * write sockets: every check of a message can be tested on a buffer.
 *
 * Every message is a head and, for some kinds, `bytes` bytes after it. A PE's first message is
 * JOIN, over the socket that it inherited. It carries a descriptor, which is one end of a
 * socket pair that the PE created, and all later messages use that pair. A wrapper of the
 * program, such as a shell, also holds the inherited socket, but only the PE holds its end of
 * the pair: if that is closed, the program has ended, or has become another program by exec.
 * chorusrun keeps its end of the inherited socket open: if that is closed, chorusrun has
 * ended.
 *
 * A PE's EXCHANGE carries its descriptor with the head. chorusrun answers each EXCHANGE, once
 * all PEs have sent theirs, with RESULT: the blobs of all PEs in order, then one-byte messages
 * that carry the descriptors of the PEs on the same host, CH_WIRE_FDS at a time; or with FAIL,
 * whose bytes are the reason. Until a PE has the whole answer, it may only leave or end the
 * job, or ASK which PEs have not come. Unless the answer is on its way, chorusrun answers that
 * with TOLD, whose bytes name them.
 */
#ifndef CH_MESSAGE_H
#define CH_MESSAGE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
    CH_WIRE_MAGIC = 0x43480004, /* "CH", and the version of this protocol */
    CH_WIRE_PES_MAX = 1024,     /* largest number of PEs that chorusrun starts */
    CH_WIRE_BLOB_MAX = 1 << 20, /* largest number of bytes of a PE in an exchange */
    CH_WIRE_REASON_BYTES =
        512,                  /* of the reason of a FAIL, with the null byte that is not sent */
    CH_WIRE_FDS = 64,         /* descriptors in a message of an answer */
    CH_WIRE_CONTROL_FDS = 253 /* that Linux puts into one control message (SCM_MAX_FD) */
};

enum ch_wire_kind {
    CH_WIRE_JOIN = 1, /* PE: it joins, with 1 descriptor; from now on, its end without LEAVE is
                         a failure */
    CH_WIRE_EXCHANGE, /* PE: its blob, and 0 or 1 descriptors; `code` is the number of its host
                       */
    CH_WIRE_LEAVE,    /* PE: its exit is no longer a failure */
    CH_WIRE_ABORT,    /* PE: end the whole job with exit status `code`, 0 to 255 */
    CH_WIRE_RESULT,   /* chorusrun: the blobs of all PEs */
    CH_WIRE_FAIL, /* chorusrun: the exchange failed, for the reason in the bytes; `code` is a
                     status */
    CH_WIRE_SHOW, /* PE: 1 descriptor, of its memory, if exchanges do not go through chorusrun
                   */
    CH_WIRE_ASK,  /* PE, in an exchange: which PEs are missing? */
    CH_WIRE_TOLD  /* chorusrun: these */
};

struct ch_wire_head {
    uint32_t magic; /* CH_WIRE_MAGIC */
    uint32_t kind;
    int32_t code;
    uint32_t n_fds;
    uint64_t bytes; /* that follow the head */
};

/* The bytes of a JOIN. */
struct ch_wire_join {
    uint32_t pe, n; /* number of this PE, and of PEs of the job, from its environment */
    uint32_t version_major, version_minor; /* version of its library */
};

/* Returns the head of a message of this kind, with no bytes, no descriptors and code 0. */
struct ch_wire_head ch_wire_head_of(enum ch_wire_kind kind);

/* Returns the bytes of the JOIN of this PE. */
struct ch_wire_join ch_wire_join_of(uint32_t pe, uint32_t n);

/* For chorusrun: is this the JOIN of PE `pe` of n? If not, why_out continues "PE 1 ...". */
bool ch_wire_join_check(const struct ch_wire_join *join, uint32_t pe, uint32_t n,
                        char why_out[CH_WIRE_REASON_BYTES]);

/* The state of a PE's dialogue with chorusrun. */
enum ch_wire_stage {
    CH_WIRE_OUTSIDE, /* has not joined */
    CH_WIRE_INSIDE,  /* may begin an exchange */
    CH_WIRE_OWED     /* has begun one, and has not been sent the whole answer */
};

/*
 * For chorusrun: a message of a PE while it is received, in pieces of any length. The receiver
 * puts descriptors into it first, then bytes at the address of ch_message_room, and then calls
 * ch_message_add_bytes.
 */
struct ch_message {
    struct ch_wire_head head;
    size_t head_got;
    char *body; /* head.bytes bytes; owned */
    size_t body_got;
    int fd;            /* the received descriptor, owned; -1 if none */
    uint32_t n_fds;    /* number of received descriptors, those that were closed included */
    const char *fault; /* a fault, which continues "PE 1 ..."; null while there is none */
};

enum ch_message_state { CH_MESSAGE_PART, CH_MESSAGE_WHOLE, CH_MESSAGE_FAULT };

void ch_message_init(struct ch_message *m);
/* Free its memory and descriptors, and prepare it for the next message. */
void ch_message_forget(struct ch_message *m);
/* Returns the address for the next bytes, and in *bytes_out the number of missing bytes, which
 * is not 0 before the message is complete. */
void *ch_message_room(struct ch_message *m, size_t *bytes_out);
/* Note that `bytes` more have been received, and check the head once it is complete. stage:
 * that of the PE. After a fault, all later bytes are meaningless. */
enum ch_message_state ch_message_add_bytes(struct ch_message *m, size_t bytes,
                                           enum ch_wire_stage stage);
/* Take n descriptors that were received with the next bytes: keeps the first, closes all
 * others. */
void ch_message_take_fds(struct ch_message *m, const int *fds, uint32_t n);

/* For the PE: is this the answer to ASK, whose names follow? */
static inline bool ch_wire_is_missing_list(const struct ch_wire_head *head)
{
    return head->magic == CH_WIRE_MAGIC && head->kind == CH_WIRE_TOLD &&
           head->bytes < CH_WIRE_REASON_BYTES && head->n_fds == 0;
}

/*
 * For the PE: is this the answer to an exchange of n PEs, of `bytes` bytes each and n_fds
 * descriptors in all? CHORUS_OK for a RESULT, and for a FAIL, whose reason follows; ERR_SYSTEM
 * for any other head.
 */
CH_MUST_CHECK chorus_status ch_wire_answer_check(const struct ch_wire_head *head, size_t bytes,
                                                 uint32_t n_fds);

/* Memory for the descriptors that recvmsg receives, with the required alignment, and large
 * enough for all. */
union ch_wire_control {
    struct cmsghdr head;
    char room[CMSG_SPACE(CH_WIRE_CONTROL_FDS * sizeof(int))];
};

/* For both sides: copy all descriptors of a control message, which then belong to the caller.
 * Returns their number. */
uint32_t ch_wire_extract_fds(const struct msghdr *m, int fds_out[CH_WIRE_CONTROL_FDS]);

/* ---- the PE's side of the socket pair ---- */

/*
 * All calls block until deadline_ns of ch_clock_ns (0: without limit). ERR_TIMEOUT sets no
 * message; ERR_ABORTED: chorusrun has ended; ERR_SYSTEM: a system call failed.
 */

/* Send all of the bytes. fd >= 0: pass this descriptor with the first byte. */
CH_MUST_CHECK chorus_status ch_wire_send(int sock, const void *data, size_t bytes, int fd,
                                         uint64_t deadline_ns);

/* Receive exactly `bytes` bytes. */
CH_MUST_CHECK chorus_status ch_wire_recv(int sock, void *data, size_t bytes,
                                         uint64_t deadline_ns);

/* Wait until there is something to receive, or the connection has ended. */
CH_MUST_CHECK chorus_status ch_wire_await(int sock, uint64_t deadline_ns);

/* Receive n descriptors, close-on-exec; on failure those that were received are closed. */
CH_MUST_CHECK chorus_status ch_wire_recv_fds(int sock, uint32_t n, int *fds_out,
                                             uint64_t deadline_ns);

/* Send a byte and n descriptors, 1 to CH_WIRE_FDS, if the socket accepts them now. Returns as
 * send(2). */
ssize_t ch_wire_send_fds_once(int sock, const int *fds, uint32_t n);

/* Send n descriptors, which ch_wire_recv_fds receives. */
CH_MUST_CHECK chorus_status ch_wire_send_fds(int sock, uint32_t n, const int *fds,
                                             uint64_t deadline_ns);

#endif /* CH_MESSAGE_H */

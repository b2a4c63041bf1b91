/* SPDX-License-Identifier: Apache-2.0 */
/* tree_inside.h: a node of a tree, for the files that implement it. */
#ifndef CH_TREE_INSIDE_H
#define CH_TREE_INSIDE_H

#include "boot/tree_message.h"

/*
 * Strangers are connections that have not yet proved that they have the secret. Their time is
 * limited, and so is their number: one more replaces the oldest. A call of serve accepts a
 * limited number.
 */
#define CH_TREE_STRANGER_NS (5 * CH_NS_PER_S)
enum { CH_TREE_STRANGERS = 256, CH_TREE_ACCEPTS = 64 };

struct ch_tree_conn {
    int fd;      /* -1: none */
    uint32_t pe; /* CH_TREE_NO_PE: a root that is not a PE */
    char host[CH_TREE_HOST_BYTES];
    uint32_t n_addresses; /* the address at which it listens */
    struct ch_tree_address addresses[CH_TREE_ADDRESSES];
    bool is_leaving; /* it announced the end of the connection, which is then no failure */

    struct ch_tree_head head; /* of the message that is being received */
    size_t got;               /* bytes received of its head and body */
    char *body;

    char *out; /* bytes that the socket did not take yet: sent..used of the buffer */
    size_t out_sent, out_used, out_room;
    bool is_watched_out;
};

struct ch_tree_stranger {
    int fd; /* -1: none */
    uint64_t since_ns;
    struct ch_tree_challenge challenge;
    struct ch_tree_hello hello;
    size_t got;
};

/*
 * Connections whose hello was made with another secret. They are refused, and do not end the
 * start; if PEs are missing when it fails, the message names the first of them. What they state
 * about themselves is not authenticated.
 */
struct ch_tree_foreign {
    uint64_t n;       /* connections */
    uint32_t n_named; /* processes that follow */
    struct ch_tree_named {
        uint32_t pe, n;                  /* PE `pe` of n, as it stated */
        char host[CH_TREE_HOST_BYTES];   /* as it stated */
        char from[CH_TREE_ADDRESS_TEXT]; /* address of its first connection */
    } named[3];
};

/* What to do about it. */
#define CH_TREE_SECRET_ADVICE \
    "start all PEs of a job with one launcher, unique id or CHORUS_SECRET"

/* The exchange in progress. Only the root uses the members after the first two. */
struct ch_tree_round {
    uint64_t index;
    bool is_mine; /* this PE has contributed, and has not received the result */
    uint32_t n_here;
    struct ch_tree_part {
        bool is_here;
        int32_t code; /* of the GATHER */
        size_t bytes;
        char *blob; /* owned; null if bytes is 0 */
    } * parts;      /* [n] */
};

struct ch_tree {
    struct ch_tree_terms terms;
    char host[CH_TREE_HOST_BYTES]; /* of this process */
    int epoll;
    struct ch_tree_door door;
    struct ch_tree_conn up; /* no descriptor at the root */
    bool is_root;
    struct ch_tree_conn children[CH_TREE_CHILDREN];
    uint32_t next_child; /* child to which the next PE that joins is redirected */
    struct ch_tree_stranger strangers[CH_TREE_STRANGERS];
    uint32_t next_stranger; /* index of the next one, and of the oldest if all are used */
    /* Closed when no descriptor is left, -1 from then on: the first one so that one connection
     * at a time can still be authenticated, the other so that PEs learn why the start fails. */
    int spare, last_spare;
    struct ch_tree_foreign foreign;
    struct ch_tree_round round;
    char (*hosts)[CH_TREE_HOST_BYTES]; /* root: [n], "" of those that have not joined */
    bool is_over;                      /* the reason is known, and was reported */
    int status;                        /* why_over's */
    char why_over[CH_TREE_TEXT_BYTES];
    char why_failed[CH_TREE_TEXT_BYTES]; /* reason for which all further exchanges fail; "":
                                            they do not */
};

/* tree_conn.c: a connection; reads and writes as much as its socket allows. */
CH_MUST_CHECK bool ch_tree_conn_open(struct ch_tree *tree, struct ch_tree_conn *conn, int fd);
void ch_tree_conn_close(struct ch_tree_conn *conn);
void ch_tree_conn_send(struct ch_tree *tree, struct ch_tree_conn *conn,
                       const struct ch_tree_head *head, const void *body);
void ch_tree_conn_flush(struct ch_tree *tree, struct ch_tree_conn *conn);
/* Read a message. 1: it is complete; 0: the socket has no more bytes now; -1: the connection
 * has ended, errno is the reason (0: its peer closed it). */
int ch_tree_conn_receive(struct ch_tree *tree, struct ch_tree_conn *conn);
void ch_tree_conn_forget_message(struct ch_tree_conn *conn);

/* tree_accept.c */
void ch_tree_accept(struct ch_tree *tree);
void ch_tree_hear_stranger(struct ch_tree *tree, struct ch_tree_stranger *stranger);
void ch_tree_drop_late_strangers(struct ch_tree *tree);
void ch_tree_stop_listening(struct ch_tree *tree); /* and close all strangers */

/* tree_secret.c */
void ch_tree_note_foreign(struct ch_tree *tree, const struct ch_tree_stranger *stranger);
/* "; 3 connections ...", or "" if there was none. */
void ch_tree_foreign_text(const struct ch_tree *tree, char text_out[CH_TREE_TEXT_BYTES]);

/* tree_round.c: exchanges, at the root and at other nodes. */
CH_MUST_CHECK bool ch_round_open(struct ch_tree *tree); /* false: no memory */
void ch_round_close(struct ch_tree *tree);
void ch_round_gather(struct ch_tree *tree, const struct ch_tree_head *head, const char *blob);
void ch_round_late(struct ch_tree *tree, double waited_s);
/* Forward the result to the children, and report it to this PE. */
void ch_round_result(struct ch_tree *tree, const struct ch_tree_head *head, const char *body);
/* At the root: fail it on all PEs. With a status other than ERR_ARG, all later exchanges fail,
 * too. */
void ch_round_fail(struct ch_tree *tree, chorus_status status, const char *reason);
/* Fail it on this PE only, if it waits. */
void ch_round_fail_mine(struct ch_tree *tree, chorus_status status, const char *reason);

/* tree_end.c */
void ch_tree_note_joined(struct ch_tree *tree, uint32_t pe, const char *host);
void ch_tree_lose(struct ch_tree *tree, struct ch_tree_conn *conn, int error);
void ch_tree_note_left(struct ch_tree *tree, uint32_t pe);
/* The message comes from the node `from`; null: from this node. */
void ch_tree_note_over(struct ch_tree *tree, const struct ch_tree_conn *from,
                       const struct ch_tree_head *head, const char *reason);

/* tree.c */
/* To the parent and all children, except `from`. */
void ch_tree_tell_all(struct ch_tree *tree, const struct ch_tree_conn *from,
                      const struct ch_tree_head *head, const void *body);
void ch_tree_tell_children(struct ch_tree *tree, const struct ch_tree_head *head,
                           const void *body);
CH_MUST_CHECK bool ch_tree_watch_fd(struct ch_tree *tree, int fd, const void *what);
/* A node with only its terms and host; null: no memory, or no descriptor. */
struct ch_tree *ch_tree_make(const struct ch_tree_terms *terms);

#endif /* CH_TREE_INSIDE_H */

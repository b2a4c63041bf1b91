/* SPDX-License-Identifier: Apache-2.0 */
/* tree_inside.h: a node of a tree, for the files that implement it. */
#ifndef CH_TREE_INSIDE_H
#define CH_TREE_INSIDE_H

#include "boot/tree_message.h"

/*
 * Strangers are connections that have not proved to know the secret. They have so long for
 * that, and at most so many are kept: one more takes the place of the oldest. A turn of serve
 * accepts at most so many.
 */
#define CH_TREE_STRANGER_NS (5 * CH_NS_PER_S)
enum { CH_TREE_STRANGERS = 256, CH_TREE_ACCEPTS = 64 };

struct ch_tree_link {
    int fd;      /* -1: none */
    uint32_t pe; /* CH_TREE_NO_PE: a root that is no PE */
    char host[CH_TREE_HOST_BYTES];
    uint32_t n_addresses; /* where it listens */
    struct ch_tree_address addresses[CH_TREE_ADDRESSES];
    bool is_leaving; /* it said so: the end of the connection is well */

    struct ch_tree_head head; /* of the message that comes */
    size_t got;               /* of it and its bytes */
    char *body;

    char *out; /* what the socket did not take yet: bytes sent..used of it */
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

/* The exchange in progress. All but the first two are the root's. */
struct ch_tree_round {
    uint64_t index;
    bool is_mine; /* this PE has given its part, and not had the result */
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
    struct ch_tree_link up; /* no descriptor at the root */
    bool is_root;
    struct ch_tree_link children[CH_TREE_CHILDREN];
    uint32_t next_child; /* that a joiner is sent to */
    struct ch_tree_stranger strangers[CH_TREE_STRANGERS];
    uint32_t next_stranger; /* the place of the next, and the oldest if all are taken */
    uint64_t n_refused;     /* strangers that did not know the secret */
    struct ch_tree_round round;
    char (*hosts)[CH_TREE_HOST_BYTES]; /* root: [n], "" of those that have not joined */
    bool is_over;                      /* the reason is known, and told */
    int status;                        /* why_over's */
    char why_over[CH_TREE_TEXT_BYTES];
    char why_failed[CH_TREE_TEXT_BYTES]; /* all exchanges from now on; "": they do not */
};

/* tree_link.c: a connection, as far as its socket takes and gives now. */
CH_MUST_CHECK bool ch_link_open(struct ch_tree *tree, struct ch_tree_link *link, int fd);
void ch_link_close(struct ch_tree_link *link);
void ch_link_send(struct ch_tree *tree, struct ch_tree_link *link,
                  const struct ch_tree_head *head, const void *body);
void ch_link_flush(struct ch_tree *tree, struct ch_tree_link *link);
/* Read a message. 1: it is whole; 0: nothing more now; -1: the connection has ended, errno says
 * how (0: its peer closed it). */
int ch_link_receive(struct ch_tree *tree, struct ch_tree_link *link);
void ch_link_forget_message(struct ch_tree_link *link);

/* tree_accept.c */
void ch_tree_accept(struct ch_tree *tree);
void ch_tree_hear_stranger(struct ch_tree *tree, struct ch_tree_stranger *stranger);
void ch_tree_drop_late_strangers(struct ch_tree *tree);
void ch_tree_stop_listening(struct ch_tree *tree); /* and drop all strangers */

/* tree_round.c: the root's part of exchanges, and everybody's. */
CH_MUST_CHECK bool ch_round_open(struct ch_tree *tree); /* false: no memory */
void ch_round_close(struct ch_tree *tree);
void ch_round_gather(struct ch_tree *tree, const struct ch_tree_head *head, const char *blob);
void ch_round_late(struct ch_tree *tree, double waited_s);
/* Pass it to the children, and tell this PE. */
void ch_round_result(struct ch_tree *tree, const struct ch_tree_head *head, const char *body);
/* At the root: fail it on all PEs. Not ERR_ARG: and all that follow. */
void ch_round_fail(struct ch_tree *tree, chorus_status status, const char *reason);
/* This PE's alone, if it waits. */
void ch_round_fail_mine(struct ch_tree *tree, chorus_status status, const char *reason);

/* tree_end.c */
void ch_tree_note_joined(struct ch_tree *tree, uint32_t pe, const char *host);
void ch_tree_lose(struct ch_tree *tree, struct ch_tree_link *link, int error);
void ch_tree_note_left(struct ch_tree *tree, uint32_t pe);
/* From `from`, or null: from here. */
void ch_tree_note_over(struct ch_tree *tree, const struct ch_tree_link *from,
                       const struct ch_tree_head *head, const char *reason);

/* tree.c */
/* To the parent and all children, except `from`. */
void ch_tree_tell_all(struct ch_tree *tree, const struct ch_tree_link *from,
                      const struct ch_tree_head *head, const void *body);
void ch_tree_tell_children(struct ch_tree *tree, const struct ch_tree_head *head,
                           const void *body);
CH_MUST_CHECK bool ch_tree_watch_fd(struct ch_tree *tree, int fd, const void *what);
/* A node with nothing but its terms and host; null: no memory, or no descriptor. */
struct ch_tree *ch_tree_make(const struct ch_tree_terms *terms);

#endif /* CH_TREE_INSIDE_H */

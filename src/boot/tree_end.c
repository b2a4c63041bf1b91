/* SPDX-License-Identifier: Apache-2.0 */
/* tree_end.c: which PEs are in the job, left it, or were lost; and the end of the job. */
#include "boot/tree_inside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void ch_tree_note_joined(struct ch_tree *tree, uint32_t pe, const char *host)
{
    const struct ch_tree_events *const events = &tree->terms.events;
    char why[CH_TREE_TEXT_BYTES];

    if (tree->hosts[pe][0] != '\0') {
        (void)snprintf(why, sizeof(why),
                       "two processes are PE %u: one on host %s, one on host %s; start each PE "
                       "once",
                       pe, tree->hosts[pe], host);
        ch_tree_abort(tree, 1, why);
        return;
    }
    (void)snprintf(tree->hosts[pe], CH_TREE_HOST_BYTES, "%s", host[0] != '\0' ? host : "?");
    if (events->joined != NULL) events->joined(events->self, pe, tree->hosts[pe]);
}

void ch_tree_note_left(struct ch_tree *tree, uint32_t pe)
{
    const struct ch_tree_head head = {.kind = CH_TREE_LEFT, .pe = pe};
    const struct ch_tree_events *const events = &tree->terms.events;
    char why[64];

    if (!tree->is_root) {
        ch_tree_conn_send(tree, &tree->up, &head, NULL);
        return;
    }
    if (events->left != NULL) events->left(events->self, pe);
    if (tree->is_over || tree->why_failed[0] != '\0') return;
    (void)snprintf(why, sizeof(why), "PE %u left the job", pe);
    ch_round_fail(tree, CHORUS_ERR_ABORTED, why);
}

void ch_tree_note_over(struct ch_tree *tree, const struct ch_tree_conn *from,
                       const struct ch_tree_head *head, const char *reason)
{
    const struct ch_tree_events *const events = &tree->terms.events;

    if (tree->is_over) return;
    tree->is_over = true;
    tree->status = head->code;
    (void)snprintf(tree->why_over, CH_TREE_TEXT_BYTES, "%s", reason);
    ch_tree_tell_all(tree, from, head, reason);
    ch_round_fail_mine(tree, CHORUS_ERR_ABORTED, tree->why_over);
    if (events->over != NULL) events->over(events->self, tree->status, tree->why_over);
}

void ch_tree_abort(struct ch_tree *tree, int status, const char *reason)
{
    const struct ch_tree_head head = {.kind = CH_TREE_ABORT,
                                      .pe = tree->terms.me,
                                      .bytes = strnlen(reason, CH_TREE_TEXT_BYTES - 1),
                                      .code = status};

    ch_tree_note_over(tree, NULL, &head, reason);
}

static const char *how_it_ended(int error)
{
    switch (error) {
    case 0:
    case ECONNRESET:
    case EPIPE:
        return "its process has ended";
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN:
        return "its host does not answer";
    case EPROTO:
        return "it sent a message in an unknown format";
    default:
        return strerror(error);
    }
}

static void name_pe(const struct ch_tree_conn *conn, char out[32])
{
    if (conn->pe == CH_TREE_NO_PE)
        (void)snprintf(out, 32, "the launcher");
    else
        (void)snprintf(out, 32, "PE %u", conn->pe);
}

/* The root no longer reaches this node, nor the nodes below it. */
static void miss_parent(struct ch_tree *tree, const char *who)
{
    char why[CH_TREE_TEXT_BYTES];

    (void)snprintf(why, sizeof(why), "%s left the job", who);
    if (tree->why_failed[0] == '\0') ch_round_fail(tree, CHORUS_ERR_ABORTED, why);
}

void ch_tree_lose(struct ch_tree *tree, struct ch_tree_conn *conn, int error)
{
    const bool is_leaving = conn->is_leaving;
    char why[CH_TREE_TEXT_BYTES], who[32];

    name_pe(conn, who);
    (void)snprintf(why, sizeof(why), "%s on host %s was lost: %s", who, conn->host,
                   how_it_ended(error));
    ch_tree_conn_close(conn);
    if (tree->is_over) return;
    if (!is_leaving)
        ch_tree_abort(tree, 1, why);
    else if (conn == &tree->up)
        miss_parent(tree, who);
}

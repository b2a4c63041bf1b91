/* SPDX-License-Identifier: Apache-2.0 */
/*
 * round.c: exchanges: the contributions of all PEs are collected at the root, which answers to
 * all. And the end of the job: which PEs are in it, left it, or were lost.
 */
#include "boot/tree/inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- exchanges ---- */

/* The largest number of PEs that a message names. */
enum { NAMED = 8 };

bool ch_round_open(struct ch_tree *tree)
{
    tree->round.parts = calloc(tree->terms.n, sizeof(*tree->round.parts));
    return tree->round.parts != NULL;
}

/* Free the parts of the exchange in progress. */
static void forget_parts(struct ch_tree *tree)
{
    for (uint32_t pe = 0; pe < tree->terms.n && tree->round.parts != NULL; pe++) {
        free(tree->round.parts[pe].blob);
        tree->round.parts[pe] = (struct ch_tree_part){.is_here = false};
    }
    tree->round.n_here = 0;
}

void ch_round_close(struct ch_tree *tree)
{
    forget_parts(tree);
    free(tree->round.parts);
}

/* Report the end of the exchange to this PE, if it waits for the result. */
static void report_exchanged(struct ch_tree *tree, chorus_status status, const char *reason,
                             const char *blobs, size_t bytes)
{
    const struct ch_tree_events *const events = &tree->terms.events;

    if (!tree->round.is_mine) return;
    tree->round.is_mine = false;
    if (events->exchanged != NULL)
        events->exchanged(events->self, status, reason, blobs, bytes);
}

void ch_round_fail_mine(struct ch_tree *tree, chorus_status status, const char *reason)
{
    report_exchanged(tree, status, reason, NULL, 0);
}

void ch_round_handle_result(struct ch_tree *tree, const struct ch_tree_head *head,
                            const char *body)
{
    char reason[CH_TREE_TEXT_BYTES] = "";

    ch_tree_send_children(tree, head, body);
    tree->round.index = head->round + 1;
    if (head->kind == CH_TREE_RESULT) {
        ch_tree_stop_listening(tree); /* all PEs have joined */
        report_exchanged(tree, CHORUS_OK, "", body, (size_t)head->bytes);
        return;
    }
    if (head->bytes > 0) memcpy(reason, body, (size_t)head->bytes);
    if (head->code != CHORUS_ERR_ARG && tree->why_failed[0] == '\0')
        (void)snprintf(tree->why_failed, CH_TREE_TEXT_BYTES, "%s", reason);
    report_exchanged(tree, (chorus_status)head->code, reason, NULL, 0);
}

/* At the root: fail the exchange on all PEs. With a status other than ERR_ARG, all later
 * exchanges fail, too. */
static void fail_all(struct ch_tree *tree, chorus_status status, const char *reason)
{
    const struct ch_tree_head head = {.kind = CH_TREE_FAIL,
                                      .pe = tree->terms.me,
                                      .round = tree->round.index,
                                      .bytes = strnlen(reason, CH_TREE_TEXT_BYTES - 1),
                                      .code = status};

    forget_parts(tree);
    ch_round_handle_result(tree, &head, reason);
}

/* Have the parts of all PEs the same form as that of PE 0? */
static bool are_parts_alike(const struct ch_tree *tree, char why_out[CH_TREE_TEXT_BYTES])
{
    const struct ch_tree_part *const first = &tree->round.parts[0];

    for (uint32_t pe = 1; pe < tree->terms.n; pe++) {
        const struct ch_tree_part *const part = &tree->round.parts[pe];
        if (part->bytes == first->bytes && part->code == first->code) continue;
        (void)snprintf(why_out, CH_TREE_TEXT_BYTES, "PE %u gave %zu bytes%s, PE 0 %zu bytes%s",
                       pe, part->bytes, part->code ? " and a descriptor" : "", first->bytes,
                       first->code ? " and a descriptor" : "");
        return false;
    }
    return true;
}

/* The parts of all PEs have arrived: send the result to all PEs. */
static void finish_round(struct ch_tree *tree)
{
    const size_t bytes = tree->round.parts[0].bytes;
    const struct ch_tree_head head = {.kind = CH_TREE_RESULT,
                                      .pe = tree->terms.me,
                                      .round = tree->round.index,
                                      .bytes = tree->terms.n * bytes};
    char why[CH_TREE_TEXT_BYTES], *all;

    if (!are_parts_alike(tree, why)) {
        fail_all(tree, CHORUS_ERR_ARG, why);
        return;
    }
    all = malloc((size_t)head.bytes + 1);
    if (all == NULL) {
        fail_all(tree, CHORUS_ERR_SYSTEM, "the tree's root has no memory for an exchange");
        return;
    }
    for (uint32_t pe = 0; pe < tree->terms.n && bytes > 0; pe++)
        memcpy(all + pe * bytes, tree->round.parts[pe].blob, bytes);
    forget_parts(tree);
    ch_round_handle_result(tree, &head, all);
    free(all);
}

/* A part of an exchange that has failed meanwhile is ignored: its PE was informed. */
void ch_round_add_part(struct ch_tree *tree, const struct ch_tree_head *head, const char *blob)
{
    struct ch_tree_part *const part = &tree->round.parts[head->pe];

    if (tree->is_over || tree->why_failed[0] != '\0') return;
    if (head->round != tree->round.index || part->is_here) return;
    *part = (struct ch_tree_part){true, head->code, (size_t)head->bytes, NULL};
    if (part->bytes > 0) {
        part->blob = malloc(part->bytes);
        if (part->blob == NULL) {
            fail_all(tree, CHORUS_ERR_SYSTEM, "the tree's root has no memory for an exchange");
            return;
        }
        memcpy(part->blob, blob, part->bytes);
    }
    if (++tree->round.n_here == tree->terms.n) finish_round(tree);
}

/* Write "PE 1, PE 4 and 20 more": the PEs whose parts are missing, and that have joined or not.
 * Returns their number. */
static uint32_t name_missing(const struct ch_tree *tree, bool has_joined,
                             char text_out[CH_TREE_TEXT_BYTES])
{
    uint32_t count = 0;
    size_t used = 0;

    text_out[0] = '\0';
    for (uint32_t pe = 0; pe < tree->terms.n; pe++) {
        if (tree->round.parts[pe].is_here) continue;
        if ((tree->hosts[pe][0] != '\0') != has_joined) continue;
        if (count++ >= NAMED) continue;
        used += (size_t)snprintf(text_out + used, CH_TREE_TEXT_BYTES - used, "%sPE %u",
                                 count == 1 ? "" : ", ", pe);
        if (has_joined)
            used += (size_t)snprintf(text_out + used, CH_TREE_TEXT_BYTES - used, " on %.32s",
                                     tree->hosts[pe]);
    }
    if (count > NAMED)
        (void)snprintf(text_out + used, CH_TREE_TEXT_BYTES - used, " and %u more",
                       count - NAMED);
    return count;
}

void ch_round_fail_late(struct ch_tree *tree, double waited_s)
{
    char absent[CH_TREE_TEXT_BYTES], silent[CH_TREE_TEXT_BYTES];
    const uint32_t n_absent = name_missing(tree, false, absent);
    const uint32_t n_silent = name_missing(tree, true, silent);
    char why[4 * CH_TREE_TEXT_BYTES], foreign[CH_TREE_TEXT_BYTES] = "";

    if (n_absent + n_silent == 0 || tree->is_over || tree->why_failed[0] != '\0') return;
    if (n_absent > 0) ch_tree_foreign_text(tree, foreign);
    (void)snprintf(why, sizeof(why), "%u of %u PEs came within %.3g s; %s%s%s%s%s%s",
                   tree->round.n_here, tree->terms.n, waited_s, absent,
                   n_absent > 0 ? " never joined" : "", foreign,
                   n_absent > 0 && n_silent > 0 ? "; " : "", silent,
                   n_silent > 0 ? " did not arrive" : "");
    why[CH_TREE_TEXT_BYTES - 1] = '\0';
    fail_all(tree, CHORUS_ERR_TIMEOUT, why);
}

/* ---- the end ---- */

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
    char why[CH_TREE_TEXT_BYTES];

    if (!tree->is_root) {
        ch_tree_conn_send(tree, &tree->up, &head, NULL);
        return;
    }
    if (events->left != NULL) events->left(events->self, pe);
    if (tree->is_over || tree->why_failed[0] != '\0') return;
    (void)snprintf(why, sizeof(why), "PE %u left the job", pe);
    fail_all(tree, CHORUS_ERR_ABORTED, why);
}

void ch_tree_note_over(struct ch_tree *tree, const struct ch_tree_conn *from,
                       const struct ch_tree_head *head, const char *reason)
{
    const struct ch_tree_events *const events = &tree->terms.events;

    if (tree->is_over) return;
    tree->is_over = true;
    tree->status = head->code;
    (void)snprintf(tree->why_over, CH_TREE_TEXT_BYTES, "%s", reason);
    ch_tree_send_all(tree, from, head, reason);
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

/* Returns what became of the other end of a connection that ended with this errno. */
static const char *end_reason(int error)
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

/* The parent has left, so the root no longer reaches this node, nor the nodes below it: fail
 * their exchanges. */
static void fail_without_parent(struct ch_tree *tree, const char *who)
{
    char why[CH_TREE_TEXT_BYTES];

    (void)snprintf(why, sizeof(why), "%s left the job", who);
    if (tree->why_failed[0] == '\0') fail_all(tree, CHORUS_ERR_ABORTED, why);
}

void ch_tree_note_lost(struct ch_tree *tree, struct ch_tree_conn *conn, int error)
{
    const bool is_leaving = conn->is_leaving;
    char why[CH_TREE_TEXT_BYTES], who[32];

    name_pe(conn, who);
    (void)snprintf(why, sizeof(why), "%s on host %s was lost: %s", who, conn->host,
                   end_reason(error));
    ch_tree_conn_close(conn);
    if (tree->is_over) return;
    if (!is_leaving)
        ch_tree_abort(tree, 1, why);
    else if (conn == &tree->up)
        fail_without_parent(tree, who);
}

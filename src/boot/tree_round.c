/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_round.c: exchanges. The contributions of all PEs are collected at the root, which
 * answers to all.
 */
#include "boot/tree_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The largest number of PEs that a message names. */
enum { NAMED = 8 };

bool ch_round_open(struct ch_tree *tree)
{
    tree->round.parts = calloc(tree->terms.n, sizeof(*tree->round.parts));
    return tree->round.parts != NULL;
}

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

static void tell_exchanged(struct ch_tree *tree, chorus_status status, const char *reason,
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
    tell_exchanged(tree, status, reason, NULL, 0);
}

void ch_round_result(struct ch_tree *tree, const struct ch_tree_head *head, const char *body)
{
    char reason[CH_TREE_TEXT_BYTES] = "";

    ch_tree_tell_children(tree, head, body);
    tree->round.index = head->round + 1;
    if (head->kind == CH_TREE_RESULT) {
        ch_tree_stop_listening(tree); /* all PEs have joined */
        tell_exchanged(tree, CHORUS_OK, "", body, (size_t)head->bytes);
        return;
    }
    if (head->bytes > 0) memcpy(reason, body, (size_t)head->bytes);
    if (head->code != CHORUS_ERR_ARG && tree->why_failed[0] == '\0')
        (void)snprintf(tree->why_failed, CH_TREE_TEXT_BYTES, "%s", reason);
    tell_exchanged(tree, (chorus_status)head->code, reason, NULL, 0);
}

void ch_round_fail(struct ch_tree *tree, chorus_status status, const char *reason)
{
    const struct ch_tree_head head = {.kind = CH_TREE_FAIL,
                                      .pe = tree->terms.me,
                                      .round = tree->round.index,
                                      .bytes = strnlen(reason, CH_TREE_TEXT_BYTES - 1),
                                      .code = status};

    forget_parts(tree);
    ch_round_result(tree, &head, reason);
}

/* Have the parts of all PEs the same form as that of PE 0? */
static bool all_alike(const struct ch_tree *tree, char why_out[CH_TREE_TEXT_BYTES])
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

/* The parts of all PEs have arrived. */
static void finish(struct ch_tree *tree)
{
    const size_t bytes = tree->round.parts[0].bytes;
    const struct ch_tree_head head = {.kind = CH_TREE_RESULT,
                                      .pe = tree->terms.me,
                                      .round = tree->round.index,
                                      .bytes = tree->terms.n * bytes};
    char why[CH_TREE_TEXT_BYTES], *all;

    if (!all_alike(tree, why)) {
        ch_round_fail(tree, CHORUS_ERR_ARG, why);
        return;
    }
    all = malloc((size_t)head.bytes + 1);
    if (all == NULL) {
        ch_round_fail(tree, CHORUS_ERR_SYSTEM, "the tree's root has no memory for an exchange");
        return;
    }
    for (uint32_t pe = 0; pe < tree->terms.n && bytes > 0; pe++)
        memcpy(all + pe * bytes, tree->round.parts[pe].blob, bytes);
    forget_parts(tree);
    ch_round_result(tree, &head, all);
    free(all);
}

/* A part of an exchange that has failed meanwhile is ignored: its PE was informed. */
void ch_round_gather(struct ch_tree *tree, const struct ch_tree_head *head, const char *blob)
{
    struct ch_tree_part *const part = &tree->round.parts[head->pe];

    if (tree->is_over || tree->why_failed[0] != '\0') return;
    if (head->round != tree->round.index || part->is_here) return;
    *part = (struct ch_tree_part){true, head->code, (size_t)head->bytes, NULL};
    if (part->bytes > 0) {
        part->blob = malloc(part->bytes);
        if (part->blob == NULL) {
            ch_round_fail(tree, CHORUS_ERR_SYSTEM,
                          "the tree's root has no memory for an exchange");
            return;
        }
        memcpy(part->blob, blob, part->bytes);
    }
    if (++tree->round.n_here == tree->terms.n) finish(tree);
}

/* "PE 1, PE 4 and 20 more", of the PEs for which `is_meant`. Returns their number. */
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

void ch_round_late(struct ch_tree *tree, double waited_s)
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
    ch_round_fail(tree, CHORUS_ERR_TIMEOUT, why);
}

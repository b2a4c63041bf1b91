/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorusrun_root.c: the root of the tree that the PEs of all hosts join. It carries their
 * exchanges, and informs PEs that wait in a call when the job ends. Agents report that a PE
 * has ended, and how.
 */
#include "chorusrun_front.h"

#include "base/clock.h"
#include "boot/tree/tree.h"

#include <stdlib.h>

/* Time for an agent to report a PE that the tree has lost, which takes it half a second; and
 * the time between two checks of the tree without events. */
#define NEWS_NS (700 * CH_NS_PER_MS)
#define LOOK_NS CH_NS_PER_S

struct root {
    struct ch_tree *tree;
    char addresses[CH_TREE_TEXT_BYTES], secret[65];
    uint64_t look_at_ns;
    bool is_aborted;     /* by this front, which knows the reason */
    uint64_t over_at_ns; /* when the job ends for `reason`; UINT64_MAX: it does not */
    int status;
    char reason[CH_TREE_TEXT_BYTES];
    nfds_t at; /* index among the descriptors of poll */
};

/* A callback of the tree, which must not be ended here. */
static void note_over(void *self, int status, const char *reason)
{
    struct root *root = self;

    if (root->is_aborted) return;
    root->over_at_ns = ch_clock_ns() + NEWS_NS;
    root->status = status;
    (void)snprintf(root->reason, sizeof(root->reason), "%s", reason);
}

void root_open(struct job *job)
{
    struct root *root = calloc(1, sizeof(*root));
    struct ch_tree_terms terms = {.me = CH_TREE_NO_PE, .n = job->args->n};
    struct ch_options options; /* PEs report that one is wrong */
    struct ch_tree_listener door;

    job->front->root = root;
    if (root == NULL) {
        job_end(job, STATUS_CANNOT_RUN, "no memory for a control plane");
        return;
    }
    root->over_at_ns = UINT64_MAX;
    terms.link_ns = ch_options_read(&options) == CHORUS_OK ? options.link_ns : 0;
    terms.events.self = root;
    terms.events.over = note_over;
    ch_tree_secret_make(terms.secret);
    ch_tree_secret_print(terms.secret, root->secret);
    if (ch_tree_listen(0, &door) == CHORUS_OK) {
        ch_tree_own_addresses_print(&door, root->addresses);
        if (ch_tree_make_root(&terms, &door, &root->tree) == CHORUS_OK) return;
    }
    job_end(job, STATUS_CANNOT_RUN, "cannot listen for PEs of other hosts: %s",
            ch_error_message());
}

void root_close(struct job *job)
{
    struct root *root = job->front->root;

    if (root == NULL) return;
    ch_tree_close(root->tree);
    free(root);
}

const char *root_addresses(const struct job *job)
{
    return job->front->root->addresses;
}

const char *root_secret(const struct job *job)
{
    return job->front->root->secret;
}

void root_watch(struct job *job, struct pollfd *fds, nfds_t *n)
{
    struct root *root = job->front->root;
    const bool is_open = root != NULL && root->tree != NULL;

    if (is_open) root->at = watch_one(fds, n, ch_tree_poll_fd(root->tree), POLLIN);
}

void root_serve(struct job *job, const struct pollfd *fds)
{
    struct root *root = job->front->root;

    if (root == NULL || root->tree == NULL) return;
    if (fds[root->at].revents == 0 && ch_clock_ns() < root->look_at_ns) return;
    ch_tree_serve(root->tree);
    root->look_at_ns = ch_clock_ns() + LOOK_NS;
}

void root_abort(struct job *job, int status, const char *reason)
{
    struct root *root = job->front->root;

    if (root == NULL || root->tree == NULL) return;
    root->is_aborted = true;
    ch_tree_abort(root->tree, status, reason);
    ch_tree_serve(root->tree);
}

uint64_t root_due(const struct front *front)
{
    const struct root *root = front->root;

    if (root == NULL) return UINT64_MAX;
    return root->look_at_ns < root->over_at_ns ? root->look_at_ns : root->over_at_ns;
}

void root_do_due(struct job *job)
{
    struct root *root = job->front->root;

    if (root == NULL || ch_clock_ns() < root->over_at_ns) return;
    if (job_has_inside(job)) (void)root_judge(job); /* otherwise no PE waits for the lost one */
    root->over_at_ns = UINT64_MAX;
}

/* The PE with which a reason begins, if it has exited since: its agent's report is more
 * precise. */
static const struct pe *exited(const struct job *job, const char *reason)
{
    unsigned number;

    if (sscanf(reason, "PE %u ", &number) != 1 || number >= job->n_pes) return NULL;
    return job->pes[number].wait_status != 0 ? &job->pes[number] : NULL;
}

bool root_judge(struct job *job)
{
    const struct root *root = job->front->root;
    const struct pe *pe;

    if (root == NULL || root->over_at_ns == UINT64_MAX) return false;
    pe = exited(job, root->reason);
    if (pe != NULL) job_judge_late(job, pe);
    job_end(job, root->status != 0 ? root->status : STATUS_NOT_LEFT, "%s; ending the job",
            root->reason);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "boot/vote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHY_BYTES = 512 };

/* A ballot consists of a status, as this number of bytes, and the values after it. */
enum { STATUS_BYTES = sizeof(int64_t) };

static int64_t status_in(const char *ballot)
{
    int64_t status;

    memcpy(&status, ballot, sizeof(status));
    return status;
}

/* A vote, and the reason if the step of this voter failed. */
struct poll {
    const struct ch_voters *voters;
    const struct ch_vote *vote;
    char why[WHY_BYTES];
};

/* The step that failed may have broken the exchange: then its message is the better one. */
static chorus_status exchange(const struct poll *poll, const void *blob, size_t bytes,
                              void *blobs_out)
{
    const struct ch_voters *voters = poll->voters;
    const chorus_status st = voters->exchange(voters->self, blob, bytes, blobs_out);

    if (st == CHORUS_OK || poll->vote->mine == CHORUS_OK) return st;
    return CH_FAIL(st, "%s: %s", poll->vote->step, poll->why);
}

/* `failed` is the first voter whose step failed: receive its message. */
static chorus_status follow(const struct poll *poll, uint32_t failed, chorus_status status)
{
    const struct ch_voters *voters = poll->voters;
    const uint32_t number = voters->number(voters->self, failed);
    char *all = malloc((size_t)voters->n * WHY_BYTES);
    chorus_status st;

    if (all == NULL)
        return CH_FAIL(status, "%s: PE %u: %s", poll->vote->step, number,
                       ch_status_text(status));
    st = exchange(poll, poll->why, WHY_BYTES, all);
    if (st == CHORUS_OK)
        st = CH_FAIL(status, "%s: PE %u: %s", poll->vote->step, number,
                     all + (size_t)failed * WHY_BYTES);
    free(all);
    return st;
}

/* The ballots of all voters have arrived. */
static chorus_status count(const struct poll *poll, const char *ballots, void *all_out)
{
    const struct ch_voters *voters = poll->voters;
    const struct ch_vote *vote = poll->vote;
    const size_t ballot_bytes = STATUS_BYTES + vote->bytes;

    for (uint32_t i = 0; i < voters->n; i++) {
        const int64_t status = status_in(ballots + i * ballot_bytes);

        if (status != CHORUS_OK) return follow(poll, i, (chorus_status)status);
    }
    for (uint32_t i = 0; i < voters->n && vote->bytes != 0; i++)
        memcpy((char *)all_out + i * vote->bytes, ballots + i * ballot_bytes + STATUS_BYTES,
               vote->bytes);
    return CHORUS_OK;
}

chorus_status ch_vote(const struct ch_voters *voters, const struct ch_vote *vote, void *all_out)
{
    const size_t ballot_bytes = STATUS_BYTES + vote->bytes;
    const int64_t mine = vote->mine;
    char *ballots = malloc((voters->n + (size_t)1) * ballot_bytes), *own;
    struct poll poll = {voters, vote, ""};
    chorus_status st;

    if (ballots == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "%s: no memory for the results of %u PEs", vote->step,
                       voters->n);
    own = ballots + voters->n * ballot_bytes;
    if (mine != CHORUS_OK) (void)snprintf(poll.why, sizeof(poll.why), "%s", ch_error_message());
    memcpy(own, &mine, sizeof(mine));
    if (vote->bytes != 0) memcpy(own + STATUS_BYTES, vote->values, vote->bytes);
    st = exchange(&poll, own, ballot_bytes, ballots);
    if (st == CHORUS_OK) st = count(&poll, ballots, all_out);
    free(ballots);
    return st;
}

static chorus_status boot_exchange(void *self, const void *blob, size_t bytes, void *blobs_out)
{
    struct ch_boot *boot = self;

    return boot->ops->exchange(boot, blob, bytes, -1, blobs_out, NULL);
}

static uint32_t boot_number(const void *self, uint32_t voter)
{
    (void)self;
    return voter;
}

struct ch_voters ch_boot_voters(struct ch_boot *boot)
{
    return (struct ch_voters){boot->n, boot, boot_exchange, boot_number};
}

chorus_status ch_boot_vote(struct ch_boot *boot, const struct ch_vote *vote, void *all_out)
{
    const struct ch_voters voters = ch_boot_voters(boot);

    return ch_vote(&voters, vote, all_out);
}

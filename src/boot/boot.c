/* SPDX-License-Identifier: Apache-2.0 */
/* boot.c: chooses the way by which this process was started; what several ways need; votes. */
#include "base/error.h"
#include "base/option.h"
#include "base/text.h"
#include "boot/ways.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct ch_way *const ch_ways[] = {&ch_way_hosts, &ch_way_launcher, &ch_way_torchrun,
                                        &ch_way_pmix, &ch_way_alone};
const size_t ch_ways_count = sizeof(ch_ways) / sizeof(ch_ways[0]);

chorus_status ch_boot_open(uint64_t timeout_ns, bool is_again, struct ch_boot **boot_out)
{
    char why[CH_WAY_WHY_BYTES];
    size_t i = 0;

    while (!ch_ways[i]->applies(why))
        i++;
    if (is_again && !ch_ways[i]->may_repeat)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                       "a process that %s started can join its job only once; start PEs that "
                       "join again with chorusrun on one host",
                       ch_ways[i]->name);
    CH_LOG(DEBUG, "started by %s: %s", ch_ways[i]->name, why);
    return ch_ways[i]->open(timeout_ns, boot_out);
}

const char *ch_way_read_variable(const char *name, char why_out[CH_WAY_WHY_BYTES])
{
    const char *const value = secure_getenv(name);

    (void)snprintf(why_out, CH_WAY_WHY_BYTES, "%s is %s", name,
                   value == NULL    ? "not set"
                   : *value == '\0' ? "empty"
                                    : "set");
    return value == NULL || *value == '\0' ? NULL : value;
}

chorus_status ch_way_read_number(const char *name, const char *who, uint64_t lo, uint64_t hi,
                                 uint64_t *out)
{
    const char *const text = secure_getenv(name);

    if (text != NULL && ch_number_whole(text, lo, hi, out)) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "%s is \"%s\"; expected a whole number from %llu to %llu, which %s sets",
                   name, text == NULL ? "" : ch_variable_shown(name, text),
                   (unsigned long long)lo, (unsigned long long)hi, who);
}

chorus_status ch_way_check_host(const char *name)
{
    const char *const text = secure_getenv(name);

    if (text == NULL || strlen(text) <= CH_ADDRESS_CHARS_MAX) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "%s has %zu characters and begins with \"%.32s\"; expected the name or "
                   "address of a host, at most %d characters",
                   name, strlen(text), ch_variable_shown(name, text), CH_ADDRESS_CHARS_MAX);
}

chorus_status ch_fd_dup(int fd, int *fd_out)
{
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

    if (copy < 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "cannot duplicate descriptor %d: %s%s", fd,
                       strerror(errno), errno == EMFILE ? "; " CH_LIMIT_ADVICE : "");
    *fd_out = copy;
    return CHORUS_OK;
}

void ch_fd_close_all(const int *fds, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (fds[i] >= 0) (void)close(fds[i]);
}

chorus_status ch_thread_start(void *(*run)(void *), void *arg, pthread_t *thread_out)
{
    sigset_t all, old;
    int rc;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(thread_out, NULL, run, arg);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0) return CH_FAIL(CHORUS_ERR_SYSTEM, "cannot start a thread: %s", strerror(rc));
    return CHORUS_OK;
}

/* ---- votes ---- */

enum { WHY_BYTES = 512 };

/* A ballot consists of a status, as this number of bytes, and the values after it. */
enum { STATUS_BYTES = sizeof(int64_t) };

static int64_t ballot_status(const char *ballot)
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

/* Exchange blobs among the voters. If this PE's step failed, it may have broken the exchange: a
 * failure of the exchange then has the message of the step. */
static chorus_status exchange_or_explain(const struct poll *poll, const void *blob,
                                         size_t bytes, void *blobs_out)
{
    const struct ch_voters *voters = poll->voters;
    const chorus_status st = voters->exchange(voters->self, blob, bytes, blobs_out);

    if (st == CHORUS_OK || poll->vote->mine == CHORUS_OK) return st;
    return CH_FAIL(st, "%s: %s", poll->vote->step, poll->why);
}

/* Fail with the status of the voter `failed`, whose step failed because of `why`. */
static chorus_status fail_as(const struct poll *poll, uint32_t failed, chorus_status status,
                             const char *why)
{
    const struct ch_voters *voters = poll->voters;
    const char *host = voters->host != NULL ? voters->host(voters->self, failed) : NULL;

    return CH_FAIL(status, "%s: PE %u%s%s: %s", poll->vote->step,
                   voters->number(voters->self, failed), host != NULL ? " on host " : "",
                   host != NULL ? host : "", why);
}

/* `failed` is the first voter whose step failed, with this status: receive its message, and
 * fail with both. */
static chorus_status receive_failure(const struct poll *poll, uint32_t failed,
                                     chorus_status status)
{
    const uint32_t n = poll->voters->n;
    char *all = malloc((size_t)n * WHY_BYTES);
    chorus_status st;

    if (all == NULL) return fail_as(poll, failed, status, ch_status_text(status));
    st = exchange_or_explain(poll, poll->why, WHY_BYTES, all);
    if (st == CHORUS_OK) st = fail_as(poll, failed, status, all + (size_t)failed * WHY_BYTES);
    free(all);
    return st;
}

/* The ballots of all voters have arrived: fail as the first voter did whose step failed, or
 * copy the values of all to all_out. */
static chorus_status count_ballots(const struct poll *poll, const char *ballots, void *all_out)
{
    const struct ch_voters *voters = poll->voters;
    const struct ch_vote *vote = poll->vote;
    const size_t ballot_bytes = STATUS_BYTES + vote->bytes;

    for (uint32_t i = 0; i < voters->n; i++) {
        const int64_t status = ballot_status(ballots + i * ballot_bytes);

        if (status != CHORUS_OK) return receive_failure(poll, i, (chorus_status)status);
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
    st = exchange_or_explain(&poll, own, ballot_bytes, ballots);
    if (st == CHORUS_OK) st = count_ballots(&poll, ballots, all_out);
    free(ballots);
    return st;
}

static chorus_status boot_exchange(void *self, const void *blob, size_t bytes, void *blobs_out)
{
    struct ch_boot *boot = self;

    return boot->ops->exchange(boot, blob, bytes, -1, blobs_out, NULL);
}

/* All PEs vote: voter i is PE i. */
static uint32_t boot_number(const void *self, uint32_t voter)
{
    (void)self;
    return voter;
}

static const char *boot_host(const void *self, uint32_t voter)
{
    const struct ch_boot *boot = self;

    return boot->hosts != NULL ? boot->hosts[boot->nodes[voter]] : NULL;
}

struct ch_voters ch_boot_voters(struct ch_boot *boot)
{
    return (struct ch_voters){boot->n, boot, boot_exchange, boot_number, boot_host};
}

chorus_status ch_boot_vote(struct ch_boot *boot, const struct ch_vote *vote, void *all_out)
{
    const struct ch_voters voters = ch_boot_voters(boot);

    return ch_vote(&voters, vote, all_out);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "base/number.h"
#include "base/option.h"
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

const char *ch_way_variable(const char *name, char why_out[CH_WAY_WHY_BYTES])
{
    const char *const value = secure_getenv(name);

    (void)snprintf(why_out, CH_WAY_WHY_BYTES, "%s is %s", name,
                   value == NULL    ? "not set"
                   : *value == '\0' ? "empty"
                                    : "set");
    return value == NULL || *value == '\0' ? NULL : value;
}

chorus_status ch_way_number(const char *name, const char *who, uint64_t lo, uint64_t hi,
                            uint64_t *out)
{
    const char *const text = secure_getenv(name);

    if (text != NULL && ch_number_whole(text, lo, hi, out)) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "%s is \"%s\"; expected a whole number from %llu to %llu, which %s sets",
                   name, text == NULL ? "" : ch_variable_shown(name, text),
                   (unsigned long long)lo, (unsigned long long)hi, who);
}

chorus_status ch_way_host(const char *name)
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

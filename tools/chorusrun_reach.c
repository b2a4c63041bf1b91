/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorusrun_reach.c: finds which of the front's addresses can be reached from this host. All
 * are tried at once, since an address that a firewall drops gives no answer.
 */
#include "chorusrun_agent.h"

#include "base/clock.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TRIES_MAX = 32, ADDRESS_BYTES = 64 };

#define REACH_NS (5 * CH_NS_PER_S)

struct
try {
    char address[ADDRESS_BYTES]; /* "10.0.0.1:4000" or "[fe80::1]:4000" */
    int sock;                    /* -1: it has failed */
    int error;
};

/* Begin to connect; the error is EINPROGRESS if this may succeed. */
static void begin(struct try *try)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                   .ai_socktype = SOCK_STREAM};
    char host[ADDRESS_BYTES];
    const char *name = host;
    struct addrinfo *found;
    char *port;

    memcpy(host, try->address, sizeof(host));
    try->error = EINVAL;
    port = strrchr(host, ':');
    if (port == NULL) return;
    *port++ = '\0';
    if (host[0] == '[') {
        host[strlen(host) - 1] = '\0';
        name++;
    }
    if (getaddrinfo(name, port, &hints, &found) != 0) return;
    try->sock = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (try->sock < 0 || connect(try->sock, found->ai_addr, found->ai_addrlen) != 0)
        try->error = errno;
    else
        try->error = 0;
    freeaddrinfo(found);
}

static uint32_t begin_all(const char *addresses, struct try *tries)
{
    uint32_t n = 0;

    for (const char *at = addresses; *at != '\0' && n < TRIES_MAX;) {
        const int bytes = (int)strcspn(at, ",");
        tries[n] = (struct try){.sock = -1};
        (void)snprintf(tries[n].address, ADDRESS_BYTES, "%.*s", bytes, at);
        begin(&tries[n++]);
        at += bytes + (at[bytes] == ',');
    }
    return n;
}

/* Returns the index of the one that has answered; n if none will, or the time is over. */
static uint32_t await_one(struct try *tries, uint32_t n)
{
    const uint64_t until_ns = ch_clock_ns() + REACH_NS;
    struct pollfd fds[TRIES_MAX];

    for (;;) {
        const uint64_t now = ch_clock_ns();
        bool is_any = false;

        for (uint32_t i = 0; i < n; i++) {
            if (tries[i].error == 0) return i;
            fds[i] =
                (struct pollfd){tries[i].error == EINPROGRESS ? tries[i].sock : -1, POLLOUT, 0};
            if (fds[i].fd >= 0) is_any = true;
        }
        if (!is_any || now >= until_ns) return n;
        (void)poll(fds, n, (int)((until_ns - now) / CH_NS_PER_MS) + 1);
        for (uint32_t i = 0; i < n; i++) {
            socklen_t bytes = sizeof(tries[i].error);
            if (fds[i].fd >= 0 && fds[i].revents != 0)
                (void)getsockopt(fds[i].fd, SOL_SOCKET, SO_ERROR, &tries[i].error, &bytes);
        }
    }
}

static void explain(const struct try *tries, uint32_t n, char why_out[CH_WIRE_REASON_BYTES])
{
    size_t used = (size_t)snprintf(why_out, CH_WIRE_REASON_BYTES,
                                   "cannot connect to chorusrun at any of its addresses: ");

    for (uint32_t i = 0; i < n && used < CH_WIRE_REASON_BYTES; i++)
        used += (size_t)snprintf(why_out + used, CH_WIRE_REASON_BYTES - used, "%s%s (%s)",
                                 i > 0 ? ", " : "", tries[i].address,
                                 tries[i].error == EINPROGRESS ? "no answer"
                                                               : strerror(tries[i].error));
}

/* `best`, then the others. */
static char *put_first(const char *best, const struct try *tries, uint32_t n)
{
    const size_t room = (n + 1) * (size_t)(ADDRESS_BYTES + 1);
    char *text = malloc(room);
    size_t used;

    if (text == NULL) return NULL;
    used = (size_t)snprintf(text, room, "%s", best);
    for (uint32_t i = 0; i < n; i++) {
        if (tries[i].address == best) continue;
        used += (size_t)snprintf(text + used, room - used, ",%s", tries[i].address);
    }
    return text;
}

char *reach_root(const char *addresses, char why_out[CH_WIRE_REASON_BYTES])
{
    struct try tries[TRIES_MAX];
    const uint32_t n = begin_all(addresses, tries), best = await_one(tries, n);
    char *text = NULL;

    if (best == n)
        explain(tries, n, why_out);
    else if ((text = put_first(tries[best].address, tries, n)) == NULL)
        (void)snprintf(why_out, CH_WIRE_REASON_BYTES, "no memory for addresses");
    for (uint32_t i = 0; i < n; i++)
        if (tries[i].sock >= 0) (void)close(tries[i].sock);
    return text;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/silence.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/* Keepalive: idle time before the first probe, and the largest number of probes that the kernel
 * accepts. They are a second apart, or more if there would be too many; the connection ends
 * within ch_silence_ns and the time between two probes. */
enum { IDLE_S = 1, PROBES_MAX = 127 };

/* The longest interval between two repetitions of a packet. The kernel starts at about 0.2 s,
 * and doubles each time. */
enum { REPEAT_MS = 1000 };

#ifndef TCP_RTO_MAX_MS /* Linux 6.15; older headers do not have it */
#define TCP_RTO_MAX_MS 44
#endif

static void set(int fd, int level, int name, int value)
{
    (void)setsockopt(fd, level, name, &value, sizeof(value));
}

uint64_t ch_silence_set(int fd, uint64_t link_ns)
{
    const uint64_t limit_ns = ch_silence_ns(link_ns);
    const uint64_t limit_s = (limit_ns - 1) / CH_NS_PER_S;
    const uint64_t apart_s = (limit_s + PROBES_MAX - 1) / PROBES_MAX;
    const int repeat = REPEAT_MS;

    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, (int)apart_s);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, (int)((limit_s + apart_s - 1) / apart_s));
    if (setsockopt(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, &repeat, sizeof(repeat)) == 0)
        return limit_ns;
    return limit_ns + link_ns; /* a repetition may come after twice the interruption */
}

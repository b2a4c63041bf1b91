/* SPDX-License-Identifier: Apache-2.0 */
#include "boot/tree/tree.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BACKLOG = 4096, NAME_CHARS = 256 };

static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

void ch_tree_socket_set(int fd, uint64_t link_ns)
{
    const int on = 1, dead_ms = (int)(ch_set_silence_limit(fd, link_ns) / CH_NS_PER_MS);

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof(dead_ms));
}

union sockaddr_any {
    struct sockaddr any;
    struct sockaddr_storage room;
    struct sockaddr_in6 six;
    struct sockaddr_in four;
};

static bool is_ipv4(const struct ch_tree_address *a)
{
    return memcmp(a->ip, mapped, sizeof(mapped)) == 0;
}

/* Convert an address for connect or bind; returns the number of bytes. */
static socklen_t to_sockaddr(const struct ch_tree_address *a, union sockaddr_any *out)
{
    memset(out, 0, sizeof(*out));
    if (is_ipv4(a)) {
        out->four.sin_family = AF_INET;
        out->four.sin_port = htons(a->port);
        memcpy(&out->four.sin_addr, a->ip + sizeof(mapped), 4);
        return sizeof(out->four);
    }
    out->six.sin6_family = AF_INET6;
    out->six.sin6_port = htons(a->port);
    out->six.sin6_scope_id = a->scope;
    memcpy(&out->six.sin6_addr, a->ip, 16);
    return sizeof(out->six);
}

/* Returns a socket that listens at an address, or -1 with errno. A socket for all addresses of
 * IPv6 also accepts IPv4 by default. */
static int listen_at_address(const struct ch_tree_address *at)
{
    const int off = 0, on = 1;
    union sockaddr_any own;
    const socklen_t bytes = to_sockaddr(at, &own);
    const int fd = socket(own.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (own.any.sa_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, &own.any, bytes) == 0 && listen(fd, BACKLOG) == 0) return fd;
    (void)close(fd);
    return -1;
}

/* Is it 0, which means all addresses? */
static bool is_any_address(const unsigned char ip[CH_BOOT_IP_BYTES])
{
    static const unsigned char all[CH_BOOT_IP_BYTES];

    return memcmp(ip, all, sizeof(all)) == 0;
}

chorus_status ch_tree_listen_at(const unsigned char ip[CH_BOOT_IP_BYTES], uint16_t port,
                                struct ch_tree_listener *out)
{
    struct ch_tree_address at = {.port = port};
    union sockaddr_any own;
    socklen_t bytes = sizeof(own);
    int fd;

    memcpy(at.ip, ip, sizeof(at.ip));
    fd = listen_at_address(&at);
    if (fd < 0 && is_any_address(ip) && errno != EADDRINUSE && errno != EACCES) {
        memcpy(at.ip, mapped, sizeof(mapped)); /* some hosts have no IPv6 */
        fd = listen_at_address(&at);
    }
    if (fd < 0) {
        const int error = errno;

        (void)CH_FAIL(CHORUS_ERR_SYSTEM, "cannot listen on port %u: %s%s", port,
                      strerror(error),
                      error == EADDRINUSE ? "; another program uses it: choose another port"
                      : error == EMFILE   ? "; " CH_LIMIT_ADVICE
                                          : "");
        errno = error;
        return CHORUS_ERR_SYSTEM;
    }
    memset(&own, 0, sizeof(own));
    (void)getsockname(fd, &own.any, &bytes);
    out->fd = fd;
    out->port = ntohs(own.any.sa_family == AF_INET6 ? own.six.sin6_port : own.four.sin_port);
    memcpy(out->ip, ip, sizeof(out->ip));
    return CHORUS_OK;
}

chorus_status ch_tree_listen(uint16_t port, struct ch_tree_listener *out)
{
    static const unsigned char all[CH_BOOT_IP_BYTES];

    return ch_tree_listen_at(all, port, out);
}

void ch_tree_listener_close(struct ch_tree_listener *listener)
{
    if (listener->fd >= 0) (void)close(listener->fd);
    listener->fd = -1;
}

/* Convert an address of IPv4 or IPv6. False: it is of another family. */
static bool from_sockaddr(const struct sockaddr *from, struct ch_tree_address *out)
{
    *out = (struct ch_tree_address){.port = 0};
    if (from != NULL && from->sa_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, from, sizeof(four));
        memcpy(out->ip, mapped, sizeof(mapped));
        memcpy(out->ip + sizeof(mapped), &four.sin_addr, 4);
        out->port = ntohs(four.sin_port);
        return true;
    }
    if (from != NULL && from->sa_family == AF_INET6) {
        struct sockaddr_in6 six;
        memcpy(&six, from, sizeof(six));
        memcpy(out->ip, &six.sin6_addr, 16);
        out->port = ntohs(six.sin6_port);
        out->scope = six.sin6_scope_id;
        return true;
    }
    return false;
}

static bool is_link_local(const struct ch_tree_address *a)
{
    return a->ip[0] == 0xfe && (a->ip[1] & 0xc0) == 0x80;
}

bool ch_tree_address_is_loopback(const struct ch_tree_address *a)
{
    static const unsigned char six[16] = {[15] = 1};

    return is_ipv4(a) ? a->ip[sizeof(mapped)] == 127 : memcmp(a->ip, six, sizeof(six)) == 0;
}

bool ch_tree_address_is_own(const struct ch_tree_address *a)
{
    struct ch_tree_address any_port = *a;
    union sockaddr_any own;
    socklen_t bytes;
    bool is_own;
    int fd;

    any_port.port = 0;
    bytes = to_sockaddr(&any_port, &own);
    fd = socket(own.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    is_own = fd >= 0 && bind(fd, &own.any, bytes) == 0;
    if (fd >= 0) (void)close(fd);
    return is_own;
}

/* Connecting a socket for datagrams sends none. */
bool ch_tree_address_of_route(const struct ch_tree_address *to, struct ch_tree_address *out)
{
    union sockaddr_any peer, own = {.any = {.sa_family = AF_UNSPEC}};
    const socklen_t peer_bytes = to_sockaddr(to, &peer);
    const int fd = socket(peer.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t bytes = sizeof(own);
    const bool has_route = fd >= 0 && connect(fd, &peer.any, peer_bytes) == 0 &&
                           getsockname(fd, &own.any, &bytes) == 0 &&
                           from_sockaddr(&own.any, out);

    if (fd >= 0) (void)close(fd);
    return has_route;
}

bool ch_tree_address_of_interface(const char *name, struct ch_tree_address *out)
{
    struct ch_tree_address one;
    struct ifaddrs *all = NULL;
    bool is_found = false;

    if (getifaddrs(&all) != 0) return false;
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
        if ((i->ifa_flags & IFF_UP) == 0 || strcmp(i->ifa_name, name) != 0) continue;
        if (!from_sockaddr(i->ifa_addr, &one) || is_link_local(&one)) continue;
        if (is_found && (is_ipv4(out) || !is_ipv4(&one))) continue;
        *out = one;
        is_found = true;
    }
    freeifaddrs(all);
    return is_found;
}

uint32_t ch_tree_own_addresses(const struct ch_tree_listener *listener,
                               struct ch_tree_address out[CH_TREE_ADDRESSES])
{
    static const unsigned char loopback[4] = {127, 0, 0, 1};
    const uint16_t port = listener->port;
    struct ifaddrs *all = NULL;
    uint32_t n = 0;

    if (!is_any_address(listener->ip)) {
        out[0] = (struct ch_tree_address){.port = port};
        memcpy(out[0].ip, listener->ip, sizeof(out[0].ip));
        return 1;
    }
    if (getifaddrs(&all) != 0) all = NULL;
    for (const struct ifaddrs *i = all; i != NULL && n < CH_TREE_ADDRESSES - 1;
         i = i->ifa_next) {
        if ((i->ifa_flags & IFF_UP) == 0 || (i->ifa_flags & IFF_LOOPBACK) != 0) continue;
        if (!from_sockaddr(i->ifa_addr, &out[n]) || is_link_local(&out[n])) continue;
        out[n++].port = port;
    }
    if (all != NULL) freeifaddrs(all);
    out[n] = (struct ch_tree_address){.port = port};
    memcpy(out[n].ip, mapped, sizeof(mapped));
    memcpy(out[n].ip + sizeof(mapped), loopback, sizeof(loopback));
    return n + 1;
}

/* Print the address without its port. Returns whether it is of IPv4. */
static bool print_ip(const struct ch_tree_address *a, char text_out[CH_TREE_ADDRESS_TEXT])
{
    text_out[0] = '\0';
    if (is_ipv4(a))
        (void)inet_ntop(AF_INET, a->ip + sizeof(mapped), text_out, CH_TREE_ADDRESS_TEXT);
    else
        (void)inet_ntop(AF_INET6, a->ip, text_out, CH_TREE_ADDRESS_TEXT);
    return is_ipv4(a);
}

void ch_tree_address_print(const struct ch_tree_address *a, char text_out[CH_TREE_ADDRESS_TEXT])
{
    char ip[CH_TREE_ADDRESS_TEXT];
    const bool has_dots = print_ip(a, ip);

    (void)snprintf(text_out, CH_TREE_ADDRESS_TEXT, has_dots ? "%.46s:%u" : "[%.46s]:%u", ip,
                   a->port);
}

void ch_tree_address_of_peer(int fd, char text_out[CH_TREE_ADDRESS_TEXT])
{
    struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
    socklen_t bytes = sizeof(peer);
    struct ch_tree_address address;

    (void)snprintf(text_out, CH_TREE_ADDRESS_TEXT, "?");
    if (getpeername(fd, (struct sockaddr *)&peer, &bytes) == 0 &&
        from_sockaddr((const struct sockaddr *)&peer, &address))
        (void)print_ip(&address, text_out);
}

void ch_tree_addresses_print(const struct ch_tree_address *addresses, uint32_t n,
                             char text_out[CH_TREE_TEXT_BYTES])
{
    size_t used = 0;

    for (uint32_t i = 0; i < n; i++) {
        char one[CH_TREE_ADDRESS_TEXT];
        ch_tree_address_print(&addresses[i], one);
        used += (size_t)snprintf(text_out + used, CH_TREE_TEXT_BYTES - used, "%s%s",
                                 i == 0 ? "" : ",", one);
    }
}

void ch_tree_own_addresses_print(const struct ch_tree_listener *listener,
                                 char text_out[CH_TREE_TEXT_BYTES])
{
    struct ch_tree_address own[CH_TREE_ADDRESSES];
    const uint32_t n = ch_tree_own_addresses(listener, own);

    ch_tree_addresses_print(own, n, text_out);
}

/* Split "host:port" or "[ip]:port", the first `chars` of text. False: it is not of this
 * form. */
static bool split_host_port(const char *text, size_t chars, char name[NAME_CHARS], char port[8])
{
    const char *colon = memrchr(text, ':', chars);
    const char *end;
    uint64_t value;

    if (colon == NULL || colon == text) return false;
    end = colon;
    if ((size_t)(text + chars - colon - 1) > 5) return false;
    (void)snprintf(port, 8, "%.*s", (int)(text + chars - colon - 1), colon + 1);
    if (!ch_number_whole(port, 1, 65535, &value)) return false;
    if (text[0] == '[') {
        if (colon[-1] != ']') return false;
        text++;
        end--;
    }
    if (end <= text || end - text >= NAME_CHARS) return false;
    (void)snprintf(name, NAME_CHARS, "%.*s", (int)(end - text), text);
    return true;
}

/* Find at most `room` addresses of a host. Returns their number; 0 with why_out if it is
 * unknown. */
static uint32_t resolve_name(const char *name, const char *port, struct ch_tree_address *out,
                             uint32_t room, char *why_out, size_t why_bytes)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const int rc = getaddrinfo(name, port, &hints, &found);
    uint32_t n = 0;

    if (rc != 0) {
        (void)snprintf(why_out, why_bytes, "the address of host \"%s\" is not known: %s", name,
                       gai_strerror(rc));
        return 0;
    }
    for (const struct addrinfo *i = found; i != NULL && n < room; i = i->ai_next)
        if (from_sockaddr(i->ai_addr, &out[n])) n++;
    freeaddrinfo(found);
    return n;
}

uint32_t ch_tree_addresses_parse(const char *text,
                                 struct ch_tree_address out[CH_TREE_ADDRESSES], char *why_out,
                                 size_t why_bytes)
{
    uint32_t n = 0;

    (void)snprintf(why_out, why_bytes, "there is no address in \"%s\"", text);
    while (*text != '\0' && n < CH_TREE_ADDRESSES) {
        const size_t chars = strcspn(text, ",");
        char name[NAME_CHARS], port[8];

        if (!split_host_port(text, chars, name, port)) {
            (void)snprintf(why_out, why_bytes, "\"%.*s\" is not of the form host:port",
                           (int)(chars < 64 ? chars : 64), text);
            return 0;
        }
        n += resolve_name(name, port, out + n, CH_TREE_ADDRESSES - n, why_out, why_bytes);
        text += chars + (text[chars] == ',');
    }
    return n;
}

/* Wait until the connection is made. Returns 0, or the errno of its failure. */
static int finish_connect(int fd, uint64_t deadline_ns)
{
    struct pollfd p = {fd, POLLOUT, 0};
    socklen_t bytes = sizeof(int);
    int error = ETIMEDOUT;

    for (uint64_t now; (now = ch_clock_ns()) < deadline_ns;) {
        if (poll(&p, 1, (int)((deadline_ns - now) / CH_NS_PER_MS) + 1) <= 0) continue;
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) error = errno;
        break;
    }
    return error;
}

int ch_tree_connect(const struct ch_tree_address *a, uint64_t link_ns, uint64_t deadline_ns)
{
    union sockaddr_any peer;
    const socklen_t bytes = to_sockaddr(a, &peer);
    const int fd = socket(peer.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = 0;

    if (fd < 0) return -1;
    ch_tree_socket_set(fd, link_ns);
    if (connect(fd, &peer.any, bytes) != 0)
        error = errno == EINPROGRESS ? finish_connect(fd, deadline_ns) : errno;
    if (error == 0) return fd;
    (void)close(fd);
    errno = error;
    return -1;
}

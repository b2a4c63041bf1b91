/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address.c: what a new connection needs: the addresses of hosts, the options of its socket,
 * and the messages by which its two ends prove that they belong to the same job.
 *
 * The side that accepts sends a challenge with a nonce. The side that connected answers with a
 * hello: its number, the number of the PE that it wants, a nonce of its own, and a MAC of both
 * nonces and of the hello under the job's secret. The answer has a MAC in the same way, except
 * that to a hello with a wrong MAC: a process outside the job receives nothing that was
 * computed from the secret, by which it could test guesses of it. Neither end therefore accepts
 * a recorded handshake, and neither uses data of the other before it has checked its MAC.
 */
#include "transport/tcp/tcp.h"

#include "base/limits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum {
    NAMES_BYTES = 200,
    CONGESTION_BYTES = 16,
    BUFFER_BYTES =
        4 << 20, /* of a socket, for each direction; a limit, which uses no memory by itself */
    ORDER = 0x01020304,
};

static const char magic[8] = "chorus\n";

/* ---- addresses of this host ---- */

/* Returns the number of bits that a netmask selects. */
static uint8_t prefix_of(const void *mask, size_t bytes)
{
    uint8_t bits = 0;

    for (size_t i = 0; i < bytes; i++)
        bits = (uint8_t)(bits + __builtin_popcount(((const uint8_t *)mask)[i]));
    return bits;
}

/* Get the address of an interface. False: it has none that a peer could use. */
static bool address_of(const struct ifaddrs *each, struct ch_tcp_address *out)
{
    const union ch_tcp_sockaddr *addr = (const void *)each->ifa_addr;
    const union ch_tcp_sockaddr *mask = (const void *)each->ifa_netmask;

    if (addr == NULL || mask == NULL || (each->ifa_flags & IFF_UP) == 0) return false;
    memset(out, 0, sizeof(*out));
    if (addr->any.sa_family == AF_INET) {
        memcpy(out->bytes, &addr->v4.sin_addr, sizeof(addr->v4.sin_addr));
        out->prefix = prefix_of(&mask->v4.sin_addr, sizeof(mask->v4.sin_addr));
        return true;
    }
    /* A link-local address is only valid together with the interface of the host that uses
     * it. */
    if (addr->any.sa_family != AF_INET6 || IN6_IS_ADDR_LINKLOCAL(&addr->v6.sin6_addr))
        return false;
    out->is_v6 = 1;
    memcpy(out->bytes, &addr->v6.sin6_addr, sizeof(addr->v6.sin6_addr));
    out->prefix = prefix_of(&mask->v6.sin6_addr, sizeof(mask->v6.sin6_addr));
    return true;
}

/* Which addresses are collected: those of an interface, one, or those of all interfaces that
 * are of the loopback, or are not. */
struct choice {
    const char *interface;       /* "": not by it */
    const unsigned char *listen; /* null: not by it */
    bool is_loopback;
};

/* Is this the address `listen`, in which IPv4 is mapped into IPv6? */
static bool is_listen_address(const struct ch_tcp_address *address,
                              const unsigned char listen[16])
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

    if (address->is_v6) return memcmp(address->bytes, listen, 16) == 0;
    return memcmp(listen, mapped, sizeof(mapped)) == 0 &&
           memcmp(address->bytes, listen + sizeof(mapped), 4) == 0;
}

/* Does the choice include this address, which is of the interface `each`? */
static bool is_chosen(const struct choice *choice, const struct ifaddrs *each,
                      const struct ch_tcp_address *address)
{
    if (*choice->interface != '\0') return strcmp(choice->interface, each->ifa_name) == 0;
    if (choice->listen != NULL) return is_listen_address(address, choice->listen);
    return ((each->ifa_flags & IFF_LOOPBACK) != 0) == choice->is_loopback;
}

/* Add the addresses of this host that the choice includes, with their interfaces. */
static void collect_addresses(const struct ifaddrs *all, const struct choice *choice,
                              struct ch_tcp_hosts *out)
{
    struct ch_tcp_card *card = &out->card;

    for (const struct ifaddrs *each = all; each != NULL && card->n < CH_TCP_ADDRESSES;
         each = each->ifa_next) {
        if (!address_of(each, &card->addresses[card->n])) continue;
        if (!is_chosen(choice, each, &card->addresses[card->n])) continue;
        (void)snprintf(out->interfaces[card->n], CH_TCP_INTERFACE_BYTES, "%s", each->ifa_name);
        card->n++;
    }
}

/* Is the name in this list, in which each name follows a space? */
static bool has_word(const char *names, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = names; (at = strchr(at, ' ')) != NULL;)
        if (strncmp(++at, name, length) == 0 && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* Fail since `interface` has no address, or (if it is "") this host has none. */
static chorus_status fail_no_address(const struct ifaddrs *all, const char *interface)
{
    char names[NAMES_BYTES] = "";
    struct ch_tcp_address address;
    size_t used = 0;

    for (const struct ifaddrs *each = all; each != NULL; each = each->ifa_next)
        if (address_of(each, &address) && used < sizeof(names) &&
            !has_word(names, each->ifa_name))
            used += (size_t)snprintf(names + used, sizeof(names) - used, " %s", each->ifa_name);
    if (*interface == '\0')
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "tcp: this host has no network address");
    return CH_FAIL(CHORUS_ERR_ARG,
                   "CHORUS_NET is \"%s\"; expected a network interface that is up and has an "
                   "address; here these are:%s",
                   interface, names);
}

chorus_status ch_tcp_addresses_find(const char *interface, const unsigned char listen[16],
                                    struct ch_tcp_hosts *out)
{
    const struct choice choices[] = {
        {interface, listen, false}, {"", NULL, false}, {"", NULL, true}};
    const size_t n_choices = *interface != '\0' ? 1 : sizeof(choices) / sizeof(choices[0]);
    struct ifaddrs *all;
    chorus_status st = CHORUS_OK;

    memset(out, 0, sizeof(*out));
    if (getifaddrs(&all) != 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "cannot list the addresses of this host: %s%s",
                       strerror(errno), errno == EMFILE ? "; " CH_LIMIT_ADVICE : "");
    for (size_t i = 0; i < n_choices && out->card.n == 0; i++) {
        collect_addresses(all, &choices[i], out);
        out->is_chosen = i == 0;
    }
    if (out->card.n == 0) st = fail_no_address(all, interface);
    freeifaddrs(all);
    return st;
}

/* ---- addresses of peers ---- */

static bool are_in_one_net(const struct ch_tcp_address *a, const struct ch_tcp_address *b)
{
    const uint8_t bits = a->prefix < b->prefix ? a->prefix : b->prefix;

    if (a->is_v6 != b->is_v6) return false;
    for (uint8_t i = 0; i < bits; i++)
        if (((a->bytes[i / 8] ^ b->bytes[i / 8]) & (0x80 >> i % 8)) != 0) return false;
    return true;
}

/* Is the address in a network of this host? */
static bool is_in_own_net(const struct ch_tcp_hosts *own, const struct ch_tcp_address *address)
{
    for (uint32_t i = 0; i < own->card.n; i++)
        if (are_in_one_net(&own->card.addresses[i], address)) return true;
    return false;
}

bool ch_tcp_address_pick(const struct ch_tcp_hosts *own, const struct ch_tcp_card *peer,
                         uint32_t at, struct ch_tcp_address *out)
{
    for (int near = 1; near >= 0; near--)
        for (uint32_t i = 0; i < peer->n && i < CH_TCP_ADDRESSES; i++) {
            if (is_in_own_net(own, &peer->addresses[i]) != (near == 1) || at-- != 0) continue;
            *out = peer->addresses[i];
            return true;
        }
    return false;
}

socklen_t ch_tcp_address_fill(const struct ch_tcp_address *address, uint16_t port,
                              union ch_tcp_sockaddr *out)
{
    memset(out, 0, sizeof(*out));
    if (address->is_v6) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons(port);
        memcpy(&out->v6.sin6_addr, address->bytes, sizeof(out->v6.sin6_addr));
        return sizeof(out->v6);
    }
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons(port);
    memcpy(&out->v4.sin_addr, address->bytes, sizeof(out->v4.sin_addr));
    return sizeof(out->v4);
}

void ch_tcp_address_text(const struct ch_tcp_address *address,
                         char text_out[CH_TCP_ADDRESS_TEXT])
{
    if (inet_ntop(address->is_v6 ? AF_INET6 : AF_INET, address->bytes, text_out,
                  CH_TCP_ADDRESS_TEXT) == NULL)
        (void)snprintf(text_out, CH_TCP_ADDRESS_TEXT, "?");
}

void ch_tcp_peer_text(int fd, char text_out[CH_TCP_ADDRESS_TEXT])
{
    union ch_tcp_sockaddr addr = {.v6 = {0}};
    socklen_t bytes = sizeof(addr);
    char name[INET6_ADDRSTRLEN] = "?";
    uint16_t port = 0;

    if (getpeername(fd, &addr.any, &bytes) == 0) {
        const bool is_v4 = addr.any.sa_family == AF_INET;
        const bool is_mapped = !is_v4 && IN6_IS_ADDR_V4MAPPED(&addr.v6.sin6_addr);
        const void *const from = is_v4 ? (const void *)&addr.v4.sin_addr
                                       : &addr.v6.sin6_addr.s6_addr[is_mapped ? 12 : 0];

        (void)inet_ntop(is_v4 || is_mapped ? AF_INET : AF_INET6, from, name, sizeof(name));
        port = ntohs(is_v4 ? addr.v4.sin_port : addr.v6.sin6_port);
    }
    (void)snprintf(text_out, CH_TCP_ADDRESS_TEXT, "%s port %u", name, port);
}

/* Is `addr`, which may be an IPv4 address that is mapped into IPv6, the address `own`? */
static bool is_same_address(const struct ch_tcp_address *own, const union ch_tcp_sockaddr *addr)
{
    if (addr->any.sa_family == AF_INET)
        return !own->is_v6 && memcmp(own->bytes, &addr->v4.sin_addr, 4) == 0;
    if (IN6_IS_ADDR_V4MAPPED(&addr->v6.sin6_addr))
        return !own->is_v6 && memcmp(own->bytes, addr->v6.sin6_addr.s6_addr + 12, 4) == 0;
    return own->is_v6 && memcmp(own->bytes, &addr->v6.sin6_addr, 16) == 0;
}

const char *ch_tcp_interface_of(const struct ch_tcp_hosts *own, int fd)
{
    union ch_tcp_sockaddr addr = {.v6 = {0}};
    socklen_t bytes = sizeof(addr);

    if (getsockname(fd, &addr.any, &bytes) != 0) return "";
    for (uint32_t i = 0; i < own->card.n; i++)
        if (is_same_address(&own->card.addresses[i], &addr)) return own->interfaces[i];
    return "";
}

/* ---- sockets ---- */

/*
 * Let the socket use reno in place of bbr or cubic. Collectives send bursts with pauses between
 * them, over links whose round trips take microseconds. The estimates of bbr take these for
 * slow links, and cubic ends its slow start far too early: with messages of 64 KiB and more,
 * reno was three times as fast (docs/design/transport.md). If a site has chosen any other
 * algorithm, such as dctcp, it has chosen it for such links, and it is kept. A connection that
 * has begun with bbr continues to send at a measured rate after a change to reno, so the
 * algorithm is set before: for accepted connections, on the listening socket.
 */
static void choose_congestion(int fd)
{
    char name[CONGESTION_BYTES] = "";
    socklen_t bytes = sizeof(name) - 1;

    if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &bytes) != 0) return;
    if (strcmp(name, "bbr") == 0 || strcmp(name, "cubic") == 0)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", strlen("reno"));
}

/*
 * The kernel starts a connection with buffers of some tens of KiB and enlarges them as data is
 * transferred. Until then, the end of a longer message stays with the sender until its PE runs
 * again, which takes long if PEs share cores. Setting a size stops the kernel from enlarging
 * the buffer, unless SO_BUF_LOCK (Linux 5.16) allows it again; older kernels keep their own
 * sizes.
 */
static void enlarge_buffers(int fd)
{
#ifdef SO_BUF_LOCK
    const int unlocked = 0, bytes = BUFFER_BYTES;

    if (setsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &unlocked, sizeof(unlocked)) != 0) return;
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    (void)setsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &unlocked, sizeof(unlocked));
#else
    (void)fd;
#endif
}

void ch_tcp_socket_prepare(struct ch_endpoint *ep, int fd)
{
    const int on = 1;

    ep->silent_ns = ch_set_silence_limit(fd, ep->terms.options->link_ns);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    choose_congestion(fd);
    enlarge_buffers(fd);
}

/* ---- the handshake ---- */

/* Compute the MAC of one kind of message (`role`) with the members `said`, between a side that
 * accepts and one that dials, with these nonces. */
static void compute_mac(unsigned char *mac_out, const unsigned char *secret, const char *role,
                        const struct ch_tcp_nonce *accepts, const struct ch_tcp_nonce *dials,
                        const uint32_t said[4])
{
    crypto_generichash_state state;

    (void)crypto_generichash_init(&state, secret, 32, CH_TCP_MAC_BYTES);
    (void)crypto_generichash_update(&state, (const unsigned char *)role, strlen(role) + 1);
    (void)crypto_generichash_update(&state, accepts->bytes, sizeof(accepts->bytes));
    (void)crypto_generichash_update(&state, dials->bytes, sizeof(dials->bytes));
    (void)crypto_generichash_update(&state, (const unsigned char *)said, 4 * sizeof(said[0]));
    (void)crypto_generichash_final(&state, mac_out, CH_TCP_MAC_BYTES);
}

/* Compute the MAC of a hello; accepts: the nonce of the challenge that it answers. */
static void compute_hello_mac(unsigned char *mac_out, const struct ch_tcp_hello *hello,
                              const unsigned char *secret, const struct ch_tcp_nonce *accepts)
{
    const uint32_t said[4] = {hello->from, hello->to, hello->n, hello->channel};

    compute_mac(mac_out, secret, "chorus tcp hello", accepts, &hello->nonce, said);
}

/* Compute the MAC of an answer; accepts, dials: the nonces of the challenge and of the hello.
 */
static void compute_answer_mac(unsigned char *mac_out, const struct ch_tcp_answer *answer,
                               const unsigned char *secret, const struct ch_tcp_nonce *accepts,
                               const struct ch_tcp_nonce *dials)
{
    const uint32_t said[4] = {answer->verdict, answer->zero, 0, 0};

    compute_mac(mac_out, secret, "chorus tcp answer", accepts, dials, said);
}

void ch_tcp_challenge_make(struct ch_tcp_challenge *out)
{
    memset(out, 0, sizeof(*out));
    memcpy(out->magic, magic, sizeof(magic));
    out->version = CH_TCP_VERSION;
    out->order = ORDER;
    randombytes_buf(out->nonce.bytes, sizeof(out->nonce.bytes));
}

const char *ch_tcp_challenge_fault(const struct ch_tcp_challenge *challenge)
{
    if (memcmp(challenge->magic, magic, sizeof(magic)) != 0)
        return "the program that listens there is not a PE of Chorus";
    if (challenge->order != ORDER) return "it has another byte order";
    if (challenge->version != CH_TCP_VERSION) return "it has another version of Chorus";
    return NULL;
}

void ch_tcp_hello_make(struct ch_tcp_hello *hello, const unsigned char *secret,
                       const struct ch_tcp_nonce *theirs)
{
    memcpy(hello->magic, magic, sizeof(magic));
    randombytes_buf(hello->nonce.bytes, sizeof(hello->nonce.bytes));
    compute_hello_mac(hello->mac, hello, secret, theirs);
}

bool ch_tcp_hello_is_valid(const struct ch_tcp_hello *hello, const unsigned char *secret,
                           const struct ch_tcp_nonce *mine)
{
    unsigned char mac[CH_TCP_MAC_BYTES];

    compute_hello_mac(mac, hello, secret, mine);
    return memcmp(hello->magic, magic, sizeof(magic)) == 0 &&
           sodium_memcmp(mac, hello->mac, sizeof(mac)) == 0;
}

void ch_tcp_answer_make(struct ch_tcp_answer *answer, const unsigned char *secret,
                        const struct ch_tcp_nonce *mine, const struct ch_tcp_nonce *theirs)
{
    answer->zero = 0;
    compute_answer_mac(answer->mac, answer, secret, mine, theirs);
}

bool ch_tcp_answer_is_valid(const struct ch_tcp_answer *answer, const unsigned char *secret,
                            const struct ch_tcp_nonce *mine, const struct ch_tcp_nonce *theirs)
{
    unsigned char mac[CH_TCP_MAC_BYTES];

    compute_answer_mac(mac, answer, secret, theirs, mine);
    return sodium_memcmp(mac, answer->mac, sizeof(mac)) == 0;
}

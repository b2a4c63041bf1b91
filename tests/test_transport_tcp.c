/* SPDX-License-Identifier: Apache-2.0 */
/* The network tcp: who may connect, and what is said of who cannot. */
#include "net_pes.h"
#include "transport/network.h"
#include "transport/tcp/tcp.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STRANGERS = 300, ROUNDS = 200 };

static const struct ch_link_ops *const ops = &ch_link_tcp;

static uint64_t *word_of(const struct net_pe *pe, uint32_t to, size_t i)
{
    return (uint64_t *)(void *)(pe->there[to] + i * sizeof(uint64_t));
}

/* ---- hello ---- */

START_TEST(hello__of_the_job__holds)
{
    const unsigned char secret[32] = {1, 2, 3}, other[32] = {1, 2, 4};
    struct ch_tcp_challenge challenge, later;
    struct ch_tcp_hello hello = {.from = 3, .to = 4, .n = 8}, changed;

    ch_tcp_challenge_make(&challenge);
    ch_tcp_challenge_make(&later);
    ck_assert_ptr_null(ch_tcp_challenge_fault(&challenge));
    ch_tcp_hello_make(&hello, secret, &challenge.nonce);
    ck_assert(ch_tcp_hello_is_valid(&hello, secret, &challenge.nonce));
    ck_assert(!ch_tcp_hello_is_valid(&hello, other, &challenge.nonce));
    ck_assert(!ch_tcp_hello_is_valid(&hello, secret, &later.nonce)); /* one that was recorded */
    for (size_t i = 0; i < sizeof(hello); i++) {
        changed = hello;
        ((unsigned char *)&changed)[i] ^= 1;
        ck_assert(!ch_tcp_hello_is_valid(&changed, secret, &challenge.nonce));
    }
}
END_TEST

START_TEST(answer__of_the_job__holds)
{
    const unsigned char secret[32] = {1, 2, 3}, other[32] = {1, 2, 4};
    const struct ch_tcp_nonce a = {{1}}, b = {{2}};
    struct ch_tcp_answer answer = {.verdict = CH_TCP_WELCOME}, changed;

    ch_tcp_answer_make(&answer, secret, &a, &b);
    ck_assert(ch_tcp_answer_is_valid(&answer, secret, &b, &a));
    ck_assert(!ch_tcp_answer_is_valid(&answer, other, &b, &a));
    ck_assert(!ch_tcp_answer_is_valid(&answer, secret, &a, &b));
    for (size_t i = 0; i < sizeof(answer); i++) {
        changed = answer;
        ((unsigned char *)&changed)[i] ^= 1;
        ck_assert(!ch_tcp_answer_is_valid(&changed, secret, &b, &a));
    }
}
END_TEST

START_TEST(challenge__of_something_else__says_what)
{
    struct ch_tcp_challenge challenge;

    ch_tcp_challenge_make(&challenge);
    challenge.version++;
    ck_assert_ptr_nonnull(strstr(ch_tcp_challenge_fault(&challenge), "version"));
    challenge.order = 0x04030201;
    ck_assert_ptr_nonnull(strstr(ch_tcp_challenge_fault(&challenge), "byte order"));
    challenge.magic[0] = 'H';
    ck_assert_ptr_nonnull(strstr(ch_tcp_challenge_fault(&challenge), "not a PE of Chorus"));
}
END_TEST

/* ---- strangers ---- */

static uint32_t n_over; /* PEs that are done with a test; the others go on until then */

/* PE 1 has the secret of another job; PE 0 refuses it and goes on. */
static void secret_main(struct ch_boot *boot)
{
    struct net_pe pe;

    net_pe_open(&pe, boot, ops, 64, (unsigned char)(1 + boot->me));
    if (pe.me == 1) {
        net_put_word(ops, pe.ep, 0, 0, word_of(&pe, 0, 0), 7);
        EXPECT(net_pe_fails(&pe) == CHORUS_ERR_SYSTEM);
        EXPECT(pes_message_has("PE 0 on host alpha"));
        EXPECT(pes_message_has("the secrets differ"));
        __atomic_store_n(&n_over, 1, __ATOMIC_RELEASE);
    }
    while (pe.me == 0 && !__atomic_load_n(&n_over, __ATOMIC_ACQUIRE) && net_pe_step(&pe))
        ;
    EXPECT(*word_of(&pe, pe.me, 0) == 0);
    net_pe_close(&pe);
}

START_TEST(secret__of_another_job__is_refused)
{
    n_over = 0;
    net_run(2, secret_main);
}
END_TEST

static uint16_t port_of(const struct net_pe *pe)
{
    char card[CH_LINK_ADDRESS_BYTES];
    struct ch_tcp_card mine;

    ops->address(pe->ep, card);
    memcpy(&mine, card, sizeof(mine));
    return mine.port;
}

/* One connection to the port, which says something that is no hello, or nothing. */
static int be_strange(uint16_t port, int how)
{
    static const char *const words[] = {"GET / HTTP/1.1\r\nHost: alpha\r\n\r\n", "chorus\n",
                                        "\n"};
    const struct sockaddr_in addr = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char much[4096] = "";

    EXPECT(fd >= 0 && connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0);
    if (how % 5 < 3)
        (void)send(fd, words[how % 5], strlen(words[how % 5]) + 1, MSG_NOSIGNAL);
    else if (how % 5 == 3)
        (void)send(fd, much, sizeof(much), MSG_NOSIGNAL);
    return fd;
}

/* Strangers come all the time, more than may stay; some go at once. */
static void strangers_main(struct ch_boot *boot)
{
    int fds[STRANGERS];
    struct net_pe pe;

    net_pe_open(&pe, boot, ops, 64, 1);
    for (int i = 0; i < STRANGERS; i++) {
        fds[i] = be_strange(port_of(&pe), i);
        if (i % 2 == 0) (void)close(fds[i]);
        (void)net_pe_step(&pe);
    }
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        net_put_word(ops, pe.ep, 0, pe.next, word_of(&pe, pe.next, 0), round);
        net_pe_word(&pe, word_of(&pe, pe.me, 0), round);
    }
    net_pe_meet(&pe);
    for (int i = 1; i < STRANGERS; i += 2)
        (void)close(fds[i]);
    net_pe_close(&pe);
}

START_TEST(strangers__many__delay_nobody)
{
    const int fds = pes_count_fds();

    net_run(3, strangers_main);
    ck_assert_int_eq(pes_count_fds(), fds);
}
END_TEST

/* Connects to the PE's own port and receives its challenge. */
static int be_challenged(struct net_pe *pe, struct ch_tcp_challenge *challenge_out)
{
    const int fd = be_strange(port_of(pe), 4);

    while (recv(fd, challenge_out, sizeof(*challenge_out), MSG_DONTWAIT) !=
               (ssize_t)sizeof(*challenge_out) &&
           net_pe_step(pe))
        ;
    return fd;
}

/* All that comes until the PE closes the connection, or until there is no room. */
static size_t hear_all(struct net_pe *pe, int fd, char *out, size_t room)
{
    size_t got = 0;

    while (got < room && net_pe_step(pe)) {
        const ssize_t n = recv(fd, out + got, room - got, MSG_DONTWAIT);

        if (n > 0) got += (size_t)n;
        if (n == 0 || (n < 0 && errno != EAGAIN)) break;
    }
    return got;
}

/* With another secret, and with a MAC that is wrong; then a frame, as a member might send. The
 * PE goes on, and says nothing that was made with the secret. */
static void wrong_hello_main(struct ch_boot *boot)
{
    static const unsigned char no_mac[CH_TCP_MAC_BYTES];
    const struct ch_frame bad = {.kind = 99};
    unsigned char secret[32];
    struct net_pe pe;

    net_pe_open(&pe, boot, ops, 64, 1);
    for (int how = 0; how < 2; how++) {
        struct ch_tcp_hello hello = {.from = pe.next, .to = pe.me, .n = pe.n};
        struct ch_tcp_challenge challenge;
        struct ch_tcp_answer said[2] = {{.verdict = 0}};
        const int fd = be_challenged(&pe, &challenge);

        memset(secret, how == 0 ? 2 : 1, sizeof(secret));
        ch_tcp_hello_make(&hello, secret, &challenge.nonce);
        if (how == 1) hello.mac[0] ^= 1;
        (void)send(fd, &hello, sizeof(hello), MSG_NOSIGNAL);
        (void)send(fd, &bad, sizeof(bad), MSG_NOSIGNAL);
        EXPECT(hear_all(&pe, fd, (char *)said, sizeof(said)) == sizeof(said[0]));
        EXPECT(said[0].verdict == CH_TCP_STRANGER);
        EXPECT(memcmp(said[0].mac, no_mac, sizeof(no_mac)) == 0);
        (void)close(fd);
    }
    net_pe_meet(&pe);
    net_pe_close(&pe);
}

START_TEST(hello__wrong__is_answered_without_a_mac)
{
    net_run(2, wrong_hello_main);
}
END_TEST

/* Who has the secret is a PE: what is wrong with its frames is a failure, which names it. */
static void wrong_frame_main(struct ch_boot *boot)
{
    const struct ch_frame bad = {.kind = 99};
    struct ch_tcp_answer answer = {.verdict = 0};
    struct ch_tcp_hello hello = {.n = boot->n};
    struct ch_tcp_challenge challenge;
    unsigned char secret[32];
    struct net_pe pe;
    int fd;

    net_pe_open(&pe, boot, ops, 64, 1);
    hello.from = pe.next;
    hello.to = pe.me;
    fd = be_challenged(&pe, &challenge);
    memset(secret, 1, sizeof(secret));
    ch_tcp_hello_make(&hello, secret, &challenge.nonce);
    EXPECT(send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) == (ssize_t)sizeof(hello));
    EXPECT(hear_all(&pe, fd, (char *)&answer, sizeof(answer)) == sizeof(answer));
    EXPECT(answer.verdict == CH_TCP_WELCOME);
    EXPECT(ch_tcp_answer_is_valid(&answer, secret, &hello.nonce, &challenge.nonce));
    EXPECT(send(fd, &bad, sizeof(bad), MSG_NOSIGNAL) == (ssize_t)sizeof(bad));
    EXPECT(net_pe_fails(&pe) == CHORUS_ERR_SYSTEM);
    EXPECT(pes_message_has(pe.me == 0 ? "PE 1 on host beta" : "PE 0 on host alpha"));
    EXPECT(pes_message_has("127.0.0.1"));
    EXPECT(pes_message_has("a frame of kind 99"));
    (void)close(fd);
    net_pe_close(&pe);
}

START_TEST(frame__wrong__of_a_member__is_a_failure_that_names_it)
{
    net_run(2, wrong_frame_main);
}
END_TEST

/* ---- addresses ---- */

/* PE 0 of two, alone; PE 1 has this port at loopback, or PE 0's own if it is 0. */
static void expect_no_link(uint16_t port, const char *says)
{
    static const uint32_t nodes[2] = {0, 1};
    static const char *const hosts[2] = {"alpha", "beta"};
    struct ch_options options = pes_options(0);
    struct ch_door door = {0};
    struct ch_link_terms terms = {
        .options = &options, .me = 0, .n = 2, .nodes = nodes, .hosts = hosts, .door = &door};
    struct ch_tcp_card card = {.n = 1, .addresses = {{.prefix = 8, .bytes = {127, 0, 0, 1}}}};
    struct net_pe pe = {.ops = ops};
    char cards[2][CH_LINK_ADDRESS_BYTES] = {"", ""};
    uint64_t word = 0;

    options.net = "lo";
    ck_assert_int_eq(ops->open(&terms, &pe.ep), CHORUS_OK);
    card.port = port != 0 ? port : port_of(&pe);
    memcpy(cards[1], &card, sizeof(card));
    ck_assert_int_eq(ops->meet(pe.ep, (const char(*)[CH_LINK_ADDRESS_BYTES])cards), CHORUS_OK);
    net_put_word(ops, pe.ep, 0, 1, &word, 1);
    ck_assert_int_eq(net_pe_fails(&pe), CHORUS_ERR_SYSTEM);
    ck_assert_msg(pes_message_has("PE 1 on host beta"), "%s", ch_error_message());
    ck_assert_msg(pes_message_has(says), "%s", ch_error_message());
    ops->close(pe.ep);
}

START_TEST(connect__refused__names_the_address)
{
    expect_no_link(1, "no connection to port 1 of any address: 127.0.0.1: Connection refused");
}
END_TEST

START_TEST(connect__to_another_pe__is_noticed)
{
    expect_no_link(0, "another PE listens there");
}
END_TEST

START_TEST(interface__unknown__names_those_there_are)
{
    struct ch_options options = pes_options(0);
    struct ch_link_terms terms = {.options = &options, .n = 1};
    struct ch_endpoint *ep;

    options.net = "wire9";
    ck_assert_int_eq(ops->open(&terms, &ep), CHORUS_ERR_ARG);
    ck_assert(pes_message_has("CHORUS_NET is \"wire9\"") && pes_message_has(" lo"));
}
END_TEST

START_TEST(addresses__of_a_near_net__come_first)
{
    const struct ch_tcp_hosts own = {
        .card = {.n = 1, .addresses = {{.prefix = 24, .bytes = {10, 1, 2, 3}}}}};
    const struct ch_tcp_card peer = {.n = 3,
                                     .addresses = {{.prefix = 16, .bytes = {172, 17, 0, 1}},
                                                   {.is_v6 = 1, .prefix = 64, .bytes = {10, 1}},
                                                   {.prefix = 24, .bytes = {10, 1, 2, 9}}}};
    struct ch_tcp_address address;
    char text[CH_TCP_ADDRESS_TEXT];

    ck_assert(ch_tcp_address_pick(&own, &peer, 0, &address));
    ch_tcp_address_text(&address, text);
    ck_assert_str_eq(text, "10.1.2.9");
    ck_assert(ch_tcp_address_pick(&own, &peer, 1, &address) && !address.is_v6);
    ck_assert(ch_tcp_address_pick(&own, &peer, 2, &address) && address.is_v6);
    ck_assert(!ch_tcp_address_pick(&own, &peer, 3, &address));
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("tcp");
    Suite *suite = suite_create("transport_tcp");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, hello__of_the_job__holds);
    tcase_add_test(tcase, answer__of_the_job__holds);
    tcase_add_test(tcase, challenge__of_something_else__says_what);
    tcase_add_test(tcase, secret__of_another_job__is_refused);
    tcase_add_test(tcase, strangers__many__delay_nobody);
    tcase_add_test(tcase, hello__wrong__is_answered_without_a_mac);
    tcase_add_test(tcase, frame__wrong__of_a_member__is_a_failure_that_names_it);
    tcase_add_test(tcase, connect__refused__names_the_address);
    tcase_add_test(tcase, connect__to_another_pe__is_noticed);
    tcase_add_test(tcase, interface__unknown__names_those_there_are);
    tcase_add_test(tcase, addresses__of_a_near_net__come_first);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

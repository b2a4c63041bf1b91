/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strangers at the port by which a job starts: whatever connects, says nothing, says nonsense,
 * or repeats what a PE said, the start goes on, and takes hardly longer. The last is printed;
 * for a machine that does nothing else, `test_boot_hostile timed` asks for it.
 */
#include "boot/tree/inside.h"
#include "tree_pes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Held open at a time, of the kinds that keep their connection. */
enum { PES = 200, RUNS = 1, RUNS_TIMED = 7, HELD = 400, KINDS = 6, REPLAY = KINDS - 1 };

#define CONNECT_EVERY_NS (CH_NS_PER_S / 1000)

/* What other work may take away from a run. */
#define SLACK_NS (5 * CH_NS_PER_MS)

static bool is_timed;

static struct {
    pthread_t thread;
    uint16_t port;
    int family;
    bool is_over; /* atomic */
    uint64_t n_made;
    uint32_t n; /* PEs of the job, which a hello says */
    unsigned char secret[CH_BOOT_SECRET_BYTES];
} attack;

static int connect_root(void)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(attack.port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(attack.port)};
    const int fd = socket(attack.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    six.sin6_addr = in6addr_loopback;
    if (attack.family == AF_INET)
        (void)connect(fd, (struct sockaddr *)&four, sizeof(four));
    else
        (void)connect(fd, (struct sockaddr *)&six, sizeof(six));
    return fd;
}

static void say(int fd, const void *data, size_t bytes)
{
    if (send(fd, data, bytes, MSG_NOSIGNAL) < 0) return; /* refused already */
}

/* A hello that a PE might have sent, to another challenge. */
static void replay(int fd)
{
    struct ch_tree_challenge old;
    struct ch_tree_hello hello = {.pe = 1, .n = attack.n, .to = CH_TREE_ANY, .host = "h"};

    ch_tree_challenge_make(&old);
    ch_tree_hello_seal(&hello, attack.secret, &old);
    say(fd, &hello, sizeof(hello));
}

/* Kinds of strangers, one after another. Returns whether the connection is kept. */
static bool act(int fd, uint64_t i)
{
    static const char http[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char noise[2 * sizeof(struct ch_tree_hello)];
    const struct ch_tree_hello slow = {.magic = CH_TREE_MAGIC};

    switch (i % KINDS) {
    case 0: /* a port scanner */
        return false;
    case 1:
        say(fd, http, sizeof(http) - 1);
        return false;
    case 2: /* half open */
        return true;
    case 3:
        memset(noise, (int)i, sizeof(noise));
        say(fd, noise, sizeof(noise));
        return false;
    case 4: /* slow: the first bytes of a hello */
        say(fd, &slow, 7);
        return true;
    default: /* REPLAY */
        replay(fd);
        return true;
    }
}

static void *attack_run(void *arg)
{
    uint64_t next_ns = ch_clock_ns();
    int held[HELD];

    for (int i = 0; i < HELD; i++)
        held[i] = -1;
    for (uint64_t i = 0; !__atomic_load_n(&attack.is_over, __ATOMIC_ACQUIRE); i++) {
        const int fd = connect_root();
        const struct timespec rest = {.tv_nsec = (long)CONNECT_EVERY_NS / 4};

        if (act(fd, i)) {
            if (held[i % HELD] >= 0) (void)close(held[i % HELD]);
            held[i % HELD] = fd;
        } else {
            (void)close(fd);
        }
        attack.n_made++;
        for (next_ns += CONNECT_EVERY_NS; ch_clock_ns() < next_ns;)
            (void)nanosleep(&rest, NULL);
    }
    for (int i = 0; i < HELD; i++)
        if (held[i] >= 0) (void)close(held[i]);
    return arg;
}

static void meet(struct tree_pe *pe)
{
    EXPECT(pe->boot->ops->exchange(pe->boot, NULL, 0, -1, NULL, NULL) == CHORUS_OK);
}

/* How long a start takes, to its first exchange and back. */
static uint64_t start_once(bool is_attacked)
{
    uint64_t since_ns;

    tree_prepare(PES, PLENTY_NS);
    attack.port = tree_door.port;
    attack.is_over = false;
    attack.n = PES;
    memcpy(attack.secret, tree_pes[0].start.secret, sizeof(attack.secret));
    if (is_attacked) {
        ck_assert_int_eq(pthread_create(&attack.thread, NULL, attack_run, NULL), 0);
        (void)usleep(100000); /* it comes first, and fills the backlog */
    }
    since_ns = ch_clock_ns();
    tree_run(PES, meet);
    since_ns = ch_clock_ns() - since_ns;
    __atomic_store_n(&attack.is_over, true, __ATOMIC_RELEASE);
    if (is_attacked) ck_assert_int_eq(pthread_join(attack.thread, NULL), 0);
    for (uint32_t pe = 0; pe < PES; pe++)
        ck_assert_msg(tree_pes[pe].status == CHORUS_OK, "PE %u: %s", pe, tree_pes[pe].message);
    return since_ns;
}

/* The shortest of the runs of each, in turn. */
START_TEST(strangers__a_thousand_a_second__start_takes_hardly_longer)
{
    const int n_runs = is_timed ? RUNS_TIMED : RUNS;
    uint64_t quiet_ns = UINT64_MAX, loud_ns = UINT64_MAX;

    attack.family = _i == 0 ? AF_INET : AF_INET6;
    for (int run = 0; run < n_runs; run++) {
        const uint64_t quiet = start_once(false), loud = start_once(true);
        if (quiet < quiet_ns) quiet_ns = quiet;
        if (loud < loud_ns) loud_ns = loud;
    }
    (void)printf("start of %d PEs: %.1f ms, among %llu strangers %.1f ms\n", PES,
                 (double)quiet_ns / 1e6, (unsigned long long)attack.n_made,
                 (double)loud_ns / 1e6);
    ck_assert_uint_ge(attack.n_made, 70 * (uint64_t)n_runs);
    if (is_timed) ck_assert_uint_le(loud_ns, quiet_ns + quiet_ns / 5 + SLACK_NS);
}
END_TEST

static bool is_closed_by_root(int fd, uint64_t within_ns)
{
    const uint64_t until_ns = ch_clock_ns() + within_ns;
    char some[4096];

    while (ch_clock_ns() < until_ns) {
        const ssize_t n = recv(fd, some, sizeof(some), MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN)) return true;
        (void)usleep(10000);
    }
    return false;
}

#define HELLO_NS (600 * CH_NS_PER_MS)

static uint32_t n_joined;

static void count_joined(void *self, uint32_t pe, const char *host)
{
    (void)self, (void)pe, (void)host;
    n_joined++;
}

static struct ch_tree *lone_root(void)
{
    struct ch_tree_terms terms = {
        .me = CH_TREE_NO_PE, .n = 2, .events.joined = count_joined, .hello_ns = HELLO_NS};
    struct ch_tree *tree;

    ch_tree_secret_make(terms.secret);
    memcpy(attack.secret, terms.secret, sizeof(attack.secret));
    attack.family = AF_INET;
    attack.n = terms.n;
    ck_assert_int_eq(ch_tree_listen(0, &tree_door), CHORUS_OK);
    attack.port = tree_door.port;
    ck_assert_int_eq(ch_tree_make_root(&terms, &tree_door, &tree), CHORUS_OK);
    return tree;
}

static void *serve(void *arg)
{
    while (!__atomic_load_n(&attack.is_over, __ATOMIC_ACQUIRE)) {
        ch_tree_serve(arg);
        (void)usleep(1000);
    }
    return NULL;
}

/* Nobody but whoever answers its own challenge gets in, and nobody stays for long; those that
 * might yet say hello have their time. None is taken for a PE with another secret. */
START_TEST(strangers__of_all_kinds__are_dropped_and_join_nothing)
{
    struct ch_tree *const tree = lone_root();
    bool is_kept[KINDS];
    pthread_t thread;
    int fds[KINDS];

    attack.is_over = false;
    ck_assert_int_eq(pthread_create(&thread, NULL, serve, tree), 0);
    for (int i = 0; i < KINDS; i++)
        fds[i] = connect_root();
    (void)usleep(50000);
    for (int i = 0; i < KINDS; i++)
        is_kept[i] = act(fds[i], (uint64_t)i);
    for (int i = 0; i < KINDS; i++)
        if (is_kept[i] && i != REPLAY) ck_assert(!is_closed_by_root(fds[i], HELLO_NS / 4));
    for (int i = 1; i < KINDS; i++)
        ck_assert_msg(is_closed_by_root(fds[i], 8 * CH_NS_PER_S), "kind %d stays", i);
    for (int i = 0; i < KINDS; i++)
        (void)close(fds[i]);
    __atomic_store_n(&attack.is_over, true, __ATOMIC_RELEASE);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_uint_eq(n_joined, 0);
    ch_tree_report_late(tree, 1);
    ck_assert_str_eq(tree->why_failed, "0 of 2 PEs came within 1 s; PE 0, PE 1 never joined");
    ch_tree_close(tree);
}
END_TEST

/* All that comes until the root closes the connection. */
static size_t hear_all(int fd, char *out, size_t room)
{
    const uint64_t until_ns = ch_clock_ns() + 8 * CH_NS_PER_S;
    size_t got = 0;

    while (got < room && ch_clock_ns() < until_ns) {
        const ssize_t n = recv(fd, out + got, room - got, MSG_DONTWAIT);
        if (n > 0) got += (size_t)n;
        if (n == 0 || (n < 0 && errno != EAGAIN)) return got;
        if (n < 0) (void)usleep(1000);
    }
    ck_abort_msg("the root keeps the connection, or says %zu bytes", got);
}

/* With another secret, with the name of the job and a MAC that is wrong, and with that of an
 * earlier challenge. */
static void seal_wrongly(struct ch_tree_hello *hello, const struct ch_tree_challenge *challenge,
                         int how)
{
    unsigned char other[CH_BOOT_SECRET_BYTES];
    struct ch_tree_challenge old;

    ch_tree_secret_make(other);
    ch_tree_challenge_make(&old);
    if (how == 0) ch_tree_hello_seal(hello, other, challenge);
    if (how == 1) ch_tree_hello_seal(hello, attack.secret, challenge);
    if (how == 1) hello->mac[0] ^= 1;
    if (how == 2) ch_tree_hello_seal(hello, attack.secret, &old);
}

/* A stranger that could test guesses of the secret against an answer would need no second
 * connection to find a short one. */
START_TEST(hello__wrong__is_answered_without_a_mac)
{
    static const unsigned char no_mac[CH_TREE_MAC_BYTES];
    struct ch_tree *const tree = lone_root();
    pthread_t thread;

    attack.is_over = false;
    ck_assert_int_eq(pthread_create(&thread, NULL, serve, tree), 0);
    for (int how = 0; how < 3; how++) {
        struct ch_tree_hello hello = {.pe = 1, .n = attack.n, .to = CH_TREE_ANY, .host = "h"};
        const int fd = connect_root();
        struct ch_tree_challenge challenge;
        struct ch_tree_answer said[2] = {{.magic = 0}};

        while (recv(fd, &challenge, sizeof(challenge), MSG_DONTWAIT) != sizeof(challenge))
            (void)usleep(1000);
        seal_wrongly(&hello, &challenge, how);
        say(fd, &hello, sizeof(hello));
        ck_assert_uint_eq(hear_all(fd, (char *)said, sizeof(said)), sizeof(said[0]));
        ck_assert_uint_eq(said[0].kind, CH_TREE_REFUSED);
        ck_assert_mem_eq(said[0].mac, no_mac, sizeof(no_mac));
        ck_assert(!ch_tree_answer_check(&said[0], attack.secret, &challenge, &hello));
        (void)close(fd);
    }
    __atomic_store_n(&attack.is_over, true, __ATOMIC_RELEASE);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_uint_eq(n_joined, 0);
    ck_assert(!tree->is_over);
    ch_tree_close(tree);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("boot_hostile");
    TCase *tc = tcase_create("start"), *kinds = tcase_create("kinds");
    SRunner *runner;
    int n_failed;

    is_timed = argc == 2 && strcmp(argv[1], "timed") == 0;
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, strangers__a_thousand_a_second__start_takes_hardly_longer, 0, 2);
    tcase_set_timeout(kinds, 120);
    tcase_add_test(kinds, strangers__of_all_kinds__are_dropped_and_join_nothing);
    tcase_add_test(kinds, hello__wrong__is_answered_without_a_mac);
    suite_add_tcase(suite, tc);
    suite_add_tcase(suite, kinds);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

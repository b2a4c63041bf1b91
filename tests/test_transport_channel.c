/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The further connections of the network tcp, with PEs that are threads: which bodies are
 * divided and where their parts arrive, what a peer may not do, and a lack of descriptors.
 */
#include "net_pes.h"
#include "transport/tcp/tcp.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define K ((size_t)1024)
#define M (K * K)

enum { GUARD = 16, CHANNELS = 3, ROUNDS = 200, DATA = 64, PEERS_SECRET = 1 };

static const struct ch_link_ops *const ops = &ch_link_tcp;

static char *place(const struct net_pe *pe, uint32_t to, size_t offset)
{
    return pe->there[to] + offset;
}

static uint64_t *word_of(const struct net_pe *pe, uint32_t to, size_t i)
{
    return (uint64_t *)(void *)(pe->there[to] + i * sizeof(uint64_t));
}

/* Connect to the next PE, and wait until all channels of both neighbours are open. */
static void widen(struct net_pe *pe)
{
    const uint32_t others[2] = {pe->next, pe->before};

    net_put_word(ops, pe->ep, 0, pe->next, word_of(pe, pe->next, 0), 1);
    net_pe_word(pe, word_of(pe, pe->me, 0), 1);
    for (int i = 0; i < 2; i++)
        while (!pe->ep->links[others[i]]->is_wide && net_pe_step(pe))
            ;
    net_pe_meet(pe);
}

/* ---- data ---- */

/* The peer has the replies; ThreadSanitizer sees only that the threads have counted them. */
static void replies_sent(struct net_pe *pe)
{
    const struct ch_tcp_link *link = pe->ep->links[pe->before];

    while (!ch_tcp_channels_have_sent(link, link->n_divided) && net_pe_step(pe))
        ;
}

/* One body of so many bytes to the next PE, which may be divided, at any alignment. */
static void move_one(struct net_pe *pe, char *source, size_t bytes, size_t shift)
{
    const struct ch_tcp_link *link = pe->ep->links[pe->next];
    const uint64_t before = link->n_divided, seed = bytes * 8 + shift;
    const bool is_long = bytes >= CH_TCP_STRIPE_ASLEEP;
    const size_t at = DATA + (shift * 3) % 8;

    memset(pe->memory + DATA - GUARD, 0x5a, bytes + 2 * GUARD + 8);
    net_fill(source + shift, bytes, seed + pe->me);
    net_pe_meet(pe);
    ch_tcp_channels_wake(pe->ep, link, bytes);
    ops->put(pe->ep, 0, pe->next, place(pe, pe->next, at), source + shift, bytes);
    EXPECT(link->n_divided >= before + is_long); /* a thread may sleep again */
    EXPECT(link->n_divided <= before + (bytes >= CH_TCP_STRIPE));
    net_pe_done(pe, 0, pe->next);
    net_pe_meet(pe);
    EXPECT(net_is_filled(pe->memory + at, bytes, seed + pe->before));
    for (size_t i = 1; i <= GUARD; i++)
        EXPECT(pe->memory[at - i] == 0x5a && pe->memory[at + bytes + i - 1] == 0x5a);
    memset(source, 0x5a, bytes + 16);
    ops->get(pe->ep, 0, pe->next, source + 8 + shift, place(pe, pe->next, at), bytes);
    net_pe_done(pe, 0, CH_LINK_ALL);
    EXPECT(net_is_filled(source + 8 + shift, bytes, seed + pe->me));
    EXPECT(source[7 + shift] == 0x5a && source[8 + shift + bytes] == 0x5a);
    net_pe_meet(pe);
    replies_sent(pe);
}

static void data_main(struct ch_boot *boot)
{
    static const size_t all_bytes[] = {
        CH_TCP_STRIPE - 1, CH_TCP_STRIPE, CH_TCP_STRIPE + 1, 100003, M + 7, 12 * M + 1};
    char *source = malloc(12 * M + 64);
    struct net_pe pe;

    net_pe_open(&pe, boot, ops, 12 * M + 256, 1);
    widen(&pe);
    for (size_t s = 0; s < sizeof(all_bytes) / sizeof(all_bytes[0]); s++)
        for (size_t shift = 0; shift < 8; shift += 3)
            move_one(&pe, source, all_bytes[s], shift);
    net_pe_close(&pe);
    free(source);
}

/* A word, and a put of a few bytes, take effect after the divided puts before them. */
static void order_main(struct ch_boot *boot)
{
    const size_t bytes = 128 * K + 24;
    char *source = malloc(2 * bytes);
    struct net_pe pe;

    net_pe_open(&pe, boot, ops, DATA + 2 * bytes, 1);
    widen(&pe);
    for (uint64_t round = 2; round < 2 + ROUNDS; round++) {
        const size_t word = round % 2; /* put, said */
        const uint64_t seed = round * 8;

        net_fill(source, 2 * bytes, seed + pe.me);
        ops->put(pe.ep, 0, pe.next, place(&pe, pe.next, DATA), source, bytes);
        ops->put(pe.ep, 0, pe.next, place(&pe, pe.next, DATA + bytes), source + bytes, bytes);
        if (word == 0)
            ops->put(pe.ep, 0, pe.next, (char *)word_of(&pe, pe.next, 0), &round, 8);
        else
            net_put_word(ops, pe.ep, 0, pe.next, word_of(&pe, pe.next, 0), round);
        net_pe_sent(&pe, 0, pe.next);
        memset(source, 0x5a, 2 * bytes);
        net_pe_word(&pe, word_of(&pe, pe.me, 0), round);
        EXPECT(net_is_filled(pe.memory + DATA, 2 * bytes, seed + pe.before));
        memset(pe.memory + DATA, 0x5a, 2 * bytes);
        net_put_word(ops, pe.ep, 0, pe.before, word_of(&pe, pe.before, 1), round);
        net_pe_word(&pe, word_of(&pe, pe.me, 1), round);
    }
    net_pe_meet(&pe);
    net_pe_close(&pe);
    free(source);
}

/* A body that is sent as a whole since the threads sleep wakes them, so the next one is divided
 * unless they sleep again. */
static void wake_threads(struct net_pe *pe, const char *source)
{
    const struct ch_tcp_link *link = pe->ep->links[pe->next];
    const uint64_t before = link->n_divided;

    while (link->n_divided == before) {
        for (int i = 0; i < 2; i++)
            ops->put(pe->ep, 0, pe->next, place(pe, pe->next, DATA), source, CH_TCP_STRIPE);
        net_pe_done(pe, 0, pe->next);
    }
}

/* Threads without work sleep, and only long bodies are divided at once. */
static void idle_main(struct ch_boot *boot)
{
    char *source = calloc(1, CH_TCP_STRIPE_ASLEEP);
    struct net_pe pe;

    net_pe_open(&pe, boot, ops, DATA + M, 1);
    widen(&pe);
    for (int i = 0; i < CHANNELS; i++)
        while (!__atomic_load_n(&pe.ep->servers[i].is_asleep, __ATOMIC_SEQ_CST))
            (void)usleep(1000);
    net_pe_meet(&pe);
    if (pe.me == 0) {
        const struct ch_tcp_link *link = pe.ep->links[pe.next];

        ops->put(pe.ep, 0, pe.next, place(&pe, pe.next, DATA), source, CH_TCP_STRIPE);
        EXPECT(link->n_divided == 0);
        ops->put(pe.ep, 0, pe.next, place(&pe, pe.next, DATA), source, CH_TCP_STRIPE_ASLEEP);
        EXPECT(link->n_divided == 1);
        net_pe_done(&pe, 0, pe.next);
        wake_threads(&pe, source);
    }
    net_pe_meet(&pe);
    net_pe_close(&pe);
    free(source);
}

/* ---- a peer that is not what it seems ---- */

/* The handshake of the next PE, which has the secret, with this one's port. Returns the
 * connection and the verdict. */
static int shake(struct net_pe *pe, uint32_t channel, uint32_t *verdict_out)
{
    const struct sockaddr_in addr = {.sin_family = AF_INET,
                                     .sin_port = htons(pe->ep->addresses->card.port),
                                     .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct ch_tcp_hello hello = {
        .from = pe->next, .to = pe->me, .n = pe->n, .channel = channel};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unsigned char secret[32];
    struct ch_tcp_challenge challenge;
    struct ch_tcp_answer answer;

    memset(secret, PEERS_SECRET, sizeof(secret));
    EXPECT(fd >= 0 && connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0);
    while (recv(fd, &challenge, sizeof(challenge), MSG_DONTWAIT) < 0 && net_pe_step(pe))
        ;
    ch_tcp_hello_make(&hello, secret, &challenge.nonce);
    EXPECT(send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) == (ssize_t)sizeof(hello));
    while (recv(fd, &answer, sizeof(answer), MSG_DONTWAIT) < 0 && net_pe_step(pe))
        ;
    EXPECT(ch_tcp_answer_is_valid(&answer, secret, &hello.nonce, &challenge.nonce));
    *verdict_out = answer.verdict;
    return fd;
}

/* A link of a peer with all channels open, on the peer's end. */
struct fake {
    int link, channels[CHANNELS];
};

static void say_frame(const struct fake *fake, const struct ch_frame *head)
{
    EXPECT(send(fake->link, head, sizeof(*head), MSG_NOSIGNAL) == (ssize_t)sizeof(*head));
}

static void fake_open(struct net_pe *pe, struct fake *fake)
{
    const struct ch_frame open = {.kind = CH_FRAME_CHANNELS, .value = CHANNELS};
    uint32_t verdict;

    fake->link = shake(pe, 0, &verdict);
    EXPECT(verdict == CH_TCP_WELCOME);
    for (uint32_t i = 0; i < CHANNELS; i++) {
        fake->channels[i] = shake(pe, i + 1, &verdict);
        EXPECT(verdict == CH_TCP_WELCOME);
    }
    say_frame(fake, &open);
    while (!pe->ep->links[pe->next]->is_wide && net_pe_step(pe))
        ;
}

static void fake_close(const struct fake *fake)
{
    (void)close(fake->link);
    for (int i = 0; i < CHANNELS; i++)
        (void)close(fake->channels[i]);
}

/* Wrong hellos are refused, and right ones work afterwards. */
static void hello_main(struct ch_boot *boot)
{
    uint32_t verdict;
    struct net_pe pe;
    int fds[6];

    net_pe_open(&pe, boot, ops, DATA, PEERS_SECRET);
    fds[0] = shake(&pe, 1, &verdict); /* without its link */
    EXPECT(verdict == CH_TCP_MISTAKEN && pe.ep->links[pe.next] == NULL);
    fds[1] = shake(&pe, 0, &verdict);
    EXPECT(verdict == CH_TCP_WELCOME);
    fds[2] = shake(&pe, CHANNELS + 1, &verdict); /* more than were agreed */
    EXPECT(verdict == CH_TCP_MISTAKEN);
    fds[3] = shake(&pe, UINT32_MAX, &verdict);
    EXPECT(verdict == CH_TCP_MISTAKEN);
    fds[4] = shake(&pe, 2, &verdict);
    EXPECT(verdict == CH_TCP_WELCOME);
    fds[5] = shake(&pe, 2, &verdict); /* the second one */
    EXPECT(verdict == CH_TCP_MISTAKEN);
    EXPECT(pe.ep->links[pe.next]->state == CH_TCP_UP && !pe.ep->links[pe.next]->is_wide);
    for (int i = 0; i < 6; i++)
        (void)close(fds[i]);
    net_pe_close(&pe);
}

/* A frame is refused; is_wide: the channels of its link are open. */
static void expect_refusal(struct ch_boot *boot, bool is_wide, struct ch_frame head,
                           const char *says)
{
    struct fake fake = {.channels = {-1, -1, -1}};
    uint32_t verdict;
    struct net_pe pe;

    net_pe_open(&pe, boot, ops, M, PEERS_SECRET);
    memset(pe.memory, 0x5a, M);
    if (is_wide)
        fake_open(&pe, &fake);
    else
        fake.link = shake(&pe, 0, &verdict);
    head.there = (uintptr_t)pe.memory;
    say_frame(&fake, &head);
    EXPECT(net_pe_fails(&pe) == CHORUS_ERR_SYSTEM);
    EXPECT(pes_message_has(says));
    EXPECT(pes_message_has(pe.me == 0 ? "PE 1 on host beta" : "PE 0 on host alpha"));
    for (size_t i = 0; i < M; i++)
        EXPECT(pe.memory[i] == 0x5a);
    fake_close(&fake);
    net_pe_close(&pe);
}

static void refusals_main(struct ch_boot *boot)
{
    static const uint32_t parts[] = {1, 2, 3, 5, 8, UINT32_MAX};
    static const char *const says = "divided into parts that it cannot have";
    struct ch_frame head = {.kind = CH_FRAME_PUT, .value = 256 * K};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        head.parts = parts[i];
        expect_refusal(boot, true, head, says);
    }
    head.parts = CHANNELS + 1;
    expect_refusal(boot, false, head, says); /* whose channels are not open */
    head.value = CH_TCP_STRIPE - 1;
    expect_refusal(boot, true, head, says);
    head.value = 256 * K;
    head.kind = CH_FRAME_WORD;
    expect_refusal(boot, true, head, says);
    head = (struct ch_frame){.kind = CH_FRAME_CHANNELS, .value = CHANNELS};
    expect_refusal(boot, true, head, "names channels that are not open"); /* again */
    expect_refusal(boot, false, head, "names channels that are not open");
}

/* A divided put with a word behind it; the last channel gets only half of its part, until
 * later, or never. */
static void late_part(struct ch_boot *boot, bool is_complete)
{
    const size_t bytes = 256 * K, part = bytes / (CHANNELS + 1);
    struct ch_frame put = {.kind = CH_FRAME_PUT, .parts = CHANNELS + 1, .value = bytes};
    struct ch_frame word = {.kind = CH_FRAME_WORD, .value = 7};
    char *source = malloc(bytes);
    struct fake fake;
    struct net_pe pe;

    net_pe_open(&pe, boot, ops, DATA + bytes, PEERS_SECRET);
    fake_open(&pe, &fake);
    net_fill(source, bytes, 9);
    put.there = (uintptr_t)pe.memory + DATA;
    word.there = (uintptr_t)pe.memory;
    say_frame(&fake, &put);
    EXPECT(send(fake.link, source, part, MSG_NOSIGNAL) == (ssize_t)part);
    say_frame(&fake, &word);
    for (size_t i = 0; i < CHANNELS; i++) {
        const size_t now = i == CHANNELS - 1 ? part / 2 : part;
        EXPECT(send(fake.channels[i], source + (i + 1) * part, now, MSG_NOSIGNAL) ==
               (ssize_t)now);
    }
    for (int i = 0; i < 2000; i++)
        (void)net_pe_step(&pe);
    EXPECT(*word_of(&pe, pe.me, 0) == 0);
    if (is_complete) {
        EXPECT(send(fake.channels[CHANNELS - 1], source + bytes - part / 2, part / 2,
                    MSG_NOSIGNAL) == (ssize_t)part / 2);
        net_pe_word(&pe, word_of(&pe, pe.me, 0), 7);
        EXPECT(net_is_filled(pe.memory + DATA, bytes, 9));
    } else {
        (void)shutdown(fake.channels[CHANNELS - 1], SHUT_RDWR);
        EXPECT(net_pe_fails(&pe) == CHORUS_ERR_ABORTED);
        EXPECT(pes_message_has("it closed the connection"));
        EXPECT(pes_message_has(pe.me == 0 ? "PE 1 on host beta" : "PE 0 on host alpha"));
        EXPECT(*word_of(&pe, pe.me, 0) == 0);
    }
    fake_close(&fake);
    net_pe_close(&pe);
    free(source);
}

static void late_part_main(struct ch_boot *boot)
{
    late_part(boot, true);
    late_part(boot, false);
}

/* A thread that sleeps at the network's descriptor is woken when the last part has come. */
static void sleep_main(struct ch_boot *boot)
{
    enum { PATIENCE_MS = 20000 };
    char *source = calloc(1, M);
    struct net_pe pe;

    net_pe_open(&pe, boot, ops, DATA + M, 1);
    widen(&pe);
    for (uint64_t round = 2; round < 50; round++) {
        ops->put(pe.ep, 0, pe.next, place(&pe, pe.next, DATA), source, M);
        net_put_word(ops, pe.ep, 0, pe.next, word_of(&pe, pe.next, 0), round);
        while (*(volatile uint64_t *)word_of(&pe, pe.me, 0) < round ||
               !ops->is_sent(pe.ep, 0, pe.next)) {
            struct pollfd fd = {ops->watch(pe.ep), POLLIN, 0};
            bool has_moved = false;

            EXPECT(poll(&fd, 1, PATIENCE_MS) == 1);
            ops->unwatch(pe.ep);
            EXPECT(ops->progress(pe.ep, &has_moved) == CHORUS_OK);
        }
        net_pe_meet(&pe);
    }
    net_pe_close(&pe);
    free(source);
}

/* ---- descriptors ---- */

static int fds_left; /* descriptors that both PEs together may open for connections */

/* Without descriptors for channels, a link works without them. */
static void descriptors_main(struct ch_boot *boot)
{
    struct rlimit files, few;
    char *source = calloc(1, M);
    struct net_pe pe;

    net_pe_open(&pe, boot, ops, DATA + M, 1);
    net_fill(source, M, pe.me);
    net_pe_meet(&pe);
    EXPECT(getrlimit(RLIMIT_NOFILE, &files) == 0);
    few = files;
    few.rlim_cur = (rlim_t)(pes_count_fds() + fds_left);
    net_pe_meet(&pe);
    if (pe.me == 0) EXPECT(setrlimit(RLIMIT_NOFILE, &few) == 0);
    net_pe_meet(&pe);
    for (uint64_t round = 1; round <= 20; round++) {
        if (pe.me == 1 && round == 1) net_pe_word(&pe, word_of(&pe, pe.me, 0), 1);
        ops->put(pe.ep, 0, pe.next, place(&pe, pe.next, DATA), source, M);
        net_put_word(ops, pe.ep, 0, pe.next, word_of(&pe, pe.next, 0), round);
        net_pe_word(&pe, word_of(&pe, pe.me, 0), round);
        net_pe_done(&pe, 0, pe.next);
        EXPECT(net_is_filled(pe.memory + DATA, M, pe.before));
        net_pe_meet(&pe); /* the next put changes it */
    }
    EXPECT(fds_left >= 2 * (1 + CHANNELS) || !pe.ep->links[pe.next]->is_wide);
    if (pe.me == 0) EXPECT(setrlimit(RLIMIT_NOFILE, &files) == 0);
    net_pe_meet(&pe);
    net_pe_close(&pe);
    free(source);
}

/* ---- all of them ---- */

#define ON_THREADS(subject, n)                  \
    START_TEST(subject##__##n##_pes)            \
    {                                           \
        const int fds = pes_count_fds();        \
                                                \
        net_run(n, subject##_main);             \
        ck_assert_int_eq(pes_count_fds(), fds); \
    }                                           \
    END_TEST

/* clang-format off */
#define THREADS_LIST(X) X(data, 2) X(data, 3) X(order, 2) X(order, 3) X(idle, 2) X(hello, 2) \
    X(refusals, 2) X(late_part, 2) X(sleep, 2) X(sleep, 3)
/* clang-format on */
THREADS_LIST(ON_THREADS)

START_TEST(descriptors__few__leave_the_link)
{
    fds_left = _i;
    net_run(2, descriptors_main);
}
END_TEST

int main(void)
{
    enum { LEAST_FDS = 2, MANY_FDS = 16 };
    TCase *tcase = tcase_create("channel");
    Suite *suite = suite_create("transport_channel");
    SRunner *runner = srunner_create(suite);
    int failed;

    if (setenv("CHORUS_CONNECTIONS", "4", 1) != 0 || setenv("CHORUS_NET", "lo", 1) != 0)
        return EXIT_FAILURE;
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 100);
#define ADD(subject, n) tcase_add_test(tcase, subject##__##n##_pes);
    THREADS_LIST(ADD)
#undef ADD
    tcase_add_loop_test(tcase, descriptors__few__leave_the_link, LEAST_FDS, MANY_FDS);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

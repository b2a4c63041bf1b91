/* SPDX-License-Identifier: Apache-2.0 */
/* A boot over a tree: what everyone gets, descriptors within a host, and how it fails. */
#include "boot/tree/inside.h"
#include "chorus/chorus.h"
#include "tree_pes.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ROUNDS = 8, BIG_BYTES = 20000 };

static int count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    ck_assert_ptr_nonnull(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

/* The blob changes between rounds, and some are larger than a socket takes at once. */
static void exchange_blobs(struct ch_boot *boot, size_t bytes, uint32_t round)
{
    unsigned char *const mine = malloc(bytes), *const all = malloc(bytes * boot->n);

    for (size_t i = 0; i < bytes; i++)
        mine[i] = (unsigned char)(i + 7 * boot->me + round);
    memset(all, 0xee, bytes * boot->n);
    EXPECT(boot->ops->exchange(boot, mine, bytes, -1, all, NULL) == CHORUS_OK);
    for (uint32_t pe = 0; pe < boot->n; pe++)
        for (size_t i = 0; i < bytes; i++)
            EXPECT(all[pe * bytes + i] == (unsigned char)(i + 7 * pe + round));
    free(mine);
    free(all);
}

static void exchange_files(struct ch_boot *boot, uint32_t round)
{
    const int fd = memfd_create("test", MFD_CLOEXEC);
    uint32_t mine = 1000 * round + boot->me, *all = calloc(boot->n, sizeof(*all));
    int *const fds = calloc(boot->n, sizeof(*fds));

    EXPECT(pwrite(fd, &mine, sizeof(mine), 0) == (ssize_t)sizeof(mine));
    EXPECT(boot->ops->exchange(boot, &mine, sizeof(mine), fd, all, fds) == CHORUS_OK);
    (void)close(fd);
    for (uint32_t pe = 0; pe < boot->n; pe++) {
        uint32_t word = 0;
        EXPECT(all[pe] == 1000 * round + pe);
        EXPECT((fds[pe] >= 0) == ch_boot_is_near(boot, pe));
        if (fds[pe] < 0) continue;
        EXPECT(pread(fds[pe], &word, sizeof(word), 0) == (ssize_t)sizeof(word));
        EXPECT(word == 1000 * round + pe);
        (void)close(fds[pe]);
    }
    free(all);
    free(fds);
}

/* The connections that a PE has accepted are at the port at which it listened. Some may listen
 * still. All PEs are threads, and have joined. */
static void expect_few_children(uint32_t n)
{
    enum { CHILDREN_MOST = 16, PORTS = 1 << 16, FDS_MOST = 8192 };
    static uint32_t sockets_at[PORTS];
    uint32_t n_sockets = 0;

    memset(sockets_at, 0, sizeof(sockets_at));
    for (int fd = 0; fd < FDS_MOST; fd++) {
        struct sockaddr_in6 own = {.sin6_port = 0}; /* the port is where IPv4 has it */
        socklen_t bytes = sizeof(own);
        if (getsockname(fd, (struct sockaddr *)&own, &bytes) != 0) continue;
        if (own.sin6_family != AF_INET && own.sin6_family != AF_INET6) continue;
        n_sockets++;
        EXPECT(++sockets_at[ntohs(own.sin6_port)] <= CHILDREN_MOST + 1);
    }
    EXPECT(n_sockets >= 2 * (n - 1)); /* both ends of each connection */
}

static void exchange_all_kinds(struct tree_pe *pe)
{
    struct ch_boot *const boot = pe->boot;
    const uint32_t rounds = boot->n > 64 ? 1 : boot->n > 18 ? 2 : ROUNDS;
    struct ch_options options;

    EXPECT(ch_options_read(&options) == CHORUS_OK);
    options.nodes = boot->n / 3;
    EXPECT(ch_boot_locate(boot, &options) == CHORUS_OK);
    EXPECT(boot->n_nodes == (boot->n < 6 ? 1 : boot->n / 3));
    if (boot->me == 0) expect_few_children(boot->n);
    for (uint32_t round = 0; round < rounds; round++) {
        exchange_blobs(boot, 4 + round, round);
        exchange_files(boot, round);
        if (boot->n <= 64) exchange_blobs(boot, BIG_BYTES, round);
        EXPECT(boot->ops->exchange(boot, NULL, 0, -1, NULL, NULL) == CHORUS_OK);
    }
    EXPECT(boot->ops->serve(boot) == CHORUS_OK);
}

static const uint32_t counts[] = {1, 2, 3, 5, 17, 18, 40, 300};
enum { COUNTS = sizeof(counts) / sizeof(counts[0]) };

START_TEST(tree__exchanges__everyone_gets_all_in_pe_order)
{
    const int before = count_fds();
    const uint32_t n = counts[_i];

    tree_prepare(n, PLENTY_NS);
    tree_run(n, exchange_all_kinds);
    for (uint32_t pe = 0; pe < n; pe++)
        ck_assert_msg(tree_pes[pe].status == CHORUS_OK, "PE %u: %s", pe, tree_pes[pe].message);
    ck_assert_int_eq(count_fds(), before);
}
END_TEST

/* Of this process, over TCP. */
static uint32_t count_listeners(void)
{
    enum { FDS_MOST = 8192 };
    uint32_t count = 0;

    for (int fd = 0; fd < FDS_MOST; fd++) {
        int family = 0, listens = 0;
        socklen_t bytes = sizeof(int);
        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &bytes) != 0) continue;
        if (family != AF_INET && family != AF_INET6) continue;
        bytes = sizeof(int);
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0 && listens != 0)
            count++;
    }
    return count;
}

/* When the second exchange ends, all PEs have the result of the first. */
static void expect_no_listener(struct tree_pe *pe)
{
    for (int i = 0; i < 2; i++)
        EXPECT(pe->boot->ops->exchange(pe->boot, NULL, 0, -1, NULL, NULL) == CHORUS_OK);
    if (pe->boot->me == 0) EXPECT(count_listeners() == 0);
    EXPECT(pe->boot->ops->exchange(pe->boot, NULL, 0, -1, NULL, NULL) == CHORUS_OK);
}

START_TEST(tree__all_have_joined__no_node_listens)
{
    tree_prepare(40, PLENTY_NS);
    ck_assert_uint_eq(count_listeners(), 1);
    tree_run(40, expect_no_listener);
    for (uint32_t pe = 0; pe < 40; pe++)
        ck_assert_msg(tree_pes[pe].status == CHORUS_OK, "PE %u: %s", pe, tree_pes[pe].message);
}
END_TEST

static void exchange_file(struct tree_pe *pe)
{
    exchange_files(pe->boot, 1);
}

/* Another user may know the job's names, and whatever is made of them. */
START_TEST(tree__name_of_the_job_is_taken__descriptors_are_passed)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unsigned char job[CH_TREE_JOB_BYTES];
    int chars;

    tree_prepare(3, PLENTY_NS);
    ch_tree_job_of_secret(tree_pes[0].start.secret, job);
    chars = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "chorus-");
    for (size_t i = 0; i < sizeof(job); i++)
        chars += snprintf(name.sun_path + 1 + chars, 3, "%02x", job[i]);
    chars += snprintf(name.sun_path + 1 + chars, 3, "-0");
    ck_assert_int_eq(
        bind(fd, (const struct sockaddr *)&name,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1) + (socklen_t)chars),
        0);
    tree_run(3, exchange_file);
    (void)close(fd);
}
END_TEST

static void meet(struct tree_pe *pe)
{
    pe->status = pe->boot->ops->exchange(pe->boot, NULL, 0, -1, NULL, NULL);
    (void)snprintf(pe->message, sizeof(pe->message), "%s", ch_error_message());
}

static void assert_told(uint32_t pe, chorus_status status, const char *part)
{
    ck_assert_msg(strstr(tree_pes[pe].message, part) != NULL, "PE %u was told \"%s\"", pe,
                  tree_pes[pe].message);
    ck_assert_int_eq(tree_pes[pe].status, status);
}

#define ADVICE "start all PEs of a job with one launcher, unique id or CHORUS_SECRET"

/* PEs lo to hi have another secret than PE 0. They are told what is wrong, and all others are
 * told which they are. */
static void assert_secrets_told(uint32_t lo, uint32_t hi)
{
    char host[CH_TREE_HOST_BYTES] = "", from[2 * CH_TREE_HOST_BYTES];

    ck_assert_int_eq(gethostname(host, sizeof(host) - 1), 0);
    for (uint32_t pe = 0; pe < 4; pe++) {
        const bool is_wrong = pe >= lo && pe < hi;
        if (is_wrong) {
            assert_told(pe, CHORUS_ERR_ARG,
                        "has another secret: it is of another job, or this process was "
                        "started with a wrong one; " ADVICE);
            continue;
        }
        assert_told(pe, CHORUS_ERR_TIMEOUT, " of 4 PEs came within 0.5 s; PE ");
        assert_told(pe, CHORUS_ERR_TIMEOUT,
                    " connections had another secret than the job's (" ADVICE "), from PE ");
        for (uint32_t i = lo; i < hi; i++) {
            (void)snprintf(from, sizeof(from), " PE %u of 4 on host %s at 127.0.0.1", i, host);
            assert_told(pe, CHORUS_ERR_TIMEOUT, from);
        }
    }
}

START_TEST(tree__secrets_differ__all_are_told_who_has_another)
{
    static const struct {
        uint32_t lo, hi;
    } wrong[] = {{2, 3}, {1, 4}};

    tree_prepare(4, CH_NS_PER_S / 2);
    for (uint32_t pe = wrong[_i].lo; pe < wrong[_i].hi; pe++)
        tree_pes[pe].start.secret[31] ^= 1;
    tree_run(4, meet);
    assert_secrets_told(wrong[_i].lo, wrong[_i].hi);
}
END_TEST

START_TEST(tree__numbers_disagree__all_are_told_alike)
{
    tree_prepare(4, PLENTY_NS);
    tree_pes[2].start.n = 5;
    tree_run(4, meet);
    for (uint32_t pe = 0; pe < 4; pe++) {
        ck_assert_int_ne(tree_pes[pe].status, CHORUS_OK);
        assert_told(pe, tree_pes[pe].status, "was started as PE 2 of 5, and others as of 4");
    }
}
END_TEST

START_TEST(tree__two_are_one_pe__all_are_told_alike)
{
    tree_prepare(20, PLENTY_NS);
    tree_pes[19].start.me = 7;
    tree_run(20, meet);
    for (uint32_t pe = 0; pe < 20; pe++)
        assert_told(pe, CHORUS_ERR_ABORTED, "two processes are PE 7: one on host ");
}
END_TEST

static void come_unless_3(struct tree_pe *pe)
{
    if (pe->start.me == 3) {
        (void)usleep(900000);
        meet(pe);
        EXPECT(pe->status == CHORUS_ERR_ABORTED);
    } else {
        meet(pe);
    }
}

/* Which PEs never joined, and which joined and did not arrive. */
START_TEST(tree__pes_do_not_come__all_are_told_which)
{
    tree_prepare(6, CH_NS_PER_S / 2);
    tree_pes[1].is_absent = tree_pes[4].is_absent = true;
    tree_run(6, come_unless_3);
    for (uint32_t pe = 0; pe < 6; pe++) {
        if (tree_pes[pe].is_absent || pe == 3) continue;
        assert_told(pe, CHORUS_ERR_TIMEOUT,
                    "3 of 6 PEs came within 0.5 s; PE 1, PE 4 never joined; PE 3 on ");
        assert_told(pe, CHORUS_ERR_TIMEOUT, " did not arrive");
    }
    assert_told(3, CHORUS_ERR_ABORTED, "3 of 6 PEs came within 0.5 s");
}
END_TEST

static void give_unlike(struct tree_pe *pe)
{
    char blob[16] = "", all[3 * 16];

    EXPECT(pe->boot->ops->exchange(pe->boot, blob, pe->boot->me == 1 ? 16 : 8, -1, all, NULL) ==
           CHORUS_ERR_ARG);
    EXPECT(strstr(ch_error_message(), "PE 1 gave 16 bytes, PE 0 8 bytes") != NULL);
    EXPECT(pe->boot->ops->exchange(pe->boot, NULL, 0, -1, NULL, NULL) == CHORUS_OK);
    EXPECT(pe->boot->ops->exchange(pe->boot, blob, SIZE_MAX, -1, all, NULL) == CHORUS_ERR_ARG);
}

START_TEST(tree__blobs_of_unlike_bytes__everyone_is_told_and_the_job_goes_on)
{
    tree_prepare(3, PLENTY_NS);
    tree_run(3, give_unlike);
}
END_TEST

static void leave_if_1(struct tree_pe *pe)
{
    EXPECT(pe->boot->ops->exchange(pe->boot, NULL, 0, -1, NULL, NULL) == CHORUS_OK);
    if (pe->boot->me == 1) return;
    EXPECT(pe->boot->ops->exchange(pe->boot, NULL, 0, -1, NULL, NULL) == CHORUS_ERR_ABORTED);
    EXPECT(strstr(ch_error_message(), "PE 1 left the job") != NULL);
}

START_TEST(tree__pe_left__others_are_told_who)
{
    tree_prepare(30, PLENTY_NS);
    tree_run(30, leave_if_1);
}
END_TEST

/* Nobody there, and somebody who never answers, as behind a filter. */
START_TEST(tree__root_is_not_there__is_said)
{
    tree_prepare(2, CH_NS_PER_S / 2);
    tree_pes[0].is_absent = true;
    if (_i == 0) ch_tree_listener_close(&tree_door);
    tree_run(2, meet);
    assert_told(1, CHORUS_ERR_TIMEOUT, "PE 1 could not join the job at 127.0.0.1:");
    assert_told(1, CHORUS_ERR_TIMEOUT,
                _i == 0 ? "Connection refused" : "accepts connections, but does not answer");
    ch_tree_listener_close(&tree_door);
}
END_TEST

START_TEST(tree__port_is_taken__is_said)
{
    struct ch_tree_listener first, second;

    ck_assert_int_eq(ch_tree_listen(0, &first), CHORUS_OK);
    ck_assert_int_eq(ch_tree_listen(first.port, &second), CHORUS_ERR_SYSTEM);
    ck_assert_ptr_nonnull(
        strstr(ch_error_message(), "another program uses it: choose another"));
    ch_tree_listener_close(&first);
}
END_TEST

static const struct {
    uint32_t major, minor, pe, n;
    const char *says; /* null: it fits */
} hellos[] = {
    {CHORUS_MAJOR_VERSION, CHORUS_MINOR_VERSION, 2, 3, NULL},
    {CHORUS_MAJOR_VERSION + 1, CHORUS_MINOR_VERSION, 2, 3, "on host h has Chorus "},
    {CHORUS_MAJOR_VERSION, CHORUS_MINOR_VERSION + 1, 2, 3, "; use one version on all hosts"},
    {CHORUS_MAJOR_VERSION, CHORUS_MINOR_VERSION, 2, 4, "as PE 2 of 4, and others as of 3"},
    {CHORUS_MAJOR_VERSION, CHORUS_MINOR_VERSION, 3, 3, "as PE 3 of 3, and others as of 3"},
};

START_TEST(hello__of_another_version_or_job__does_not_fit)
{
    const struct ch_tree_hello hello = {.version_major = hellos[_i].major,
                                        .version_minor = hellos[_i].minor,
                                        .pe = hellos[_i].pe,
                                        .n = hellos[_i].n,
                                        .host = "h"};
    char why[CH_TREE_TEXT_BYTES] = "";

    ck_assert_int_eq(ch_tree_hello_fits(&hello, 3, why), hellos[_i].says == NULL);
    if (hellos[_i].says != NULL) ck_assert_ptr_nonnull(strstr(why, hellos[_i].says));
}
END_TEST

/* Every byte of a hello and of an answer is under the MAC, and so are both nonces. */
START_TEST(handshake__any_byte_changed__is_refused)
{
    unsigned char secret[CH_BOOT_SECRET_BYTES];
    struct ch_tree_hello hello = {.pe = 1, .n = 2}, bad;
    struct ch_tree_answer answer = {.kind = CH_TREE_WELCOME}, wrong;
    struct ch_tree_challenge challenge, other;

    ch_tree_secret_make(secret);
    ch_tree_challenge_make(&challenge);
    ch_tree_challenge_make(&other);
    ch_tree_hello_seal(&hello, secret, &challenge);
    ch_tree_answer_seal(&answer, secret, &challenge, &hello);
    ck_assert(ch_tree_hello_check(&hello, secret, &challenge));
    ck_assert(!ch_tree_hello_check(&hello, secret, &other));
    ck_assert(ch_tree_answer_check(&answer, secret, &challenge, &hello));
    ck_assert(!ch_tree_answer_check(&answer, secret, &other, &hello));
    for (size_t i = 0; i < sizeof(hello); i++) {
        bad = hello;
        ((unsigned char *)&bad)[i] ^= 0x10;
        ck_assert_msg(!ch_tree_hello_check(&bad, secret, &challenge), "byte %zu", i);
    }
    for (size_t i = 0; i < sizeof(answer); i++) {
        wrong = answer;
        ((unsigned char *)&wrong)[i] ^= 0x10;
        ck_assert_msg(!ch_tree_answer_check(&wrong, secret, &challenge, &hello), "byte %zu", i);
    }
    bad = hello;
    bad.nonce[0] ^= 1;
    ck_assert(!ch_tree_answer_check(&answer, secret, &challenge, &bad));
}
END_TEST

/* What a node would allocate for. */
static const struct {
    struct ch_tree_head head;
    bool is_right;
} heads[] = {
    {{CH_TREE_GATHER, 2, 0, CH_TREE_BLOB_MAX, 0, 0}, true},
    {{CH_TREE_GATHER, 2, 0, CH_TREE_BLOB_MAX + 1, 0, 0}, false},
    {{CH_TREE_GATHER, 3, 0, 8, 0, 0}, false},
    {{CH_TREE_GATHER, CH_TREE_NO_PE, 0, 8, 0, 0}, false},
    {{CH_TREE_RESULT, 0, 0, 3 * (uint64_t)CH_TREE_BLOB_MAX, 0, 0}, true},
    {{CH_TREE_RESULT, 0, 0, 3 * (uint64_t)CH_TREE_BLOB_MAX + 1, 0, 0}, false},
    {{CH_TREE_FAIL, 0, 0, CH_TREE_TEXT_BYTES - 1, CHORUS_ERR_ARG, 0}, true},
    {{CH_TREE_FAIL, 0, 0, CH_TREE_TEXT_BYTES, CHORUS_ERR_ARG, 0}, false},
    {{CH_TREE_FAIL, 0, 0, 8, CHORUS_OK, 0}, false},
    {{CH_TREE_ABORT, CH_TREE_NO_PE, 0, CH_TREE_TEXT_BYTES - 1, 1, 0}, true},
    {{CH_TREE_ABORT, 0, 0, UINT64_MAX, 1, 0}, false},
    {{CH_TREE_JOINED, 1, 0, CH_TREE_HOST_BYTES - 1, 0, 0}, false},
    {{CH_TREE_LATE, 1, 0, 0, 0, 0}, false},
    {{CH_TREE_LEFT, 1, 0, 1, 0, 0}, false},
    {{0, 1, 0, 0, 0, 0}, false},
    {{CH_TREE_ABORT + 1, 1, 0, 0, 0, 0}, false},
};

START_TEST(head__of_another_form__is_refused)
{
    ck_assert_int_eq(ch_tree_head_check(&heads[_i].head, 3), heads[_i].is_right);
}
END_TEST

START_TEST(address__text__is_found_or_said_what_is_wrong)
{
    static const struct {
        const char *text, *first; /* null: refused */
        uint32_t n;
    } texts[] = {
        {"127.0.0.1:80", "127.0.0.1:80", 1},
        {"[::1]:65535,10.0.0.1:1", "[::1]:65535", 2},
        {"", NULL, 0},
        {"127.0.0.1", NULL, 0},
        {"127.0.0.1:0", NULL, 0},
        {"127.0.0.1:65536", NULL, 0},
        {":80", NULL, 0},
        {"[::1:80", NULL, 0},
        {"[]:80", NULL, 0},
        {"127.0.0.1:80,", "127.0.0.1:80", 1},
        {"127.0.0.1:80,x", NULL, 0},
    };
    struct ch_tree_address found[CH_TREE_ADDRESSES];
    char why[CH_TREE_TEXT_BYTES], first[CH_TREE_ADDRESS_TEXT];

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        ck_assert_msg(ch_tree_addresses_parse(texts[i].text, found, why, sizeof(why)) ==
                          texts[i].n,
                      "\"%s\": %s", texts[i].text, why);
        if (texts[i].n == 0) continue;
        ch_tree_address_print(&found[0], first);
        ck_assert_str_eq(first, texts[i].first);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("boot_tree");
    TCase *exchange = tcase_create("exchange"), *refusal = tcase_create("refusal");
    TCase *told = tcase_create("told"), *handshake = tcase_create("handshake");
    SRunner *runner;
    int n_failed;

    tcase_set_timeout(exchange, 120);
    tcase_add_loop_test(exchange, tree__exchanges__everyone_gets_all_in_pe_order, 0, COUNTS);
    tcase_set_timeout(refusal, 120);
    tcase_set_timeout(told, 120);
    tcase_add_test(exchange, tree__all_have_joined__no_node_listens);
    tcase_add_test(exchange, tree__name_of_the_job_is_taken__descriptors_are_passed);
    tcase_add_loop_test(told, tree__secrets_differ__all_are_told_who_has_another, 0, 2);
    tcase_add_test(refusal, tree__numbers_disagree__all_are_told_alike);
    tcase_add_test(refusal, tree__two_are_one_pe__all_are_told_alike);
    tcase_add_test(refusal, tree__pes_do_not_come__all_are_told_which);
    tcase_add_test(told, tree__blobs_of_unlike_bytes__everyone_is_told_and_the_job_goes_on);
    tcase_add_test(told, tree__pe_left__others_are_told_who);
    tcase_add_loop_test(refusal, tree__root_is_not_there__is_said, 0, 2);
    tcase_add_test(refusal, tree__port_is_taken__is_said);
    tcase_add_loop_test(handshake, hello__of_another_version_or_job__does_not_fit, 0,
                        (int)(sizeof(hellos) / sizeof(hellos[0])));
    tcase_add_test(handshake, handshake__any_byte_changed__is_refused);
    tcase_add_loop_test(handshake, head__of_another_form__is_refused, 0,
                        (int)(sizeof(heads) / sizeof(heads[0])));
    tcase_add_test(handshake, address__text__is_found_or_said_what_is_wrong);
    suite_add_tcase(suite, exchange);
    suite_add_tcase(suite, refusal);
    suite_add_tcase(suite, told);
    suite_add_tcase(suite, handshake);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree: what may come over the connections of the control plane: from a stranger, or from the
 * parent or a child of a node. The first byte says what the node is and which of these sends;
 * then come deeds: bytes, messages with any head, an exchange of the node itself.
 */
#include "fuzz.h"

#include "boot/tree/inside.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { N = 4, PART = 8, DEEDS_MAX = 64, BODY_MAX = 600 };
enum deed { DEED_BYTES, DEED_MESSAGE, DEED_EXCHANGE, DEED_LATE, DEED_READ, DEED_COUNT };

static struct {
    uint32_t n_joined, n_over, n_exchanged;
} told;

static void joined(void *self, uint32_t pe, const char *host)
{
    (void)self;
    FUZZ_CHECK(pe < N && *host != '\0' && strlen(host) < CH_TREE_HOST_BYTES);
    told.n_joined++;
}

static void left(void *self, uint32_t pe)
{
    (void)self;
    FUZZ_CHECK(pe < N);
}

/* A root's result is of its own making, and has as many bytes as all parts. */
static void exchanged(void *self, chorus_status status, const char *reason, const char *blobs,
                      size_t bytes)
{
    const bool *const is_root = self;

    FUZZ_CHECK(status != CHORUS_OK || *reason == '\0');
    FUZZ_CHECK(!*is_root || status != CHORUS_OK || (blobs != NULL && bytes == N * PART));
    FUZZ_CHECK(strlen(reason) < CH_TREE_TEXT_BYTES);
    told.n_exchanged++;
}

static void over(void *self, int status, const char *reason)
{
    (void)self, (void)status;
    FUZZ_CHECK(strlen(reason) < CH_TREE_TEXT_BYTES);
    told.n_over++;
}

static struct ch_tree *make(bool *is_root)
{
    const struct ch_tree_terms terms = {.me = *is_root ? 0 : 1,
                                        .n = N,
                                        .secret = "of the fuzzer",
                                        .events = {is_root, joined, left, exchanged, over}};
    struct ch_tree *tree = ch_tree_make(&terms);

    FUZZ_CHECK(tree != NULL);
    tree->is_root = *is_root;
    if (!*is_root) return tree;
    tree->hosts = calloc(N, sizeof(*tree->hosts));
    FUZZ_CHECK(tree->hosts != NULL && ch_round_open(tree));
    return tree;
}

/* As after a handshake; or as after a challenge. */
static void connect_to(struct ch_tree *tree, uint8_t how, int fd)
{
    struct ch_tree_conn *const conn =
        (how & 2) != 0 && !tree->is_root ? &tree->up : &tree->children[0];

    if ((how & 4) != 0) {
        tree->unverified[0].fd = fd;
        ch_tree_challenge_make(&tree->unverified[0].challenge);
        FUZZ_CHECK(ch_tree_watch_fd(tree, fd, &tree->unverified[0]));
        return;
    }
    conn->pe = conn == &tree->up ? 0 : 2;
    (void)snprintf(conn->host, sizeof(conn->host), "elsewhere");
    FUZZ_CHECK(ch_tree_conn_open(tree, conn, fd));
}

static void send_message(int sock, struct fuzz_input *in)
{
    struct ch_tree_head head = {.kind = fuzz_byte(in), .pe = fuzz_byte(in)};
    char body[BODY_MAX] = "";
    const uint8_t *bytes;
    uint8_t code;
    size_t n;

    head.round = fuzz_byte(in);
    code = fuzz_byte(in);
    head.code = code < 128 ? code : code - 256;
    head.bytes = (size_t)fuzz_byte(in) * 4 % BODY_MAX;
    bytes = fuzz_bytes(in, (size_t)head.bytes, &n);
    if (n > 0) memcpy(body, bytes, n);
    (void)send(sock, &head, sizeof(head), MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)send(sock, body, (size_t)head.bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void do_deed(struct ch_tree *tree, int sock, struct fuzz_input *in)
{
    char drain[4096] = "";
    const uint8_t *bytes;
    size_t n;

    switch ((enum deed)(fuzz_byte(in) % DEED_COUNT)) {
    case DEED_BYTES:
        n = (size_t)fuzz_byte(in) * 4;
        bytes = fuzz_bytes(in, n, &n);
        if (n > 0) (void)send(sock, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        break;
    case DEED_MESSAGE:
        send_message(sock, in);
        break;
    case DEED_EXCHANGE:
        if (!tree->round.is_mine) ch_tree_exchange(tree, drain, PART, false);
        break;
    case DEED_LATE:
        if (tree->round.is_mine) ch_tree_report_late(tree, 1);
        break;
    default:
        (void)recv(sock, drain, sizeof(drain), MSG_DONTWAIT);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_input in = {data, data + bytes};
    const int next_fd = fuzz_next_fd();
    const uint8_t how = fuzz_byte(&in);
    bool is_root = (how & 1) != 0;
    struct ch_tree *tree;
    int pair[2];

    memset(&told, 0, sizeof(told));
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    tree = make(&is_root);
    connect_to(tree, how, pair[0]);
    for (int i = 0; i < DEEDS_MAX && in.at < in.end; i++) {
        do_deed(tree, pair[1], &in);
        ch_tree_serve(tree);
    }
    (void)close(pair[1]);
    ch_tree_serve(tree);
    ch_tree_serve(tree);
    FUZZ_CHECK(told.n_over <= 1 && told.n_joined <= N);
    if ((how & 4) != 0) { /* nobody without the secret joins, or ends the job */
        FUZZ_CHECK(told.n_joined == 0 && told.n_over == 0 && !tree->is_over);
        if (tree->unverified[0].fd >= 0) (void)close(tree->unverified[0].fd);
        tree->unverified[0].fd = -1;
    }
    ch_tree_close(tree);
    FUZZ_CHECK(fuzz_next_fd() == next_fd);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_launcher: what PEs may send to chorusrun, over sockets as it has them. The input is a
 * list of deeds of three PEs: bytes, whole messages of any kind, descriptors, the end.
 */
#include "fuzz.h"

#include "chorusrun.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PES = 3, DEEDS_MAX = 64, FDS_MAX = 5 };

enum deed { DEED_BYTES, DEED_MESSAGE, DEED_JOIN, DEED_READ, DEED_END, DEED_COUNT };

struct world {
    struct args args;
    struct pe pes[PES];
    struct job job;
    int socks[PES]; /* PEs' ends; -1 when closed */
};

/* As chorusrun's, without processes to end. */
void job_end(struct job *job, int status, const char *format, ...)
{
    FUZZ_CHECK(status >= 0 && status < 256);
    FUZZ_CHECK(status == 0 || format != NULL);
    if (job->is_ending) return;
    job->is_ending = true;
    mail_fail_all(job, "the job is ending");
}

/* In the names of those that are missing. */
const char *who(const struct pe *pe, struct who *out)
{
    (void)snprintf(out->text, sizeof(out->text), "PE %u", pe->number);
    return out->text;
}

/* The harness reads no records. */
void where_watch(struct pe *pe, int fd)
{
    (void)pe, (void)fd;
}

void where_forget(struct pe *pe)
{
    (void)pe;
}

/* What news lead to in a job on one host, as far as mail sees it. */
void job_hear(struct job *job, struct pe *pe, const struct news *news)
{
    FUZZ_CHECK(pe >= job->pes && pe < job->pes + PES);
    if (news->kind == NEWS_JOINED) {
        pe->has_joined = pe->is_inside = true;
        pe->has_left = false;
        pe->n_joins++;
    }
    if (news->kind == NEWS_LEFT) {
        pe->has_left = true;
        pe->left_as = job->n_left++;
    }
    if (news->kind == NEWS_ABORTED) pe->has_aborted = true;
    if (news->kind == NEWS_LEFT)
        mail_miss(job, pe);
    else if (news->kind == NEWS_ABORTED || news->kind == NEWS_BROKE)
        job_end(job, news->value, "%s", news->text);
}

static void world_open(struct world *w)
{
    memset(w, 0, sizeof(*w));
    w->args.n = PES;
    w->job = (struct job){.args = &w->args,
                          .pes = w->pes,
                          .n_pes = PES,
                          .n_started = PES,
                          .exec_errors = -1,
                          .end_at_ns = UINT64_MAX,
                          .lost_at_ns = UINT64_MAX};
    for (int i = 0; i < PES; i++) {
        int pair[2];
        w->pes[i].number = (uint32_t)i;
        FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
        mail_open(&w->pes[i].mail, pair[0]);
        w->pes[i].lifeline = w->pes[i].out.fd = w->pes[i].err.fd = -1;
        w->socks[i] = pair[1];
    }
}

static void world_close(struct world *w)
{
    for (int i = 0; i < PES; i++) {
        mail_close(&w->job, &w->pes[i].mail);
        if (w->pes[i].lifeline >= 0) (void)close(w->pes[i].lifeline);
        if (w->socks[i] >= 0) (void)close(w->socks[i]);
    }
    FUZZ_CHECK(w->job.n_waiting == 0);
}

static void send_with_fds(int sock, const void *data, size_t bytes, const int *fds, size_t n)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control;
    struct iovec part = {(void *)(uintptr_t)data, bytes};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

    if (n > 0) {
        memset(&control, 0, sizeof(control));
        m.msg_control = &control;
        m.msg_controllen = CMSG_SPACE(n * sizeof(int));
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(n * sizeof(int));
        memcpy(CMSG_DATA(&control.head), fds, n * sizeof(int));
    }
    (void)sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void send_bytes(const struct world *w, int pe, struct fuzz_input *in)
{
    const int fds[FDS_MAX] = {STDIN_FILENO, STDIN_FILENO, STDIN_FILENO, STDIN_FILENO,
                              STDIN_FILENO};
    const size_t n_fds = fuzz_byte(in) % (FDS_MAX + 1), most = fuzz_byte(in);
    size_t bytes;
    const uint8_t *data = fuzz_bytes(in, most, &bytes);

    if (bytes > 0) send_with_fds(w->socks[pe], data, bytes, fds, n_fds);
}

/* One that is nearly as it should be: a field of the head is what the input says. */
static void send_message(const struct world *w, int pe, struct fuzz_input *in)
{
    struct {
        struct ch_wire_head head;
        uint8_t body[256];
    } message;
    const uint8_t kind = fuzz_byte(in), field = fuzz_byte(in), value = fuzz_byte(in);
    const size_t n_fds = field == 4 ? 1 : 0;
    const int fd = STDIN_FILENO;
    size_t bytes;
    const uint8_t *data;

    memset(&message, 0, sizeof(message));
    message.head = ch_wire_head_of((enum ch_wire_kind)(kind % (CH_WIRE_TOLD + 2)));
    if (field == 1) message.head.code = (int32_t)value - 128;
    if (field == 2) message.head.n_fds = value;
    if (field == 3) message.head.bytes = (uint64_t)value << (value % 64);
    if (field >= 4) message.head.bytes = value;
    if (field == 4) message.head.n_fds = 1;
    data = fuzz_bytes(in, field >= 3 ? value : 0, &bytes);
    memcpy(message.body, data, bytes);
    send_with_fds(w->socks[pe], &message, sizeof(message.head) + bytes, &fd, n_fds);
}

static void join(struct world *w, int pe, struct fuzz_input *in)
{
    struct {
        struct ch_wire_head head;
        struct ch_wire_join body;
    } message = {ch_wire_head_of(CH_WIRE_JOIN), ch_wire_join_of((uint32_t)pe, PES)};
    int pair[2];

    message.head.bytes = sizeof(message.body);
    message.head.n_fds = 1;
    message.body.pe ^= fuzz_byte(in);
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    send_with_fds(w->socks[pe], &message, sizeof(message), &pair[1], 1);
    (void)close(pair[1]);
    (void)close(w->socks[pe]);
    w->socks[pe] = pair[0];
}

/* As a PE that takes its answer; descriptors that come are closed by the system. */
static void read_some(const struct world *w, int pe, struct fuzz_input *in)
{
    uint8_t data[256];

    (void)recv(w->socks[pe], data, fuzz_byte(in), MSG_DONTWAIT);
}

static void act(struct world *w, struct fuzz_input *in)
{
    const int pe = fuzz_byte(in) % PES;
    const enum deed deed = (enum deed)(fuzz_byte(in) % DEED_COUNT);

    if (w->socks[pe] < 0) return;
    if (deed == DEED_BYTES) send_bytes(w, pe, in);
    if (deed == DEED_MESSAGE) send_message(w, pe, in);
    if (deed == DEED_JOIN) join(w, pe, in);
    if (deed == DEED_READ) read_some(w, pe, in);
    if (deed == DEED_END) {
        (void)close(w->socks[pe]);
        w->socks[pe] = -1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_input in = {data, data + bytes};
    const int fd = fuzz_next_fd();
    struct world w;

    world_open(&w);
    for (int i = 0; i < DEEDS_MAX && in.at < in.end; i++) {
        act(&w, &in);
        for (int pe = 0; pe < PES; pe++) {
            mail_receive(&w.job, &w.pes[pe]);
            mail_send(&w.job, &w.pes[pe]);
            FUZZ_CHECK(w.pes[pe].mail.sock >= 0 || w.pes[pe].mail.reply == NULL);
        }
    }
    world_close(&w);
    FUZZ_CHECK(fuzz_next_fd() == fd);
    return 0;
}

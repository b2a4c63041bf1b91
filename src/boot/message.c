/* SPDX-License-Identifier: Apache-2.0 */
#include "boot/message.h"

#include "base/option.h"
#include "boot/ways.h"
#include "chorus/chorus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char wrong_version[] =
    "has another version of Chorus; use the chorusrun of its version";
static const char wrong_form[] =
    "sent a message in a format that chorusrun does not know; use the chorusrun of its version";

struct ch_wire_head ch_wire_head_of(enum ch_wire_kind kind)
{
    return (struct ch_wire_head){.magic = CH_WIRE_MAGIC, .kind = kind};
}

struct ch_wire_join ch_wire_join_of(uint32_t pe, uint32_t n)
{
    return (struct ch_wire_join){pe, n, CHORUS_MAJOR_VERSION, CHORUS_MINOR_VERSION};
}

bool ch_wire_join_check(const struct ch_wire_join *join, uint32_t pe, uint32_t n,
                        char why_out[CH_WIRE_REASON_BYTES])
{
    const struct ch_wire_join right = ch_wire_join_of(pe, n);

    if (join->version_major != right.version_major ||
        join->version_minor != right.version_minor) {
        (void)snprintf(
            why_out, CH_WIRE_REASON_BYTES,
            "has Chorus %u.%u, and chorusrun is of %u.%u; use the chorusrun of its version",
            join->version_major, join->version_minor, right.version_major, right.version_minor);
        return false;
    }
    if (join->pe == pe && join->n == n) return true;
    (void)snprintf(
        why_out, CH_WIRE_REASON_BYTES,
        "joined as PE %u of %u, but was started as PE %u of %u; leave %s and %s as chorusrun "
        "sets them",
        join->pe, join->n, pe, n, ch_variable_name(CH_VARIABLE_PE),
        ch_variable_name(CH_VARIABLE_N_PES));
    return false;
}

void ch_message_init(struct ch_message *m)
{
    *m = (struct ch_message){.fd = -1};
}

void ch_message_forget(struct ch_message *m)
{
    free(m->body);
    if (m->fd >= 0) ch_fd_close_all(&m->fd, 1);
    ch_message_init(m);
}

void *ch_message_room(struct ch_message *m, size_t *bytes_out)
{
    if (m->head_got < sizeof(m->head)) {
        *bytes_out = sizeof(m->head) - m->head_got;
        return (char *)&m->head + m->head_got;
    }
    *bytes_out = (size_t)m->head.bytes - m->body_got;
    return m->body + m->body_got;
}

static const char *form_fault(const struct ch_wire_head *head)
{
    switch (head->kind) {
    case CH_WIRE_JOIN:
        return head->bytes != sizeof(struct ch_wire_join) || head->n_fds != 1 ? wrong_form
                                                                              : NULL;
    case CH_WIRE_EXCHANGE:
        return head->bytes > CH_WIRE_BLOB_MAX || head->n_fds > 1 || head->code < 0 ? wrong_form
                                                                                   : NULL;
    case CH_WIRE_SHOW:
        return head->bytes != 0 || head->n_fds != 1 ? wrong_form : NULL;
    case CH_WIRE_LEAVE:
    case CH_WIRE_ASK:
        return head->bytes != 0 || head->n_fds != 0 ? wrong_form : NULL;
    case CH_WIRE_ABORT:
        return head->bytes != 0 || head->n_fds != 0 || head->code < 0 || head->code > 255
                   ? wrong_form
                   : NULL;
    default:
        return wrong_form;
    }
}

static const char *stage_fault(uint32_t kind, enum ch_wire_stage stage)
{
    if (kind == CH_WIRE_JOIN)
        return stage != CH_WIRE_OUTSIDE ? "joined the job twice (init)" : NULL;
    if (stage == CH_WIRE_OUTSIDE) return "sent a message before it joined the job";
    if (kind == CH_WIRE_EXCHANGE && stage == CH_WIRE_OWED)
        return "began an exchange before its last one had ended";
    return NULL;
}

/* The head is complete. Returns its fault, or null after allocating memory for the body. */
static const char *take_head(struct ch_message *m, enum ch_wire_stage stage)
{
    const char *fault;

    if (m->head.magic != CH_WIRE_MAGIC) return wrong_version;
    fault = form_fault(&m->head);
    if (fault == NULL) fault = stage_fault(m->head.kind, stage);
    if (fault != NULL || m->head.bytes == 0) return fault;
    m->body = malloc((size_t)m->head.bytes);
    return m->body == NULL ? "sent more bytes than chorusrun has memory for" : NULL;
}

enum ch_message_state ch_message_grew(struct ch_message *m, size_t bytes,
                                      enum ch_wire_stage stage)
{
    if (m->head_got < sizeof(m->head)) {
        m->head_got += bytes;
        if (m->head_got < sizeof(m->head)) return CH_MESSAGE_PART;
        m->fault = take_head(m, stage);
    } else {
        m->body_got += bytes;
    }
    if (m->fault == NULL && m->n_fds != m->head.n_fds) m->fault = wrong_form;
    if (m->fault != NULL) return CH_MESSAGE_FAULT;
    return m->body_got == m->head.bytes ? CH_MESSAGE_WHOLE : CH_MESSAGE_PART;
}

void ch_message_take_fds(struct ch_message *m, const int *fds, uint32_t n)
{
    uint32_t taken = 0;

    if (n > 0 && m->fd < 0) m->fd = fds[taken++];
    ch_fd_close_all(fds + taken, n - taken);
    m->n_fds += n;
}

static bool is_failure(int code)
{
#define X(name, value, text) \
    if (code == (value)) return (value) != CHORUS_OK;
    CHORUS_STATUS_LIST(X)
#undef X
    return false;
}

chorus_status ch_wire_answer_check(const struct ch_wire_head *head, size_t bytes,
                                   uint32_t n_fds)
{
    const bool is_result = head->kind == CH_WIRE_RESULT && head->code == CHORUS_OK &&
                           head->bytes == bytes && head->n_fds == n_fds;
    const bool is_fail = head->kind == CH_WIRE_FAIL && is_failure(head->code) &&
                         head->bytes < CH_WIRE_REASON_BYTES && head->n_fds == 0;

    if (head->magic == CH_WIRE_MAGIC && (is_result || is_fail)) return CHORUS_OK;
    return CH_FAIL(
        CHORUS_ERR_SYSTEM,
        "chorusrun sent an answer in an unknown format; use the chorusrun of this library");
}

/* The descriptors of one control message, which ends before `end`. */
static uint32_t count_fds(const struct cmsghdr *c, const char *end)
{
    const char *data = (const char *)CMSG_DATA(c);
    size_t bytes;

    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || data > end) return 0;
    bytes = c->cmsg_len > CMSG_LEN(0) ? c->cmsg_len - CMSG_LEN(0) : 0;
    if (bytes > (size_t)(end - data)) bytes = (size_t)(end - data);
    return (uint32_t)(bytes / sizeof(int));
}

uint32_t ch_wire_fds(const struct msghdr *m, int fds_out[CH_WIRE_CONTROL_FDS])
{
    const char *end = (const char *)m->msg_control + m->msg_controllen;
    struct msghdr all = *m; /* CMSG_NXTHDR takes a pointer that is not const */
    uint32_t n = 0;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(&all); c != NULL; c = CMSG_NXTHDR(&all, c)) {
        uint32_t here = count_fds(c, end);
        if (here > CH_WIRE_CONTROL_FDS - n) here = CH_WIRE_CONTROL_FDS - n;
        memcpy(fds_out + n, CMSG_DATA(c), here * sizeof(int));
        n += here;
    }
    return n;
}

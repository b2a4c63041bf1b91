/* SPDX-License-Identifier: Apache-2.0 */
#include "chorusrun_frame.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 64 * 1024, FIRST_BYTES = 4096 };

/* The numbers of an order, then four texts, then its lists. */
enum { ORDER_NUMBERS = 7, ORDER_TEXTS = 4, ORDER_FIXED = ORDER_NUMBERS + ORDER_TEXTS };

static void reserve(struct buffer *b, size_t bytes)
{
    if (b->at > 0) {
        memmove(b->data, b->data + b->at, b->used - b->at);
        b->used -= b->at;
        b->at = 0;
    }
    if (b->room - b->used >= bytes) return;
    if (b->room == 0) b->room = FIRST_BYTES;
    while (b->room - b->used < bytes)
        b->room *= 2;
    b->data = realloc(b->data, b->room);
    if (b->data != NULL) return;
    (void)fprintf(stderr, "chorusrun: no memory for messages between hosts\n");
    exit(STATUS_CANNOT_RUN);
}

void buffer_put(struct buffer *b, const void *data, size_t bytes)
{
    if (bytes == 0) return;
    reserve(b, bytes);
    memcpy(b->data + b->used, data, bytes);
    b->used += bytes;
}

void buffer_skip(struct buffer *b, size_t bytes)
{
    b->at += bytes;
}

void buffer_free(struct buffer *b)
{
    free(b->data);
    *b = (struct buffer){0};
}

ssize_t buffer_read(struct buffer *b, int fd)
{
    ssize_t n;

    reserve(b, PIECE_BYTES);
    n = read(fd, b->data + b->used, PIECE_BYTES);
    if (n > 0) b->used += (size_t)n;
    return n;
}

ssize_t buffer_write(struct buffer *b, int fd)
{
    const size_t bytes = buffer_bytes(b);
    const ssize_t n =
        write(fd, b->data + b->at, bytes < PIECE_BYTES ? bytes : (size_t)PIECE_BYTES);

    if (n > 0) buffer_skip(b, (size_t)n);
    return n;
}

void frame_put(struct buffer *b, struct frame frame, const void *bytes)
{
    buffer_put(b, &frame, sizeof(frame));
    buffer_put(b, bytes, frame.bytes);
}

enum frame_state frame_take(struct buffer *b, struct frame *frame_out, const char **bytes_out)
{
    if (buffer_bytes(b) < sizeof(*frame_out)) return FRAME_PART;
    memcpy(frame_out, b->data + b->at, sizeof(*frame_out));
    if (frame_out->bytes > FRAME_BYTES_MAX) return FRAME_FAULT;
    if (buffer_bytes(b) - sizeof(*frame_out) < frame_out->bytes) return FRAME_PART;
    *bytes_out = b->data + b->at + sizeof(*frame_out);
    buffer_skip(b, sizeof(*frame_out) + frame_out->bytes);
    return FRAME_WHOLE;
}

static void put_text(struct buffer *b, const char *text)
{
    buffer_put(b, text, strlen(text) + 1);
}

void order_put(struct buffer *b, const struct order *order)
{
    const uint32_t numbers[ORDER_NUMBERS] = {
        order->n,     order->first,       order->n_pes,        order->n_beside,
        order->place, order->n_variables, order->keeps_records};
    struct buffer texts = {0};

    for (size_t i = 0; i < ORDER_NUMBERS; i++) {
        char digits[12];
        (void)snprintf(digits, sizeof(digits), "%u", numbers[i]);
        put_text(&texts, digits);
    }
    put_text(&texts, order->host);
    put_text(&texts, order->root);
    put_text(&texts, order->secret);
    put_text(&texts, order->folder);
    for (uint32_t i = 0; i < order->n_variables; i++)
        put_text(&texts, order->variables[i]);
    for (size_t i = 0; order->command[i] != NULL; i++)
        put_text(&texts, order->command[i]);
    frame_put(b, (struct frame){FRAME_ORDER, 0, 0, (uint32_t)buffer_bytes(&texts)}, texts.data);
    buffer_free(&texts);
}

/* The texts in the bytes, followed by a null pointer. Returns their number. */
static size_t split(const char *bytes, size_t n_bytes, const char **texts_out)
{
    size_t n = 0;

    for (const char *at = bytes; at < bytes + n_bytes; at += strlen(at) + 1) {
        if (texts_out != NULL) texts_out[n] = at;
        n++;
    }
    if (texts_out != NULL) texts_out[n] = NULL;
    return n;
}

static bool read_numbers(const char *const *texts, struct order *out)
{
    uint64_t v[ORDER_NUMBERS];

    for (size_t i = 0; i < ORDER_NUMBERS; i++)
        if (!ch_number_whole(texts[i], 0, FRAME_BYTES_MAX, &v[i])) return false;
    *out = (struct order){.n = (uint32_t)v[0],
                          .first = (uint32_t)v[1],
                          .n_pes = (uint32_t)v[2],
                          .n_beside = (uint32_t)v[3],
                          .place = (uint32_t)v[4],
                          .n_variables = (uint32_t)v[5],
                          .keeps_records = (uint32_t)v[6]};
    return v[0] <= CH_WIRE_PES_MAX && v[2] >= 1 && v[1] + v[2] <= v[0] && v[4] + v[2] <= v[3];
}

bool order_read(const char *bytes, size_t n_bytes, struct order *out)
{
    const char **texts;
    size_t n;

    if (n_bytes == 0 || bytes[n_bytes - 1] != '\0') return false;
    n = split(bytes, n_bytes, NULL);
    texts = calloc(n + 1, sizeof(*texts));
    if (texts == NULL) return false;
    (void)split(bytes, n_bytes, texts);
    if (n <= ORDER_FIXED || !read_numbers(texts, out) || n - ORDER_FIXED <= out->n_variables) {
        free(texts);
        return false;
    }
    out->host = texts[ORDER_NUMBERS];
    out->root = texts[ORDER_NUMBERS + 1];
    out->secret = texts[ORDER_NUMBERS + 2];
    out->folder = texts[ORDER_NUMBERS + 3];
    /* The block then begins with the lists; freeing them frees it. */
    memmove(texts, texts + ORDER_FIXED, (n + 1 - ORDER_FIXED) * sizeof(*texts));
    out->variables = texts;
    out->command = texts + out->n_variables;
    return true;
}

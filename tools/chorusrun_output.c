/* SPDX-License-Identifier: Apache-2.0 */
#include "chorusrun.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A longer line is forwarded in pieces, each a line of its own. */
enum { LINE_MAX_BYTES = 64 * 1024 };

void stream_open(struct stream *stream, int fd, FILE *to)
{
    *stream = (struct stream){.fd = fd, .to = to, .line = malloc(LINE_MAX_BYTES)};
    if (stream->line == NULL) {
        (void)fprintf(stderr, "chorusrun: no memory to forward output\n");
        exit(STATUS_CANNOT_RUN);
    }
}

static void put_line(const struct stream *stream, uint32_t pe, const char *line, size_t bytes)
{
    (void)fprintf(stream->to, "[%u] ", pe);
    (void)fwrite(line, 1, bytes, stream->to);
    (void)putc('\n', stream->to);
}

static void put_whole_lines(struct stream *stream, uint32_t pe)
{
    char *at = stream->line, *end = stream->line + stream->used, *newline;

    while ((newline = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        put_line(stream, pe, at, (size_t)(newline - at));
        at = newline + 1;
    }
    stream->used = (size_t)(end - at);
    memmove(stream->line, at, stream->used);
    if (stream->used == LINE_MAX_BYTES) {
        put_line(stream, pe, stream->line, stream->used);
        stream->used = 0;
    }
    (void)fflush(stream->to);
}

void stream_forward(struct stream *stream, uint32_t pe)
{
    ssize_t n;

    while (stream->fd >= 0) {
        n = read(stream->fd, stream->line + stream->used, LINE_MAX_BYTES - stream->used);
        if (n < 0) return; /* nothing more for now */
        if (n == 0) {
            stream_close(stream, pe);
            return;
        }
        stream->used += (size_t)n;
        put_whole_lines(stream, pe);
    }
}

void stream_close(struct stream *stream, uint32_t pe)
{
    if (stream->fd < 0) return;
    if (stream->used > 0) put_line(stream, pe, stream->line, stream->used);
    (void)fflush(stream->to);
    (void)close(stream->fd);
    free(stream->line);
    *stream = (struct stream){.fd = -1};
}

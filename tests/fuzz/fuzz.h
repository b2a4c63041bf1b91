/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h: what the harnesses share. Each is one file that feeds bytes to one reader. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The name that libFuzzer calls; returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* A promise of the reader. */
#define FUZZ_CHECK(condition)                                                         \
    do {                                                                              \
        if (condition) break;                                                         \
        (void)fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
        abort();                                                                      \
    } while (0)

/* Bytes that are read one after another; zeros behind the end. */
struct fuzz_input {
    const uint8_t *at, *end;
};

static inline uint8_t fuzz_byte(struct fuzz_input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

/* Up to `most` bytes, of which there may be fewer. */
static inline const uint8_t *fuzz_bytes(struct fuzz_input *in, size_t most, size_t *bytes_out)
{
    const uint8_t *from = in->at;
    const size_t left = (size_t)(in->end - in->at);

    *bytes_out = most < left ? most : left;
    in->at += *bytes_out;
    return from;
}

/* The input's lines, each a string, up to `most`; the text is the caller's to free. */
char *fuzz_lines(const uint8_t *data, size_t bytes, char **lines_out, size_t most,
                 size_t *n_out);

/* The number that the next descriptor of this process will have: after a run as before it,
 * unless one was left open. */
int fuzz_next_fd(void);

#endif /* FUZZ_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h: what chorus-device-far and chorus-device-host measure: the same calls, inside kernels
 * and by hosts, with the same bytes and as many in succession.
 *
 * A row is one call, or a window: messages one after another, and then a quiet. Its time is
 * that of one message. In rows that are not collective PE 0 calls and PE 1 is the peer.
 */
#ifndef CH_BENCH_DEVICE_ROWS_H
#define CH_BENCH_DEVICE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
#define CH_ROW_LIST(X)                                                                       \
    X(p, "a word that is data and signal, one way: half of a round trip")                    \
    X(put_signal, "8 bytes and a signal, one way: half of a round trip")                     \
    X(g, "a word that g loads")                                                              \
    X(fetch_add, "an atomic addition of 8 bytes that returns the old value")                 \
    X(barrier, "a barrier of all PEs")                                                       \
    X(sync, "the same without waiting for puts")                                             \
    X(p_rate, "window: words that p stores")                                                 \
    X(add, "window: atomic additions of 8 bytes that return nothing")                        \
    X(put, "window: puts whose source may be reused on return")                              \
    X(put_nbi, "window: puts that return at once")                                           \
    X(get, "window: gets, which wait for their data, without a quiet")                       \
    X(broadcast, "a broadcast of float; the root alternates")                                \
    X(fcollect, "an fcollect of float")                                                      \
    X(alltoall, "an alltoall of float")                                                      \
    X(reduce, "a sum of float")                                                              \
    X(reducescatter, "a sum of float, of which each PE gets its block")
/* clang-format on */

enum ch_row {
#define X(name, text) CH_ROW_##name,
    CH_ROW_LIST(X)
#undef X
        CH_ROW_COUNT
};

extern const char *const ch_row_names[CH_ROW_COUNT];

#define CH_ROW_AREA_BYTES ((size_t)16 << 20) /* of all messages of a window */

/* Bytes of put, put_nbi and get; and of a block of the collectives. */
#define CH_ROW_PUT_BYTES 8, 256, 1024, 65536, 1048576, CH_ROW_AREA_BYTES
#define CH_ROW_COLL_BYTES 8, 1024, 32768, 262144

/* Most that is timed together: messages, bytes and calls. */
#define CH_ROW_LAUNCH_MESSAGES 12800
#define CH_ROW_LAUNCH_BYTES ((size_t)32 << 20)
#define CH_ROW_LAUNCH_CALLS 200

/* Messages of a window. */
static inline int ch_row_window(size_t bytes)
{
    return CH_ROW_AREA_BYTES / bytes < 64 ? (int)(CH_ROW_AREA_BYTES / bytes) : 64;
}

/* Does each message wait for the peer, as those that return data, or take a kernel there? */
static inline bool ch_row_is_slow(enum ch_row row)
{
    return row == CH_ROW_g || row == CH_ROW_get || row == CH_ROW_add || row == CH_ROW_fetch_add;
}

/* Calls that are timed together, of so many messages of so many bytes each. */
static inline int ch_row_calls(enum ch_row row, int messages, size_t bytes)
{
    const size_t all = (size_t)messages * (bytes != 0 ? bytes : 1);
    size_t n = CH_ROW_LAUNCH_MESSAGES / (size_t)messages / (ch_row_is_slow(row) ? 8 : 1);

    if (n > CH_ROW_LAUNCH_BYTES / all) n = CH_ROW_LAUNCH_BYTES / all;
    return n < 2 ? 2 : n > CH_ROW_LAUNCH_CALLS ? CH_ROW_LAUNCH_CALLS : (int)n;
}

/* What the command line asks for: [--stream] [ROW...]. */
struct ch_row_options {
    bool is_asked[CH_ROW_COUNT];
    bool on_stream, has_help;
    char error[200]; /* why the command line is wrong */
};

/* False with a message in `error`; prints nothing. may_stream: --stream is known. */
bool ch_row_options_read(int argc, char **argv, bool may_stream, struct ch_row_options *out);
void ch_row_options_help(FILE *out, const char *program, bool may_stream);

#ifdef __cplusplus
}
#endif

#endif /* CH_BENCH_DEVICE_ROWS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* exec_types.h: types that the backends of exec.h have in common. */
#ifndef CH_EXEC_TYPES_H
#define CH_EXEC_TYPES_H

#include <stddef.h>
#include <stdint.h>

struct ch_lanes {
    uint32_t lane;  /* this lane, 0 <= lane < width */
    uint32_t width; /* lanes that run the body together */
};

/*
 * What a word tells the peer. DATA: what was written in this call is there. ENTRY: this PE is
 * in the call, and what it wrote before is there. CREDIT: the peer may write or reuse
 * something. The first two are steps of an algorithm, and the simulator counts them. Where a
 * call begins with all earlier writes visible, as a kernel does, only DATA costs a fence.
 */
enum ch_sense { CH_DATA, CH_ENTRY, CH_CREDIT };

/* A packet (LL): 8 data bytes and a flag, stored so that a reader who sees the flag sees the
 * data. 16-byte aligned. */
struct ch_packet {
    uint64_t data, flag;
};

/* A line (LL128): a flag and 120 data bytes, likewise. 128-byte aligned. The flag is in front,
 * so that a short message lies in one cache line with it; a GPU has it last (batch_cuda.h). */
#define CH_LINE_DATA 120u
struct ch_line {
    uint64_t flag;
    unsigned char data[CH_LINE_DATA];
};

#endif /* CH_EXEC_TYPES_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* exec_types.h: what the machines of exec.h have in common. */
#ifndef CH_EXEC_TYPES_H
#define CH_EXEC_TYPES_H

#include <stddef.h>
#include <stdint.h>

struct ch_lanes {
    uint32_t lane;  /* this lane, 0 <= lane < width */
    uint32_t width; /* lanes that run the body together */
};

/* What a store tells the peer: that data is there (a step of the algorithm), or that it may
 * write or reuse something (not a step). The host does not care; the simulator counts. */
enum ch_sense { CH_DATA, CH_CREDIT };

/* A packet (LL): 8 data bytes and a flag, stored so that a reader who sees the flag sees the
 * data. 16-byte aligned. */
struct ch_packet {
    uint64_t data, flag;
};

/* A line (LL128): a flag and 120 data bytes, likewise. 128-byte aligned. The flag is in front, so
 * that a short message lies in one cache line with it. */
#define CH_LINE_DATA 120u
struct ch_line {
    uint64_t flag;
    unsigned char data[CH_LINE_DATA];
};

#endif /* CH_EXEC_TYPES_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* exec_types.h: types that the backends of exec.h have in common. */
#ifndef CH_EXEC_TYPES_H
#define CH_EXEC_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* 1 for calls made inside kernels (chorus_device.cuh), which have no kernel boundary around
 * them. The writes of the program before a call are released once, when the call begins, and
 * only if peers read the source or write to dest (device_coll.cuh); every wait for a word is
 * an acquire. A message in packets is one chunk. Since a block of 1,024 threads has 64
 * registers for each of them, less is computed ahead, or in flight at a time. */
#ifndef CH_INSIDE_KERNELS
#define CH_INSIDE_KERNELS 0
#endif

/* 1 where nvcc compiles them, and not a test of their batches on a CPU. */
#if CH_INSIDE_KERNELS && defined(__CUDACC__)
#define CH_IN_PROGRAM 1
#else
#define CH_IN_PROGRAM 0
#endif

/* A function of which a backend may have one copy for all callers; CH_FN is the backend's. */
#if !CH_IN_PROGRAM
#define CH_PART CH_FN
#endif

/* How lanes synchronise in kernels of programs: all threads of a block, however many; a warp's,
 * or one; and in parts, all threads of a block, or one (no warp's, as its instructions in a
 * part would take registers of the kernels that call it). */
#define CH_LANES_BLOCK 0u
#define CH_LANES_FEW 1u
#define CH_LANES_PART 2u

struct ch_lanes {
    uint32_t lane;  /* number of this lane, 0 <= lane < width */
    uint32_t width; /* number of lanes that execute the function together */
#if CH_IN_PROGRAM
    uint32_t form; /* CH_LANES_..., a constant of each call */
#endif
};

/*
 * The meaning of a word for the peer. DATA: the writes of this call have arrived. ENTRY: this
 * PE has entered the call, and its earlier writes have arrived. CREDIT: the peer may write or
 * reuse memory. The first two are steps of an algorithm, and the simulator counts them. If a
 * call begins with all earlier writes visible, as a kernel does, only DATA needs a fence.
 */
enum ch_sense { CH_DATA, CH_ENTRY, CH_CREDIT };

/* The contexts of operations on links, each an ordering domain. Algorithms wait for their
 * messages themselves, and a quiet of the program need not wait for them. */
#define CH_CTX_DEFAULT 0u
#define CH_CTX_ALGORITHMS 1u
#define CH_CTX_STAGED 2u  /* credits and answers of transport/staged */
#define CH_CTX_PROGRAM 3u /* the first context that a program creates */

/* A packet (LL): 8 data bytes and a flag, stored such that a reader that sees the flag also
 * sees the data. 16-byte aligned. */
struct ch_packet {
    uint64_t data, flag;
};

/* A line (LL128): a flag and 120 data bytes, stored in the same way. 128-byte aligned. The flag
 * comes first, so that a short message and the flag are in one cache line; on a GPU it comes
 * last (batch_cuda.h). */
#define CH_LINE_DATA 120u
struct ch_line {
    uint64_t flag;
    unsigned char data[CH_LINE_DATA];
};

#endif /* CH_EXEC_TYPES_H */

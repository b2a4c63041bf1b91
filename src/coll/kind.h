/* SPDX-License-Identifier: Apache-2.0 */
/* kind.h: how algorithms send data, and how GPUs run them. */
#ifndef CH_KIND_H
#define CH_KIND_H

/* clang-format off */
/* How data is sent. signal: there is none. simple: plain stores, then a signal. ll: packets of 8
 * data bytes and a flag. ll128: lines of 120 data bytes and a flag. */
#define CH_PROTO_LIST(X) X(signal) X(simple) X(ll) X(ll128)

/*
 * How GPUs run an algorithm: name, largest number of lanes of a CTA, whether its body waits for the
 * kernel's turn (ch_wait_previous_call), whether its messages are a PE's slices of a CTA's
 * part, whether it may have CTAs on slim duplicates of sync memory (sync.h), and so twice as
 * many. plain: nothing special. wide: uses no FIFO, and needs many CTAs to use a link fully.
 * folding: combines data that it forwards; such a kernel uses twice the registers, hence half
 * the lanes. due: begins with an exchange. sliced: the same, of slices. multicast, integers:
 * only in kernels_nvls.cu, the latter for integers only. engine: copies by engines. none: has
 * no kernel; one CTA of a host runs it.
 */
#define CH_KERNEL_LIST(X)                                                           \
    X(plain, 512, 0, 0, 0)                                                          \
    X(wide, 512, 0, 0, 1)                                                           \
    X(folding, 256, 0, 0, 0)                                                        \
    X(due, 512, 1, 0, 0)                                                            \
    X(sliced, 512, 1, 1, 0)                                                         \
    X(multicast, 512, 0, 0, 0)                                                      \
    X(integers, 512, 0, 0, 0)                                                       \
    X(engine, 512, 0, 0, 0)                                                         \
    X(none, 1, 0, 0, 0)
/* clang-format on */

enum ch_proto {
#define X(proto) CH_PROTO_##proto,
    CH_PROTO_LIST(X)
#undef X
        CH_PROTO_COUNT
};

enum ch_kernel_kind {
#define X(kind, ...) CH_KERNEL_##kind,
    CH_KERNEL_LIST(X)
#undef X
        CH_KERNEL_COUNT
};

enum {
#define X(kind, lanes, due, sliced, wide)                                                \
    CH_LANES_##kind = (lanes), CH_IS_DUE_##kind = (due), CH_IS_SLICED_##kind = (sliced), \
    CH_IS_WIDE_##kind = (wide),
    CH_KERNEL_LIST(X)
#undef X
};

#endif /* CH_KIND_H */

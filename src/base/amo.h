/* SPDX-License-Identifier: Apache-2.0 */
/* amo.h: the atomic operations on a word of a peer, which links offer and kernels request. */
#ifndef CH_BASE_AMO_H
#define CH_BASE_AMO_H

enum ch_amo {
    CH_AMO_SET,
    CH_AMO_ADD,
    CH_AMO_AND,
    CH_AMO_OR,
    CH_AMO_XOR,
    CH_AMO_FETCH,
    CH_AMO_SWAP,
    CH_AMO_COMPARE_SWAP,
};

#endif /* CH_BASE_AMO_H */

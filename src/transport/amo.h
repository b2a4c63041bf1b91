/* SPDX-License-Identifier: Apache-2.0 */
/* amo.h: the atomics that a transport offers. */
#ifndef CH_AMO_H
#define CH_AMO_H

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

#endif /* CH_AMO_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h: FNV-1a of 64 bits (Fowler, Noll, Vo), to compare texts and settings, not secrets. */
#ifndef CH_HASH_H
#define CH_HASH_H

#include <stddef.h>
#include <stdint.h>

#define CH_HASH_START UINT64_C(0xcbf29ce484222325)

uint64_t ch_hash(uint64_t hash, const void *bytes, size_t count);

#endif /* CH_HASH_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* texture_fetch_functions.h: clang's headers for CUDA include it, and CUDA 13 has none. */
#ifndef CH_TEXTURE_FETCH_FUNCTIONS_H
#define CH_TEXTURE_FETCH_FUNCTIONS_H
#endif /* CH_TEXTURE_FETCH_FUNCTIONS_H */

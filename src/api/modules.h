/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.h: the files of CUDA C++ whose kernels make calls. Each of them registers itself when
 * it is loaded, and is given the state of the PE as soon as there is one.
 */
#ifndef CH_API_MODULES_H
#define CH_API_MODULES_H

#include "api/context.h"

/* ERR_ARG if a file was compiled for another version of the library. */
CH_MUST_CHECK chorus_status ch_modules_check(void);

/* Give the state to all files that do not have it, or take it away before the PE ends. What
 * CUDA refuses is logged, and tried again by the next of these calls. Nothing is done for a
 * heap in host memory, and for PEs that are threads of a process. */
void ch_modules_give_all(const struct ch_context *context);
void ch_modules_take(const struct ch_context *context);

/* ch_modules_give_all, unless all files have it. */
extern int ch_modules_waiting;
static inline void ch_modules_give(const struct ch_context *context)
{
    if (__atomic_load_n(&ch_modules_waiting, __ATOMIC_RELAXED) != 0)
        ch_modules_give_all(context);
}

#endif /* CH_API_MODULES_H */

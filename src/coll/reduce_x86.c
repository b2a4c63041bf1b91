/* SPDX-License-Identifier: Apache-2.0 */
/* Which table an x86-64 processor gets. */
#include "coll/reduce.h"

#include <cpuid.h>
#include <stdbool.h>

/* Does the processor have F16C? Asked of cpuid: clang 14 does not know the feature by name. */
static bool has_f16c(void)
{
    unsigned eax, ebx, ecx, edx;

    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0;
}

/* The first feature includes that the operating system saves the registers of both. */
const struct ch_reduce_table *ch_reduce_here(void)
{
    return __builtin_cpu_supports("avx2") && has_f16c() ? &ch_reduce_avx2 : &ch_reduce_base;
}

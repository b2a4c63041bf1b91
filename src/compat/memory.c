/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c: the symmetric heap, by the current and the deprecated names. */
#include "compat/setup.h"

DEFINE_F(, void *, malloc, (bytes), size_t bytes)
DEFINE_F(, void *, calloc, (count, bytes), size_t count, size_t bytes)
DEFINE_F(, void *, align, (alignment, bytes), size_t alignment, size_t bytes)
DEFINE_F(, void *, malloc_with_hints, (bytes, hints), size_t bytes, long hints)
DEFINE_F(, void *, realloc, (ptr, bytes), void *ptr, size_t bytes)
DEFINE_P(, free, (ptr), void *ptr)

/* A PE uses its own variables at the program's addresses. */
DEFINE(void *, ptr, const void *dest, int pe)
{
    void *const own = ch_own(dest);

    return own != dest && pe == chorus_my_pe() ? (void *)(uintptr_t)dest : chorus_ptr(own, pe);
}

DEFINE(void *, team_ptr, shmem_team_t team, const void *dest, int pe)
{
    void *const own = ch_own(dest);
    const bool is_own = own != dest && pe == chorus_team_my_pe(ch_team_of(team));

    return is_own ? (void *)(uintptr_t)dest : chorus_team_ptr(ch_team_of(team), own, pe);
}

void *shmalloc(size_t bytes)
{
    return pshmem_malloc(bytes);
}

void *shmemalign(size_t alignment, size_t bytes)
{
    return pshmem_align(alignment, bytes);
}

void *shrealloc(void *ptr, size_t bytes)
{
    return pshmem_realloc(ptr, bytes);
}

void shfree(void *ptr)
{
    pshmem_free(ptr);
}

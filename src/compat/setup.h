/* SPDX-License-Identifier: Apache-2.0 */
/* setup.h: declarations that all files of this library use. */
#ifndef CH_COMPAT_SETUP_H
#define CH_COMPAT_SETUP_H

#include "chorus/chorusx.h"
#include "chorus/status.h"
#include "compat/shmem_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OWN(address) ch_heap_address_of(address)

/* The argument without its parentheses. */
#define BARE(...) __VA_ARGS__

/* Declares both names of a function; its body follows. */
#define DEFINE(R, name, ...)                                                   \
    R shmem_##name(__VA_ARGS__) __attribute__((weak, alias("pshmem_" #name))); \
    R pshmem_##name(__VA_ARGS__)

/* Defines the functions of a row of shmem_lists.h by the call of the same name, or by the call
 * `today`. */
#define DEFINE_OLD_P(A, name, today, arguments, ...) \
    DEFINE(void, name, __VA_ARGS__)                  \
    {                                                \
        chorus_##today arguments;                    \
    }
#define DEFINE_OLD_F(A, R, name, today, arguments, ...) \
    DEFINE(R, name, __VA_ARGS__)                        \
    {                                                   \
        return chorus_##today arguments;                \
    }
#define DEFINE_P(A, name, arguments, ...) DEFINE_OLD_P(A, name, name, arguments, __VA_ARGS__)
#define DEFINE_F(A, R, name, arguments, ...) \
    DEFINE_OLD_F(A, R, name, name, arguments, __VA_ARGS__)

/* The same for a row whose functions may have a context. */
#define DEFINE_CTX_P(A, name, arguments, ...)              \
    DEFINE_P(A, name, arguments, __VA_ARGS__)              \
    DEFINE(void, ctx_##name, shmem_ctx_t ctx, __VA_ARGS__) \
    {                                                      \
        chorus_ctx_##name(ch_ctx_of(ctx), BARE arguments); \
    }
#define DEFINE_CTX_F(A, R, name, arguments, ...)                  \
    DEFINE_F(A, R, name, arguments, __VA_ARGS__)                  \
    DEFINE(R, ctx_##name, shmem_ctx_t ctx, __VA_ARGS__)           \
    {                                                             \
        return chorus_ctx_##name(ch_ctx_of(ctx), BARE arguments); \
    }

/* Returns the context of chorus.h. The types of contexts differ only by name. */
static inline chorus_ctx_t ch_ctx_of(shmem_ctx_t ctx)
{
    return (chorus_ctx_t)(void *)ctx;
}

/* Convert a team's handle to that of chorus.h, and back. The handles differ by one, so that
 * only the invalid one is null. */
static inline chorus_team_t ch_team_of(shmem_team_t team)
{
    return (chorus_team_t)((intptr_t)team - 1);
}
static inline shmem_team_t ch_team_for(chorus_team_t team)
{
    return (shmem_team_t)((intptr_t)team + 1);
}

/* The name of a function that DEFINE defines, without the p of pshmem_. */
#define CALLED (__func__ + 1)

/* Programs written for OpenSHMEM do not check the results of collectives: a failure is passed
 * to the error handler. Returns the code. */
static inline int ch_raise(const char *function, int code)
{
    if (__builtin_expect(code != CHORUS_OK, 0)) chorusx_raise_in(function, code);
    return code;
}

/* Forget the teams of active sets, which have ended with the job. */
void ch_active_forget(void);

/* ---- variables of the program as symmetric objects ---- */

/*
 * A symmetric object holds a copy of the program's data and bss, and is also mapped in their
 * place. A variable is thus one memory with two addresses: its own, which the program
 * continues to use, and one in the symmetric heap, which is used in calls of chorus.h. The
 * programs of the PEs may be loaded at different addresses.
 */

/* Ranges of the program, and of this many shared libraries. */
enum { CH_GLOBALS_MAX = 16 };

/* Whole pages. */
struct ch_global_range {
    uintptr_t lo;
    size_t bytes;
    uintptr_t image; /* their address in the heap, once they are shared */
};

struct ch_globals {
    size_t n;
    struct ch_global_range ranges[CH_GLOBALS_MAX];
    bool is_shared;
};
extern struct ch_globals ch_globals;

/* Find the variables of the program, before chorus_init; returns the number of bytes that they
 * will need in the heap. */
size_t ch_globals_scan(void);

/* Make the variables symmetric objects. Collective, after chorus_init, with the result of
 * ch_globals_scan. If they cannot be shared, ch_heap_address_of reports the reason once. */
void ch_globals_share(size_t bytes);

/* Return the variables to private memory: they keep their values, and are no longer symmetric
 * objects. */
void ch_globals_unshare(void);

/* Returns the symmetric address for an address in a range; if variables are not shared, the
 * address itself, after reporting the reason once. */
uintptr_t ch_globals_find(const struct ch_global_range *range, uintptr_t address);

/* Returns the address in the symmetric heap of the variable at `address`; `address` itself if
 * it is not in a variable. */
static inline void *ch_heap_address_of(const void *address)
{
    for (size_t i = 0; i < ch_globals.n; i++)
        if ((uintptr_t)address - ch_globals.ranges[i].lo < ch_globals.ranges[i].bytes)
            return (void *)ch_globals_find(&ch_globals.ranges[i], (uintptr_t)address);
    return (void *)(uintptr_t)address;
}

#endif /* CH_COMPAT_SETUP_H */

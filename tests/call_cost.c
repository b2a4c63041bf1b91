/* SPDX-License-Identifier: Apache-2.0 */
/* call_cost.c: small calls to a mapped PE, in loops whose instructions test_call_cost.py
 * counts. */
#include "chorus/chorus.h"

#include <stdint.h>
#include <string.h>

enum { CALLS = 1000 };

static uint64_t *word, mine = 1;
static int peer;

/* The compiler makes a call of it, as a program's is where it does not know the length. */
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;

/* Instructions of the function and below it are counted. */
#define LOOP(NAME, CALL)                             \
    void loop_##NAME(void);                          \
    __attribute__((noinline)) void loop_##NAME(void) \
    {                                                \
        for (int i = 0; i < CALLS; i++) {            \
            CALL;                                    \
            __asm__ volatile("" ::: "memory");       \
        }                                            \
    }
LOOP(memcpy, (void)copy(word, &mine, sizeof(mine)))
LOOP(putmem, chorus_putmem(word, &mine, sizeof(mine), peer))
LOOP(getmem, chorus_getmem(&mine, word, sizeof(mine), peer))
LOOP(putmem_nbi, chorus_putmem_nbi(word, &mine, sizeof(mine), peer))
LOOP(uint64_p, chorus_uint64_p(word, mine, peer))
LOOP(fetch_add, (void)chorus_uint64_atomic_fetch_add(word, 1, peer))

int main(void)
{
    if (chorus_init() != CHORUS_OK) return 1;
    peer = chorus_n_pes() - 1;
    word = chorus_calloc(1, sizeof(*word));
    if (word == NULL) return 1;
    loop_memcpy();
    loop_putmem();
    loop_getmem();
    loop_putmem_nbi();
    loop_uint64_p();
    loop_fetch_add();
    chorus_finalize();
    return 0;
}

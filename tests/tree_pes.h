/* SPDX-License-Identifier: Apache-2.0 */
/* tree_pes.h: PEs as threads, each with a tree's boot of its own over the loopback. */
#ifndef TREE_PES_H
#define TREE_PES_H

#include "base/clock.h"
#include "boot/tree/tree.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>

enum { TREE_PES_MAX = 512, MESSAGE_BYTES = 600 };

#define PLENTY_NS (60 * CH_NS_PER_S)

/* The first expectation that failed on any thread: Check's own asserts are for one thread. */
extern const char *failed;

#define EXPECT(condition)                                                          \
    do {                                                                           \
        const char *expected_ = NULL;                                              \
        if (!(condition))                                                          \
            (void)__atomic_compare_exchange_n(&failed, &expected_, #condition, 0,  \
                                              __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
    } while (0)

struct tree_pe {
    pthread_t thread;
    struct ch_tree_start start; /* a test may change it between tree_prepare and tree_run */
    void (*main)(struct tree_pe *pe);
    struct ch_boot *boot; /* null: it could not be opened */
    chorus_status status; /* of opening */
    char message[MESSAGE_BYTES];
    bool is_absent; /* this PE is never started */
};

extern struct tree_pe tree_pes[TREE_PES_MAX];
extern struct ch_tree_listener tree_door; /* the root's, before tree_run */

/* n PEs with one secret; PE 0 is the root. */
void tree_prepare(uint32_t n, uint64_t timeout_ns);
/* Open them all, each on a thread that then calls pe_main, if it is open, and closes it if that
 * did not set boot to null. */
void tree_run(uint32_t n, void (*pe_main)(struct tree_pe *pe));

#endif /* TREE_PES_H */

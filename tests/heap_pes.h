/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_pes.h: run a function as each PE of a job, without a launcher: on threads, or in forked
 * processes that exchange over memory they share.
 */
#ifndef CH_TEST_HEAP_PES_H
#define CH_TEST_HEAP_PES_H

#include "base/option.h"
#include "boot/boot.h"
#include "heap/heap.h"

#include <stdint.h>

enum { PES_MAX = 64 };

/* Note that a condition does not hold; on any thread, in any process of the job. */
void pes_expect(int holds, const char *condition, int line);
#define EXPECT(condition) pes_expect((condition) ? 1 : 0, #condition, __LINE__)

/* Does the last error's message contain the text? */
int pes_message_has(const char *text);

/* The options in force where the environment says nothing, but for the heap's largest size. */
struct ch_options pes_options(uint64_t heap_max);

/* What a PE of a job does at first, and between steps of a test. */
struct ch_heap *pes_open_heap(struct ch_boot *boot, uint64_t heap_max);
void pes_meet(struct ch_boot *boot);

typedef void (*pes_main)(struct ch_boot *boot);

/* Return when all PEs did; assert that every EXPECT held. */
void pes_run_threads(uint32_t n, pes_main pe_main);
void pes_run_processes(uint32_t n, pes_main pe_main);

/* Open descriptors of this process. */
int pes_count_fds(void);

#endif /* CH_TEST_HEAP_PES_H */

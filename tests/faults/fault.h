/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault.h: what befalls a PE, and when.
 *
 * A fault is armed on a thread and strikes after a time, at whatever instruction the thread is
 * then: a timer's signal interrupts it. Those of FAULT_BETWEEN_LIST, which a handler may not
 * do, wait for the end of the call. The time of the fault is written down right before it.
 */
#ifndef FAULT_H
#define FAULT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Name of a fault. Those with a limit of the system: name, resource, value. */
/* clang-format off */
#define FAULT_AT_ONCE_LIST(X) \
    X(kill)                   \
    X(kill_host)              \
    X(segv)                   \
    X(abort)                  \
    X(quit)                   \
    X(quit0)                  \
    X(exec_ends)              \
    X(exec_lives)             \
    X(orphan)                 \
    X(close)                  \
    X(close_std)              \
    X(stop)                   \
    X(pause)                  \
    X(sleep)                  \
    X(storm)                  \
    X(storm_launcher)         \
    X(launcher_kill)          \
    X(launcher_term)
#define FAULT_LIMIT_LIST(X)               \
    X(limit_files, NOFILE, 0)             \
    X(limit_few_files, NOFILE, 12)        \
    X(limit_memory, AS, 1 << 20)          \
    X(limit_data, DATA, 1 << 16)          \
    X(limit_stack, STACK, 1 << 14)        \
    X(limit_file_bytes, FSIZE, 0)         \
    X(limit_locked, MEMLOCK, 0)           \
    X(limit_processes, NPROC, 0)
#define FAULT_BETWEEN_LIST(X) \
    X(exit)                   \
    X(exit0)                  \
    X(global_exit)            \
    X(leave)
/* clang-format on */

enum fault {
    FAULT_none,
#define X(name) FAULT_##name,
    FAULT_AT_ONCE_LIST(X) FAULT_BETWEEN_LIST(X)
#undef X
#define X(name, resource, value) FAULT_##name,
        FAULT_LIMIT_LIST(X)
#undef X
};

/* What the faulty PE exits with, by chorus_global_exit and where it ends itself. */
enum { FAULT_GLOBAL_STATUS = 5, FAULT_STATUS = 7 };

/* FAULT_none for a name that is not one. */
enum fault fault_of(const char *name);

/* It strikes this thread in delay_ns; *at_ns will be the time, of CLOCK_MONOTONIC. Once in a
 * process. Returns 0, or an errno. */
int fault_arm(enum fault fault, uint64_t delay_ns, volatile uint64_t *at_ns);

/* For kill_host: the processes that are killed with this one. *pids is borrowed. */
void fault_set_neighbours(const pid_t *pids, int n);

/* Has it struck, and does the PE live on? */
bool fault_is_over(void);

/* Between two calls of the armed thread: does what had to wait. True: leave the job. */
bool fault_between(void);

#endif /* FAULT_H */

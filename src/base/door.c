/* SPDX-License-Identifier: Apache-2.0 */
#include "base/door.h"

#include "base/clock.h"

#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Polls before the first yield. Alone on a core, a peer's store is usually tens of ns away;
 * where cores are shared, the peer cannot run before this PE gives way. */
enum { SPINS_ALONE = 2000, SPINS_SHARED = 20 };

/* Yields before sleeping: about a millisecond. Where cores are shared, a sleeper that is woken
 * may find its core taken and move, which costs more than the turns it gave away. */
enum { YIELDS_ALONE = 1000, YIELDS_SHARED = 2000 };

/* The longest sleep: bounds what a missed ring costs, and how late an abort is seen. */
#define SLEEP_NS CH_NS_PER_MS

/* Who sleeps can have a barrier put into everyone else, and they need none of their own: so the
 * rare side pays. Every process of the job must have asked for it; they share a kernel. */
static int register_barrier(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

void ch_patience_init(struct ch_patience *p, struct ch_door *own, uint32_t pes, uint32_t cores,
                      uint64_t timeout_ns)
{
    const uint32_t is_shared = pes > cores;

    p->door = own;
    p->has_barrier = is_shared && register_barrier();
    p->needs_fence = is_shared && !p->has_barrier;
    p->spins = is_shared ? SPINS_SHARED : SPINS_ALONE;
    p->yields = is_shared ? YIELDS_SHARED : YIELDS_ALONE;
    p->timeout_ns = timeout_ns;
}

static void pause_cpu(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* First call: announce the sleep, so that the caller's next poll cannot miss a ring. Second:
 * sleep until the bell moves. */
static void sleep_step(const struct ch_patience *p, struct ch_wait *w)
{
    const struct timespec most = {0, SLEEP_NS};

    if (!w->is_asleep) {
        w->bell = __atomic_load_n(&p->door->bell, __ATOMIC_ACQUIRE);
        __atomic_fetch_add(&p->door->sleepers, 1, __ATOMIC_SEQ_CST);
        if (p->has_barrier)
            (void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
        else
            __atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with ch_notify's */
        w->is_asleep = 1;
        return;
    }
    (void)syscall(SYS_futex, &p->door->bell, FUTEX_WAIT, w->bell, &most, NULL, 0);
    ch_wait_end(p, w);
}

chorus_status ch_wait_slow(const struct ch_patience *p, struct ch_wait *w)
{
    if (w->polls < p->spins) {
        w->polls++;
        pause_cpu();
        return CHORUS_OK;
    }
    if (__atomic_load_n(&p->door->aborted, __ATOMIC_RELAXED)) return CHORUS_ERR_ABORTED;
    if (w->polls < p->spins + p->yields) {
        w->polls++;
        (void)sched_yield();
        return CHORUS_OK;
    }
    if (w->start_ns == 0) w->start_ns = ch_clock_ns();
    if (p->timeout_ns != 0 && ch_clock_ns() - w->start_ns > p->timeout_ns)
        return CHORUS_ERR_TIMEOUT;
    sleep_step(p, w);
    return CHORUS_OK;
}

void ch_wait_end(const struct ch_patience *p, struct ch_wait *w)
{
    if (!w->is_asleep) return;
    __atomic_fetch_sub(&p->door->sleepers, 1, __ATOMIC_SEQ_CST);
    w->is_asleep = 0;
}

void ch_door_ring(struct ch_door *door)
{
    __atomic_fetch_add(&door->bell, 1, __ATOMIC_RELEASE);
    (void)syscall(SYS_futex, &door->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void ch_door_abort(struct ch_door *door)
{
    __atomic_store_n(&door->aborted, 1, __ATOMIC_RELEASE);
    ch_door_ring(door);
}

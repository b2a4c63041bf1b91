/* SPDX-License-Identifier: Apache-2.0 */
#include "base/door.h"

#include "base/clock.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Polls before the first yield. If a PE has its own core, its wait usually ends within these
 * polls; if PEs share cores, the peer cannot run before this PE yields. */
enum { SPINS_OWN = 256, SPINS_SHARED = 20 };

/* The same on a shared core if each poll also checks sockets: such a poll takes as long as ten
 * polls of memory. With two hosts of two PEs on two cores, a barrier takes 18 us with 2 polls
 * and 38 us with 20. */
enum { SPINS_NETWORK = 2 };

/* Polls between two readings of the clock while messages arrive. */
enum { POLLS_PER_LOOK = 64 };

/*
 * Polls between two yields. Another task may run on the core of a PE that has its own core: two
 * PEs that the system placed on one core while it started them, a daemon, or another job. The
 * PE therefore yields every 5 to 10 us, which costs 5 percent of that time. Without these
 * yields, such a task waits for the end of the PE's time slice, some milliseconds, and all PEs
 * wait with it.
 */
enum { GAP_OWN = 256, GAP_SHARED = 1 };

/* Polls before sleeping. A PE that sleeps is woken 50 us late and delays other PEs, so on its
 * own core a PE sleeps only after about 100 ms. A poll that also checks sockets takes longer,
 * so that a PE with a network sleeps after AWAKE_OWN_NS, if that is earlier. On shared cores a
 * PE sleeps after about a millisecond: a PE that is woken may find its core in use and move to
 * another, which costs more than the time slices that it yielded. */
enum { POLLS_OWN = 10000 * GAP_OWN, POLLS_SHARED = SPINS_SHARED + 2000 };
#define AWAKE_OWN_NS (100 * CH_NS_PER_MS)

/* Another program may be computing on the core of a PE that waits. The system runs a task that
 * wakes at once, but a task that yields has to wait for the other's time slice. After two slow
 * yields in a row on its own core, the PE therefore sleeps early for a while. One slow yield is
 * not enough: a hypervisor may have suspended the core. */
#define SLOW_YIELD_NS (CH_NS_PER_MS / 2)
#define CROWDED_NS (100 * CH_NS_PER_MS)
enum { SLOW_YIELDS = 2 };

/* On a shared core, slow yields count if each follows the last one, or the end of early sleep,
 * within 8 ms: after a time slice of the other program, the system may let the PE run as long,
 * however often it yields. It may also be another PE that computes, and soon makes small calls,
 * which early sleep makes slower. So early sleep lasts 1 ms first, and twice as long each time
 * that another slow yield follows, up to 16 ms. */
#define RECURS_NS (8 * CH_NS_PER_MS)
enum { SLOW_YIELDS_SHARED = 4, DOUBLINGS_MAX = 4 };

/* Of the polls before sleeping, those of a PE that was woken and finds its condition not met:
 * about 1 ms on own cores. */
enum { WOKEN_PART = 100 };

/* Polls, with a pause between them, of a PE that has announced its sleep: a few us, in which
 * every store arrives that was made before the announcement became visible. */
enum { DROWSY_POLLS = 64 };

/* The first call of ch_wait_policy.look in a wait, and the longest time between two. Waits of
 * collectives are shorter if no PE is late. */
#define LOOK_NS CH_NS_PER_MS
#define LOOK_MOST_NS (64 * CH_NS_PER_MS)

/* How long a wait goes on after a later call was refused. Its peers have usually sent what it
 * waits for, but not if their own calls of that number were queued when they were refused. */
#define EARLIER_NS (5 * CH_NS_PER_S)

/* The longest sleep, which limits the time until an abort is noticed. */
#define SLEEP_NS CH_NS_PER_MS

void ch_wait_policy_init(struct ch_wait_policy *p, struct ch_door *own, uint32_t pes,
                         uint32_t cores, uint64_t timeout_ns)
{
    const uint32_t is_shared = pes > cores;

    p->door = own;
    p->progress = NULL;
    p->record = NULL;
    p->over = NULL;
    p->spins = is_shared ? SPINS_SHARED : SPINS_OWN;
    p->gap = is_shared ? GAP_SHARED : GAP_OWN;
    p->polls = is_shared ? POLLS_SHARED : POLLS_OWN;
    p->timeout_ns = timeout_ns;
    p->warn_ns = 0;
    p->warn = NULL;
    p->warn_arg = NULL;
    p->refused = NULL;
    p->is_concerned = NULL;
    p->look = NULL;
    p->look_arg = NULL;
}

void ch_wait_policy_set_progress(struct ch_wait_policy *p, struct ch_progress *progress)
{
    p->progress = progress;
    if (p->gap == GAP_SHARED) p->spins = SPINS_NETWORK;
}

static void pause_cpu(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* One step of falling asleep: the first DROWSY_POLLS calls announce the sleep and return, so
 * that the PE polls again; the next ones sleep until woken. More stores may follow the one that
 * woke this PE, so it then polls for a while. */
static void sleep_step(const struct ch_wait_policy *p, struct ch_wait *w)
{
    const struct timespec most = {0, SLEEP_NS};
    uint32_t wakes;

    if (w->drowsy == 0) {
        __atomic_fetch_add(&p->door->sleepers, 1, __ATOMIC_SEQ_CST);
        if (w->is_listening) __atomic_fetch_add(&p->door->listeners, 1, __ATOMIC_SEQ_CST);
        w->wakes = __atomic_load_n(&p->door->wakes, __ATOMIC_ACQUIRE);
    }
    if (w->drowsy < DROWSY_POLLS) {
        w->drowsy++;
        pause_cpu();
        return;
    }
    if (p->progress != NULL) p->progress->leave(p->progress);
    (void)syscall(SYS_futex, &p->door->wakes, FUTEX_WAIT, w->wakes, &most, NULL, 0);
    wakes = __atomic_load_n(&p->door->wakes, __ATOMIC_ACQUIRE);
    if (wakes != w->wakes) w->polls = p->polls - p->polls / WOKEN_PART;
    w->wakes = wakes;
}

/* Let the PE's waits sleep, without yields before that, until this time. */
static void sleep_early(struct ch_door *door, uint64_t until_ns)
{
    __atomic_store_n(&door->crowded_until_ns, until_ns, __ATOMIC_RELAXED);
}

/* Count a yield of a PE that has its own core, which ended `now`; after SLOW_YIELDS slow ones
 * in a row, the PE sleeps early for a while. */
static void count_yield_own_core(struct ch_door *door, bool is_slow, uint64_t now)
{
    if (is_slow) {
        if (__atomic_add_fetch(&door->slow_yields, 1, __ATOMIC_RELAXED) >= SLOW_YIELDS)
            sleep_early(door, now + CROWDED_NS);
    } else if (__atomic_load_n(&door->slow_yields, __ATOMIC_RELAXED) != 0) {
        __atomic_store_n(&door->slow_yields, 0, __ATOMIC_RELAXED);
    }
}

/* Count a slow yield, from `begin` to `now`, of a PE on a shared core; after SLOW_YIELDS_SHARED
 * that count, the PE sleeps early for a while. */
static void count_slow_yield_shared(struct ch_door *door, uint64_t begin, uint64_t now)
{
    const uint64_t slow_ns = __atomic_load_n(&door->slow_ns, __ATOMIC_RELAXED);
    const uint64_t until_ns = __atomic_load_n(&door->crowded_until_ns, __ATOMIC_RELAXED);
    const uint64_t last_ns = slow_ns > until_ns ? slow_ns : until_ns;
    uint32_t n = 0;

    if (begin < last_ns + RECURS_NS) n = __atomic_load_n(&door->slow_yields, __ATOMIC_RELAXED);
    if (n < SLOW_YIELDS_SHARED + DOUBLINGS_MAX) n++;
    __atomic_store_n(&door->slow_yields, n, __ATOMIC_RELAXED);
    __atomic_store_n(&door->slow_ns, now, __ATOMIC_RELAXED);
    if (n >= SLOW_YIELDS_SHARED)
        sleep_early(door, now + (CH_NS_PER_MS << (n - SLOW_YIELDS_SHARED)));
}

/* Let other tasks of this core run, and note whether that took long. */
static void yield_core(const struct ch_wait_policy *p, uint64_t begin)
{
    uint64_t now;

    (void)sched_yield();
    now = ch_clock_ns();
    if (p->gap != GAP_SHARED)
        count_yield_own_core(p->door, now - begin >= SLOW_YIELD_NS, now);
    else if (now - begin >= SLOW_YIELD_NS)
        count_slow_yield_shared(p->door, begin, now);
}

/* A PE with a network and its own core has waited for AWAKE_OWN_NS: let it sleep, as if it had
 * used up its polls. A PE that was woken keeps the polls that sleep_step left it. */
static void count_time_as_polls(const struct ch_wait_policy *p, struct ch_wait *w, uint64_t now)
{
    if (p->progress != NULL && p->gap == GAP_OWN && now - w->start_ns >= AWAKE_OWN_NS &&
        w->polls < p->polls - p->polls / WOKEN_PART)
        w->polls = p->polls;
}

static int is_time_to_sleep(const struct ch_wait_policy *p, const struct ch_wait *w,
                            uint64_t now)
{
    return w->polls >= p->polls ||
           now < __atomic_load_n(&p->door->crowded_until_ns, __ATOMIC_RELAXED);
}

/* Report the wait if it is as long as warn_ns, once per wait. */
static void warn_once(const struct ch_wait_policy *p, struct ch_wait *w, uint64_t waited_ns)
{
    if (p->warn_ns == 0 || w->warned != 0 || waited_ns < p->warn_ns) return;
    w->warned = 1;
    p->warn(p->warn_arg, waited_ns);
}

/* Call p->look if it is due, and set when it is due again. */
static void call_look_hook(const struct ch_wait_policy *p, struct ch_wait *w,
                           uint64_t waited_ns)
{
    if (p->look == NULL || waited_ns < LOOK_NS || waited_ns < w->look_ns) return;
    w->look_ns = waited_ns + (waited_ns < LOOK_MOST_NS ? waited_ns : LOOK_MOST_NS);
    p->look(p->look_arg, waited_ns);
}

/* Must the wait end because a call was refused? The wait of an earlier call goes on for
 * EARLIER_NS. */
static int is_refused(const struct ch_wait_policy *p, struct ch_wait *w, uint64_t now)
{
    const uint64_t refused =
        p->refused != NULL ? __atomic_load_n(p->refused, __ATOMIC_ACQUIRE) : 0;

    if (refused == 0) return 0;
    if (p->is_concerned(p->look_arg, refused)) return 1;
    if (w->told_ns == 0) w->told_ns = now;
    return now - w->told_ns > EARLIER_NS;
}

/* The call is refused, but what the PE waits for may have arrived before: let it poll once
 * more, then fail. UINT64_MAX marks that, and that look is not called again. */
static chorus_status poll_once_or_fail(struct ch_wait *w)
{
    if (w->look_ns == UINT64_MAX) return CHORUS_ERR_ARG;
    w->look_ns = UINT64_MAX;
    return CHORUS_OK;
}

/* A message that has just arrived may end the wait, so the PE keeps the core for another poll.
 * A PE to which messages arrive without end still reads its clock from time to time. */
static int should_poll_again(const struct ch_wait *w, bool has_moved)
{
    return has_moved && w->polls % POLLS_PER_LOOK != 0;
}

chorus_status ch_wait_slow(const struct ch_wait_policy *p, struct ch_wait *w)
{
    bool has_moved = false;
    uint64_t now;

    if (p->progress != NULL) CH_TRY(p->progress->make(p->progress, &has_moved));
    if (w->polls < p->spins || (w->polls & (p->gap - 1)) != 0 ||
        should_poll_again(w, has_moved)) {
        w->polls++;
        if (p->progress == NULL) pause_cpu(); /* polls of sockets take long enough */
        return CHORUS_OK;
    }
    if (__atomic_load_n(&p->door->aborted, __ATOMIC_RELAXED)) return CHORUS_ERR_ABORTED;
    now = ch_clock_ns();
    if (is_refused(p, w, now)) return poll_once_or_fail(w);
    if (w->start_ns == 0) {
        w->start_ns = now;
        if (p->record != NULL) ch_record_time_running(p->record);
    }
    call_look_hook(p, w, now - w->start_ns);
    warn_once(p, w, now - w->start_ns);
    if (p->timeout_ns != 0 && now - w->start_ns > p->timeout_ns) return CHORUS_ERR_TIMEOUT;
    count_time_as_polls(p, w, now);
    if (is_time_to_sleep(p, w, now)) {
        sleep_step(p, w);
    } else {
        ch_wait_end(p, w); /* PEs that are awake need no system call to wake them */
        w->polls++;
        yield_core(p, now);
    }
    return CHORUS_OK;
}

void ch_wait_end(const struct ch_wait_policy *p, struct ch_wait *w)
{
    if (w->drowsy == 0) return;
    if (w->is_listening) __atomic_fetch_sub(&p->door->listeners, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_sub(&p->door->sleepers, 1, __ATOMIC_SEQ_CST);
    w->drowsy = 0;
}

void ch_door_wake(struct ch_door *door)
{
    __atomic_fetch_add(&door->wakes, 1, __ATOMIC_RELEASE);
    (void)syscall(SYS_futex, &door->wakes, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void ch_door_abort(struct ch_door *door)
{
    __atomic_store_n(&door->aborted, 1, __ATOMIC_RELEASE);
    ch_door_wake(door);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fault.h"

#include <chorus/chorus.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000L

/* A storm: one signal every STORM_NS, this many. */
enum { STORM_NS = 20000, STORM_SIGNALS = 1000 };

/* How long others are kept waiting by a pause, and by a thread that sleeps: shorter, and
 * longer, than the least deadline of these tests, a second. */
static const struct timespec pause_time = {0, NS_PER_S / 5}, sleep_time = {1, NS_PER_S / 2};

enum { SIGNAL_FAULT = 0, SIGNAL_STORM = 1 }; /* added to SIGRTMIN */

/* The one armed fault of this process; written before the timer starts. */
static struct {
    enum fault fault;
    volatile uint64_t *at_ns;
    pid_t launcher;
    const pid_t *neighbours;
    int n_neighbours;
    timer_t storm;
    volatile sig_atomic_t n_storm; /* signals still to come */
    volatile sig_atomic_t is_due;  /* wants to be done between two calls */
    volatile sig_atomic_t is_over;
} armed;

enum fault fault_of(const char *name)
{
#define X(fault) \
    if (strcmp(name, #fault) == 0) return FAULT_##fault;
    FAULT_AT_ONCE_LIST(X)
    FAULT_BETWEEN_LIST(X)
#undef X
#define X(fault, resource, value) \
    if (strcmp(name, #fault) == 0) return FAULT_##fault;
    FAULT_LIMIT_LIST(X)
#undef X
    return FAULT_none;
}

static void note_time(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    *armed.at_ns = (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Another process lets this one go on, unless that has ended. */
static void pause_self(void)
{
    const pid_t self = getpid();
    const pid_t child = _Fork();

    if (child != 0) {
        if (child > 0) (void)kill(self, SIGSTOP);
        return;
    }
    (void)nanosleep(&pause_time, NULL);
    if (getppid() == self) (void)kill(self, SIGCONT);
    _exit(0);
}

/* fork would wait for the lock of malloc, which the handler may have interrupted. */
static void leave_orphan(void)
{
    if (_Fork() != 0) _exit(FAULT_STATUS);
    (void)sleep(60);
    _exit(0);
}

static void start_storm(void)
{
    const struct itimerspec each = {{0, STORM_NS}, {0, STORM_NS}};

    armed.n_storm = STORM_SIGNALS;
    (void)timer_settime(armed.storm, 0, &each, NULL);
}

/* Not a return: this thread's system calls end with EINTR. */
static void on_storm(int signo)
{
    const struct itimerspec never = {{0, 0}, {0, 0}};
    const int saved = errno;

    (void)signo;
    if (armed.fault == FAULT_storm_launcher) (void)kill(armed.launcher, SIGUSR1);
    if (armed.n_storm > 0 && --armed.n_storm == 0) {
        (void)timer_settime(armed.storm, 0, &never, NULL);
        armed.is_over = 1;
    }
    errno = saved;
}

static void limit(int resource, rlim_t value)
{
    const struct rlimit l = {value, value};

    (void)setrlimit((__rlimit_resource_t)resource, &l);
}

static void kill_host(void)
{
    for (int i = 0; i < armed.n_neighbours; i++)
        if (armed.neighbours[i] != getpid()) (void)kill(armed.neighbours[i], SIGKILL);
    (void)kill(getpid(), SIGKILL);
}

static int *volatile nowhere; /* so that compilers do not see where it points */

/* The PE lives on when this returns; without a launcher it should not. */
static void strike(void)
{
    static char *const no_environment[] = {NULL};

    switch (armed.fault) {
    case FAULT_kill:
        (void)kill(getpid(), SIGKILL);
        break;
    case FAULT_kill_host:
        kill_host();
        break;
    case FAULT_segv:
        *nowhere = 0;
        break;
    case FAULT_abort:
        abort();
    case FAULT_quit:
        _exit(FAULT_STATUS);
    case FAULT_quit0:
        _exit(0);
    case FAULT_exec_ends:
        (void)execle("/bin/true", "true", (char *)NULL, no_environment);
        break;
    case FAULT_exec_lives:
        (void)execle("/bin/sleep", "sleep", "60", (char *)NULL, no_environment);
        break;
    case FAULT_orphan:
        leave_orphan();
        break;
    case FAULT_close:
        (void)syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
        break;
    case FAULT_close_std:
        (void)syscall(SYS_close_range, 0, ~0U, 0);
        break;
    case FAULT_stop:
        (void)kill(getpid(), SIGSTOP);
        break;
    case FAULT_pause:
        pause_self();
        break;
    case FAULT_sleep:
        (void)nanosleep(&sleep_time, NULL);
        break;
    case FAULT_launcher_kill:
        (void)kill(armed.launcher, SIGKILL);
        break;
    case FAULT_launcher_term:
        (void)kill(armed.launcher, SIGTERM);
        break;
#define X(name, resource, value)         \
    case FAULT_##name:                   \
        limit(RLIMIT_##resource, value); \
        break;
        FAULT_LIMIT_LIST(X)
#undef X
    default:
        break;
    }
}

static bool is_between(enum fault fault)
{
#define X(name) \
    if (fault == FAULT_##name) return true;
    FAULT_BETWEEN_LIST(X)
#undef X
    return false;
}

static void on_fault(int signo)
{
    const int saved = errno;

    (void)signo;
    if (is_between(armed.fault)) {
        armed.is_due = 1;
        return;
    }
    note_time();
    if (armed.fault == FAULT_storm || armed.fault == FAULT_storm_launcher) {
        start_storm();
        return;
    }
    strike();
    armed.is_over = armed.fault != FAULT_launcher_kill && armed.fault != FAULT_launcher_term;
    errno = saved;
}

/* A timer whose signal comes to the calling thread. */
static int make_timer(int signo, void (*handler)(int), timer_t *timer_out)
{
    struct sigaction action;
    struct sigevent event;

    memset(&action, 0, sizeof(action));
    memset(&event, 0, sizeof(event));
    action.sa_handler = handler;
    if (sigaction(signo, &action, NULL) != 0) return errno;
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signo;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    return timer_create(CLOCK_MONOTONIC, &event, timer_out) == 0 ? 0 : errno;
}

int fault_arm(enum fault fault, uint64_t delay_ns, volatile uint64_t *at_ns)
{
    const struct itimerspec when = {
        {0, 0}, {(time_t)(delay_ns / NS_PER_S), (long)(delay_ns % NS_PER_S) + 1}};
    timer_t timer = NULL;
    int error;

    armed.fault = fault;
    armed.at_ns = at_ns;
    armed.launcher = getppid();
    error = make_timer(SIGRTMIN + SIGNAL_STORM, on_storm, &armed.storm);
    if (error == 0) error = make_timer(SIGRTMIN + SIGNAL_FAULT, on_fault, &timer);
    if (error == 0 && timer_settime(timer, 0, &when, NULL) != 0) error = errno;
    return error;
}

void fault_set_neighbours(const pid_t *pids, int n)
{
    armed.neighbours = pids;
    armed.n_neighbours = n;
}

bool fault_is_over(void)
{
    return armed.is_over != 0;
}

bool fault_between(void)
{
    if (!armed.is_due) return false;
    armed.is_due = 0;
    note_time();
    if (armed.fault == FAULT_exit) exit(FAULT_STATUS);
    if (armed.fault == FAULT_exit0) exit(0);
    if (armed.fault == FAULT_global_exit) chorus_global_exit(FAULT_GLOBAL_STATUS);
    return true;
}

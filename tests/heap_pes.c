/* SPDX-License-Identifier: Apache-2.0 */
#include "heap_pes.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOB_BYTES_MAX = 1024 };

#define PLENTY_NS 60000000000ull

static int n_failed; /* EXPECTs in this process */

void pes_expect(int holds, const char *condition, int line)
{
    if (holds) return;
    __atomic_fetch_add(&n_failed, 1, __ATOMIC_RELAXED);
    (void)fprintf(stderr, "line %d: does not hold: %s\n  last message: %s\n", line, condition,
                  ch_error_message());
}

int pes_message_has(const char *text)
{
    return strstr(ch_error_message(), text) != NULL;
}

struct ch_options pes_options(uint64_t heap_max)
{
    struct ch_options options;

    ck_assert_int_eq(ch_options_read(&options), CHORUS_OK);
    options.heap_max = heap_max;
    options.sync_max = (uint64_t)64 << 20; /* little address space, whose end tests can reach */
    return options;
}

struct ch_heap *pes_open_heap(struct ch_boot *boot, uint64_t heap_max)
{
    const struct ch_options options = pes_options(heap_max);
    struct ch_heap *heap = NULL;

    EXPECT(ch_heap_open(boot, &options, &heap) == CHORUS_OK);
    return heap;
}

void pes_meet(struct ch_boot *boot)
{
    char one = 0, all[PES_MAX];

    EXPECT(boot->ops->exchange(boot, &one, 1, -1, all, NULL) == CHORUS_OK);
}

struct pe {
    pthread_t thread;
    struct ch_boot *boot;
    pes_main main;
};

static void *pe_run(void *arg)
{
    struct pe *const pe = arg;

    pe->main(pe->boot);
    pe->boot->ops->close(pe->boot);
    return NULL;
}

void pes_run_threads(uint32_t n, pes_main pe_main)
{
    struct ch_boot *boots[PES_MAX];
    struct pe pes[PES_MAX];

    ck_assert_int_eq(ch_boot_open_threads(n, PLENTY_NS, boots), CHORUS_OK);
    for (uint32_t i = 0; i < n; i++) {
        pes[i] = (struct pe){.boot = boots[i], .main = pe_main};
        ck_assert_int_eq(pthread_create(&pes[i].thread, NULL, pe_run, &pes[i]), 0);
    }
    for (uint32_t i = 0; i < n; i++)
        ck_assert_int_eq(pthread_join(pes[i].thread, NULL), 0);
    ck_assert_int_eq(n_failed, 0);
}

/* What forked PEs share. */
struct room {
    pthread_barrier_t barrier;
    pid_t pids[PES_MAX];
    int fds[PES_MAX];
    char blobs[PES_MAX][BLOB_BYTES_MAX];
};

struct forked_boot {
    struct ch_boot base;
    struct room *room;
};

/* A peer's descriptor: the file it stands for, opened once more. */
static int take_fd(const struct room *room, uint32_t pe)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)room->pids[pe], room->fds[pe]);
    return open(path, O_RDWR | O_CLOEXEC);
}

static chorus_status forked_exchange(struct ch_boot *boot, const void *blob, size_t bytes,
                                     int fd, void *blobs_out, int *fds_out)
{
    struct room *const room = ((struct forked_boot *)(void *)boot)->room;

    EXPECT(bytes <= BLOB_BYTES_MAX);
    if (bytes != 0) memcpy(room->blobs[boot->me], blob, bytes);
    room->pids[boot->me] = getpid();
    room->fds[boot->me] = fd;
    (void)pthread_barrier_wait(&room->barrier);
    for (uint32_t pe = 0; pe < boot->n; pe++) {
        if (bytes != 0) memcpy((char *)blobs_out + pe * bytes, room->blobs[pe], bytes);
        if (fd >= 0) fds_out[pe] = ch_boot_is_near(boot, pe) ? take_fd(room, pe) : -1;
    }
    (void)pthread_barrier_wait(&room->barrier);
    return CHORUS_OK;
}

static const struct ch_boot_ops forked_ops = {.name = "forked", .exchange = forked_exchange};

static void run_child(uint32_t me, uint32_t n, struct room *room, pes_main pe_main)
{
    struct forked_boot boot = {
        {.ops = &forked_ops, .me = me, .n = n, .n_cores = 1, .timeout_ns = PLENTY_NS}, room};

    pe_main(&boot.base);
    _exit(n_failed != 0);
}

void pes_run_processes(uint32_t n, pes_main pe_main)
{
    struct room *const room =
        mmap(NULL, sizeof(*room), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t attr;
    pid_t children[PES_MAX];

    ck_assert_ptr_ne(room, MAP_FAILED);
    (void)pthread_barrierattr_init(&attr);
    (void)pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    (void)pthread_barrier_init(&room->barrier, &attr, n);
    for (uint32_t i = 0; i < n; i++) {
        children[i] = fork();
        ck_assert_int_ge(children[i], 0);
        if (children[i] == 0) run_child(i, n, room, pe_main);
    }
    for (uint32_t i = 0; i < n; i++) {
        int status = -1;

        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "PE %u failed: status %d",
                      i, status);
    }
    (void)pthread_barrier_destroy(&room->barrier);
    (void)munmap(room, sizeof(*room));
}

int pes_count_fds(void)
{
    DIR *const dir = opendir("/proc/self/fd");
    int count = 0;

    ck_assert_ptr_nonnull(dir);
    while (readdir(dir) != NULL)
        count++;
    (void)closedir(dir);
    return count;
}

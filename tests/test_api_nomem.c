/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process without memory, or threads: each place of the library that asks for some gets none,
 * once, and the call that needed it says so and leaves the job as it was. Only the library's
 * own places: what it calls may end the process.
 */
#include "chorus/chorusx.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SITES_MAX = 1024, MESSAGE_BYTES = 1024 };

/* The C library's own, which the functions below stand for in this program and its libraries.
 */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *ptr, size_t bytes);

static uintptr_t library_lo, library_hi;
static const void *sites[SITES_MAX]; /* where the calls that are tested ask for some */
static int n_sites;
static bool is_noting;
static const void *failing; /* of these; null: none */
static int (*create_thread)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static int find_library(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    (void)bytes, (void)arg;
    if (strstr(info->dlpi_name, "libchorus.so") == NULL) return 0;
    library_lo = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            library_hi =
                info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    return 1;
}

static void note(const void *site)
{
    for (int i = 0; i < n_sites; i++)
        if (sites[i] == site) return;
    if (n_sites < SITES_MAX) sites[n_sites++] = site;
}

/* Threads of the library allocate nothing while a call is tested. */
static bool has_memory(const void *site)
{
    if (is_noting && (uintptr_t)site >= library_lo && (uintptr_t)site < library_hi) note(site);
    if (site != failing) return true;
    failing = NULL;
    errno = ENOMEM;
    return false;
}

#pragma GCC visibility push(default)
void *malloc(size_t bytes)
{
    return has_memory(__builtin_return_address(0)) ? __libc_malloc(bytes) : NULL;
}

void *calloc(size_t count, size_t bytes)
{
    return has_memory(__builtin_return_address(0)) ? __libc_calloc(count, bytes) : NULL;
}

void *realloc(void *ptr, size_t bytes)
{
    return has_memory(__builtin_return_address(0)) ? __libc_realloc(ptr, bytes) : NULL;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *),
                   void *arg)
{
    return has_memory(__builtin_return_address(0)) ? create_thread(thread, how, run, arg)
                                                   : EAGAIN;
}
#pragma GCC visibility pop

/* --- jobs ----------------------------------------------------------------------------------
 */
static char said[MESSAGE_BYTES]; /* by the call that failed */

static int hear(int code)
{
    if (code != CHORUS_OK) (void)snprintf(said, sizeof(said), "%s", chorusx_last_error());
    return code;
}

/* Of functions without a code; their callers look at what they return. */
static void keep_on(int code, const char *message)
{
    (void)code, (void)message;
}

/* One of everything: 0, or the first failure. */
static int make_all(char *pages, size_t bytes)
{
    const int pes[1] = {0};
    chorus_team_t team = CHORUS_TEAM_INVALID;
    chorus_stream_t stream = NULL;
    void *object;
    int code;

    object = chorus_malloc(bytes); /* more than the heap has at first */
    if (object == NULL) return hear(CHORUS_ERR_SYSTEM);
    chorus_free(object);
    code = chorusx_buffer_register(pages, bytes);
    if (code == CHORUS_OK) code = chorusx_buffer_unregister(pages);
    if (code != CHORUS_OK) return hear(code);
    code = chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, 1, NULL, 0, &team);
    if (code != CHORUS_OK) return hear(code);
    chorus_team_destroy(team);
    code = chorusx_team_create_group(CHORUS_TEAM_WORLD, pes, 1, 7, &team);
    if (code != CHORUS_OK) return hear(code);
    chorus_team_destroy(team);
    code = chorusx_stream_create(&stream);
    return code == CHORUS_OK ? chorusx_stream_destroy(stream) : hear(code);
}

/* Of one PE. */
static int run_job(void)
{
    enum { BYTES = 8 << 20 };
    static char *pages;
    int code;

    if (pages == NULL) pages = aligned_alloc(BYTES, BYTES);
    code = chorus_init();
    if (code != CHORUS_OK) return hear(code);
    code = make_all(pages, BYTES);
    chorus_finalize();
    return code;
}

static void pe_main(void *arg)
{
    (void)arg;
    chorus_barrier_all();
}

static int run_threads(void)
{
    return hear(chorusx_run_threads(2, pe_main, NULL));
}

/* --- tests ---------------------------------------------------------------------------------
 */
static bool fails(const char *job, int site, const char *why)
{
    (void)fprintf(stderr, "%s, allocation %d: %s; it said: %s\n", job, site, why, said);
    return true;
}

/* Messages that say which thing was asked for, by parts; all of them are heard. */
static const char *const parts[] = {
    "chorus_init: no memory for a boot",
    "no memory for the options of 1 PEs",
    "no memory for the data of a heap",
    "no memory for the table of teams",
    "no memory to create a team among 1 PEs",
    "chorus_team_split_strided: no memory for a list of 1 PEs",
    "chorusx_team_create_group: no memory for the answers of 1 PEs",
    "no memory for a stream",
    "cannot start a stream's thread",
    "only 0 threads could be created for 2 PEs",
    "no memory for a job of 2 threads",
    "no memory for 2 PEs",
};
enum { N_PARTS = sizeof(parts) / sizeof(parts[0]) };
static bool is_heard[N_PARTS];

/* Each place fails once; the failure is said, and the job is well without it. A place without
 * which the call does well, as of a number that is looked up again, may pass. */
static bool test(const char *job, int (*run)(void))
{
    n_sites = 0;
    is_noting = true;
    if (run() != CHORUS_OK) return fails(job, -1, "the job fails with memory");
    is_noting = false;
    if (n_sites == 0 || n_sites == SITES_MAX)
        return fails(job, n_sites, "no place, or too many");
    for (int i = 0; i < n_sites; i++) {
        int code;

        said[0] = '\0';
        failing = sites[i];
        code = run();
        if (failing != NULL) return fails(job, i, "the place is not reached");
        if (code != CHORUS_OK && code != CHORUS_ERR_SYSTEM)
            return fails(job, i, "another code");
        if (code != CHORUS_OK && strstr(said, "no memory") == NULL &&
            strstr(said, "thread") == NULL)
            return fails(job, i, "the message does not say why");
        for (int part = 0; part < N_PARTS; part++)
            is_heard[part] = is_heard[part] || strstr(said, parts[part]) != NULL;
    }
    return run() != CHORUS_OK && fails(job, n_sites, "the job fails with memory again");
}

int main(void)
{
    bool has_failed;

    (void)dl_iterate_phdr(find_library, NULL);
    *(void **)(void *)&create_thread = dlsym(RTLD_NEXT, "pthread_create");
    (void)chorusx_set_error_handler(keep_on);
    has_failed = test("a job of a PE", run_job) || test("PEs as threads", run_threads);
    for (int part = 0; part < N_PARTS && !has_failed; part++)
        if (!is_heard[part]) has_failed = fails("all", part, parts[part]);
    return has_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvshmem_setup.h: start and end of a job for nvshmem.h, and the environment variables of
 * NVSHMEM, which are translated into those of Chorus.
 */
#ifndef NVSHMEM_SETUP_H
#define NVSHMEM_SETUP_H

#include "nvshmem_types.h"

/* --- environment ------------------------------------------------------------------------ */
/* A variable NVSHMEM_name that has a meaning here, and what it does. */
/* clang-format off */
#define NVSHMEM_VARIABLE_LIST(X)                                                               \
    X(SYMMETRIC_SIZE, "no effect: the heap grows as the program allocates")                    \
    X(MAX_MEMORY_PER_GPU, "largest heap of a PE in bytes, such as 1G; CHORUS_HEAP_MAX")        \
    X(DEBUG, "messages: VERSION, WARN, INFO, ABORT, TRACE; CHORUS_LOG")                        \
    X(VERSION, "1: print the version at the start")                                            \
    X(INFO, "1: print this")                                                                   \
    X(DISABLE_P2P, "1: GPUs do not access each other's memory; CHORUS_P2P=0")                  \
    X(DISABLE_NVLS, "1: no multicast of NVLink switches; CHORUS_NVLS=0")                       \
    X(DISABLE_MNNVL, "1: no NVLink between hosts; CHORUS_FABRIC=0")
/* clang-format on */

/* Messages contain the names of nvshmem.h, from before the program makes a call. */
__attribute__((constructor)) static void nvshmem_name_calls(void)
{
    chorusx_set_names("nvshmem", NULL);
}

/* Is a switch of NVSHMEM set to a value other than 0, n, N, f or F? */
static inline int nvshmem_is_on(const char *name)
{
    const char *const value = getenv(name);

    return value != NULL && strchr("0nNfF", value[0]) == NULL;
}

/* The level of CHORUS_LOG for a value of NVSHMEM_DEBUG. */
static inline const char *nvshmem_log_of(const char *debug)
{
    if (strcmp(debug, "TRACE") == 0) return "trace";
    if (strcmp(debug, "INFO") == 0) return "info";
    return "warn";
}

/* Before a job begins. A variable of Chorus that is set keeps its value. NVSHMEM_SYMMETRIC_SIZE
 * is no limit, as it is none of NVSHMEM's heaps that grow: programs set it themselves to the
 * sum of their objects, without what aligns these. */
static inline void nvshmem_prepare(void)
{
    const char *const bytes = getenv("NVSHMEM_MAX_MEMORY_PER_GPU");
    const char *const debug = getenv("NVSHMEM_DEBUG");

    nvshmem_name_calls(); /* a program may use other interfaces, too */
    if (debug != NULL) (void)setenv("CHORUS_LOG", nvshmem_log_of(debug), 0);
    if (nvshmem_is_on("NVSHMEM_DISABLE_P2P")) (void)setenv("CHORUS_P2P", "0", 0);
    if (nvshmem_is_on("NVSHMEM_DISABLE_NVLS")) (void)setenv("CHORUS_NVLS", "0", 0);
    if (nvshmem_is_on("NVSHMEM_DISABLE_MNNVL")) (void)setenv("CHORUS_FABRIC", "0", 0);
    if (bytes == NULL || getenv("CHORUS_HEAP_MAX") != NULL) return;
    (void)setenv("CHORUS_HEAP_MAX", bytes, 0);
    chorusx_set_names("nvshmem", "NVSHMEM_MAX_MEMORY_PER_GPU");
}

/* Is a variable, "NVSHMEM_name=value", in the list, or one of those that builds use? */
static inline int nvshmem_is_known(const char *variable)
{
    static const char *const known[] = {
#define X(name, text) "NVSHMEM_" #name "=",
        NVSHMEM_VARIABLE_LIST(X)
#undef X
            "NVSHMEM_HOME=",
        "NVSHMEM_PREFIX=", "NVSHMEM_DIR=", "NVSHMEM_ROOT=", "NVSHMEM_PATH="};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strncmp(variable, known[i], strlen(known[i])) == 0) return 1;
    return 0;
}

/* One line about the variables that do nothing here. */
static inline void nvshmem_report_unknown(void)
{
    const char *const log = getenv("CHORUS_LOG");
    int n = 0;

    if (log != NULL && (strcmp(log, "none") == 0 || strcmp(log, "error") == 0)) return;
    for (char **at = environ; *at != NULL; at++) {
        if (strncmp(*at, "NVSHMEM_", 8) != 0 || nvshmem_is_known(*at)) continue;
        (void)fprintf(stderr, "%s%.*s", n == 0 ? "chorus: " : ", ", (int)strcspn(*at, "="),
                      *at);
        n++;
    }
    if (n > 0)
        (void)fprintf(stderr,
                      " %s not used by Chorus; NVSHMEM_INFO=1 prints the variables of NVSHMEM "
                      "that are, chorus-info options those of Chorus\n",
                      n > 1 ? "are" : "is");
}

/* What the environment requests of PE 0, once in a process. */
static inline void nvshmem_print_requested(void)
{
    static int is_said;

    if (is_said || chorus_my_pe() != 0) return;
    is_said = 1;
    nvshmem_report_unknown();
    if (nvshmem_is_on("NVSHMEM_VERSION"))
        (void)printf("%s, the API of NVSHMEM %d.%d.%d\n", NVSHMEM_VENDOR_STRING,
                     NVSHMEM_VENDOR_MAJOR_VERSION, NVSHMEM_VENDOR_MINOR_VERSION,
                     NVSHMEM_VENDOR_PATCH_VERSION);
    if (nvshmem_is_on("NVSHMEM_INFO")) {
#define X(name, text) (void)puts("NVSHMEM_" #name ": " text);
        NVSHMEM_VARIABLE_LIST(X)
#undef X
        (void)puts("chorus-info options prints the variables of Chorus");
    }
}

/* --- start and end ---------------------------------------------------------------------- */
/* One of each for all files of a program. */
__attribute__((weak)) int nvshmem_is_guest; /* of a job that OpenSHMEM has begun and will end */
__attribute__((weak))
chorus_stream_t nvshmem_host_stream; /* for stream 0 where there is no GPU */
/* See nvshmemx_team.h; memory of the team of all PEs, not of the heap. */
__attribute__((weak)) uint64_t *nvshmem_board;
enum { NVSHMEM_SLOTS = 16 };

/* All PEs, after the job has begun. Without memory for it there are no teams by unique ids. */
static inline void nvshmem_make_board(void)
{
    const size_t n = (size_t)chorus_n_pes();
    const size_t words = NVSHMEM_SLOTS * (n + 2) + n + 1;

    nvshmem_board =
        (uint64_t *)chorusx_team_malloc(CHORUS_TEAM_WORLD, words * sizeof(*nvshmem_board));
}

static inline void nvshmem_begin(void)
{
    nvshmem_make_board();
    nvshmem_print_requested();
}

/* Objects are on GPUs if every PE has one, unless CHORUS_HEAP selects otherwise. */
static inline int nvshmem_start(unsigned flags, chorusx_init_attr_t *attr)
{
    int status;

    nvshmem_prepare();
    attr->heap = CHORUS_HEAP_auto;
    if (getenv("CHORUS_HEAP") == NULL) flags |= CHORUSX_INIT_HEAP;
    status = chorusx_init_attr(flags, attr);
    if (status == CHORUS_OK) nvshmem_begin();
    return status;
}

/* A failure goes to the error handler: programs have no code to look at. */
static inline void nvshmem_init(void)
{
    chorusx_init_attr_t attr;

    chorusx_raise_in("nvshmem_init", nvshmem_start(0, &attr));
}

static inline int nvshmem_init_thread(int requested, int *provided)
{
    int status;

    nvshmem_prepare();
    (void)setenv("CHORUS_HEAP", "auto", 0);
    status = chorus_init_thread(requested, provided);
    if (status == CHORUS_OK) nvshmem_begin();
    return status;
}

static inline void nvshmem_finalize(void)
{
    nvshmem_host_stream = NULL; /* which the end of the job destroys, and that of the team: */
    nvshmem_board = NULL;
    if (nvshmem_is_guest)
        chorus_barrier_all();
    else
        chorus_finalize();
    nvshmem_is_guest = 0;
}

#endif /* NVSHMEM_SETUP_H */

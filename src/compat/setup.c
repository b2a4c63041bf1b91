/* SPDX-License-Identifier: Apache-2.0 */
/* setup.c: initialisation, and the environment of OpenSHMEM. */
#include "compat/setup.h"

#include "compat/active.h"
#include "compat/environment.h"

#include <stdlib.h>

static int n_starts;  /* calls of init without a matching finalize */
static bool is_ended; /* set by shmem_global_exit */

/* Before the program makes a call. */
__attribute__((constructor)) static void name_calls(void)
{
    chorusx_set_names("shmem", NULL);
}

/* An exit with status 0 finalizes; an exit with another status is a failure, which is reported
 * to the other PEs at once. */
static void leave(int status, void *unused)
{
    (void)unused;
    if (status == 0 && !is_ended && chorusx_init_status() == 1) chorus_finalize();
}

static int start(const char *function, int requested, int *provided)
{
    static bool is_watched;
    size_t globals_bytes;

    if (chorusx_init_status() == 1) { /* one more call; finalize will be called equally often */
        n_starts++;
        chorus_query_thread(provided);
        return 0;
    }
    name_calls(); /* a program may use other interfaces, too */
    globals_bytes = ch_globals_look();
    ch_environment_before(globals_bytes);
    if (ch_raise(function, chorus_init_thread(requested, provided)) != CHORUS_OK) return 1;
    n_starts = 1;
    ch_globals_share(globals_bytes);
    if (!is_watched) is_watched = on_exit(leave, NULL) == 0;
    ch_environment_after();
    return 0;
}

DEFINE(void, init, void)
{
    int provided;

    (void)start(CALLED, SHMEM_THREAD_SINGLE, &provided);
}

DEFINE(int, init_thread, int requested, int *provided)
{
    return start(CALLED, requested, provided);
}

DEFINE(void, finalize, void)
{
    if (n_starts > 1 && chorusx_init_status() == 1) {
        n_starts--;
        return;
    }
    if (chorusx_init_status() == 2) return; /* one call more than of init, at the end */
    chorus_finalize();
    ch_active_forget();
    ch_globals_unshare();
}

void start_pes(int npes)
{
    int provided;

    (void)npes;
    (void)start(__func__, SHMEM_THREAD_SINGLE, &provided);
}

DEFINE(void, query_initialized, int *initialized)
{
    *initialized = chorusx_init_status() == 1;
}

DEFINE(void, global_exit, int status)
{
    is_ended = true;
    chorus_global_exit(status);
}

DEFINE_P(, query_thread, (provided), int *provided)
DEFINE_F(, int, my_pe, (), void)
DEFINE_F(, int, n_pes, (), void)
DEFINE_F(, int, pe_accessible, (pe), int pe)
DEFINE_F(, int, addr_accessible, (OWN(addr), pe), const void *addr, int pe)
DEFINE_P(, info_get_name, (name), char *name)

DEFINE(void, info_get_version, int *major, int *minor)
{
    *major = SHMEM_MAJOR_VERSION;
    *minor = SHMEM_MINOR_VERSION;
}

/* For tools, which define these functions themselves. */
DEFINE(void, pcontrol, int level, ...)
{
    (void)level;
}

int _my_pe(void)
{
    return pshmem_my_pe();
}

int _num_pes(void)
{
    return pshmem_n_pes();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup.c: initialisation, and the environment of OpenSHMEM, whose variables are translated
 * into those of Chorus.
 */
#include "compat/setup.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the environment ---------------------------------------------------------------------- */

static const char help[] =
    "SHMEM_SYMMETRIC_SIZE  bytes of the symmetric heap of a PE, such as 512M or 1.5G\n"
    "SHMEM_VERSION         print the version at the start\n"
    "SHMEM_INFO            print this\n"
    "SHMEM_DEBUG           print messages for debugging, as CHORUS_LOG=debug\n"
    "CHORUS_...            the settings of Chorus: chorus-info prints them\n";

/* Read bytes in the form of the standard: a number, which may have a fraction, and K, M, G or
 * T. False: the text has another form. */
static bool read_bytes(const char *text, double *bytes_out)
{
    static const char units[] = "KMGT";
    double value = 0, place = 1;
    size_t at = strspn(text, "0123456789");

    if (at == 0) return false;
    for (size_t i = 0; i < at; i++)
        value = value * 10 + (text[i] - '0');
    if (text[at] == '.')
        for (at++; text[at] >= '0' && text[at] <= '9'; at++)
            value += (text[at] - '0') * (place /= 10);
    for (size_t i = 0; text[at] != '\0' && i < sizeof(units) - 1; i++)
        if (units[i] == (text[at] & ~0x20)) {
            value *= (double)((uint64_t)1 << 10 * (i + 1));
            at++;
            break;
        }
    *bytes_out = value;
    return text[at] == '\0' || ((text[at] & ~0x20) == 'B' && text[at + 1] == '\0');
}

/* Set CHORUS_HEAP_MAX to the bytes in the text plus those of variables, unless it is set. */
static void set_heap_max(const char *text, size_t globals_bytes)
{
    char bytes[32];
    double value;

    if (!read_bytes(text, &value) || value >= 0x1p62) {
        (void)fprintf(stderr,
                      "chorus: SHMEM_SYMMETRIC_SIZE is \"%s\"; expected bytes such as 65536, "
                      "512M or 1.5G; it is ignored\n",
                      text);
        return;
    }
    (void)snprintf(bytes, sizeof(bytes), "%.0f", value + (double)globals_bytes);
    if (secure_getenv("CHORUS_HEAP_MAX") != NULL) return;
    (void)setenv("CHORUS_HEAP_MAX", bytes, 0);
    chorusx_set_names("shmem", "SHMEM_SYMMETRIC_SIZE");
}

/* Apply SHMEM_SYMMETRIC_SIZE and SHMEM_DEBUG, if the variables of Chorus are not set. The size
 * is that of the program's allocations, to which that of the variables is added. */
static void read_environment(size_t globals_bytes)
{
    const char *const heap = secure_getenv("SHMEM_SYMMETRIC_SIZE");

    if (heap != NULL) set_heap_max(heap, globals_bytes);
    if (secure_getenv("SHMEM_DEBUG") != NULL) (void)setenv("CHORUS_LOG", "debug", 0);
}

/* SHMEM_VERSION and SHMEM_INFO: PE 0 prints the requested text, once. */
static void print_requested(void)
{
    static bool is_said; /* set by an earlier init; one thread initialises */

    if (is_said || chorus_my_pe() != 0) return;
    is_said = true;
    if (secure_getenv("SHMEM_VERSION") != NULL)
        (void)fprintf(stdout, "%s, OpenSHMEM %d.%d\n", SHMEM_VENDOR_STRING, SHMEM_MAJOR_VERSION,
                      SHMEM_MINOR_VERSION);
    if (secure_getenv("SHMEM_INFO") != NULL) (void)fputs(help, stdout);
    (void)fflush(stdout);
}

/* --- start and end ------------------------------------------------------------------------ */

static int n_starts;  /* calls of init without a matching finalize */
static bool is_ended; /* set by shmem_global_exit */

/* Let messages use the names of shmem.h; called before the program makes a call. */
__attribute__((constructor)) static void set_interface_names(void)
{
    chorusx_set_names("shmem", NULL);
}

/* An exit with status 0 finalizes; an exit with another status is a failure, which is reported
 * to the other PEs at once. */
static void finalize_at_exit(int status, void *unused)
{
    (void)unused;
    if (status == 0 && !is_ended && chorusx_init_status() == 1) chorus_finalize();
}

/* Join the job, or count one more init; returns 0, or 1 after reporting a failure. *provided:
 * the thread level. */
static int join_job(const char *function, int requested, int *provided)
{
    static bool is_watched;
    size_t globals_bytes;

    if (chorusx_init_status() == 1) { /* one more call; finalize will be called equally often */
        n_starts++;
        chorus_query_thread(provided);
        return 0;
    }
    set_interface_names(); /* a program may use other interfaces, too */
    globals_bytes = ch_globals_scan();
    read_environment(globals_bytes);
    if (ch_raise(function, chorus_init_thread(requested, provided)) != CHORUS_OK) return 1;
    n_starts = 1;
    ch_globals_share(globals_bytes);
    if (!is_watched) is_watched = on_exit(finalize_at_exit, NULL) == 0;
    print_requested();
    return 0;
}

DEFINE(void, init, void)
{
    int provided;

    (void)join_job(CALLED, SHMEM_THREAD_SINGLE, &provided);
}

DEFINE(int, init_thread, int requested, int *provided)
{
    return join_job(CALLED, requested, provided);
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
    (void)join_job(__func__, SHMEM_THREAD_SINGLE, &provided);
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

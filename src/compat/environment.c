/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/environment.h"

#include "chorus/chorusx.h"
#include "compat/shmem_api.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "SHMEM_SYMMETRIC_SIZE  bytes of the symmetric heap of a PE, such as 512M or 1.5G\n"
    "SHMEM_VERSION         print the version at the start\n"
    "SHMEM_INFO            print this\n"
    "SHMEM_DEBUG           print messages for debugging, as CHORUS_LOG=debug\n"
    "CHORUS_...            the settings of Chorus: chorus-info prints them\n";

/* Bytes in the form of the standard: a number, which may have a fraction, and K, M, G or T. */
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

static void set_heap(const char *text, size_t globals_bytes)
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

void ch_environment_before(size_t globals_bytes)
{
    const char *const heap = secure_getenv("SHMEM_SYMMETRIC_SIZE");

    if (heap != NULL) set_heap(heap, globals_bytes);
    if (secure_getenv("SHMEM_DEBUG") != NULL) (void)setenv("CHORUS_LOG", "debug", 0);
}

void ch_environment_after(void)
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

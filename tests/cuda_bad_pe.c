/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_bad_pe: a PE whose heap is to be on a GPU, which is a fake, and in whose start something
 * may be wrong.
 *
 *     cuda_bad_pe FOLDER [PE:WHAT=VALUE]...
 *
 * WHAT is a member of the fake of PE number PE, see FAKE_LIST, or a variable CHORUS_NAME of its
 * environment. Started by chorusrun. The PE writes in the file FOLDER/PE what chorus_init
 * returned, and the message; if it returned 0, "right" if the PE got what a peer put. It exits
 * once all PEs have written, since chorusrun ends the others with the first one that fails.
 */
#include "chorus/chorusx.h"
#include "cuda_fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
#define FAKE_LIST(X) X(n_devices, int) X(start_error, cudaError_t) X(image_error, cudaError_t) \
    X(major, int) X(multiprocessors, int) X(memory_bytes, size_t) X(granule_bytes, size_t) \
    X(free_bytes, size_t) X(pinned_bytes_max, size_t) X(is_full, int) X(has_no_addresses, int) \
    X(bad_device, int)
/* clang-format on */

enum { STATUS_FAILED = 9, STATUS_USAGE = 2, PATH_BYTES = 512, PES_MAX = 16, WAIT_MS = 30000 };

enum { BYTES = 200000 };

static int set(const char *what, const char *value)
{
#define X(member, type)                                     \
    if (strcmp(what, #member) == 0) {                       \
        cuda_fake.member = (type)strtoull(value, NULL, 10); \
        return 0;                                           \
    }
    FAKE_LIST(X)
#undef X
    return strncmp(what, "CHORUS_", strlen("CHORUS_")) == 0 ? setenv(what, value, 1) : -1;
}

/* Apply an argument PE:WHAT=VALUE if it is for this PE. */
static int apply(int pe, const char *argument)
{
    char what[64];
    int whose = 0, at = 0;

    if (sscanf(argument, "%d:%63[^=]=%n", &whose, what, &at) != 2 || at == 0) return -1;
    return whose == pe ? set(what, argument + at) : 0;
}

static char byte_of(int pe, size_t i)
{
    return (char)(pe * 17 + (int)(i % 251));
}

/* Put to the next PE. Allocation and release are the barriers. Returns "right" if the data of
 * the one before has arrived. */
static const char *exchange(void)
{
    static char mine[BYTES];
    const int me = chorus_my_pe(), n = chorus_n_pes(), before = (me + n - 1) % n;
    char *const object = chorus_calloc(1, BYTES);
    size_t i = 0;

    if (object == NULL) return chorusx_last_error();
    for (size_t k = 0; k < BYTES; k++)
        mine[k] = byte_of(me, k);
    chorus_putmem(object, mine, BYTES, (me + 1) % n);
    chorus_quiet();
    chorus_free(chorus_malloc(64));
    while (i < BYTES && object[i] == byte_of(before, i))
        i++;
    return i == BYTES ? "right" : "wrong";
}

static int is_clean(void)
{
    return cuda_fake.streams == 0 && cuda_fake.events == 0 && cuda_fake.handles == 0 &&
           cuda_fake.mappings == 0 && cuda_fake.ranges == 0 && cuda_fake.pinned == 0;
}

/* In FOLDER, under another name first: a file that is there is complete. */
static int write_result(const char *folder, int pe, int status, const char *message)
{
    char path[PATH_BYTES], whole[PATH_BYTES];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%d.part", folder, pe);
    (void)snprintf(whole, sizeof(whole), "%s/%d", folder, pe);
    file = fopen(path, "we");
    if (file == NULL) return -1;
    (void)fprintf(file, "%d %s\n%s", status, message, is_clean() ? "" : "not clean\n");
    return fclose(file) == 0 ? rename(path, whole) : -1;
}

static void wait_for_all(const char *folder, int n)
{
    char path[PATH_BYTES];
    int pe = 0;

    for (int ms = 0; pe < n && ms < WAIT_MS; ms++) {
        (void)snprintf(path, sizeof(path), "%s/%d", folder, pe);
        if (access(path, F_OK) == 0)
            pe++;
        else
            (void)usleep(1000);
    }
}

int main(int argc, char **argv)
{
    const char *const number = getenv("CHORUS_PE"), *const n = getenv("CHORUS_N_PES");
    const int pe = number != NULL ? atoi(number) : 0;
    const char *message;
    int status;

    cuda_fake_reset();
    for (int i = 2; i < argc; i++)
        if (apply(pe, argv[i]) != 0) return STATUS_USAGE;
    if (argc < 2 || n == NULL) return STATUS_USAGE;
    status = chorus_init();
    message = status == CHORUS_OK ? exchange() : chorusx_last_error();
    if (status == CHORUS_OK) chorus_finalize();
    if (write_result(argv[1], pe, status, message) != 0) return STATUS_USAGE;
    wait_for_all(argv[1], atoi(n));
    return status == CHORUS_OK ? EXIT_SUCCESS : STATUS_FAILED;
}

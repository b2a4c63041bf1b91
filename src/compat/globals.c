/* SPDX-License-Identifier: Apache-2.0 */
/*
 * globals.c: which pages hold variables, and how they become part of the symmetric heap.
 *
 * The writable segments of the program are shared, except the parts that the dynamic linker
 * has made read-only, and those of shared libraries that were linked with this one, because
 * such libraries call OpenSHMEM. The variables of other libraries, such as the C library,
 * remain private.
 */
#include "compat/setup.h"

#include "chorus/chorusx.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The names, without a version, of this library, which programs and libraries that call
 * OpenSHMEM need. */
#define SONAME "libchorus-shmem.so"

enum { WHY_BYTES = 400 };

struct ch_globals ch_globals;

static char why_not[WHY_BYTES]; /* variables are not shared */
static bool has_said_why;

static uintptr_t page_down(uintptr_t address)
{
    return address & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
}

static uintptr_t page_up(uintptr_t address)
{
    return page_down(address + (uintptr_t)sysconf(_SC_PAGESIZE) - 1);
}

/* --- which pages ---------------------------------------------------------------------- */

/* Returns the dynamic section of the program or of a library; null if it has none. */
static const ElfW(Dyn) * dynamic_of(const struct dl_phdr_info *object)
{
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    return NULL;
}

/* Was the program or library linked with this library? */
static bool links_this_library(const struct dl_phdr_info *object)
{
    const ElfW(Dyn) *const dynamic = dynamic_of(object);
    const char *strings = NULL;

    for (const ElfW(Dyn) *d = dynamic; d != NULL && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_STRTAB) strings = (const char *)d->d_un.d_ptr;
    if (strings == NULL) return false;
    if ((uintptr_t)strings < object->dlpi_addr) strings += object->dlpi_addr;
    for (const ElfW(Dyn) *d = dynamic; d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_NEEDED &&
            strncmp(strings + d->d_un.d_val, SONAME, sizeof(SONAME) - 1) == 0)
            return true;
    return false;
}

/* Add the pages [lo, hi) to ch_globals; if there is no room, set why_not. */
static void add_range(uintptr_t lo, uintptr_t hi)
{
    struct ch_global_range *const range = &ch_globals.ranges[ch_globals.n];

    if (lo >= hi) return;
    if (ch_globals.n == CH_GLOBALS_MAX) {
        (void)snprintf(why_not, sizeof(why_not),
                       "the program and its libraries have more than %d data segments",
                       CH_GLOBALS_MAX);
        return;
    }
    *range = (struct ch_global_range){.lo = lo, .bytes = hi - lo};
    ch_globals.n++;
}

/* Add the pages of a segment, except those that the dynamic linker has made read-only. The
 * linker puts such data first in a segment, or in its own segment. */
static void add_segment(const struct dl_phdr_info *object, const ElfW(Phdr) * segment)
{
    uintptr_t lo = page_down(object->dlpi_addr + segment->p_vaddr);
    const uintptr_t hi = page_up(object->dlpi_addr + segment->p_vaddr + segment->p_memsz);

    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *const relro = &object->dlpi_phdr[i];
        const uintptr_t start = page_down(object->dlpi_addr + relro->p_vaddr),
                        end = page_down(object->dlpi_addr + relro->p_vaddr + relro->p_memsz);

        if (relro->p_type == PT_GNU_RELRO && start <= lo && lo < end) lo = end;
    }
    add_range(lo, hi);
}

/* Called for the program, which comes first, and for each library: add the writable segments of
 * those whose variables are shared. *n_seen: calls before this one. Returns 0, to go on. */
static int add_object(struct dl_phdr_info *object, size_t bytes, void *n_seen)
{
    const bool is_program = (*(int *)n_seen)++ == 0;

    (void)bytes;
    if (!is_program && !links_this_library(object)) return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *const segment = &object->dlpi_phdr[i];

        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W) != 0)
            add_segment(object, segment);
    }
    return 0;
}

size_t ch_globals_scan(void)
{
    size_t bytes = 0;
    int n_seen = 0;

    why_not[0] = '\0';
    has_said_why = false;
    ch_globals.n = 0;
    (void)dl_iterate_phdr(add_object, &n_seen);
    for (size_t i = 0; i < ch_globals.n; i++)
        bytes += ch_globals.ranges[i].bytes;
    return bytes;
}

/* --- sharing -------------------------------------------------------------------------- */

/* Map the pages at `from`, of a shared mapping, also at `to`. Returns 0 or an errno. */
static int map_again(uintptr_t from, size_t bytes, uintptr_t to)
{
    return mremap((void *)from, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)to) ==
                   MAP_FAILED
               ? errno
               : 0;
}

/* Copy the pages to `image`, in the heap, and map that also in their place. Returns 0 or an
 * errno. Code in this function must not access a variable of the program. */
static int share_range(struct ch_global_range *range, void *image)
{
    sigset_t all, before;
    int error;

    range->image = (uintptr_t)image;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    memcpy(image, (const void *)range->lo, range->bytes);
    error = map_again(range->image, range->bytes, range->lo);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* Map private memory with the same contents in place of the shared memory. */
static void make_private(const struct ch_global_range *range)
{
    void *const copy =
        mmap(NULL, range->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (copy == MAP_FAILED) return;
    memcpy(copy, (const void *)range->lo, range->bytes);
    (void)mremap(copy, range->bytes, range->bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                 (void *)range->lo);
}

void ch_globals_unshare(void)
{
    for (size_t i = 0; i < ch_globals.n && ch_globals.is_shared; i++)
        make_private(&ch_globals.ranges[i]);
    ch_globals.is_shared = false;
    ch_globals.n = 0;
}

/* Let every child that is forked unshare its variables: it is not a PE, and its stores must not
 * reach its parent. */
static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, ch_globals_unshare);
}

/* Returns the name of the sanitizer with which the program was built, or null. Sanitizers keep
 * their own variables in the program. */
static const char *find_sanitizer(void)
{
    static const char *const names[][2] = {{"__asan_init", "AddressSanitizer"},
                                           {"__tsan_init", "ThreadSanitizer"},
                                           {"__msan_init", "MemorySanitizer"},
                                           {"__hwasan_init", "HWAddressSanitizer"}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (dlsym(RTLD_DEFAULT, names[i][0]) != NULL) return names[i][1];
    return NULL;
}

/* Is the symmetric heap on GPUs? */
static bool is_on_gpu(void)
{
    chorusx_heap_info_t info;

    return chorusx_heap_info(&info) == CHORUS_OK && info.heap == CHORUS_HEAP_cuda;
}

/* Returns a number that is equal for programs with the same ranges, at whatever addresses; 0 if
 * there is a reason not to share them. */
static uint64_t hash_ranges(void)
{
    uint64_t sum = 0xcbf29ce484222325u ^ ch_globals.n; /* FNV-1a, by words */

    for (size_t i = 0; i < ch_globals.n; i++)
        sum = (sum ^ ch_globals.ranges[i].bytes) * 0x100000001b3u;
    return why_not[0] == '\0' ? sum : 0;
}

/* Have all PEs the same ranges, and no reason against sharing them? */
static bool are_ranges_alike(void)
{
    uint64_t *const numbers = chorus_malloc(4 * sizeof(*numbers));
    bool alike = false;

    if (numbers == NULL) return false;
    numbers[0] = hash_ranges();
    numbers[1] = ~numbers[0];
    if (chorus_uint64_max_reduce(CHORUS_TEAM_WORLD, numbers + 2, numbers, 2) == CHORUS_OK)
        alike = numbers[2] == ~numbers[3] && numbers[2] != 0;
    chorus_free(numbers);
    return alike;
}

/* Share all ranges, in one object of `bytes`, and set is_shared; if that fails, set why_not. */
static void share_all(size_t bytes)
{
    char *image = chorus_align((size_t)sysconf(_SC_PAGESIZE), bytes);
    int error = 0;

    if (image == NULL) {
        (void)snprintf(why_not, sizeof(why_not), "%s", chorusx_last_error());
        return;
    }
    for (size_t i = 0; i < ch_globals.n && error == 0; i++) {
        error = share_range(&ch_globals.ranges[i], image);
        image += ch_globals.ranges[i].bytes;
    }
    ch_globals.is_shared = error == 0;
    if (error != 0)
        (void)snprintf(why_not, sizeof(why_not),
                       "the system does not map the data of the program a second time: %s",
                       strerror(error));
}

void ch_globals_share(size_t bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const char *const tool = find_sanitizer();

    if (tool != NULL)
        (void)snprintf(why_not, sizeof(why_not), "the program runs under %s", tool);
    else if (is_on_gpu())
        (void)snprintf(why_not, sizeof(why_not), "the symmetric heap is on GPUs");
    if (!are_ranges_alike()) {
        if (why_not[0] == '\0')
            (void)snprintf(why_not, sizeof(why_not),
                           "the PEs run programs, or load libraries, whose data differ");
        return;
    }
    if (bytes == 0) return;
    share_all(bytes);
    chorus_barrier_all(); /* a put before the copy would be lost */
    (void)pthread_once(&once, watch_forks);
}

uintptr_t ch_globals_find(const struct ch_global_range *range, uintptr_t address)
{
    if (ch_globals.is_shared) return range->image + (address - range->lo);
    if (!__atomic_exchange_n(&has_said_why, true, __ATOMIC_RELAXED))
        (void)fprintf(
            stderr,
            "chorus: variables of the program are not symmetric: %s; allocate objects "
            "with shmem_malloc\n",
            why_not);
    return address;
}

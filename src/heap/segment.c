/* SPDX-License-Identifier: Apache-2.0 */
/* segment.c: how much memory of this host may be allocated, and the segments in it. */
#include "heap/segment.h"

#include "base/door.h"
#include "base/limits.h"
#include "heap/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- memory that is left ---- */

/* The memory left to other programs is the total divided by this number. */
enum { SPARE_PARTS = 32 };

/* The whole memory of the machine, used or not. */
static size_t memory_of_machine(void)
{
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

/* The free bytes `has`, less the part of `limit` that is left to others. */
static uint64_t subtract_spare(uint64_t limit, uint64_t has)
{
    return has > limit / SPARE_PARTS ? has - limit / SPARE_PARTS : 0;
}

/* Bytes that may be allocated on the machine; UINT64_MAX: not known. */
static uint64_t left_of_machine(const char *root)
{
    char path[CH_CGROUP_BYTES];
    uint64_t total_kib, has_kib;

    (void)snprintf(path, sizeof(path), "%s/proc/meminfo", root);
    if (!ch_read_number_in_file(path, "MemTotal", &total_kib) ||
        !ch_read_number_in_file(path, "MemAvailable", &has_kib))
        return UINT64_MAX; /* the system has no such file */
    return subtract_spare(total_kib * 1024, has_kib * 1024);
}

/* Bytes of pages that the system would drop from its file cache first; shared memory is not
 * among them. */
static uint64_t cached_bytes_of(const struct ch_cgroup *group)
{
    uint64_t inactive = 0, active = 0;

    (void)ch_cgroup_read_number(group, "memory.stat",
                                group->is_v1 ? "total_inactive_file" : "inactive_file",
                                &inactive);
    (void)ch_cgroup_read_number(group, "memory.stat",
                                group->is_v1 ? "total_active_file" : "active_file", &active);
    return inactive + active;
}

/* Bytes that may be allocated in a control group; UINT64_MAX: it has no limit. */
static uint64_t left_of_group(const struct ch_cgroup *group)
{
    uint64_t limit, used, cached;

    if (!ch_cgroup_read_number(group, group->is_v1 ? "memory.limit_in_bytes" : "memory.max", "",
                               &limit) ||
        !ch_cgroup_read_number(group, group->is_v1 ? "memory.usage_in_bytes" : "memory.current",
                               "", &used))
        return UINT64_MAX; /* there is no limit */
    cached = cached_bytes_of(group);
    used = used > cached ? used - cached : 0;
    return used > limit ? 0 : subtract_spare(limit, limit - used);
}

void ch_memory_left(const char *root, struct ch_memory *out)
{
    struct ch_cgroup group;
    uint64_t least = left_of_machine(root);
    bool is_there = ch_cgroup_find(root, "memory", &group);

    (void)snprintf(out->of, sizeof(out->of), "the machine");
    for (; is_there; is_there = ch_cgroup_to_parent(&group)) {
        const uint64_t left = left_of_group(&group);

        if (left >= least) continue;
        least = left;
        (void)snprintf(out->of, sizeof(out->of), "the control group %.200s", group.folder);
    }
    out->bytes = least;
}

/* ---- segments ---- */

/* The contents of the first page. */
struct head {
    struct ch_door door;
    uint32_t users; /* number of PEs of the owner's process that use the mapping */
};

#define PAGE_MAX_BYTES                                                    \
    ((size_t)65536) /* a multiple of the page size of all supported hosts \
                     */

/* Sync memory of teams: at least this, and this for each PE. With 1,024 PEs and more, WORLD,
 * SHARED and NODE together need 35 KiB for each PE; with fewer PEs they need less in all
 * (team/sync.c). */
#define LOCAL_MIN_BYTES ((size_t)64 << 20)
#define LOCAL_PE_BYTES ((size_t)64 << 10)

/* Limits the segments of a job to a part of the address space of 47 bits. */
#define ADDRESSES_MAX ((size_t)1 << 45)

/* Committed at a time: on some kernels a signal cancels an fallocate in progress, so that a
 * piece that takes longer than the period of a timer would never be completed. */
#define COMMIT_BYTES ((size_t)2 << 20)

/* Largest number of NUMA nodes that Linux can be built for. */
enum { NODES_MAX = 1024 };

static size_t round_up(size_t value, size_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

void ch_layout_init(struct ch_layout *layout, size_t symmetric_bytes, size_t sync_bytes,
                    uint32_t n_pes)
{
    const size_t share = ADDRESSES_MAX / n_pes;
    size_t symmetric = symmetric_bytes != 0 ? symmetric_bytes : memory_of_machine();
    size_t local = n_pes * LOCAL_PE_BYTES;

    if (symmetric > share) symmetric = share;
    symmetric = round_up(symmetric, PAGE_MAX_BYTES);
    if (local < LOCAL_MIN_BYTES) local = LOCAL_MIN_BYTES;
    if (local < sync_bytes) local = sync_bytes;
    if (local < symmetric / 8) local = symmetric / 8;
    layout->local_offset = CH_HEAD_BYTES;
    layout->symmetric_offset = round_up(CH_HEAD_BYTES + local, PAGE_MAX_BYTES);
    layout->local_bytes = layout->symmetric_offset - CH_HEAD_BYTES;
    layout->symmetric_bytes = symmetric;
    layout->total_bytes = layout->symmetric_offset + symmetric;
    layout->n_pes = n_pes;
}

/* Reserve a range of addresses in which the first segment's symmetric part is aligned; null:
 * there is none. It reserves more, and keeps the aligned range. */
static char *reserve(const struct ch_layout *layout, size_t align, size_t bytes)
{
    const size_t span = bytes + align;
    char *const all =
        mmap(NULL, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const uintptr_t symmetric = (uintptr_t)all + layout->symmetric_offset;
    const size_t before = round_up(symmetric, align) - symmetric;
    const size_t after = span - before - bytes;

    if (all == MAP_FAILED) return NULL;
    if (before != 0) (void)munmap(all, before);
    if (after != 0) (void)munmap(all + span - after, after);
    return all + before;
}

/* Map a whole segment at base from its descriptor; false: errno is set. */
static bool map_at(const struct ch_layout *layout, char *base, int fd)
{
    return mmap(base, layout->total_bytes, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0) != MAP_FAILED;
}

/* Fail with ERR_SYSTEM: a segment cannot be mapped, for the reason in errno. */
static chorus_status fail_without_addresses(const struct ch_layout *layout)
{
    const int error = errno;
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    char has[96] = "";

    (void)getrlimit(RLIMIT_AS, &limit);
    if (limit.rlim_cur != RLIM_INFINITY)
        (void)snprintf(has, sizeof(has),
                       ", or raise the limit of this process, %llu (ulimit -v)",
                       (unsigned long long)limit.rlim_cur);
    return CH_FAIL(CHORUS_ERR_SYSTEM,
                   "cannot reserve address space for the heaps of %u PEs, %zu bytes each: %s; "
                   "lower CHORUS_HEAP_MAX or CHORUS_SYNC_MAX%s",
                   layout->n_pes, layout->total_bytes, strerror(error), has);
}

/* Map segments [lo, hi) consecutively, in one range of addresses, or in two if no range is long
 * enough. An object that is aligned to more than a page is so aligned only on its own PE. */
static chorus_status map_range(const struct ch_layout *layout, const int *fds, uint32_t lo,
                               uint32_t hi, struct ch_segment *segments)
{
    const size_t bytes = layout->total_bytes;
    char *const base = reserve(layout, PAGE_MAX_BYTES, (hi - lo) * bytes);

    if (base == NULL && hi - lo > 1) {
        const uint32_t middle = lo + (hi - lo) / 2;

        CH_TRY(map_range(layout, fds, lo, middle, segments));
        return map_range(layout, fds, middle, hi, segments);
    }
    if (base == NULL) return fail_without_addresses(layout);
    for (uint32_t pe = lo; pe < hi; pe++)
        segments[pe] = (struct ch_segment){base + (pe - lo) * bytes, bytes, -1, 0};
    for (uint32_t pe = lo; pe < hi; pe++)
        if (!map_at(layout, segments[pe].base, fds[pe])) return fail_without_addresses(layout);
    /* Exclude the mapping from this PE's core file: the core files of all PEs contain each
     * segment once, that of its PE. */
    (void)madvise(base, (hi - lo) * bytes, MADV_DONTDUMP);
    return CHORUS_OK;
}

chorus_status ch_segments_map(const struct ch_layout *layout, const int *fds, uint32_t n,
                              struct ch_segment *segments)
{
    for (uint32_t lo = 0, hi; lo < n; lo = hi + 1) {
        for (hi = lo; hi < n && segments[hi].base == NULL && fds[hi] >= 0;)
            hi++;
        if (hi > lo) CH_TRY(map_range(layout, fds, lo, hi, segments));
    }
    return CHORUS_OK;
}

/* Map this PE's own segment at an aligned address. *segment_out then owns fd. */
static chorus_status map_own(const struct ch_layout *layout, int fd,
                             struct ch_segment *segment_out)
{
    char *const base = reserve(layout, CH_HEAP_ALIGN_MAX, layout->total_bytes);

    if (base == NULL) return fail_without_addresses(layout);
    *segment_out = (struct ch_segment){base, layout->total_bytes, fd, 1};
    if (map_at(layout, base, fd)) return CHORUS_OK;
    (void)munmap(base, layout->total_bytes);
    return fail_without_addresses(layout);
}

/* Peers store to sync memory before its PE does, and would otherwise place its pages on their
 * NUMA node. A system without nodes, or one that refuses, only loses time. */
static void prefer_own_numa_node(const struct ch_segment *segment)
{
    enum { LONG_BITS = 8 * sizeof(unsigned long) };
    unsigned long nodes[NODES_MAX / LONG_BITS] = {0};
    unsigned cpu, node;

    if (getcpu(&cpu, &node) != 0 || node >= NODES_MAX) return;
    nodes[node / LONG_BITS] = 1ul << node % LONG_BITS;
    (void)syscall(SYS_mbind, segment->base, segment->bytes, MPOL_PREFERRED, nodes,
                  NODES_MAX + 1, 0);
}

chorus_status ch_segment_create(const struct ch_layout *layout, uint32_t users,
                                struct ch_segment *segment_out)
{
    const int fd = memfd_create("chorus", MFD_CLOEXEC);
    struct ch_segment made;
    chorus_status st;
    int error;

    if (fd < 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "memfd_create for the heap failed: %s",
                       strerror(errno));
    CH_TRY_GOTO(st, map_own(layout, fd, &made), out_fd);
    prefer_own_numa_node(&made);
    error = ch_segment_commit(&made, 0, CH_DOOR_BYTES);
    if (error == 0)
        error = ch_segment_extend(&made, CH_HEAD_BYTES); /* created when calls are made */
    if (error != 0) {
        st = CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the first pages of the heap: %s",
                     strerror(error));
        goto out_map;
    }
    ((struct head *)(void *)made.base)->users = users;
    *segment_out = made;
    return CHORUS_OK;

out_map:
    (void)munmap(made.base, made.bytes);
out_fd:
    (void)close(fd);
    return st;
}

/* This PE is one of the users: the count does not reach 0 here. */
void ch_segment_drop_users(const struct ch_segment *segment, uint32_t users)
{
    if (segment->base == NULL) return;
    __atomic_fetch_sub(&((struct head *)(void *)segment->base)->users, users, __ATOMIC_RELAXED);
}

void ch_segment_share(const struct ch_layout *layout, char *base,
                      struct ch_segment *segment_out)
{
    *segment_out = (struct ch_segment){base, layout->total_bytes, -1, 1};
}

void ch_segment_close(struct ch_segment *segment)
{
    if (segment->base == NULL) return;
    /* A peer's thread may still access this doorbell after the last barrier. */
    if (!segment->is_shared ||
        __atomic_sub_fetch(&((struct head *)(void *)segment->base)->users, 1,
                           __ATOMIC_ACQ_REL) == 0)
        (void)munmap(segment->base, segment->bytes);
    if (segment->fd >= 0) (void)close(segment->fd);
    memset(segment, 0, sizeof(*segment));
}

int ch_segment_commit(const struct ch_segment *segment, size_t lo, size_t hi)
{
    for (size_t at = lo; at < hi;) {
        const size_t bytes = hi - at < COMMIT_BYTES ? hi - at : COMMIT_BYTES;

        if (fallocate(segment->fd, 0, (off_t)at, (off_t)bytes) == 0) {
            at += bytes;
        } else if (errno != EINTR) {
            const int error = errno;

            ch_segment_decommit(segment, lo, at);
            return error;
        }
    }
    return 0;
}

void ch_segment_decommit(const struct ch_segment *segment, size_t lo, size_t hi)
{
    if (lo == hi) return;
    (void)fallocate(segment->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)lo,
                    (off_t)(hi - lo));
}

/* Allocate only the last page: unlike ftruncate, this never shortens the file. */
int ch_segment_extend(const struct ch_segment *segment, size_t hi)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return ch_segment_commit(segment, hi - page, hi);
}

/* If the file system cannot report where pages are, they are assumed everywhere. */
void ch_segment_zero(const struct ch_segment *segment, size_t lo, size_t hi)
{
    while (lo < hi) {
        const off_t data = lseek(segment->fd, (off_t)lo, SEEK_DATA),
                    hole = lseek(segment->fd, data < 0 ? (off_t)lo : data, SEEK_HOLE);
        size_t end = hole < 0 ? hi : (size_t)hole;

        if (data < 0 ? errno == ENXIO : (size_t)data >= hi) return;
        if (data >= 0) lo = (size_t)data;
        if (end > hi) end = hi;
        memset(segment->base + lo, 0, end - lo);
        lo = end;
    }
}

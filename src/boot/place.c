/* SPDX-License-Identifier: Apache-2.0 */
#include "boot/place.h"

#include "base/limits.h"

#include <hwloc.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the CPU quota ---- */

/* Read the quota and the period of a group of version 2, which has both in one file; the second
 * number follows the first. */
static bool read_max(const struct ch_cgroup *group, uint64_t *quota_out, uint64_t *period_out)
{
    char first[24];

    if (!ch_cgroup_read_number(group, "cpu.max", "", quota_out)) return false;
    (void)snprintf(first, sizeof(first), "%" PRIu64, *quota_out);
    return ch_cgroup_read_number(group, "cpu.max", first, period_out);
}

/* Read the quota and the period of a group of version 1. */
static bool read_cfs(const struct ch_cgroup *group, uint64_t *quota_out, uint64_t *period_out)
{
    return ch_cgroup_read_number(group, "cpu.cfs_quota_us", "", quota_out) &&
           ch_cgroup_read_number(group, "cpu.cfs_period_us", "", period_out);
}

/* Returns the CPU quota of one group in whole cores, at least 1; UINT32_MAX: it sets none. */
static uint32_t group_quota_cores(const struct ch_cgroup *group)
{
    uint64_t quota, period;
    const bool is_set =
        group->is_v1 ? read_cfs(group, &quota, &period) : read_max(group, &quota, &period);

    if (!is_set || period == 0 || quota / period > UINT32_MAX) return UINT32_MAX;
    return quota < period ? 1 : (uint32_t)(quota / period);
}

uint32_t ch_quota_cores(const char *root)
{
    struct ch_cgroup group;
    uint32_t least = UINT32_MAX;
    bool is_there = ch_cgroup_find(root, "cpu", &group);

    for (; is_there; is_there = ch_cgroup_to_parent(&group)) {
        const uint32_t cores = group_quota_cores(&group);

        if (cores < least) least = cores;
    }
    return least;
}

/* ---- the cores ---- */

struct ch_place {
    hwloc_topology_t topology;
    hwloc_bitmap_t allowed; /* hardware threads this process may use */
    hwloc_obj_type_t unit;  /* cores, or hardware threads if hwloc finds no cores */
    uint32_t quota;         /* CPU quota, in cores */
};

/* Returns the number of cores of which this process may use a hardware thread. */
static uint32_t count_units(const struct ch_place *place)
{
    uint32_t count = 0;

    for (hwloc_obj_t o = NULL;
         (o = hwloc_get_next_obj_by_type(place->topology, place->unit, o)) != NULL;)
        if (hwloc_bitmap_intersects(o->cpuset, place->allowed)) count++;
    return count;
}

/* Detect cores only: detecting caches, devices and memory would take most of the time. Returns
 * 0, or -1. */
static int load_cores(hwloc_topology_t topology)
{
    if (hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) != 0)
        return -1;
    if (hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL) !=
        0)
        return -1;
    return hwloc_topology_load(topology);
}

struct ch_place *ch_place_open(void)
{
    struct ch_place *place = calloc(1, sizeof(*place));

    if (place == NULL) return NULL;
    place->allowed = hwloc_bitmap_alloc();
    if (place->allowed == NULL) goto out_free;
    if (hwloc_topology_init(&place->topology) != 0) goto out_bitmap;
    if (load_cores(place->topology) != 0) goto out_topology;
    if (hwloc_get_cpubind(place->topology, place->allowed, HWLOC_CPUBIND_PROCESS) != 0)
        goto out_topology;
    place->quota = ch_quota_cores("");
    place->unit = HWLOC_OBJ_CORE;
    if (count_units(place) == 0) place->unit = HWLOC_OBJ_PU;
    return place;

out_topology:
    hwloc_topology_destroy(place->topology);
out_bitmap:
    hwloc_bitmap_free(place->allowed);
out_free:
    free(place);
    return NULL;
}

void ch_place_close(struct ch_place *place)
{
    if (place == NULL) return;
    hwloc_topology_destroy(place->topology);
    hwloc_bitmap_free(place->allowed);
    free(place);
}

uint32_t ch_place_cores(const struct ch_place *place)
{
    const uint32_t count = count_units(place), most = count > 0 ? count : 1;

    return most < place->quota ? most : place->quota;
}

int ch_place_bind(const struct ch_place *place, uint32_t i)
{
    hwloc_obj_t o = NULL;
    hwloc_bitmap_t set;
    int rc;

    while ((o = hwloc_get_next_obj_by_type(place->topology, place->unit, o)) != NULL)
        if (hwloc_bitmap_intersects(o->cpuset, place->allowed) && i-- == 0) break;
    if (o == NULL) return -1;
    set = hwloc_bitmap_alloc();
    if (set == NULL) return -1;
    rc = hwloc_bitmap_and(set, o->cpuset, place->allowed);
    if (rc == 0) rc = hwloc_set_cpubind(place->topology, set, HWLOC_CPUBIND_PROCESS);
    hwloc_bitmap_free(set);
    return rc;
}

void ch_place_spare_text(const struct ch_place *place, uint32_t n, char *text_out, size_t bytes)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();

    *text_out = '\0';
    for (hwloc_obj_t o = NULL; set != NULL && (o = hwloc_get_next_obj_by_type(
                                                   place->topology, place->unit, o)) != NULL;)
        if (hwloc_bitmap_intersects(o->cpuset, place->allowed) && (n == 0 || n-- == 0))
            (void)hwloc_bitmap_or(set, set, o->cpuset);
    if (set != NULL && hwloc_bitmap_and(set, set, place->allowed) == 0 &&
        hwloc_bitmap_list_snprintf(text_out, bytes, set) >= (int)bytes)
        *text_out = '\0';
    hwloc_bitmap_free(set);
}

int ch_place_move_thread(const char *text)
{
    struct ch_place *place = ch_place_open();
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int rc = -1;

    if (place != NULL && set != NULL && hwloc_bitmap_list_sscanf(set, text) == 0)
        rc = hwloc_set_cpubind(place->topology, set, HWLOC_CPUBIND_THREAD);
    hwloc_bitmap_free(set);
    ch_place_close(place);
    return rc;
}

uint32_t ch_place_count_cores(void)
{
    struct ch_place *place = ch_place_open();
    const uint32_t cores = place != NULL ? ch_place_cores(place) : 1;

    ch_place_close(place);
    return cores;
}

uint32_t ch_place_own_cores(struct ch_place_mask *out)
{
    struct ch_place *place = ch_place_open();
    uint32_t quota = 1;

    *out = (struct ch_place_mask){{0}};
    if (place == NULL) return quota;
    for (hwloc_obj_t o = NULL;
         (o = hwloc_get_next_obj_by_type(place->topology, place->unit, o)) != NULL;)
        if (hwloc_bitmap_intersects(o->cpuset, place->allowed) &&
            o->logical_index < 64 * CH_PLACE_MASK_WORDS)
            out->words[o->logical_index / 64] |= UINT64_C(1) << o->logical_index % 64;
    quota = place->quota;
    ch_place_close(place);
    return quota;
}

uint32_t ch_place_mask_count(const struct ch_place_mask *mask, uint32_t quota)
{
    uint32_t count = 0;

    for (size_t i = 0; i < CH_PLACE_MASK_WORDS; i++)
        count += (uint32_t)__builtin_popcountll(mask->words[i]);
    if (count == 0) count = 1;
    return count < quota ? count : quota;
}

/* Detect devices only: they are attached to the package or the NUMA node that is nearest. The
 * system's files contain this; other libraries that hwloc could use would open every device. */
static int load_devices(hwloc_topology_t topology)
{
    static const char *const libraries[] = {"pci",  "cuda", "nvml",     "opencl",
                                            "rsmi", "gl",   "levelzero"};

    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
        (void)hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                            libraries[i]);
    if (hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PCI_DEVICE,
                                       HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0)
        return -1;
    return hwloc_topology_load(topology);
}

/* Returns the smallest object with hardware threads near the PCI device at `bus`; null if
 * unknown. */
static hwloc_obj_t find_near(hwloc_topology_t topology, const char *bus)
{
    const hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology, bus);

    return device == NULL ? NULL : hwloc_get_non_io_ancestor_obj(topology, device);
}

/* Returns the first hardware thread near the PCI device at `bus`; UINT32_MAX if unknown. */
static uint32_t find_thread_near(hwloc_topology_t topology, const char *bus)
{
    const hwloc_obj_t near = find_near(topology, bus);

    return near == NULL ? UINT32_MAX : (uint32_t)hwloc_bitmap_first(near->cpuset);
}

void ch_place_find_near(char (*buses)[CH_BUS_BYTES], uint32_t n, uint32_t *threads_out)
{
    hwloc_topology_t topology;

    for (uint32_t i = 0; i < n; i++)
        threads_out[i] = UINT32_MAX;
    if (hwloc_topology_init(&topology) != 0) return;
    if (load_devices(topology) == 0)
        for (uint32_t i = 0; i < n; i++)
            threads_out[i] = find_thread_near(topology, buses[i]);
    hwloc_topology_destroy(topology);
}

/* Does the set have hardware threads of at least so many cores? */
static bool has_cores(hwloc_topology_t topology, hwloc_const_bitmap_t set, uint32_t least)
{
    const hwloc_obj_type_t unit =
        hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    uint32_t count = 0;

    for (hwloc_obj_t o = NULL;
         count < least && (o = hwloc_get_next_obj_by_type(topology, unit, o)) != NULL;)
        if (hwloc_bitmap_intersects(o->cpuset, set)) count++;
    return count >= least;
}

/* Set the set to the hardware threads of a list, or, for null, to those of this thread. */
static bool read_among(hwloc_topology_t topology, const char *among, hwloc_bitmap_t set_out)
{
    if (among != NULL) return hwloc_bitmap_list_sscanf(set_out, among) == 0;
    return hwloc_get_cpubind(topology, set_out, HWLOC_CPUBIND_THREAD) == 0;
}

/* Leave in `set` what is near the device; see ch_place_near_text. */
static bool keep_near(hwloc_topology_t topology, const char *bus, uint32_t least,
                      hwloc_bitmap_t set)
{
    const hwloc_obj_t near = find_near(topology, bus);

    if (near == NULL || !hwloc_bitmap_intersects(set, near->cpuset)) return false;
    if (hwloc_bitmap_isincluded(set, near->cpuset)) return true;
    return hwloc_bitmap_and(set, set, near->cpuset) == 0 && has_cores(topology, set, least);
}

bool ch_place_near_text(const char *bus, const char *among, uint32_t least, char *text_out,
                        size_t bytes)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    hwloc_topology_t topology;
    bool is_there;

    *text_out = '\0';
    if (set == NULL || hwloc_topology_init(&topology) != 0) {
        hwloc_bitmap_free(set);
        return false;
    }
    is_there = load_devices(topology) == 0 && read_among(topology, among, set) &&
               keep_near(topology, bus, least, set) &&
               hwloc_bitmap_list_snprintf(text_out, bytes, set) < (int)bytes;
    if (!is_there) *text_out = '\0';
    hwloc_topology_destroy(topology);
    hwloc_bitmap_free(set);
    return is_there;
}

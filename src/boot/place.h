/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h: the cores that this process may use, binding to one of them, and which devices are
 * near.
 */
#ifndef CH_PLACE_H
#define CH_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ch_place;

/* Detect the cores. Null if hwloc cannot; PEs are then not bound. */
struct ch_place *ch_place_open(void);
void ch_place_close(struct ch_place *place); /* null is a no-op */

/* Number of cores of which this process may use at least one hardware thread; fewer, if the CPU
 * quota of its control group is smaller; at least 1. Everywhere else, "cores" means this
 * number. */
uint32_t ch_place_cores(const struct ch_place *place);

/* Bind the calling process to core i of those, 0 <= i < ch_place_cores. Returns 0, or -1 if
 * the system refuses. */
int ch_place_bind(const struct ch_place *place, uint32_t i);

/* Write the hardware threads that this process may use on the cores other than the first n, as
 * hwloc writes lists: "8-15"; "" if there are none, or if the text is too small. */
void ch_place_spare_text(const struct ch_place *place, uint32_t n, char *text_out,
                         size_t bytes);

/* Bytes for such a text; a longer one is omitted. */
enum { CH_PLACE_LIST_BYTES = 256 };

/* Restrict the calling thread to the hardware threads of such a list. Returns 0, or -1 if it
 * cannot. */
int ch_place_move_thread(const char *text);

/* Detect the cores and return ch_place_cores; 1 if hwloc cannot. */
uint32_t ch_place_count_cores(void);

/* A set of a machine's cores, numbered as hwloc does. */
enum { CH_PLACE_MASK_WORDS = 16 };
struct ch_place_mask {
    uint64_t words[CH_PLACE_MASK_WORDS];
};

/* Set *out to the cores that this process may use. Returns the CPU quota in cores; UINT32_MAX:
 * there is no quota. These are the inputs of ch_place_count_cores, in a form that several
 * processes can unite. */
uint32_t ch_place_own_cores(struct ch_place_mask *out);

/* Returns the number of cores in the mask, at least 1, but at most `quota`. */
uint32_t ch_place_mask_count(const struct ch_place_mask *mask, uint32_t quota);

/*
 * Returns the smallest of the CPU quotas of this process's control group, of either version,
 * and of all groups above it, in whole cores; at least 1. UINT32_MAX: there is no quota. PEs
 * that use more cores than that are all stopped for the rest of a period once they have used up
 * the quota. This has the same effect as sharing cores, but for longer. `root` is that of
 * ch_cgroup_find.
 */
uint32_t ch_quota_cores(const char *root);

/* A PCI address such as "0000:1b:00.0". */
#define CH_BUS_BYTES 16

/* Find the first hardware thread near each of n PCI devices; UINT32_MAX if unknown. */
void ch_place_find_near(char (*buses)[CH_BUS_BYTES], uint32_t n, uint32_t *threads_out);

/* Write, as ch_place_spare_text does, those hardware threads of `among` that are near the PCI
 * device. `among` is such a list, or null: those that the calling thread may use. False: `bus`
 * is unknown here, or the hardware threads found belong to fewer than `least` cores and are not
 * all of `among`; *text_out is "". */
bool ch_place_near_text(const char *bus, const char *among, uint32_t least, char *text_out,
                        size_t bytes);

#endif /* CH_PLACE_H */

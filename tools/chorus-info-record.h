/* SPDX-License-Identifier: Apache-2.0 */
/* chorus-info-record.h: records of PEs: reading them, and printing their calls. */
#ifndef CHORUS_INFO_RECORD_H
#define CHORUS_INFO_RECORD_H

#include "base/record.h"
#include "chorus-info.h"

#include <stdio.h>

/* Records of PEs, by number. */
struct records {
    const struct ch_record **of; /* the array is owned; the records are in `bytes`, or mapped
                                    until the program ends */
    uint32_t n;
    void *bytes; /* owned; or null */
};

/* Takes ownership of bytes, the contents of a file, also on failure. The name is for messages.
 */
CH_MUST_CHECK chorus_status records_take(const char *name, void *bytes, size_t n_bytes,
                                         struct records *out);
void records_free(struct records *all);

/* What to print; the PEs and the number of calls of each. */
struct calls_shown {
    const bool *is_shown; /* by index in struct records; null: all */
    uint64_t last;        /* of the calls, and of the accesses of a PE: so many; 0: all */
};

/* As text, as JSON, and as a file for Perfetto, in which each PE has a track. */
void calls_list(FILE *out, const struct records *all, const struct calls_shown *shown);
void calls_json(FILE *out, const struct records *all, const struct calls_shown *shown);
void calls_trace(FILE *out, const struct records *all, const struct calls_shown *shown);

/* What each PE is doing, which waits for which, and where PEs differ first. */
CH_MUST_CHECK chorus_status records_sum_up(const struct records *all);

#endif /* CHORUS_INFO_RECORD_H */

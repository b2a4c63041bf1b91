/* SPDX-License-Identifier: Apache-2.0 */
/* chorus-info.h: the arguments of the command line, and the commands. */
#ifndef CHORUS_INFO_H
#define CHORUS_INFO_H

#include "base/error.h"
#include "chorus/lists.h"

#include <stdbool.h>
#include <stdint.h>

enum { INFO_SHOWN_MAX = 64 };

/* Null texts: the option was not given. */
struct info_args {
    const char *command,
        *operand; /* operand of explain: a collective; of others: a file, or a process */
    const char *bytes, *pes, *nodes, *dtype, *op, *machine, *gpu, *cores;
    bool is_in_place, is_elsewhere, is_beside;
    /* Of record. */
    const char *shown[INFO_SHOWN_MAX]; /* values of --pe */
    uint32_t n_shown;
    const char *last, *trace; /* --last, --perfetto */
    bool is_json;             /* also of links */
    bool is_summary, has_record_option;
};

/* Each command prints to standard output. A code other than CHORUS_OK comes with a message. */
CH_MUST_CHECK chorus_status info_explain(const struct info_args *args);
CH_MUST_CHECK chorus_status info_algorithms(const struct info_args *args);
CH_MUST_CHECK chorus_status info_options(const struct info_args *args);
CH_MUST_CHECK chorus_status info_version(const struct info_args *args);
CH_MUST_CHECK chorus_status info_start(const struct info_args *args);
CH_MUST_CHECK chorus_status info_links(const struct info_args *args);
CH_MUST_CHECK chorus_status info_check(const struct info_args *args);
struct ch_table;
CH_MUST_CHECK chorus_status info_check_evidence(const struct ch_table *table); /* of a check */

CH_MUST_CHECK chorus_status info_job(const struct info_args *args);
CH_MUST_CHECK chorus_status info_record(const struct info_args *args);

#endif /* CHORUS_INFO_H */

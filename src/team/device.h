/* SPDX-License-Identifier: Apache-2.0 */
/* device.h: writes the records of device_table.h, for a heap on a GPU; only for this folder. */
#ifndef CH_TEAM_DEVICE_H
#define CH_TEAM_DEVICE_H

#include "team/device_table.h"
#include "team/table.h"

/* Create the table, which exists as long as the heap. */
CH_MUST_CHECK chorus_status ch_device_table_open(struct ch_teams *teams,
                                                 const struct ch_device_terms *terms);

/* Memory of a team on a GPU behind its duplicates: its record, and slots for packets. */
size_t ch_device_area_bytes(const struct ch_team *team);

/* Write the team's record, and enter it in the table under its handle. A no-op without a
 * table. */
CH_MUST_CHECK chorus_status ch_device_table_add(struct ch_teams *teams,
                                                const struct ch_team *team,
                                                ch_team_handle handle);

/* Remove the team from the table: kernels that use the handle afterwards get an error. A no-op
 * without a table. */
CH_MUST_CHECK chorus_status ch_device_table_remove(const struct ch_teams *teams,
                                                   ch_team_handle handle);

#endif /* CH_TEAM_DEVICE_H */

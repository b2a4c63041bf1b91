/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault.h: reports of kernels about calls that failed, or that were skipped because an earlier
 * call of their team had failed. Kernels write a report into host memory, at a place that
 * depends on the slot of the team: those of streams at one, calls inside the program's kernels
 * at another; and one place is for calls inside kernels without a team. The next host call that
 * asks for it returns the report, after which another one can be written. A failed team remains
 * unusable.
 */
#ifndef CH_FAULT_H
#define CH_FAULT_H

#include "coll/cuda/kernel.h"
#include "team/team.h"

/* Reports by slot; behind them, from CH_FAULT_INSIDE on, those of ch_fault_inside_at. */
enum { CH_FAULT_INSIDE = CH_TEAM_SLOTS, CH_FAULTS = CH_FAULT_INSIDE + CH_FAULTS_INSIDE };

/* The team in this slot was destroyed: forgets reports about it that nobody asked for. */
void ch_fault_clear(struct ch_kernel_fault *faults, uint32_t slot);

/* CHORUS_OK, or the code of the first call on the team that failed; sets no message. */
int ch_fault_status(struct ch_kernel_fault *faults, const struct ch_team *team);

/* The new report about the team, if there is one, with its message and the code of the team's
 * first failure. */
CH_MUST_CHECK chorus_status ch_fault_tell(struct ch_kernel_fault *faults, uint64_t timeout_ns,
                                          struct ch_team *team);
/* The same for kernels of the program: a wait for one of its words, or a call that returns
 * nothing. */
CH_MUST_CHECK chorus_status ch_fault_tell_wait(struct ch_kernel_fault *faults);
/* A block with two lengths, of an alltoallv on the team that was completed. The team can be
 * used further. */
CH_MUST_CHECK chorus_status ch_fault_tell_block(struct ch_kernel_fault *faults,
                                                const struct ch_team *team);

#endif /* CH_FAULT_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault.h: reports of kernels about calls that failed, or that were skipped because an earlier
 * call of their team had failed. Kernels write a report into host memory: that of a team at
 * its slot, that of a call inside the program's kernels at a separate address. The next host
 * call that asks for it returns the report, after which another one can be written. A failed
 * team remains unusable.
 */
#ifndef CH_FAULT_H
#define CH_FAULT_H

#include "coll/cuda/kernel.h"
#include "team/team.h"

enum { CH_FAULT_INSIDE = CH_TEAM_SLOTS, CH_FAULTS };

/* Called before a team's first call: clears a report that an earlier team left in its slot.
 * Later: a no-op. */
void ch_fault_clear(struct ch_kernel_fault *faults, const struct ch_team *team);

/* CHORUS_OK, or the code of the first call on the team that failed; sets no message. */
int ch_fault_status(struct ch_kernel_fault *faults, const struct ch_team *team);

/* The new report about the team, if there is one, with its message and the code of the team's
 * first failure. */
CH_MUST_CHECK chorus_status ch_fault_tell(struct ch_kernel_fault *faults, uint64_t timeout_ns,
                                          struct ch_team *team);
/* The same for kernels of the program: a wait for one of its words, or a call that returns
 * nothing. */
CH_MUST_CHECK chorus_status ch_fault_tell_wait(struct ch_kernel_fault *faults);

#endif /* CH_FAULT_H */

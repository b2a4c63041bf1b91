/* SPDX-License-Identifier: Apache-2.0 */
/* drive.h: run a plan on the simulated machine and check everything about it. */
#ifndef SIM_DRIVE_H
#define SIM_DRIVE_H

#include "sim/plan.h"

/* Null: all is well. Else what was wrong, with the calls of the run; valid until the next. */
const char *drive_run(const struct plan *plan, uint64_t seed);

#endif /* SIM_DRIVE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* active.h: teams of active sets. */
#ifndef CH_COMPAT_ACTIVE_H
#define CH_COMPAT_ACTIVE_H

/* The job has ended, and its teams with it. */
void ch_active_forget(void);

#endif /* CH_COMPAT_ACTIVE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h: variables that are nearly settings. */
#ifndef CH_ENVIRONMENT_H
#define CH_ENVIRONMENT_H

/* Warn of each CHORUS_ variable that is no setting but looks like one mistyped. Other names are
 * left to those who use them. */
void ch_environment_warn(void);

#endif /* CH_ENVIRONMENT_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* uniqueid.h: the arguments with which a program creates a job by itself. */
#ifndef CH_API_UNIQUEID_H
#define CH_API_UNIQUEID_H

#include "chorus/chorusx.h"

#include "base/error.h"

/* ERR_ARG, in the name of `function`, for numbers that no job can have. */
CH_MUST_CHECK chorus_status ch_uniqueid_args_check(const char *function, int rank, int n_ranks,
                                                   const chorusx_uniqueid_t *id);

#endif /* CH_API_UNIQUEID_H */

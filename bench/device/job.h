/* SPDX-License-Identifier: Apache-2.0 */
/* job.h: the PEs of a run of kernels, which chorusrun starts, whichever library is measured. */
#ifndef CH_BENCH_DEVICE_JOB_H
#define CH_BENCH_DEVICE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The heading of the CSV. */
#define JOB_HEAD "library,call,scope,bytes,ctas,pes,time_us,GBps,wrong,refused"

#ifdef __cplusplus
extern "C" {
#endif

/* Both collective. Failures are reported on standard error. */
bool job_open(int *me_out, int *n_out);
void job_close(void);

/* All PEs receive the data of PE 0. */
void job_share(void *data, size_t bytes);

/* The maximum of all PEs' values. */
uint64_t job_max(uint64_t value);

/* The name of a code that a call returned, such as ERR_UNSUPPORTED; empty for success. */
const char *job_code(int code);

#ifdef __cplusplus
}
#endif

#endif /* CH_BENCH_DEVICE_JOB_H */

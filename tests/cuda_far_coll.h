/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_far_coll.h: the routed kernels of collectives, on the host, for tests with CUDA that is
 * a fake. */
#ifndef CH_TEST_CUDA_FAR_COLL_H
#define CH_TEST_CUDA_FAR_COLL_H

/* What the kernels of collectives do when they are launched. */
struct far_coll {
    int is_captured; /* nothing, as in a capture: far_coll_replay runs them */
    unsigned n;      /* that ran */
};
extern struct far_coll far_coll;

/* Run a kernel with its arguments, as cuda_fake.run_call. Its CTAs run one after another, as
 * CTA i waits only for CTA i of other PEs. A kernel that is not routed does nothing. */
void far_coll_run(const void *kernel, unsigned ctas, void **args);

/* Run the kernels that were captured, as a graph does, with the arguments that they had. */
void far_coll_replay(void);
/* Forget them. */
void far_coll_forget(void);

#endif /* CH_TEST_CUDA_FAR_COLL_H */

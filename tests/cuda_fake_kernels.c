/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_fake_kernels.c: what objects with kernels call, by names that C has no use for. Of the
 * kernels that are launched that way three do something: where the trial of lines fails on a
 * device, on others it waits for it, as the true one would, until it is told to end; that of
 * atomics changes its word; and a test may run the kernel of posts.
 */
#include "cuda_fake.h"

#include "coll/cuda/kernels.h"
#include "transport/amo.h"

#include <string.h>
#include <unistd.h>

enum { POLL_US = 100 };

static const void *lines_kernel, *post_kernel, *amo_kernel; /* as the host knows them */
static _Thread_local cudaError_t last_error;
static _Thread_local const uint32_t *ends_when; /* the kernel that runs, if one does */

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = last_error;

    last_error = cudaSuccess;
    return error;
}

cudaError_t cuda_fake_run_to_end(int device)
{
    const uint32_t *told = ends_when;

    ends_when = NULL;
    if (told == NULL) return cudaSuccess;
    if (device == cuda_fake.bad_trial) return cudaErrorLaunchFailure;
    while (__atomic_load_n(told, __ATOMIC_RELAXED) == 0)
        (void)usleep(POLL_US);
    return cudaSuccess;
}

void **fake_register(void *binary) __asm__("__cudaRegisterFatBinary");
void fake_registered(void **handle) __asm__("__cudaRegisterFatBinaryEnd");
char fake_init(void **handle) __asm__(
    "__cudaInitModule"); /* kernels compiled with -G call it */
void fake_unregister(void **handle) __asm__("__cudaUnregisterFatBinary");
void fake_register_kernel(void **handle, const char *kernel, char *there,
                          const char *name) __asm__("__cudaRegisterFunction");
unsigned fake_push_launch(void) __asm__("__cudaPushCallConfiguration");
cudaError_t fake_pop_launch(void) __asm__("__cudaPopCallConfiguration");
cudaError_t fake_get_kernel(cudaKernel_t *handle,
                            const void *kernel) __asm__("__cudaGetKernel");
cudaError_t fake_launch(cudaKernel_t handle, dim3 grid, dim3 block,
                        void **args) __asm__("__cudaLaunchKernel");

void **fake_register(void *binary)
{
    static void *handle;

    (void)binary;
    return &handle;
}

void fake_registered(void **handle)
{
    (void)handle;
}

char fake_init(void **handle)
{
    (void)handle;
    return 1;
}

void fake_unregister(void **handle)
{
    (void)handle;
}

void fake_register_kernel(void **handle, const char *kernel, char *there, const char *name)
{
    (void)handle, (void)there;
    if (strcmp(name, "ch_k_lines") == 0) lines_kernel = kernel;
    if (strcmp(name, "ch_k_post") == 0) post_kernel = kernel;
    if (strcmp(name, "ch_k_amo") == 0) amo_kernel = kernel;
}

unsigned fake_push_launch(void)
{
    return 0;
}

cudaError_t fake_pop_launch(void)
{
    return cudaSuccess;
}

cudaError_t fake_get_kernel(cudaKernel_t *handle, const void *kernel)
{
    memcpy(handle, &kernel, sizeof(kernel));
    return cudaSuccess;
}

/* The atomics that compute; work of a stream that was queued before has ended here. */
static void run_amo(const struct ch_amo_request *r)
{
    const uint64_t before = ch_amo_apply(r->op, r->word, r->bytes, r->value, r->compare);

    if (r->fetched != NULL) *r->fetched = before;
}

cudaError_t fake_launch(cudaKernel_t handle, dim3 grid, dim3 block, void **args)
{
    const struct ch_lines_args *lines = args[0];
    int device = 0;

    (void)grid, (void)block;
    if ((const void *)handle == post_kernel) {
        cuda_fake_expect_loaded(post_kernel);
        if (cuda_fake.run_post != NULL) cuda_fake.run_post(args[0]);
        return cudaSuccess;
    }
    if ((const void *)handle == amo_kernel) run_amo(args[0]);
    if ((const void *)handle != lines_kernel || cuda_fake.bad_trial < 0) return cudaSuccess;
    (void)cudaGetDevice(&device);
    if (device == cuda_fake.bad_trial && !cuda_fake.is_trial_launched)
        last_error = cudaErrorLaunchOutOfResources;
    else
        ends_when = lines->aborted;
    return last_error;
}

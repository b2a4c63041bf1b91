/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_share_pe.c: one of two PEs that are processes and share a GPU, which is a fake. It has
 * more multiprocessors for PE 1 than for PE 0, as GPUs may differ: calls have as many CTAs as
 * the smallest share has, on both PEs, and each PE launches early by its own share.
 */
#include "chorus/chorusx.h"
#include "cuda_fake.h"
#include "team/device.h"

#include <stdio.h>
#include <stdlib.h>

enum { PES = 2, SHARE = 30, OWN_MORE = 10, EARLY_PARTS = 4, CTAS = 64, COUNT = 64 * 1024 };

static int n_failed;

static void expect_equal(const char *what, long is, long expected)
{
    if (is == expected) return;
    n_failed++;
    (void)fprintf(stderr, "PE %d: %s is %ld; expected %ld\n", chorus_my_pe(), what, is,
                  expected);
}

static void expect_ok(const char *what, int code)
{
    if (code == CHORUS_OK) return;
    n_failed++;
    (void)fprintf(stderr, "%s: %s\n", what, chorusx_last_error());
}

static struct ch_device_state state_of_kernels(void)
{
    struct ch_device_state state;

    expect_ok("device_state", chorusx_device_state(&state, sizeof(state)));
    return state;
}

/* CHORUS_ALGO asks for more than the share. */
static void expect_plans(const chorusx_call *call)
{
    chorusx_plan plan = {.ctas = 0};

    expect_ok("explain", chorusx_explain(CHORUS_TEAM_WORLD, CHORUS_COLL_broadcast,
                                         CHORUS_TYPE_i32, CHORUS_OP_sum, COUNT, &plan));
    expect_equal("the number of CTAs of a plan", plan.ctas, SHARE);
    expect_ok("explain_call", chorusx_explain_call(call, &plan));
    expect_equal("the number of CTAs of a forced plan", plan.ctas, SHARE);
}

/* Is a call launched early that has so many CTAs? In the fake no PE waits for another. */
static int is_early(chorusx_call call, int ctas, int expected_ctas)
{
    uint64_t *ended = &state_of_kernels().world.dup->ended;
    const uint64_t before = *ended;
    const int last = cuda_fake.n_notes - 1;

    call.ctas = ctas;
    expect_ok("collective", chorusx_collective(&call, (void *)cudaStreamPerThread));
    expect_equal("the number of CTAs of a call", (long)(*ended - before), expected_ctas);
    return cuda_fake_find(FAKE_EARLY, cudaStreamPerThread, last) >= 0;
}

static void expect_calls(const chorusx_call *call, int share)
{
    const int most = share / EARLY_PARTS;

    expect_equal("early launch of a large call", is_early(*call, CTAS, SHARE), 0);
    expect_equal("early launch of a small call", is_early(*call, most, most), 1);
    expect_equal("early launch of a call that is no longer small",
                 is_early(*call, most + 1, most + 1), 0);
}

int main(void)
{
    const char *pe = getenv("CHORUS_PE");
    const int more = pe != NULL && pe[0] == '1' ? OWN_MORE : 0;
    chorusx_call call = {.coll = CHORUS_COLL_broadcast,
                         .team = CHORUS_TEAM_WORLD,
                         .count = COUNT,
                         .type = CHORUS_TYPE_i32,
                         .algo = "pull",
                         .ctas = CTAS};

    cuda_fake_reset();
    cuda_fake.n_devices = 1;
    cuda_fake.multiprocessors = PES * (SHARE + more);
    expect_ok("init", chorus_init());
    if (n_failed != 0) return 1;
    call.dest = chorus_malloc(COUNT * sizeof(int));
    call.source = call.dest;
    expect_equal("the number of PEs that share the GPU", (long)state_of_kernels().n_sharing,
                 PES);
    expect_plans(&call);
    expect_calls(&call, SHARE + more);
    chorus_finalize();
    return n_failed != 0;
}

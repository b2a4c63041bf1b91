/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_stuck_pe.c: one of two PEs on two hosts, as CHORUS_NODES makes them, with a heap on a
 * GPU that is a fake. The host of PE 0 does not carry out what its kernels post, because this
 * program holds the lock of the network: their waits end by CHORUS_TIMEOUT, also those for room
 * in the ring, and if the host goes on in time, nothing is lost. PE 1 only looks at its memory.
 */
#include "api/context.h"
#include "chorus/chorusx.h"
#include "cuda_fake.h"
#include "cuda_far.h"
#include "transport/network.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RING = 1024, MORE = 500, VALUE = 77, WORD_KEPT = 0, WORD_SUM = 1, WORD_END = 2 };

enum { PAUSE_US = 100000 };

static int n_failed;
static cudaStream_t stream;
static uint64_t *words; /* symmetric */

static void expect(bool holds, const char *what)
{
    if (holds) return;
    n_failed++;
    (void)fprintf(stderr, "PE %d: %s; %s\n", chorus_my_pe(), what, chorusx_last_error());
}

#define EXPECT(condition) expect(condition, #condition)

static struct ch_network *network(void)
{
    return ch_context_get()->links->network;
}

static void add_one(void)
{
    EXPECT(chorusx_signal_op_on_stream(&words[WORD_SUM], 1, CHORUS_SIGNAL_ADD, 1,
                                       (void *)stream) == CHORUS_OK);
}

static uint64_t get_word(int which)
{
    uint64_t got = 0;

    EXPECT(chorusx_getmem_on_stream(&got, &words[which], sizeof(got), 1, (void *)stream) ==
           CHORUS_OK);
    EXPECT(chorusx_stream_synchronize((void *)stream) == CHORUS_OK);
    return got;
}

static void expect_late(void)
{
    EXPECT(chorusx_stream_synchronize((void *)stream) == CHORUS_ERR_TIMEOUT);
    expect(strstr(chorusx_last_error(), "on a stream, for PE 1, was not completed") != NULL,
           "the message names the PE");
}

/* The get that was late stores its data in the end, so `got` is static. */
static void late_host__wait_ends__later_calls_are_served(void)
{
    static uint64_t got;

    ch_network_lock(network());
    EXPECT(chorusx_getmem_on_stream(&got, &words[WORD_KEPT], sizeof(got), 1, (void *)stream) ==
           CHORUS_OK);
    ch_network_unlock(network());
    expect_late();
    EXPECT(get_word(WORD_KEPT) == VALUE);
    EXPECT(got == VALUE);
}

static void *fill(void *status)
{
    *(int *)status = far_post_again(RING + MORE);
    return NULL;
}

static void full_ring__host_goes_on__nothing_is_lost(void)
{
    int status = CHORUS_ERR_STATE;
    pthread_t thread;

    add_one();
    ch_network_lock(network());
    EXPECT(pthread_create(&thread, NULL, fill, &status) == 0);
    (void)usleep(PAUSE_US);
    ch_network_unlock(network());
    EXPECT(pthread_join(thread, NULL) == 0);
    EXPECT(status == CHORUS_OK);
    EXPECT(chorusx_quiet_on_stream((void *)stream) == CHORUS_OK);
    EXPECT(get_word(WORD_SUM) == 1 + RING + MORE);
}

/* The last test: later posts fail, too. Calls of the host do not need the ring. */
static void full_ring__host_stands_still__posts_end(void)
{
    add_one();
    ch_network_lock(network());
    EXPECT(far_post_again(RING + 1) == CHORUS_ERR_TIMEOUT);
    ch_network_unlock(network());
    add_one();
    expect_late();
    chorus_quiet();
}

static void run_pe_0(void)
{
    const uint64_t end = 1;

    late_host__wait_ends__later_calls_are_served();
    full_ring__host_goes_on__nothing_is_lost();
    full_ring__host_stands_still__posts_end();
    chorus_putmem(&words[WORD_END], &end, sizeof(end), 1);
}

static void run_pe_1(void)
{
    while (__atomic_load_n(&words[WORD_END], __ATOMIC_ACQUIRE) == 0)
        (void)usleep(1000);
}

static bool is_clean(void)
{
    return cuda_fake.streams == 0 && cuda_fake.events == 0 && cuda_fake.handles == 0 &&
           cuda_fake.mappings == 0 && cuda_fake.ranges == 0 && cuda_fake.pinned == 0;
}

int main(void)
{
    int pe;

    cuda_fake_reset();
    cuda_fake.run_post = far_run;
    if (chorus_init() != CHORUS_OK) {
        (void)fprintf(stderr, "init: %s\n", chorusx_last_error());
        return EXIT_FAILURE;
    }
    pe = chorus_my_pe();
    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    words = chorus_calloc(8, sizeof(*words));
    words[WORD_KEPT] = VALUE;
    chorus_free(chorus_malloc(64)); /* a barrier */
    if (pe == 0)
        run_pe_0();
    else
        run_pe_1();
    EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
    chorus_finalize();
    EXPECT(is_clean());
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

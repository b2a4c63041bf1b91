/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_far_kernel.c: runs the code of the kernel of posts on the host. */
#include "cuda_far.h"

/* Of the call that this thread makes. */
static _Thread_local bool is_for_host;
#define CH_IS_FOR_HOST(memory) ((void)(memory), is_for_host)

#include "base/far.h"
#include "coll/cuda/kernel.h"
#include "team/device.h"
#include "transport/post.h"

#include <stdio.h>

struct far_kernels far_kernels;

static struct ch_post last;

/* Waits end as those of a kernel: when the job ends, or by the deadline. They make no progress
 * of the network, as no kernel does. */
static struct ch_wait_policy policy_until(const uint32_t *aborted, uint64_t timeout_ns)
{
    const uintptr_t own = (uintptr_t)aborted - offsetof(struct ch_door, aborted);
    struct ch_wait_policy policy;

    ch_wait_policy_init(&policy, (struct ch_door *)own, 2, 2, timeout_ns);
    return policy;
}

static struct ch_wait_policy policy_of(const struct ch_post *post)
{
    return policy_until(post->limit.aborted, post->limit.timeout_ns);
}

static int run(const struct ch_post *post)
{
    const struct ch_wait_policy policy = policy_of(post);

    if (far_kernels.posts) return (int)ch_ring_post(&post->ring, &policy, &post->request);
    return (int)ch_post_run(post, &policy);
}

static void report(const struct ch_post *post, int status)
{
    struct ch_wait_report *const report = post->limit.report;

    report->claimed = 1;
    report->word = NULL;
    report->pe = ch_request_pe(&post->call);
    report->status = status;
}

void far_run(const void *args)
{
    int status = far_kernels.fails;

    last = *(const struct ch_post *)args;
    far_kernels.n++;
    if (far_kernels.is_captured) return;
    if (status == CHORUS_OK || far_kernels.posts) status |= run(&last);
    if (status != CHORUS_OK) report(&last, status);
}

int far_replay(void)
{
    return run(&last);
}

enum { SECONDS_MAX = 20 };

static struct ch_door door;

int far_post(const struct ch_ring *ring, const struct far_post *post)
{
    struct ch_wait_policy policy;
    static const enum ch_ring_op ops[] = {[FAR_PUT] = CH_RING_PUT,
                                          [FAR_FLUSH] = CH_RING_FLUSH,
                                          [FAR_INLINE] = CH_RING_PUT_SIGNAL};
    const bool is_inline = post->op == FAR_INLINE;
    const struct ch_ring_request request = {
        ch_request_head(ops[post->op], post->pe, is_inline ? sizeof(post->value) : 0) |
            CH_REQUEST_CTX(CH_CTX_ALGORITHMS),
        post->there,
        is_inline ? post->value : (uintptr_t)post->source,
        post->bytes,
        (uintptr_t)post->word,
        post->value};

    ch_wait_policy_init(&policy, &door, 2, 2, SECONDS_MAX * CH_NS_PER_S);
    return (int)ch_ring_post(ring, &policy, &request);
}

/* As ch_wait_until of kernels. */
static chorus_status await_word(const struct ch_wait_policy *policy, const uint64_t *word,
                                uint64_t value)
{
    struct ch_wait w = {0};
    chorus_status status = CHORUS_OK;

    while (status == CHORUS_OK && ch_word_load(word) < value)
        status = ch_wait_slow(policy, &w);
    ch_wait_end(policy, &w);
    return status;
}

static chorus_status make(struct ch_far f, const struct far_call *call)
{
    const struct ch_lanes alone = {0, 1};
    const struct ch_there there = {call->pe, call->there};
    const struct ch_far_signal signal = {call->word, call->value, call->adds};
    const struct ch_far_amo amo = {call->amo, (uint32_t)call->bytes, call->value,
                                   call->compare};

    switch (call->what) {
    case FAR_CALL_PUT:
        return ch_far_put(f, there, call->local, call->bytes, signal, call->waits, alone);
    case FAR_CALL_GET:
        return ch_far_get(f, call->local, there, call->bytes, call->waits, alone);
    case FAR_CALL_CHANGE:
        return ch_far_change(f, there, amo, call->local);
    case FAR_CALL_SIGNAL:
        return ch_far_signal(f, there, call->value, call->adds);
    case FAR_CALL_QUIET:
        return ch_far_quiet(f);
    case FAR_CALL_WAIT:
        return await_word(f.policy, call->local, call->value);
    }
    return CHORUS_ERR_ARG;
}

int far_make(const struct ch_ring *ring, const struct far_call *call)
{
    struct ch_wait_policy policy;
    const struct ch_far f = {ring, &policy};

    ch_wait_policy_init(&policy, &door, 2, 2, SECONDS_MAX * CH_NS_PER_S);
    is_for_host = !call->is_own;
    return (int)make(f, call);
}

void far_report(const struct ch_device_state *state, int status, uint32_t pe)
{
    struct ch_kernel_fault *const fault = &state->terms.fault[ch_fault_inside_at(0)];
    uint32_t none = 0;

    if (!__atomic_compare_exchange_n(&fault->claimed, &none, 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    fault->kind = CH_FAULT_LATE;
    fault->late_pe = pe;
    fault->team = 0;
    __atomic_store_n(&fault->status, status, __ATOMIC_RELEASE);
}

int far_make_inside(const struct ch_device_state *state, const struct far_call *call)
{
    const struct ch_wait_policy policy =
        policy_until(state->terms.aborted, state->terms.timeout_ns);
    const struct ch_far f = {&state->ring, &policy};
    const bool is_for_pe = call->what != FAR_CALL_QUIET && call->what != FAR_CALL_WAIT;
    const uint32_t pe = is_for_pe ? call->pe : state->world.me;
    chorus_status status;

    is_for_host = !call->is_own;
    status = make(f, call);
    if (status != CHORUS_OK) far_report(state, status, pe);
    return (int)status;
}

void far_break(const struct ch_ring *ring)
{
    ch_ring_break(ring, CHORUS_ERR_TIMEOUT);
}

int far_post_again(uint32_t n)
{
    const struct ch_wait_policy policy = policy_of(&last);
    chorus_status status = CHORUS_OK;

    for (uint32_t i = 0; i < n && status == CHORUS_OK; i++)
        status = ch_ring_post(&last.ring, &policy, &last.request);
    return (int)status;
}

uint64_t far_calls(void)
{
    return __atomic_load_n(&last.ring.shared->calls, __ATOMIC_RELAXED);
}

static const char *name_of(const struct ch_ring_request *r)
{
    static const char *const names[] = {
        [CH_RING_PUT] = "put",     [CH_RING_PUT_INLINE] = "put inline",
        [CH_RING_WORD] = "word",   [CH_RING_PUT_SIGNAL] = "put signal",
        [CH_RING_FLUSH] = "flush", [CH_RING_GET] = "get",
        [CH_RING_QUIET] = "quiet"};

    return r->head == 0 ? "none" : names[ch_request_op(r)];
}

const char *far_ops(void)
{
    static char text[64];

    (void)snprintf(text, sizeof(text), "%s%s, %s%s", name_of(&last.request),
                   (last.request.head & CH_REQUEST_ADDS) != 0 ? " add" : "",
                   name_of(&last.call),
                   ch_request_pe(&last.call) == CH_RING_ALL_PES ? " all" : "");
    return text;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, captures and failures of calls on GPUs, over a CUDA that is a fake: what is put on
 * which stream and after what, and what is refused. */
#include "api/context.h"
#include "chorus/chorusx.h"
#include "coll/cuda/gpu.h"
#include "cuda_fake.h"
#include "team/device.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FROM_THE_FIRST = -1 };

static void ask(const char *name, const char *value)
{
    ck_assert_int_eq(setenv(name, value, 1), 0);
}

static void setup(void)
{
    cuda_fake_reset();
    ask("CHORUS_HEAP", "cuda");
    ask("CHORUS_SYNC_MAX", "64M");
    ask("CHORUS_CTAS", "2");
    ask("CHORUS_LOG", "none");
    ck_assert_msg(chorus_init() == CHORUS_OK, "%s", chorusx_last_error());
}

/* On a loaded machine a stream whose wait was met may end after the short limit of `hurry`. */
static void finalize_at_last(void)
{
    for (int tries = 0; tries == 0 || (tries < 50 && cuda_fake.events != 0); tries++)
        chorus_finalize();
}

static void teardown(void)
{
    finalize_at_last();
    ck_assert_int_eq(cuda_fake.not_loaded, 0);
    ck_assert_int_eq(cuda_fake.events, 0);
    ck_assert_int_eq(cuda_fake.handles, 0);
    ck_assert_int_eq(cuda_fake.pinned, 0);
    ck_assert_int_gt(cuda_fake.device_waits, 0); /* graphs may run still */
}

static void expect_says(const char *part)
{
    ck_assert_msg(strstr(chorusx_last_error(), part) != NULL, "\"%s\" is not in \"%s\"", part,
                  chorusx_last_error());
}

static cudaStream_t make_stream(void)
{
    cudaStream_t stream = NULL;

    ck_assert_int_eq(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    return stream;
}

static void end_stream(cudaStream_t stream)
{
    ck_assert_int_eq(cudaStreamDestroy(stream), cudaSuccess);
}

static int sync_on(chorus_team_t team, void *stream)
{
    return chorusx_team_sync_on_stream(team, stream);
}

static chorus_team_t make_team(void)
{
    chorus_team_t team = CHORUS_TEAM_INVALID;

    ck_assert_int_eq(
        chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, chorus_n_pes(), NULL, 0, &team),
        CHORUS_OK);
    return team;
}

/* A call on `stream`, made now, waits for the team's last one, or does not. */
static void expect_call(chorus_team_t team, cudaStream_t stream, int waits)
{
    const int before = cuda_fake.n_notes - 1;
    int launch, wait;

    ck_assert_msg(sync_on(team, stream) == CHORUS_OK, "%s", chorusx_last_error());
    launch = cuda_fake_find(FAKE_LAUNCH, stream, before);
    wait = cuda_fake_find(FAKE_WAIT, stream, before);
    ck_assert_int_ge(launch, 0);
    if (waits)
        ck_assert(wait >= 0 && wait < launch);
    else
        ck_assert_int_eq(wait, -1);
}

/* --- one call of a team at a time --------------------------------------------------------- */
START_TEST(calls__on_one_stream__do_not_wait_by_events)
{
    const cudaStream_t a = make_stream();

    expect_call(CHORUS_TEAM_WORLD, a, 0);
    expect_call(CHORUS_TEAM_WORLD, a, 0);
    end_stream(a);
}
END_TEST

START_TEST(calls__on_two_streams__second_waits_for_first)
{
    const cudaStream_t a = make_stream(), b = make_stream();
    const chorus_team_t other = make_team();

    expect_call(CHORUS_TEAM_WORLD, a, 0);
    expect_call(other, b, 0); /* teams are independent */
    expect_call(CHORUS_TEAM_WORLD, b, 1);
    expect_call(CHORUS_TEAM_WORLD, NULL, 1);
    expect_call(CHORUS_TEAM_WORLD, cudaStreamLegacy, 0); /* the same */
    expect_call(CHORUS_TEAM_WORLD, cudaStreamPerThread, 1);
    for (int i = 0; i < cuda_fake.n_notes; i++) /* that would end what is launched early */
        ck_assert(cuda_fake.notes[i].kind != FAKE_RECORD);
    chorus_team_destroy(other);
    end_stream(b);
    end_stream(a);
}
END_TEST

START_TEST(calls__handle_of_a_stream_comes_again__waits)
{
    const cudaStream_t a = make_stream();
    cudaStream_t b;

    expect_call(CHORUS_TEAM_WORLD, a, 0);
    end_stream(a);
    b = make_stream();
    ck_assert_ptr_eq(a, b);
    expect_call(CHORUS_TEAM_WORLD, b, 1);
    end_stream(b);
}
END_TEST

/* No capture can begin there; whether one of another stream forbids calls is another query. */
START_TEST(calls__on_the_legacy_stream__do_not_query_captures)
{
    const cudaStream_t a = make_stream();

    cuda_fake.capture_queries = 0;
    expect_call(CHORUS_TEAM_WORLD, NULL, 0);
    expect_call(CHORUS_TEAM_WORLD, cudaStreamLegacy, 0);
    ck_assert_int_eq(cuda_fake.capture_queries, 0);
    expect_call(CHORUS_TEAM_WORLD, a, 1);
    ck_assert_int_eq(cuda_fake.capture_queries, 1);
    end_stream(a);
}
END_TEST

static void put_fcollect(int *object, const char *algo, int ctas, cudaStream_t stream)
{
    const chorusx_call call = {.coll = CHORUS_COLL_fcollect,
                               .team = CHORUS_TEAM_WORLD,
                               .dest = object,
                               .source = object,
                               .count = 4,
                               .type = CHORUS_TYPE_i32,
                               .algo = algo,
                               .ctas = ctas};

    ck_assert_msg(chorusx_collective(&call, (void *)stream) == CHORUS_OK, "%s",
                  chorusx_last_error());
}

/* A stream waits for as many CTAs as calls on other streams end with (the fake takes no other
 * number): one of copies, none of graphs. */
START_TEST(calls__of_every_kind__are_counted_as_they_end)
{
    const cudaStream_t a = make_stream(), b = make_stream();
    int *object = chorus_malloc(64);

    put_fcollect(object, "all_push:simple", 2, a);
    expect_call(CHORUS_TEAM_WORLD, b, 1);
    put_fcollect(object, "copy_engine", 2, b);
    expect_call(CHORUS_TEAM_WORLD, a, 1);
    cuda_fake_begin_capture(b);
    put_fcollect(object, "all_push:simple", 2, b);
    ck_assert(cuda_fake_end_capture(b));
    cuda_fake_replay();
    ck_assert_int_eq(chorus_team_sync(CHORUS_TEAM_WORLD), CHORUS_OK);
    expect_call(CHORUS_TEAM_WORLD, b, 1);
    chorus_free(object);
    end_stream(b);
    end_stream(a);
}
END_TEST

static void *call_from_thread(void *arg)
{
    *(int *)arg = sync_on(CHORUS_TEAM_WORLD, cudaStreamPerThread);
    return NULL;
}

START_TEST(calls__default_streams_of_two_threads__second_waits)
{
    int code = -1, n_waits = 0;
    pthread_t thread;

    expect_call(CHORUS_TEAM_WORLD, cudaStreamPerThread, 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, call_from_thread, &code), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(code, CHORUS_OK);
    for (int i = 0; i < cuda_fake.n_notes; i++)
        n_waits += cuda_fake.notes[i].kind == FAKE_WAIT;
    ck_assert_int_eq(n_waits, 1);
}
END_TEST

START_TEST(blocking_call__after_one_on_a_stream__takes_its_turn)
{
    const cudaStream_t a = make_stream();
    int before, n_waits = 0;

    expect_call(CHORUS_TEAM_WORLD, a, 0);
    before = cuda_fake.n_notes;
    ck_assert_int_eq(chorus_team_sync(CHORUS_TEAM_WORLD), CHORUS_OK);
    for (int i = before; i < cuda_fake.n_notes; i++)
        n_waits += cuda_fake.notes[i].kind == FAKE_WAIT;
    ck_assert_int_eq(n_waits, 1);
    expect_call(CHORUS_TEAM_WORLD, a, 1);
    end_stream(a);
}
END_TEST

static const struct ch_device_team *record_of(chorus_team_t team)
{
    struct ch_device_state state;

    ck_assert_int_eq(chorusx_device_state(&state, sizeof(state)), CHORUS_OK);
    return state.teams[(uint32_t)team & state.slot_mask];
}

/* A call that ends 0.1 s later, in place of the kernel. */
struct late_end {
    uint64_t *ended;
    int is_over; /* atomic */
};

static void *end_late(void *arg)
{
    struct late_end *late = arg;

    (void)usleep(100000);
    __atomic_store_n(&late->is_over, 1, __ATOMIC_RELEASE);
    (void)__atomic_add_fetch(late->ended, 1, __ATOMIC_RELEASE);
    return NULL;
}

START_TEST(team_destroy__after_a_call__waits_for_it)
{
    const cudaStream_t a = make_stream();
    const chorus_team_t unused = make_team(), used = make_team();
    struct late_end late = {&record_of(used)->dup->ended, 0};
    pthread_t thread;

    expect_call(used, a, 0);
    *late.ended -= 1;
    chorus_team_destroy(unused); /* waits for nothing */
    ck_assert_int_eq(pthread_create(&thread, NULL, end_late, &late), 0);
    chorus_team_destroy(used);
    ck_assert(__atomic_load_n(&late.is_over, __ATOMIC_ACQUIRE));
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    end_stream(a);
}
END_TEST

/* --- captures ----------------------------------------------------------------------------- */
START_TEST(capture__first_calls_of_a_team_on_two_streams__second_waits)
{
    const cudaStream_t a = make_stream(), b = make_stream();
    const chorus_team_t team = make_team();

    cuda_fake_begin_capture(a);
    cuda_fake_join_capture(b, a);
    expect_call(team, a, 0);
    expect_call(team, b, 1);
    expect_call(team, a, 1);
    cuda_fake_join_capture(b, make_stream()); /* it left */
    ck_assert(cuda_fake_end_capture(a));
    chorus_team_destroy(team);
}
END_TEST

/* What is captured does not run, so nothing waits for it, nor it for what runs; and it hides
 * nothing. */
START_TEST(capture__between_other_calls__is_apart_from_them)
{
    const cudaStream_t a = make_stream(), b = make_stream(), c = make_stream();

    expect_call(CHORUS_TEAM_WORLD, a, 0);
    cuda_fake_begin_capture(b);
    expect_call(CHORUS_TEAM_WORLD, b, 0);
    expect_call(CHORUS_TEAM_WORLD, c, 1);
    ck_assert(cuda_fake_end_capture(b));
    cuda_fake_begin_capture(a);
    expect_call(CHORUS_TEAM_WORLD, a, 0); /* of another capture */
    ck_assert(cuda_fake_end_capture(a));
}
END_TEST

START_TEST(capture__call_in_it__makes_nothing)
{
    const cudaStream_t a = make_stream();
    const chorus_team_t team = make_team();
    const struct cuda_fake before = cuda_fake;

    cuda_fake_begin_capture(a);
    expect_call(team, a, 0);
    ck_assert_int_eq(cuda_fake.events, before.events);
    ck_assert_int_eq(cuda_fake.handles, before.handles);
    ck_assert_int_eq(cuda_fake.mappings, before.mappings);
    ck_assert_int_eq(cuda_fake.pinned, before.pinned);
    ck_assert_int_eq(cuda_fake.loaded, before.loaded);
    ck_assert_int_eq(cuda_fake.stream_waits, before.stream_waits);
    ck_assert(cuda_fake_end_capture(a));
    chorus_team_destroy(team);
}
END_TEST

/* CUDA forbids waits in a capture, and breaks it, unless the thread says it knows better. */
START_TEST(capture__allocations_in_it__are_done_and_leave_it_sound)
{
    const cudaStream_t a = make_stream();
    chorusx_heap_info_t info;
    chorus_team_t team;
    char *object;

    ck_assert_int_eq(chorusx_heap_info(&info), CHORUS_OK);
    cuda_fake_begin_capture(a);
    object = chorus_calloc(1, info.committed_bytes + 1);
    ck_assert_ptr_nonnull(object);
    team = make_team();
    ck_assert_int_eq(chorus_team_sync(team), CHORUS_OK);
    chorus_putmem(object, "x", 2, 0);
    ck_assert_str_eq(object, "x");
    chorus_team_destroy(team);
    chorus_free(object);
    ck_assert_int_eq(chorusx_stream_synchronize((void *)a), CHORUS_ERR_STATE);
    expect_says("in a capture");
    expect_call(CHORUS_TEAM_WORLD, a, 0);
    ck_assert(cuda_fake_end_capture(a));
}
END_TEST

START_TEST(capture__broken__is_refused)
{
    const cudaStream_t a = make_stream();

    cuda_fake_begin_capture(a);
    cuda_fake_break_capture(a);
    ck_assert_int_eq(sync_on(CHORUS_TEAM_WORLD, a), CHORUS_ERR_STATE);
    expect_says("broken by an earlier error; end it with cudaStreamEndCapture");
    ck_assert_int_eq(cuda_fake_find(FAKE_LAUNCH, a, FROM_THE_FIRST), -1);
    ck_assert(!cuda_fake_end_capture(a));
    expect_call(CHORUS_TEAM_WORLD, a, 0);
}
END_TEST

/* Two captures in turns, of which one has two streams. */
START_TEST(capture__calls_of_another_capture_between__is_ordered)
{
    const cudaStream_t a = make_stream(), b = make_stream(), c = make_stream();
    const chorus_team_t team = make_team();

    cuda_fake_begin_capture(a);
    cuda_fake_join_capture(c, a);
    expect_call(team, a, 0);
    cuda_fake_begin_capture(b);
    expect_call(team, b, 0); /* of another capture */
    expect_call(team, c, 1);
    expect_call(team, b, 0);
    expect_call(team, a, 1);
    cuda_fake_join_capture(c, make_stream()); /* it left */
    ck_assert(cuda_fake_end_capture(b));
    ck_assert(cuda_fake_end_capture(a));
    chorus_team_destroy(team);
}
END_TEST

/* The record of the oldest capture is the one that is used again. */
START_TEST(captures__more_than_records__keep_the_newest)
{
    enum { CAPTURES = 40 };
    const cudaStream_t a = make_stream(), b = make_stream(), c = make_stream();
    const chorus_team_t team = make_team();
    const int events = cuda_fake.events;

    for (int i = 0; i < CAPTURES; i++) {
        cuda_fake_begin_capture(a);
        expect_call(team, a, 0);
        if (i < CAPTURES - 1) ck_assert(cuda_fake_end_capture(a));
    }
    ck_assert_int_lt(cuda_fake.events - events, CAPTURES / 2);
    cuda_fake_begin_capture(b);
    cuda_fake_join_capture(c, a);
    expect_call(team, b, 0);
    expect_call(team, c, 1);
    cuda_fake_join_capture(c, make_stream()); /* it left */
    ck_assert(cuda_fake_end_capture(b));
    ck_assert(cuda_fake_end_capture(a));
    chorus_team_destroy(team);
}
END_TEST

/* CUDA allows no work on the legacy stream beside the capture of a stream that waits for it;
 * trying breaks the capture. */
START_TEST(capture__calls_on_the_legacy_stream_beside_it__are_refused_and_leave_it_sound)
{
    const cudaStream_t apart = make_stream();
    cudaStream_t a = NULL;
    uint64_t *word = chorus_calloc(1, sizeof(*word));

    ck_assert_int_eq(cudaStreamCreateWithFlags(&a, cudaStreamDefault), cudaSuccess);
    cuda_fake_begin_capture(a);
    ck_assert_int_eq(sync_on(CHORUS_TEAM_WORLD, NULL), CHORUS_ERR_STATE);
    expect_says("nothing can be queued while a stream that waits for it is being captured");
    ck_assert_int_eq(sync_on(CHORUS_TEAM_WORLD, cudaStreamLegacy), CHORUS_ERR_STATE);
    ck_assert_int_eq(chorusx_putmem_on_stream(word, word, sizeof(*word), 0, NULL),
                     CHORUS_ERR_STATE);
    expect_says("chorusx_putmem_on_stream: the stream is the default stream");
    ck_assert_int_eq(chorusx_signal_wait_until_on_stream(word, CHORUS_CMP_EQ, 0, NULL),
                     CHORUS_ERR_STATE);
    ck_assert_int_eq(chorusx_stream_synchronize(NULL), CHORUS_ERR_STATE);
    expect_call(CHORUS_TEAM_WORLD, a, 0);
    ck_assert(cuda_fake_end_capture(a));
    cuda_fake_begin_capture(apart);
    expect_call(CHORUS_TEAM_WORLD, NULL, 0); /* this one does not wait for it */
    ck_assert(cuda_fake_end_capture(apart));
    chorus_free(word);
}
END_TEST

/* --- streams that cannot serve ------------------------------------------------------------ */
START_TEST(stream__of_another_device__is_refused)
{
    cudaStream_t there;
    int current = -1;

    ck_assert_int_eq(cudaSetDevice(1), cudaSuccess);
    there = make_stream();
    ck_assert_int_eq(sync_on(CHORUS_TEAM_WORLD, NULL), CHORUS_ERR_ARG);
    expect_says("the default stream of GPU 1, which is current on this thread");
    ck_assert_int_eq(sync_on(CHORUS_TEAM_WORLD, cudaStreamPerThread), CHORUS_ERR_ARG);
    ck_assert_int_eq(sync_on(CHORUS_TEAM_WORLD, there), CHORUS_ERR_ARG);
    expect_says("the stream is of GPU 1, this PE's heap is on GPU 0");
    ck_assert_int_eq(chorus_team_sync(CHORUS_TEAM_WORLD), CHORUS_OK); /* on its own */
    ck_assert_int_eq(cudaGetDevice(&current), cudaSuccess);
    ck_assert_int_eq(current, 1);
    cuda_fake_begin_capture(there);
    ck_assert_int_eq(sync_on(CHORUS_TEAM_WORLD, there), CHORUS_ERR_SYSTEM);
    expect_says("launching a collective on GPU 0 (fake 0) failed");
    (void)cuda_fake_end_capture(there);
    ck_assert_int_eq(cudaSetDevice(0), cudaSuccess);
    ck_assert_int_eq(sync_on(CHORUS_TEAM_WORLD, NULL), CHORUS_OK);
}
END_TEST

START_TEST(stream__that_the_library_did_not_make__is_not_destroyed)
{
    const cudaStream_t a = make_stream();
    chorus_stream_t own = NULL;

    ck_assert_int_eq(chorusx_stream_destroy((void *)a), CHORUS_ERR_ARG);
    ck_assert_int_eq(chorusx_stream_destroy(NULL), CHORUS_ERR_ARG);
    ck_assert_int_eq(chorusx_stream_create(&own), CHORUS_OK);
    ck_assert_int_eq(chorusx_stream_synchronize(own), CHORUS_OK);
    ck_assert_int_eq(chorusx_stream_destroy(own), CHORUS_OK);
    ck_assert_int_eq(chorusx_stream_destroy(own), CHORUS_ERR_ARG);
    ck_assert_int_eq(chorusx_stream_create(&own), CHORUS_OK); /* finalize ends it */
}
END_TEST

/* --- what is launched early ----------------------------------------------------------------
 */
/* A collective of so many CTAs on a stream is launched early, and lets the next be, or
 * neither: the one does nothing without the other. */
static int is_early(int *object, int ctas)
{
    const int before = cuda_fake.n_notes - 1;
    const cudaStream_t stream = make_stream();
    const chorusx_call call = {.coll = CHORUS_COLL_broadcast,
                               .team = CHORUS_TEAM_WORLD,
                               .dest = object,
                               .source = object,
                               .count = 1024,
                               .type = CHORUS_TYPE_i32,
                               .algo = "pull",
                               .ctas = ctas};
    int early;

    ck_assert_msg(chorusx_collective(&call, (void *)stream) == CHORUS_OK, "%s",
                  chorusx_last_error());
    ck_assert_int_ge(cuda_fake_find(FAKE_LAUNCH, stream, before), 0);
    early = cuda_fake_find(FAKE_EARLY, stream, before) >= 0;
    ck_assert_int_eq(cuda_fake_find(FAKE_LETS, stream, before) >= 0, early);
    end_stream(stream);
    return early;
}

/* The most CTAs of a kernel that is launched early; all with fewer are, none with more. */
static int most_early(int *object)
{
    int most = 0;

    cuda_fake.n_notes = 0;
    while (most < 64 && is_early(object, most + 1))
        most++;
    if (most < 64) ck_assert(!is_early(object, most + 1) && !is_early(object, 64));
    return most;
}

static void find_most_early(void *most_out)
{
    *(int *)most_out = most_early(chorus_malloc(4096));
}

static int most_early_on(int multiprocessors, int ctas)
{
    int most = -1;

    cuda_fake.multiprocessors = multiprocessors;
    cuda_fake.ctas = ctas;
    ck_assert_int_eq(chorusx_run_threads(1, find_most_early, &most), CHORUS_OK);
    return most;
}

/* What runs and what waits of a team take at most half of the GPU, however large it is. */
START_TEST(calls__of_many_ctas__are_not_launched_early)
{
    ask("CHORUS_CTAS", "64");
    ask("CHORUS_CHUNK", "4K"); /* sync memory for as many */
    ck_assert_int_eq(most_early_on(132, 1), 33);
    ck_assert_int_eq(most_early_on(16, 1), 4);
    ck_assert_int_eq(most_early_on(16, 2), 8);
    ck_assert_int_eq(most_early_on(3, 1), 0);
}
END_TEST

/* Four teams have a quarter of the GPU each, until some are gone. */
static void use_four_teams(void *unused)
{
    const cudaStream_t stream = make_stream();
    int *object = chorus_malloc(4096);
    chorus_team_t teams[3];

    (void)unused;
    ck_assert_int_eq(most_early(object), 33);
    for (int i = 0; i < 3; i++)
        teams[i] = make_team();
    ck_assert_int_eq(most_early(object), 33);
    expect_call(teams[0], stream, 0);
    ck_assert_int_eq(most_early(object), 33);
    cuda_fake_begin_capture(stream);
    expect_call(teams[1], stream, 0);
    ck_assert(cuda_fake_end_capture(stream));
    ck_assert_int_eq(most_early(object), 22);
    ck_assert_int_eq(chorus_team_sync(teams[2]), CHORUS_OK);
    ck_assert_int_eq(chorus_team_sync(teams[2]), CHORUS_OK);
    ck_assert_int_eq(most_early(object), 16);
    chorus_team_destroy(teams[1]);
    ck_assert_int_eq(most_early(object), 22);
    chorus_team_destroy(teams[2]);
    chorus_team_destroy(teams[0]);
    ck_assert_int_eq(most_early(object), 33);
    end_stream(stream);
}

START_TEST(calls__of_four_teams__share_the_gpu)
{
    ask("CHORUS_CTAS", "64");
    ask("CHORUS_CHUNK", "4K");
    ck_assert_int_eq(chorusx_run_threads(1, use_four_teams, NULL), CHORUS_OK);
}
END_TEST

/* Where kernels do not wait for their turn, they are launched in it. */
START_TEST(calls__on_gpus_that_order_no_kernels__are_not_launched_early)
{
    cuda_fake.major = 8;
    ask("CHORUS_CTAS", "64");
    ask("CHORUS_CHUNK", "4K");
    ck_assert_int_eq(most_early_on(132, 1), 0);
}
END_TEST

/* All PEs enter, engines copy, all leave; no kernel of the algorithm's own is launched. */
START_TEST(call__for_copy_engines__copies_between_two_kernels)
{
    const cudaStream_t stream = make_stream();
    int *dest = chorus_malloc(4096), *source = chorus_malloc(4096);
    const int before = cuda_fake.n_notes - 1;
    const chorusx_call call = {.coll = CHORUS_COLL_fcollect,
                               .team = CHORUS_TEAM_WORLD,
                               .dest = dest,
                               .source = source,
                               .count = 1024,
                               .type = CHORUS_TYPE_i32,
                               .algo = "copy_engine"};
    int enter, copy, leave;

    source[1023] = 77;
    ck_assert_msg(chorusx_collective(&call, (void *)stream) == CHORUS_OK, "%s",
                  chorusx_last_error());
    enter = cuda_fake_find(FAKE_LAUNCH, stream, before);
    copy = cuda_fake_find(FAKE_COPY, stream, before);
    leave = cuda_fake_find(FAKE_LAUNCH, stream, enter);
    ck_assert(enter >= 0 && enter < copy && copy < leave);
    ck_assert_int_eq(cuda_fake_find(FAKE_LAUNCH, stream, leave), -1);
    ck_assert_ptr_eq(cuda_fake.notes[copy].subject, dest);
    ck_assert_int_eq(dest[1023], 77);
    end_stream(stream);
}
END_TEST

/* A call of the job's one PE, with four elements. */
static chorusx_call call_of(chorus_coll coll, int *object)
{
    static size_t counts[1] = {4}, offsets[1] = {3};

    return (chorusx_call){.coll = coll,
                          .team = CHORUS_TEAM_WORLD,
                          .dest = object,
                          .source = object + 100,
                          .count = 4,
                          .type = CHORUS_TYPE_i32,
                          .op = CHORUS_OP_sum,
                          .dst = 2,
                          .sst = 5,
                          .dest_counts = counts,
                          .dest_offsets = offsets,
                          .source_counts = counts,
                          .source_offsets = offsets};
}

/* One kernel, perhaps after a wait for a call on another stream. */
static void expect_kernel(chorusx_call call, void *stream)
{
    const int before = cuda_fake.n_notes;
    int n_launches = 0;

    ck_assert_msg(chorusx_collective(&call, stream) == CHORUS_OK, "%d: %s", (int)call.coll,
                  chorusx_last_error());
    for (int i = before; i < cuda_fake.n_notes; i++)
        n_launches += cuda_fake.notes[i].kind == FAKE_LAUNCH;
    ck_assert_int_eq(n_launches, 1);
}

/* By rules: on a stream and blocking, with buffers in the heap and elsewhere. */
START_TEST(calls__of_every_collective__have_kernels)
{
    int here[200] = {0}, *object = chorus_malloc(4096);

    for (int coll = 0; coll < CHORUS_COLL_COUNT; coll++) {
        chorusx_call call = call_of((chorus_coll)coll, object);

        expect_kernel(call, NULL);
        expect_kernel(call, (void *)cudaStreamPerThread);
        call.dest = cuda_fake.registered = here;
        expect_kernel(call, NULL);
    }
    cuda_fake.registered = NULL;
    chorus_free(object);
}
END_TEST

START_TEST(calls__with_strides_or_lists__give_kernels_these)
{
    size_t counts[1] = {7}, offsets[1] = {9};
    int *object = chorus_malloc(4096);
    chorusx_call call = call_of(CHORUS_COLL_alltoalls, object);

    expect_kernel(call, NULL);
    ck_assert_uint_eq(cuda_fake.pattern.dst_step, 2 * sizeof(int));
    ck_assert_uint_eq(cuda_fake.pattern.src_step, 5 * sizeof(int));
    call.coll = CHORUS_COLL_alltoallv;
    call.source_counts = counts;
    call.source_offsets = offsets;
    expect_kernel(call, (void *)cudaStreamPerThread);
    ck_assert_uint_eq(cuda_fake.pattern.dst_counts[0], 4);
    ck_assert_uint_eq(cuda_fake.pattern.dst_offsets[0], 3);
    ck_assert_uint_eq(cuda_fake.pattern.src_counts[0], 7);
    ck_assert_uint_eq(cuda_fake.pattern.src_offsets[0], 9);
    chorus_free(object);
}
END_TEST

START_TEST(call__by_an_algorithm_of_hosts__is_refused)
{
    int *object = chorus_malloc(4096);
    chorusx_call call = call_of(CHORUS_COLL_inscan, object);

    call.algo = "one_shot:simple";
    ck_assert_int_eq(chorusx_collective(&call, NULL), CHORUS_ERR_UNSUPPORTED);
    expect_says(
        "algorithm one_shot:simple cannot serve this call: it needs a heap in host memory");
    chorus_free(object);
}
END_TEST

START_TEST(call__of_a_type_without_kernels__is_refused)
{
    const cudaStream_t stream = make_stream();
    float _Complex *object = chorus_malloc(4096);

    ck_assert_int_eq(chorusx_complexf_sum_reduce_on_stream(CHORUS_TEAM_WORLD, object, object, 1,
                                                           (void *)stream),
                     CHORUS_ERR_UNSUPPORTED);
    expect_says("reduce of c64 needs a heap in host memory: GPUs do not combine this type");
    end_stream(stream);
}
END_TEST

START_TEST(calls__program_wants_nothing_early__none_is)
{
    ask("CHORUS_CTAS", "64");
    ask("CHORUS_CHUNK", "4K");
    ask("CHORUS_EARLY", "0");
    ck_assert_int_eq(most_early_on(132, 1), 0);
}
END_TEST

/* --- bad buffers ---------------------------------------------------------------------------
 */
START_TEST(buffer__not_in_the_heap__is_refused)
{
    int here = 0, *object = chorus_calloc(1, sizeof(int));

    ck_assert_int_eq(
        chorusx_int_sum_reduce_on_stream(CHORUS_TEAM_WORLD, &here, object, 1, NULL),
        CHORUS_ERR_NOT_SYMMETRIC);
    expect_says(
        "is not in the symmetric heap, nor in memory that GPU 0 can access; allocate it with");
    ck_assert_int_eq(cuda_fake_find(FAKE_LAUNCH, NULL, FROM_THE_FIRST), -1);
    cuda_fake.registered = &here;
    ck_assert_int_eq(
        chorusx_int_sum_reduce_on_stream(CHORUS_TEAM_WORLD, &here, object, 1, NULL), CHORUS_OK);
    cuda_fake.registered = NULL;
    chorus_free(object);
}
END_TEST

START_TEST(buffer__that_is_reached__is_not_queried)
{
    int here = 0, *object = chorus_calloc(1, sizeof(int));
    chorusx_call call = {.coll = CHORUS_COLL_reduce,
                         .team = CHORUS_TEAM_WORLD,
                         .dest = object,
                         .source = &here,
                         .count = 1,
                         .type = CHORUS_TYPE_i32,
                         .op = CHORUS_OP_sum};

    ck_assert_int_eq(chorusx_collective(&call, (void *)cudaStreamLegacy),
                     CHORUS_ERR_NOT_SYMMETRIC);
    ck_assert_int_eq(cuda_fake.address_queries, 1);
    call.is_reached = 1;
    ck_assert_int_eq(chorusx_collective(&call, (void *)cudaStreamLegacy), CHORUS_OK);
    ck_assert_int_eq(cuda_fake.address_queries, 1);
    chorus_free(object);
}
END_TEST

/* --- failures ----------------------------------------------------------------------------- */
START_TEST(failures__of_two_teams__are_told_once_each)
{
    const cudaStream_t a = make_stream();
    const chorus_team_t first = make_team(), second = make_team();
    chorus_team_t third;

    cuda_fake.fails_kernels = 1;
    ck_assert_int_eq(sync_on(first, a), CHORUS_OK);
    ck_assert_int_eq(sync_on(second, a), CHORUS_OK);
    cuda_fake.fails_kernels = 0;
    ck_assert_int_eq(chorusx_team_status(first), CHORUS_ERR_TIMEOUT);
    ck_assert_int_eq(chorusx_team_status(second), CHORUS_ERR_TIMEOUT);
    ck_assert_int_eq(chorusx_team_status(CHORUS_TEAM_WORLD), CHORUS_OK);
    ck_assert_int_eq(chorusx_stream_synchronize((void *)a), CHORUS_ERR_TIMEOUT);
    expect_says("for PE 0, which has not begun this call");
    ck_assert_int_eq(chorusx_stream_synchronize((void *)a), CHORUS_ERR_TIMEOUT);
    ck_assert_int_eq(chorusx_stream_synchronize((void *)a), CHORUS_OK);
    ck_assert_int_eq(sync_on(first, a), CHORUS_ERR_STATE);
    ck_assert_int_eq(chorusx_team_status(first), CHORUS_ERR_TIMEOUT);
    chorus_team_destroy(first);
    third = make_team(); /* where the first was */
    ck_assert_int_eq(chorusx_team_status(third), CHORUS_OK);
    expect_call(third, a, 0);
    ck_assert_int_eq(chorusx_stream_synchronize((void *)a), CHORUS_OK);
    chorus_team_destroy(third);
    chorus_team_destroy(second);
}
END_TEST

/* By whichever call comes next, if nobody asked. */
START_TEST(failure__nobody_asked__next_call_tells)
{
    const cudaStream_t a = make_stream();
    const chorus_team_t team = make_team();

    cuda_fake.fails_kernels = 1;
    ck_assert_int_eq(sync_on(team, a), CHORUS_OK);
    cuda_fake.fails_kernels = 0;
    ck_assert_int_eq(sync_on(team, a), CHORUS_ERR_TIMEOUT);
    expect_says("which has not begun this call");
    ck_assert_int_eq(sync_on(team, a), CHORUS_ERR_STATE);
    expect_says("unusable");
    chorus_team_destroy(team);
}
END_TEST

START_TEST(failure__of_a_team_that_is_gone__does_not_hide_the_next_one_s)
{
    const cudaStream_t a = make_stream();
    chorus_team_t team = make_team();

    cuda_fake.fails_kernels = 1;
    ck_assert_int_eq(sync_on(team, a), CHORUS_OK);
    chorus_team_destroy(team);
    team = make_team();
    ck_assert_int_eq(chorus_team_sync(team), CHORUS_ERR_TIMEOUT);
    expect_says("which has not begun this call");
    cuda_fake.fails_kernels = 0;
    chorus_team_destroy(team);
}
END_TEST

/* What a call inside a kernel of the program does when it fails; team 0: it has none. */
static void report_inside(uint64_t team, int status)
{
    struct ch_device_state state;
    struct ch_kernel_fault *fault;

    ck_assert_int_eq(chorusx_device_state(&state, sizeof(state)), CHORUS_OK);
    fault = &state.terms.fault[ch_fault_inside_at(team)];
    if (fault->claimed) return;
    *fault = (struct ch_kernel_fault){.status = status, .claimed = 1, .team = team};
}

START_TEST(failure_in_a_kernel__of_a_team_that_is_gone__hides_no_other)
{
    const chorus_team_t gone = make_team(), other = make_team();
    chorus_team_t next;

    report_inside(record_of(gone)->id, CHORUS_ERR_TIMEOUT);
    chorus_team_destroy(gone); /* nobody asked */
    report_inside(0, CHORUS_ERR_ABORTED);
    ck_assert_int_eq(chorusx_stream_synchronize(NULL), CHORUS_ERR_ABORTED);
    expect_says("a call in a kernel of the program failed");
    report_inside(record_of(other)->id, CHORUS_ERR_TIMEOUT);
    ck_assert_int_eq(chorusx_stream_synchronize(NULL), CHORUS_ERR_TIMEOUT);
    next = make_team(); /* where the first was */
    ck_assert_int_eq((uint32_t)next % CH_TEAM_SLOTS, (uint32_t)gone % CH_TEAM_SLOTS);
    report_inside(record_of(next)->id, CHORUS_ERR_TIMEOUT);
    ck_assert_int_eq(chorusx_team_status(next), CHORUS_ERR_TIMEOUT);
    ck_assert_int_eq(chorusx_stream_synchronize(NULL), CHORUS_ERR_TIMEOUT);
    ck_assert_int_eq(chorusx_stream_synchronize(NULL), CHORUS_OK);
    chorus_team_destroy(next);
    chorus_team_destroy(other);
}
END_TEST

START_TEST(failures_in_kernels__of_two_teams_and_of_none__are_told_once_each)
{
    const chorus_team_t teams[2] = {make_team(), make_team()};
    int n_late = 0, n_aborted = 0, code;

    report_inside(record_of(teams[0])->id, CHORUS_ERR_TIMEOUT);
    report_inside(record_of(teams[1])->id, CHORUS_ERR_TIMEOUT);
    report_inside(0, CHORUS_ERR_ABORTED);
    while ((code = chorusx_stream_synchronize(NULL)) != CHORUS_OK) {
        n_late += code == CHORUS_ERR_TIMEOUT;
        n_aborted += code == CHORUS_ERR_ABORTED;
    }
    ck_assert_int_eq(n_late, 2);
    ck_assert_int_eq(n_aborted, 1);
    chorus_team_destroy(teams[1]);
    chorus_team_destroy(teams[0]);
}
END_TEST

/* Each replay after a failure fails again; also where nobody heard of the first. */
START_TEST(replay__after_a_failure__fails_every_time)
{
    const cudaStream_t a = make_stream();
    const chorus_team_t team = make_team();

    cuda_fake_begin_capture(a);
    expect_call(team, a, 0);
    ck_assert(cuda_fake_end_capture(a));
    cuda_fake.fails_kernels = 1;
    cuda_fake_replay();
    cuda_fake.fails_kernels = 0;
    cuda_fake_replay();
    ck_assert_int_eq(chorusx_stream_synchronize((void *)a), CHORUS_ERR_TIMEOUT);
    expect_says("which has not begun this call");
    for (int i = 0; i < 3; i++) {
        cuda_fake_replay();
        cuda_fake_replay();
        ck_assert_int_eq(chorusx_team_status(team), CHORUS_ERR_TIMEOUT);
        ck_assert_int_eq(chorusx_stream_synchronize((void *)a), CHORUS_ERR_TIMEOUT);
        expect_says(
            "was skipped, because an earlier one on its team had failed (a peer did not");
        ck_assert_int_eq(chorusx_stream_synchronize((void *)a), CHORUS_OK);
    }
    ck_assert_int_eq(sync_on(team, a), CHORUS_ERR_STATE);
    ck_assert_int_eq(chorusx_team_status(CHORUS_TEAM_WORLD), CHORUS_OK);
    chorus_team_destroy(team);
}
END_TEST

/* Without CHORUS_CHECK nothing stands around a call. */
START_TEST(calls__unchecked__are_one_kernel)
{
    const cudaStream_t a = make_stream();
    int n_launches = 0;

    expect_call(CHORUS_TEAM_WORLD, a, 0);
    for (int i = 0; i < cuda_fake.n_notes; i++)
        n_launches += cuda_fake.notes[i].kind == FAKE_LAUNCH;
    ck_assert_int_eq(n_launches, 1);
}
END_TEST

/* The first call goes on while the second is put on another stream, as a graph's may. */
static void overlap(void *unused)
{
    const cudaStream_t a = make_stream(), b = make_stream();
    const chorus_team_t team = make_team(), other = make_team();

    (void)unused;
    expect_call(team, a, 0);
    expect_call(team, b, 1); /* one after the other */
    ck_assert_int_eq(chorusx_stream_synchronize((void *)b), CHORUS_OK);
    cuda_fake.keeps_calls = 1;
    expect_call(team, a, 1);
    expect_call(other, a, 0); /* another team */
    ck_assert_int_eq(chorusx_stream_synchronize((void *)a), CHORUS_OK);
    cuda_fake_begin_capture(b);
    expect_call(team, b, 0);
    ck_assert_int_eq(cuda_fake_find(FAKE_EARLY, b, FROM_THE_FIRST), -1);
    ck_assert(cuda_fake_end_capture(b));
    ck_assert_int_eq(chorusx_stream_synchronize((void *)a), CHORUS_ERR_STATE);
    expect_says("began while another on its team ran; use events to order the graphs, streams "
                "and kernels");
    ck_assert_int_eq(chorusx_team_status(team), CHORUS_ERR_STATE);
    ck_assert_int_eq(chorusx_team_status(other), CHORUS_OK);
    chorus_team_destroy(other);
    chorus_team_destroy(team);
    end_stream(b);
    end_stream(a);
}

START_TEST(calls__of_a_team_at_once__fail_if_checked)
{
    ask("CHORUS_CHECK", "1");
    ck_assert_int_eq(chorusx_run_threads(1, overlap, NULL), CHORUS_OK);
}
END_TEST

/* --- waits that nobody ends ----------------------------------------------------------------
 */
static int reported;

static void keep_code(int code, const char *message)
{
    (void)message;
    reported = code;
}

/* From now on the host's waits end soon. */
static void hurry(void)
{
    chorus_finalize();
    ask("CHORUS_TIMEOUT", "0.2");
    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    cuda_fake.may_wait = 1;
    reported = CHORUS_OK;
    (void)chorusx_set_error_handler(keep_code);
}

START_TEST(stream_synchronize__a_wait_is_not_met__fails_after_the_limit)
{
    const cudaStream_t a = make_stream();
    uint64_t *word;

    hurry();
    word = chorus_calloc(1, sizeof(*word));
    ck_assert_int_eq(
        chorusx_signal_wait_until_on_stream(word, CHORUS_CMP_GE, 5, (chorus_stream_t)a),
        CHORUS_OK);
    ck_assert_int_eq(chorusx_stream_synchronize((chorus_stream_t)a), CHORUS_ERR_TIMEOUT);
    expect_says("the stream has not ended in 0.2 s: a wait on a stream is for the word at ");
    expect_says("to be at least 5, and it is 0");
    *word = 5;
    ck_assert_int_eq(chorusx_stream_synchronize((chorus_stream_t)a), CHORUS_OK);
    chorus_free(word);
}
END_TEST

static void put_wait(uint64_t *word, cudaStream_t stream)
{
    ck_assert_int_eq(
        chorusx_signal_wait_until_on_stream(word, CHORUS_CMP_GE, 1, (chorus_stream_t)stream),
        CHORUS_OK);
}

static int synchronize(cudaStream_t stream)
{
    return chorusx_stream_synchronize((chorus_stream_t)stream);
}

/* The wait is over since the synchronisation before, so other work may take any time. */
START_TEST(stream_synchronize__a_wait_was_met_before__lets_other_work_run)
{
    const cudaStream_t a = make_stream();
    uint64_t *word;

    hurry();
    word = chorus_calloc(1, sizeof(*word));
    put_wait(word, a);
    *word = 1;
    ck_assert_int_eq(synchronize(a), CHORUS_OK);
    *word = 0;
    cuda_fake_work(a, 500);
    ck_assert_msg(synchronize(a) == CHORUS_OK, "%s", chorusx_last_error());
    chorus_free(word);
}
END_TEST

START_TEST(stream_synchronize__another_stream_waits__lets_other_work_run)
{
    const cudaStream_t a = make_stream(), b = make_stream();
    uint64_t *word;

    hurry();
    word = chorus_calloc(1, sizeof(*word));
    put_wait(word, a);
    cuda_fake_work(b, 500);
    ck_assert_msg(synchronize(b) == CHORUS_OK, "%s", chorusx_last_error());
    ck_assert_int_eq(synchronize(a), CHORUS_ERR_TIMEOUT);
    *word = 1;
    ck_assert_int_eq(synchronize(a), CHORUS_OK);
    chorus_free(word);
}
END_TEST

/* A call of a team on another stream stands behind the wait, too. */
START_TEST(stream_synchronize__behind_a_stream_that_waits__fails_after_the_limit)
{
    enum { STREAMS = 7 };
    cudaStream_t streams[STREAMS];
    chorus_team_t teams[2];
    uint64_t *word;

    hurry();
    for (int i = 0; i < STREAMS; i++)
        streams[i] = make_stream();
    for (int i = 0; i < 2; i++)
        teams[i] = make_team();
    word = chorus_calloc(1, sizeof(*word));
    put_wait(word, streams[0]);
    for (int i = 1; i < STREAMS; i++) {
        ck_assert_int_eq(sync_on(teams[i % 2], streams[i - 1]), CHORUS_OK);
        ck_assert_int_eq(sync_on(teams[i % 2], streams[i]), CHORUS_OK);
    }
    for (int i = 0; i < STREAMS; i++) {
        cuda_fake_work(streams[i], 2000);
        ck_assert_int_eq(synchronize(streams[i]), CHORUS_ERR_TIMEOUT);
        expect_says("to be at least 1, and it is 0");
        cuda_fake_work(streams[i], 0);
    }
    *word = 1;
    ck_assert_int_eq(synchronize(streams[1]), CHORUS_OK);
    *word = 0; /* it was over for all */
    cuda_fake_work(streams[2], 500);
    ck_assert_int_eq(synchronize(streams[2]), CHORUS_OK);
    *word = 1;
    for (int i = 0; i < 2; i++)
        chorus_team_destroy(teams[i]);
    chorus_free(word);
}
END_TEST

/* More than there are records of. */
START_TEST(stream_synchronize__after_many_waits__knows_the_last)
{
    enum { WAITS = 300 };
    const cudaStream_t a = make_stream();
    uint64_t *words;

    hurry();
    words = chorus_calloc(WAITS, sizeof(*words));
    for (int i = 0; i < WAITS; i++) {
        words[i] = i != WAITS - 1;
        put_wait(&words[i], a);
    }
    ck_assert_int_eq(synchronize(a), CHORUS_ERR_TIMEOUT);
    words[WAITS - 1] = 1;
    ck_assert_int_eq(synchronize(a), CHORUS_OK);
    chorus_free(words);
}
END_TEST

/* A graph with the wait may be launched on any stream, any number of times. */
START_TEST(stream_synchronize__a_wait_was_captured__fails_on_any_stream)
{
    const cudaStream_t a = make_stream(), b = make_stream();
    uint64_t *word;

    hurry();
    word = chorus_calloc(1, sizeof(*word));
    cuda_fake_begin_capture(a);
    put_wait(word, a);
    ck_assert(cuda_fake_end_capture(a));
    cuda_fake_wait(a, NULL, 0);
    for (int i = 0; i < 2; i++) {
        *word = 0;
        cuda_fake_work(b, 1000);
        ck_assert_int_eq(synchronize(b), CHORUS_ERR_TIMEOUT);
        *word = 1;
        ck_assert_int_eq(synchronize(b), CHORUS_OK);
    }
    chorus_free(word);
}
END_TEST

static struct ch_context *context(void)
{
    struct ch_context *own = NULL;

    ck_assert_int_eq(ch_context_require(__func__, &own), CHORUS_OK);
    return own;
}

/* A wait for the whole GPU is one for every stream. */
START_TEST(stream_synchronize__after_a_wait_for_the_gpu__lets_other_work_run)
{
    const cudaStream_t a = make_stream();
    uint64_t *word;

    hurry();
    word = chorus_calloc(1, sizeof(*word));
    put_wait(word, a);
    *word = 1;
    ck_assert_int_eq(ch_gpu_drain(context()->gpu), CHORUS_OK);
    *word = 0;
    cuda_fake_work(a, 500);
    ck_assert_msg(synchronize(a) == CHORUS_OK, "%s", chorusx_last_error());
    chorus_free(word);
}
END_TEST

/* What the process has logged since standard error went to this file. */
static int is_logged(FILE *log, const char *part)
{
    static char text[10000];
    size_t bytes;

    rewind(log);
    bytes = fread(text, 1, sizeof(text) - 1, log);
    text[bytes] = 0;
    return strstr(text, part) != NULL;
}

/* A stream that computes waits for nobody. */
START_TEST(stream_synchronize__other_work_runs_long__is_not_reported_as_a_wait)
{
    const cudaStream_t a = make_stream();
    FILE *log = tmpfile();
    uint64_t *word;

    ck_assert_ptr_nonnull(log);
    ck_assert_int_ge(dup2(fileno(log), STDERR_FILENO), 0);
    ask("CHORUS_LOG", "warn");
    ask("CHORUS_WARN", "0.1");
    hurry();
    word = chorus_calloc(1, sizeof(*word));
    put_wait(word, a);
    *word = 1;
    cuda_fake_work(a, 500);
    ck_assert_int_eq(synchronize(a), CHORUS_OK);
    cuda_fake_work(a, 500);
    ck_assert_int_eq(synchronize(a), CHORUS_OK);
    ck_assert(!is_logged(log, "has waited"));
    put_wait(word, a);
    *word = 0;
    ck_assert_int_eq(synchronize(a), CHORUS_ERR_TIMEOUT);
    ck_assert(is_logged(log, "has waited"));
    *word = 1;
    chorus_free(word);
    (void)fclose(log);
}
END_TEST

START_TEST(finalize__a_wait_is_not_met__fails_after_the_limit)
{
    const cudaStream_t a = make_stream();
    uint64_t *word;

    hurry();
    word = chorus_calloc(1, sizeof(*word));
    ck_assert_int_eq(
        chorusx_signal_wait_until_on_stream(word, CHORUS_CMP_GE, 1, (chorus_stream_t)a),
        CHORUS_OK);
    chorus_finalize();
    ck_assert_int_eq(reported, CHORUS_ERR_TIMEOUT);
    expect_says("has not ended in 0.2 s; does a stream wait for a word that no PE stores to");
    *word = 1; /* teardown finds all as usual */
}
END_TEST

/* The job ends while the host waits. */
static void *abort_soon(void *door)
{
    (void)usleep(100000);
    ch_door_abort(door);
    return NULL;
}

START_TEST(waits__job_ends__end_with_it)
{
    const cudaStream_t a = make_stream();
    struct ch_door *door;
    pthread_t thread;
    uint64_t *word;

    cuda_fake.may_wait = 1;
    word = chorus_calloc(1, sizeof(*word));
    put_wait(word, a);
    door = context()->policy.door;
    ck_assert_int_eq(pthread_create(&thread, NULL, abort_soon, door), 0);
    ck_assert_int_eq(synchronize(a), CHORUS_ERR_ABORTED);
    expect_says("work on the stream has not ended, and the job is ending");
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(ch_gpu_drain(context()->gpu), CHORUS_ERR_ABORTED);
    expect_says("work of this PE on GPU 0 (fake 0) has not ended, and the job is ending");
    door->aborted = 0; /* teardown finds all as usual */
    *word = 1;
    chorus_free(word);
}
END_TEST

/* A call that has not begun, as behind a wait. */
START_TEST(team_destroy__a_call_does_not_end__fails_after_the_limit)
{
    const cudaStream_t a = make_stream();
    chorus_team_t team;
    uint64_t *ended;

    hurry();
    team = make_team();
    expect_call(team, a, 0);
    ended = &record_of(team)->dup->ended;
    *ended -= 1;
    chorus_team_destroy(team);
    ck_assert_int_eq(reported, CHORUS_ERR_TIMEOUT);
    expect_says("calls on streams of GPU 0 (fake 0) have not ended");
    *ended += 1;
    reported = CHORUS_OK;
    chorus_team_destroy(team);
    ck_assert_int_eq(reported, CHORUS_OK);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("cuda_stream");
    TCase *tcase = tcase_create("all");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, calls__on_one_stream__do_not_wait_by_events);
    tcase_add_test(tcase, calls__on_two_streams__second_waits_for_first);
    tcase_add_test(tcase, calls__handle_of_a_stream_comes_again__waits);
    tcase_add_test(tcase, calls__on_the_legacy_stream__do_not_query_captures);
    tcase_add_test(tcase, calls__of_every_kind__are_counted_as_they_end);
    tcase_add_test(tcase, calls__default_streams_of_two_threads__second_waits);
    tcase_add_test(tcase, blocking_call__after_one_on_a_stream__takes_its_turn);
    tcase_add_test(tcase, team_destroy__after_a_call__waits_for_it);
    tcase_add_test(tcase, capture__first_calls_of_a_team_on_two_streams__second_waits);
    tcase_add_test(tcase, capture__between_other_calls__is_apart_from_them);
    tcase_add_test(tcase, capture__call_in_it__makes_nothing);
    tcase_add_test(tcase, capture__allocations_in_it__are_done_and_leave_it_sound);
    tcase_add_test(tcase, capture__broken__is_refused);
    tcase_add_test(tcase, capture__calls_of_another_capture_between__is_ordered);
    tcase_add_test(tcase, captures__more_than_records__keep_the_newest);
    tcase_add_test(
        tcase, capture__calls_on_the_legacy_stream_beside_it__are_refused_and_leave_it_sound);
    tcase_add_test(tcase, stream__of_another_device__is_refused);
    tcase_add_test(tcase, stream__that_the_library_did_not_make__is_not_destroyed);
    tcase_add_test(tcase, calls__on_gpus_that_order_no_kernels__are_not_launched_early);
    tcase_add_test(tcase, calls__of_many_ctas__are_not_launched_early);
    tcase_add_test(tcase, calls__of_four_teams__share_the_gpu);
    tcase_add_test(tcase, calls__program_wants_nothing_early__none_is);
    tcase_add_test(tcase, call__for_copy_engines__copies_between_two_kernels);
    tcase_add_test(tcase, calls__of_every_collective__have_kernels);
    tcase_add_test(tcase, calls__with_strides_or_lists__give_kernels_these);
    tcase_add_test(tcase, call__by_an_algorithm_of_hosts__is_refused);
    tcase_add_test(tcase, call__of_a_type_without_kernels__is_refused);
    tcase_add_test(tcase, buffer__not_in_the_heap__is_refused);
    tcase_add_test(tcase, buffer__that_is_reached__is_not_queried);
    tcase_add_test(tcase, failures__of_two_teams__are_told_once_each);
    tcase_add_test(tcase, failure__nobody_asked__next_call_tells);
    tcase_add_test(tcase, failure__of_a_team_that_is_gone__does_not_hide_the_next_one_s);
    tcase_add_test(tcase, failure_in_a_kernel__of_a_team_that_is_gone__hides_no_other);
    tcase_add_test(tcase, failures_in_kernels__of_two_teams_and_of_none__are_told_once_each);
    tcase_add_test(tcase, replay__after_a_failure__fails_every_time);
    tcase_add_test(tcase, calls__unchecked__are_one_kernel);
    tcase_add_test(tcase, calls__of_a_team_at_once__fail_if_checked);
    tcase_add_test(tcase, stream_synchronize__a_wait_is_not_met__fails_after_the_limit);
    tcase_add_test(tcase, stream_synchronize__a_wait_was_met_before__lets_other_work_run);
    tcase_add_test(tcase, stream_synchronize__another_stream_waits__lets_other_work_run);
    tcase_add_test(tcase,
                   stream_synchronize__behind_a_stream_that_waits__fails_after_the_limit);
    tcase_add_test(tcase, stream_synchronize__after_many_waits__knows_the_last);
    tcase_add_test(tcase, stream_synchronize__after_a_wait_for_the_gpu__lets_other_work_run);
    tcase_add_test(tcase, stream_synchronize__a_wait_was_captured__fails_on_any_stream);
    tcase_add_test(tcase, stream_synchronize__other_work_runs_long__is_not_reported_as_a_wait);
    tcase_add_test(tcase, finalize__a_wait_is_not_met__fails_after_the_limit);
    tcase_add_test(tcase, waits__job_ends__end_with_it);
    tcase_add_test(tcase, team_destroy__a_call_does_not_end__fails_after_the_limit);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(make_suite());
    int n_failed;

    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

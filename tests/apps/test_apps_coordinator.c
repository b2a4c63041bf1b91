/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The coordinator: the same bodies with Chorus, on PEs that are threads or processes, and with
 * MPI, if the program is run as "mpirun -n N test_apps_coordinator mpi".
 */
#include "chorus/apps/coordinator.h"

#include "api_pes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 1000, STEPS = 6, POISON = 0x5eadbeef };

static const char *backend = "chorus";
static int n_failed; /* with MPI, which the functions of api_pes.c know nothing of */

/* As EXPECT, with the PE of the environment. */
static void expect(bool holds, const char *what, int line)
{
    if (strcmp(backend, "chorus") == 0) {
        api_expect(holds, what, __FILE__, line);
        return;
    }
    if (holds) return;
    n_failed++;
    (void)fprintf(stderr, "line %d: %s; %s\n", line, what, chorusx_last_error());
}
#define HOLDS(condition) expect((condition), #condition, __LINE__)

#define REFUSES(call, code, part)                                             \
    do {                                                                      \
        const int got = (call);                                               \
                                                                              \
        HOLDS(got == (code) && strstr(chorusx_last_error(), (part)) != NULL); \
    } while (0)

static uint32_t value(int pe, int step, size_t i)
{
    return (uint32_t)pe * 1000003u + (uint32_t)step * 7919u + (uint32_t)i;
}

static bool is_from(const uint32_t *words, int pe, int step)
{
    for (size_t i = 0; i < WORDS; i++)
        if (words[i] != value(pe, step, i)) return false;
    return true;
}

static void fill(uint32_t *words, int pe, int step)
{
    for (size_t i = 0; i < WORDS; i++)
        words[i] = value(pe, step, i);
}

/* --- messages ----------------------------------------------------------------------------- */
/* Memory of an exchange: two places that are used in turns, from both neighbours. */
struct ring {
    chorusx_communicator_t communicator;
    chorusx_coordinator_t coordinator;
    int me, n;
    uint32_t *places;  /* [2][2][WORDS] */
    uint64_t *signals; /* [2][2] */
    uint32_t *source;
};

static void open_ring(struct ring *r, chorusx_communicator_t communicator,
                      chorus_stream_t stream)
{
    *r = (struct ring){.communicator = communicator,
                       .me = chorusx_communicator_my_pe(communicator),
                       .n = chorusx_communicator_n_pes(communicator)};
    r->places = chorusx_communicator_malloc(communicator, 4 * WORDS * sizeof(uint32_t));
    r->signals = chorusx_communicator_malloc(communicator, 4 * sizeof(uint64_t));
    r->source = calloc(WORDS, sizeof(uint32_t));
    HOLDS(r->places != NULL && r->signals != NULL && r->source != NULL);
    HOLDS(chorusx_coordinator_create(communicator, CHORUSX_LAUNCH_HOST, stream,
                                     &r->coordinator) == CHORUS_OK);
}

static void close_ring(struct ring *r)
{
    HOLDS(chorusx_coordinator_destroy(r->coordinator) == CHORUS_OK);
    HOLDS(chorusx_communicator_free(r->communicator, r->signals) == CHORUS_OK);
    HOLDS(chorusx_communicator_free(r->communicator, r->places) == CHORUS_OK);
    free(r->source);
}

static uint32_t *place(const struct ring *r, int step, int side)
{
    return r->places + (size_t)(2 * (step & 1) + side) * WORDS;
}

static void send(const struct ring *r, int step, int side, int to)
{
    HOLDS(chorusx_coordinator_post(r->coordinator, place(r, step, side), r->source,
                                   WORDS * sizeof(uint32_t), &r->signals[2 * (step & 1) + side],
                                   (uint64_t)step, to) == CHORUS_OK);
}

static void receive(const struct ring *r, int step, int side, int from)
{
    HOLDS(chorusx_coordinator_acknowledge(
              r->coordinator, place(r, step, side), WORDS * sizeof(uint32_t),
              &r->signals[2 * (step & 1) + side], (uint64_t)step, from) == CHORUS_OK);
}

/* Both neighbours exchange; acknowledgements may come before posts. */
static void exchange(const struct ring *r, int step)
{
    const int next = (r->me + 1) % r->n, previous = (r->me + r->n - 1) % r->n;

    fill(r->source, r->me, step);
    memset(place(r, step, 0), 0xee, 2 * WORDS * sizeof(uint32_t));
    HOLDS(chorusx_coordinator_barrier(r->coordinator) == CHORUS_OK);
    HOLDS(chorusx_coordinator_begin(r->coordinator) == CHORUS_OK);
    if (step % 2 == 0) receive(r, step, 0, previous);
    send(r, step, 0, next);
    send(r, step, 1, previous);
    if (step % 2 != 0) receive(r, step, 0, previous);
    receive(r, step, 1, next);
    HOLDS(chorusx_coordinator_end(r->coordinator) == CHORUS_OK);
    HOLDS(chorusx_coordinator_synchronize(r->coordinator) == CHORUS_OK);
    HOLDS(is_from(place(r, step, 0), previous, step));
    HOLDS(is_from(place(r, step, 1), next, step));
}

static void exchange_steps(chorusx_communicator_t communicator, chorus_stream_t stream)
{
    struct ring r;

    open_ring(&r, communicator, stream);
    for (int step = 1; step <= STEPS; step++)
        exchange(&r, step);
    close_ring(&r);
}

static chorusx_environment_t open_environment(void)
{
    chorusx_environment_t e = CHORUSX_ENVIRONMENT_INVALID;

    HOLDS(chorusx_environment_create(backend, &e) == CHORUS_OK);
    return e;
}

static void messages__in_groups__arrive(void)
{
    const chorusx_environment_t e = open_environment();

    exchange_steps(chorusx_environment_world(e), NULL);
    HOLDS(chorusx_environment_destroy(e) == CHORUS_OK);
}

/* From PE to PE around the ring, each waiting for the one before. */
static void messages__one_by_one__arrive(void)
{
    const chorusx_environment_t e = open_environment();
    struct ring r;
    int next;

    open_ring(&r, chorusx_environment_world(e), NULL);
    next = (r.me + 1) % r.n;
    fill(r.source, r.me, 1);
    if (r.n > 1 && r.me > 0) receive(&r, 1, 0, r.me - 1);
    if (r.n > 1) send(&r, 1, 0, next);
    if (r.n > 1 && r.me == 0) receive(&r, 1, 0, r.n - 1);
    HOLDS(r.n == 1 || is_from(place(&r, 1, 0), (r.me + r.n - 1) % r.n, 1));
    HOLDS(chorusx_coordinator_barrier(r.coordinator) == CHORUS_OK);
    close_ring(&r);
    HOLDS(chorusx_environment_destroy(e) == CHORUS_OK);
}

static void messages__on_a_stream__arrive(void)
{
    const chorusx_environment_t e = open_environment();
    chorus_stream_t stream = NULL;
    chorusx_coordinator_t refused;

    if (strcmp(backend, "mpi") == 0) {
        REFUSES(chorusx_coordinator_create(chorusx_environment_world(e), CHORUSX_LAUNCH_HOST,
                                           (chorus_stream_t)&refused, &refused),
                CHORUS_ERR_UNSUPPORTED, "MPI has no calls on streams");
    } else {
        HOLDS(chorusx_stream_create(&stream) == CHORUS_OK);
        exchange_steps(chorusx_environment_world(e), stream);
        HOLDS(chorusx_stream_destroy(stream) == CHORUS_OK);
    }
    HOLDS(chorusx_environment_destroy(e) == CHORUS_OK);
}

/* --- communicators ------------------------------------------------------------------------ */
static void communicators__split__have_the_pes_of_a_colour(void)
{
    const chorusx_environment_t e = open_environment();
    const chorusx_communicator_t world = chorusx_environment_world(e);
    const int me = chorusx_communicator_my_pe(world), n = chorusx_communicator_n_pes(world);
    chorusx_communicator_t half = NULL, none = world;

    HOLDS(chorusx_communicator_split(world, me % 2, &half) == CHORUS_OK);
    HOLDS(chorusx_communicator_my_pe(half) == me / 2);
    HOLDS(chorusx_communicator_n_pes(half) == (n + 1 - me % 2) / 2);
    exchange_steps(half, NULL);
    REFUSES(chorusx_environment_destroy(e), CHORUS_ERR_STATE, "a communicator is left");
    HOLDS(chorusx_communicator_destroy(half) == CHORUS_OK);
    HOLDS(chorusx_communicator_split(world, me == 0 ? 5 : -1, &none) == CHORUS_OK);
    HOLDS((none != NULL) == (me == 0));
    HOLDS(chorusx_communicator_destroy(none) == CHORUS_OK);
    REFUSES(chorusx_communicator_destroy(world), CHORUS_ERR_ARG, "the world ends");
    HOLDS(chorusx_environment_destroy(e) == CHORUS_OK);
}

/* --- collective calls --------------------------------------------------------------------- */
static void check_moves(const struct ring *r, uint32_t *dest, uint32_t *source)
{
    const size_t bytes = WORDS * sizeof(uint32_t);

    fill(source, r->me, 1);
    HOLDS(chorusx_coordinator_fcollect(r->coordinator, dest, source, bytes) == CHORUS_OK);
    for (int pe = 0; pe < r->n; pe++)
        HOLDS(is_from(dest + (size_t)pe * WORDS, pe, 1));
    for (int pe = 0; pe < r->n; pe++)
        fill(source + (size_t)pe * WORDS, r->me, 10 + pe);
    HOLDS(chorusx_coordinator_alltoall(r->coordinator, dest, source, bytes) == CHORUS_OK);
    for (int pe = 0; pe < r->n; pe++)
        HOLDS(is_from(dest + (size_t)pe * WORDS, pe, 10 + r->me));
    fill(source, r->me, 2);
    HOLDS(chorusx_coordinator_broadcast(r->coordinator, dest, source, bytes, r->n - 1) ==
          CHORUS_OK);
    HOLDS(is_from(dest, r->n - 1, 2));
}

#define CHECK_REDUCE(T, TYPE, r, dest, source)                                   \
    do {                                                                         \
        T *const to = (T *)(void *)(dest), *const from = (T *)(void *)(source);  \
        T sum = 0;                                                               \
                                                                                 \
        for (int pe = 0; pe < (r)->n; pe++)                                      \
            sum += (T)(pe * 3 + 1);                                              \
        for (int i = 0; i < 10; i++)                                             \
            from[i] = (T)((r)->me * 3 + 1);                                      \
        HOLDS(chorusx_coordinator_reduce((r)->coordinator, to, from, 10, TYPE,   \
                                         CHORUS_OP_sum) == CHORUS_OK);           \
        HOLDS(to[0] == sum && to[9] == sum);                                     \
        HOLDS(chorusx_coordinator_reduce((r)->coordinator, to, from, 10, TYPE,   \
                                         CHORUS_OP_max) == CHORUS_OK);           \
        HOLDS(to[9] == (T)((r)->n * 3 - 2));                                     \
        HOLDS(chorusx_coordinator_reduce((r)->coordinator, from, from, 10, TYPE, \
                                         CHORUS_OP_min) == CHORUS_OK);           \
        HOLDS(from[0] == 1 && from[9] == 1);                                     \
    } while (0)

static void collectives__of_all_types__have_their_results(void)
{
    const chorusx_environment_t e = open_environment();
    const chorusx_communicator_t world = chorusx_environment_world(e);
    const size_t bytes = (size_t)chorusx_communicator_n_pes(world) * WORDS * sizeof(uint32_t);
    uint32_t *dest, *source;
    struct ring r;

    open_ring(&r, world, NULL);
    dest = chorusx_communicator_malloc(world, bytes);
    source = chorusx_communicator_malloc(world, bytes);
    check_moves(&r, dest, source);
    CHECK_REDUCE(int32_t, CHORUS_TYPE_i32, &r, dest, source);
    CHECK_REDUCE(int64_t, CHORUS_TYPE_i64, &r, dest, source);
    CHECK_REDUCE(uint32_t, CHORUS_TYPE_u32, &r, dest, source);
    CHECK_REDUCE(uint64_t, CHORUS_TYPE_u64, &r, dest, source);
    CHECK_REDUCE(float, CHORUS_TYPE_f32, &r, dest, source);
    CHECK_REDUCE(double, CHORUS_TYPE_f64, &r, dest, source);
    REFUSES(chorusx_coordinator_reduce(r.coordinator, dest, source, 1, CHORUS_TYPE_f16,
                                       CHORUS_OP_sum),
            CHORUS_ERR_ARG, "the type is not");
    REFUSES(chorusx_coordinator_broadcast(r.coordinator, dest, source, 1, r.n), CHORUS_ERR_ARG,
            "root");
    HOLDS(chorusx_communicator_free(world, source) == CHORUS_OK);
    HOLDS(chorusx_communicator_free(world, dest) == CHORUS_OK);
    close_ring(&r);
    HOLDS(chorusx_environment_destroy(e) == CHORUS_OK);
}

/* --- work, and mistakes ------------------------------------------------------------------- */
static void add_one(void *arg, chorus_stream_t stream)
{
    (void)stream;
    ++*(int *)arg;
}

static void work__is_bound_to_modes__that_of_the_mode_is_launched(void)
{
    const chorusx_environment_t e = open_environment();
    int of_host = 0, of_device = 0;
    chorusx_coordinator_device_t handle;
    chorusx_coordinator_t c;

    HOLDS(chorusx_coordinator_create(chorusx_environment_world(e), CHORUSX_LAUNCH_HOST, NULL,
                                     &c) == CHORUS_OK);
    REFUSES(chorusx_coordinator_launch(c), CHORUS_ERR_STATE, "nothing is bound");
    HOLDS(chorusx_coordinator_bind(c, CHORUSX_LAUNCH_HOST, add_one, &of_host) == CHORUS_OK);
    HOLDS(chorusx_coordinator_bind(c, CHORUSX_LAUNCH_DEVICE, add_one, &of_device) == CHORUS_OK);
    HOLDS(chorusx_coordinator_launch(c) == CHORUS_OK);
    HOLDS(chorusx_coordinator_launch(c) == CHORUS_OK);
    HOLDS(of_host == 2 && of_device == 0);
    REFUSES(chorusx_coordinator_device(c, &handle), CHORUS_ERR_STATE, "make no calls");
    HOLDS(chorusx_coordinator_destroy(c) == CHORUS_OK);
    HOLDS(chorusx_environment_destroy(e) == CHORUS_OK);
}

static void calls__that_are_wrong__say_why(void)
{
    const chorusx_environment_t e = open_environment();
    const chorusx_communicator_t world = chorusx_environment_world(e);
    const int n = chorusx_communicator_n_pes(world);
    chorusx_environment_t none = e;
    chorusx_coordinator_t c = NULL;
    uint64_t signal = 0;

    REFUSES(chorusx_environment_create("tcp", &none), CHORUS_ERR_ARG, "no backend 'tcp'");
    HOLDS(none == NULL);
    REFUSES(chorusx_coordinator_create(world, CHORUSX_LAUNCH_DEVICE, NULL, &c),
            CHORUS_ERR_UNSUPPORTED, "CHORUSX_LAUNCH_HOST");
    REFUSES(chorusx_coordinator_create(world, (chorusx_launch_mode_t)3, NULL, &c),
            CHORUS_ERR_ARG, "does not exist");
    HOLDS(chorusx_coordinator_create(world, CHORUSX_LAUNCH_HOST, NULL, &c) == CHORUS_OK);
    REFUSES(chorusx_coordinator_post(c, &signal, &signal, 8, &signal, 1, n), CHORUS_ERR_ARG,
            "there is no PE");
    REFUSES(chorusx_coordinator_post(c, &signal, NULL, 8, &signal, 1, 0), CHORUS_ERR_ARG,
            "source is null");
    REFUSES(chorusx_coordinator_acknowledge(c, &signal, 8, NULL, 1, 0), CHORUS_ERR_ARG,
            "the signal is null");
    if (strcmp(backend, "mpi") == 0)
        REFUSES(chorusx_coordinator_post(c, &signal, &signal, (size_t)1 << 31, &signal, 1, 0),
                CHORUS_ERR_ARG, "less than 2 GiB");
    REFUSES(chorusx_coordinator_end(c), CHORUS_ERR_STATE, "no group has begun");
    HOLDS(chorusx_coordinator_begin(c) == CHORUS_OK);
    REFUSES(chorusx_coordinator_begin(c), CHORUS_ERR_STATE, "a group has begun");
    REFUSES(chorusx_coordinator_barrier(c), CHORUS_ERR_STATE, "a group has begun");
    REFUSES(chorusx_coordinator_destroy(c), CHORUS_ERR_STATE, "a group is not ended");
    HOLDS(chorusx_coordinator_end(c) == CHORUS_OK);
    HOLDS(chorusx_coordinator_destroy(c) == CHORUS_OK);
    HOLDS(chorusx_communicator_my_pe(NULL) == -1 && chorusx_environment_world(NULL) == NULL);
    HOLDS(chorusx_environment_destroy(e) == CHORUS_OK);
}

/* --- main --------------------------------------------------------------------------------- */
/* clang-format off */
#define BODIES(X)                                              \
    X(messages__in_groups__arrive)                             \
    X(messages__one_by_one__arrive)                            \
    X(messages__on_a_stream__arrive)                           \
    X(communicators__split__have_the_pes_of_a_colour)          \
    X(collectives__of_all_types__have_their_results)           \
    X(work__is_bound_to_modes__that_of_the_mode_is_launched)   \
    X(calls__that_are_wrong__say_why)
/* clang-format on */

/* MPI starts only once: one environment is there from the first body to the last. */
static int main_of_mpi(void)
{
    const chorusx_environment_t first = open_environment();

#define X(body) body();
    BODIES(X)
#undef X
    if (chorusx_environment_destroy(first) != CHORUS_OK) n_failed++;
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static const struct api_case cases[] = {BODIES(API_CASE)};

    if (argc == 2 && strcmp(argv[1], "mpi") == 0) {
        backend = argv[1];
        return main_of_mpi();
    }
    return api_main(argc, argv, cases, (int)(sizeof(cases) / sizeof(cases[0])));
}

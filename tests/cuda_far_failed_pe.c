/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_far_failed_pe.c: one of two PEs on two hosts, as for cuda_far_pe.c: what the network
 * does with what kernels have posted that failed, and what must not wait for it.
 */
#include "api/context.h"
#include "chorus/chorusx.h"
#include "cuda_fake.h"
#include "cuda_far.h"
#include "team/device.h"
#include "team/routes.h"
#include "transport/network.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 400 << 10, VALUE = 77, POISON = 0xee };

static int n_failed;

#define EXPECT(condition)                                                            \
    do {                                                                             \
        if (!(condition)) {                                                          \
            n_failed++;                                                              \
            (void)fprintf(stderr, "PE %d: not %s; %s\n", chorus_my_pe(), #condition, \
                          chorusx_last_error());                                     \
        }                                                                            \
    } while (0)

static void meet(void)
{
    chorus_free(chorus_malloc(64));
}

static int peer(void)
{
    return 1 - chorus_my_pe();
}

static bool is_all(const char *memory, int byte)
{
    for (size_t i = 0; i < BYTES; i++)
        if (memory[i] != (char)byte) return false;
    return true;
}

static struct ch_network *network(void)
{
    return ch_context_get()->links->network;
}

/* The peer's address of an object. */
static uint64_t address_there(const void *object)
{
    return (uintptr_t)object + (uint64_t)ch_context_get()->links->to[peer()].shift;
}

static const struct ch_ring *ring(void)
{
    return ch_links_ring(ch_context_get()->links);
}

/* --- a network that does not get on ------------------------------------------------------- */
/* The network, whose is_sent is false while this is set. */
static bool is_held;
static struct ch_link_ops held_ops;
static const struct ch_link_ops *true_ops;

static bool held_is_sent(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    return !__atomic_load_n(&is_held, __ATOMIC_ACQUIRE) && true_ops->is_sent(ep, ctx, pe);
}

static bool never_all_sent(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    return pe != CH_LINK_ALL && true_ops->is_sent(ep, ctx, pe);
}

static void change_ops(const struct ch_link_ops *ops)
{
    ch_network_lock(network());
    network()->ops = ops;
    ch_network_unlock(network());
}

/* True once all of the program's operations to a peer are done, and someone has asked. */
static bool was_done;

static bool noted_is_done(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    const bool is_done = true_ops->is_done(ep, ctx, pe);

    if (ctx == CH_CTX_DEFAULT && is_done) was_done = true;
    return is_done;
}

static void change_is_sent(bool (*is_sent)(struct ch_endpoint *, uint32_t, uint32_t))
{
    true_ops = network()->ops;
    held_ops = *true_ops;
    held_ops.is_sent = is_sent;
    held_ops.is_done = noted_is_done;
    change_ops(&held_ops);
}

static void hold(void)
{
    is_held = true;
    change_is_sent(held_is_sent);
}

/* --- memory of what has failed ------------------------------------------------------------ */
/* The failed get was done when the program learned of it: the program's own data stays. */
static void expect_settled(char *dest)
{
    EXPECT(was_done);
    change_ops(true_ops);
    memset(dest, POISON, BYTES);
    chorus_quiet();
    EXPECT(is_all(dest, POISON));
}

/* The kernel of a get ends before the data is there. */
static void get(cudaStream_t stream)
{
    char *const source = chorus_calloc(BYTES, 1), *const dest = malloc(BYTES);

    memset(dest, POISON, BYTES);
    change_is_sent(network()->ops->is_sent);
    was_done = false;
    far_kernels.fails = CHORUS_ERR_TIMEOUT;
    far_kernels.posts = true;
    EXPECT(chorusx_getmem_on_stream(dest, source, BYTES, peer(), (void *)stream) == CHORUS_OK);
    far_kernels.fails = CHORUS_OK;
    far_kernels.posts = false;
    EXPECT(chorusx_stream_synchronize((void *)stream) == CHORUS_ERR_TIMEOUT);
    expect_settled(dest);
    meet();
    free(dest);
    chorus_free(source);
}

static struct ch_device_state state(void)
{
    struct ch_device_state is = {0};

    EXPECT(chorusx_device_state(&is, sizeof(is)) == CHORUS_OK);
    return is;
}

/* Post a get inside a kernel, which then fails without having waited for the data. */
static void fail_get_inside(void *dest, const void *source)
{
    const struct ch_device_state is = state();
    const struct far_call call = {.what = FAR_CALL_GET,
                                  .pe = (uint32_t)peer(),
                                  .there = address_there(source),
                                  .local = dest,
                                  .bytes = BYTES};

    EXPECT(far_make_inside(&is, &call) == CHORUS_OK);
    far_report(&is, CHORUS_ERR_TIMEOUT, call.pe);
}

/* The program learns of the failure. */
static void get_inside(void)
{
    char *const source = chorus_calloc(BYTES, 1), *const dest = malloc(BYTES), named[32];

    change_is_sent(network()->ops->is_sent);
    was_done = false;
    fail_get_inside(dest, source);
    EXPECT(chorusx_stream_synchronize(NULL) == CHORUS_ERR_TIMEOUT);
    (void)snprintf(named, sizeof(named), "waited for PE %d: ", peer());
    EXPECT(strstr(chorusx_last_error(), named) != NULL);
    expect_settled(dest);
    meet();
    free(dest);
    chorus_free(source);
}

static chorus_team_t make_team(void)
{
    chorus_team_t team = CHORUS_TEAM_INVALID;

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, 2, NULL, 0, &team) == 0);
    return team;
}

/* A collective on the team fails, and the program learns of it. */
static void fail_collective(chorus_team_t team, cudaStream_t stream)
{
    cuda_fake.fails_kernels = 1;
    EXPECT(chorusx_team_sync_on_stream(team, (void *)stream) == CHORUS_OK);
    cuda_fake.fails_kernels = 0;
    EXPECT(chorusx_stream_synchronize((void *)stream) == CHORUS_ERR_TIMEOUT);
}

static void put(void *dest, const void *source)
{
    EXPECT(far_post(ring(), &(struct far_post){.op = FAR_PUT,
                                               .pe = (uint32_t)peer(),
                                               .there = address_there(dest),
                                               .source = source,
                                               .bytes = BYTES}) == CHORUS_OK);
}

/* A collective fails whose kernels have posted a put. */
static void collective(cudaStream_t stream)
{
    char *const dest = chorus_calloc(BYTES, 1), *const source = malloc(BYTES);
    const chorus_team_t team = make_team();

    memset(source, VALUE, BYTES);
    put(dest, source);
    fail_collective(team, stream);
    memset(source, POISON, BYTES);
    meet();
    chorus_team_destroy(team);
    EXPECT(is_all(dest, VALUE));
    meet();
    free(source);
    chorus_free(dest);
}

/* --- completion words --------------------------------------------------------------------- */
static void flush(uint64_t *word)
{
    EXPECT(far_post(ring(), &(struct far_post){.op = FAR_FLUSH,
                                               .pe = (uint32_t)peer(),
                                               .word = word,
                                               .value = VALUE}) == CHORUS_OK);
}

/* A flush of a kernel is not over when its team is destroyed, and its word freed. */
static void word_of_a_team(cudaStream_t stream)
{
    uint64_t *const words = chorus_calloc(1, sizeof(*words)), *done = NULL;
    const chorus_team_t team = make_team();
    struct ch_team *inside = NULL;

    EXPECT(ch_team_get(ch_context_get()->teams, team, &inside) == CHORUS_OK);
    done = inside->routes->done;
    hold();
    flush(done);
    EXPECT(ch_links_drain_posts(ch_context_get()->links) == CHORUS_OK);
    chorus_team_destroy(team);
    __atomic_store_n(&is_held, false, __ATOMIC_RELEASE);
    EXPECT(chorusx_signal_op_on_stream(words, 1, CHORUS_SIGNAL_SET, peer(), (void *)stream) ==
           CHORUS_OK);
    EXPECT(*done != VALUE);
    change_ops(true_ops);
    meet();
    chorus_free(words);
}

enum { PLACES = 1024, OBJECTS = 60 }; /* for data of requests; of the test */

/* Post message number i: to one of the objects, and to the word. */
static void send_message(const uint64_t *words, uint64_t i)
{
    const uint64_t there = address_there(words);

    EXPECT(far_post(ring(), &(struct far_post){.op = FAR_INLINE,
                                               .pe = (uint32_t)peer(),
                                               .there = there + (1 + i % OBJECTS) * 8,
                                               .word = (uint64_t *)(uintptr_t)there,
                                               .value = i}) == CHORUS_OK);
}

/* Messages in requests wait while the network may read what their places held. It is enough
 * that it has sent that once, whatever it sends to all peers. */
static void many_messages(void)
{
    enum { MANY = 5000, STEPS = 200 };
    uint64_t *const words = chorus_calloc(1 + OBJECTS, sizeof(*words));
    bool has_moved;

    hold();
    for (uint64_t i = 1; i < 2 * PLACES; i++)
        send_message(words, i);
    for (int i = 0; i < STEPS; i++)
        EXPECT(network()->progress.make(&network()->progress, &has_moved) == CHORUS_OK);
    meet();
    EXPECT(__atomic_load_n(words, __ATOMIC_ACQUIRE) <= PLACES);
    meet();
    change_ops(true_ops);
    change_is_sent(never_all_sent);
    for (uint64_t i = 2 * PLACES; i <= MANY; i++)
        send_message(words, i);
    while (__atomic_load_n(words, __ATOMIC_ACQUIRE) != MANY)
        (void)sched_yield();
    for (uint64_t i = MANY; i > MANY - OBJECTS; i--)
        EXPECT(words[1 + i % OBJECTS] == i);
    change_ops(true_ops);
    meet();
    chorus_free(words);
}

enum { FLUSHES_MAX = 1024 }; /* that can be under way */

/* The network gets on after a while. */
static void *release_later(void *arg)
{
    (void)arg;
    (void)usleep(100000);
    __atomic_store_n(&is_held, false, __ATOMIC_RELEASE);
    return NULL;
}

/* A program that does not ask for the failure frees the object that a get in the ring is for.
 */
static void freed_unasked(void)
{
    char *const source = chorus_calloc(BYTES, 1), *dest = chorus_calloc(BYTES, 1);
    static uint64_t words[1];
    pthread_t thread;

    memset(source, VALUE, BYTES);
    meet();
    hold();
    for (int i = 0; i < FLUSHES_MAX; i++)
        flush(words);
    fail_get_inside(dest, source);
    EXPECT(pthread_create(&thread, NULL, release_later, NULL) == 0);
    chorus_free(dest);
    dest = chorus_malloc(BYTES);
    memset(dest, POISON, BYTES);
    EXPECT(pthread_join(thread, NULL) == 0);
    EXPECT(ch_links_drain_posts(ch_context_get()->links) == CHORUS_OK);
    chorus_quiet();
    EXPECT(is_all(dest, POISON));
    EXPECT(chorusx_stream_synchronize(NULL) == CHORUS_ERR_TIMEOUT);
    change_ops(true_ops);
    meet();
    chorus_free(dest);
    chorus_free(source);
}

/* Requests that are in a broken ring when the program learns of a failure are dropped. */
static void broken_ring(cudaStream_t stream)
{
    char *const dest = chorus_calloc(BYTES, 1), *const source = calloc(BYTES, 1);
    const chorus_team_t team = make_team();
    uint64_t word = 0;

    memset(source, POISON, BYTES);
    hold();
    for (int i = 0; i < FLUSHES_MAX; i++)
        flush(&word);
    put(dest, source);
    far_break(ring());
    fail_collective(team, stream);
    __atomic_store_n(&is_held, false, __ATOMIC_RELEASE);
    meet();
    EXPECT(word == 0 && is_all(dest, 0));
    change_ops(true_ops);
    meet();
    free(source);
    chorus_free(dest);
}

int main(void)
{
    cudaStream_t stream = NULL;

    cuda_fake_reset();
    cuda_fake.run_post = far_run;
    if (chorus_init() != CHORUS_OK) {
        (void)fprintf(stderr, "init: %s\n", chorusx_last_error());
        return EXIT_FAILURE;
    }
    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    get(stream);
    get_inside();
    collective(stream);
    word_of_a_team(stream);
    many_messages();
    freed_unasked();
    broken_ring(stream);
    EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
    chorus_finalize();
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* coordinator_chorus.c: the coordinator's backend of Chorus. */
#include "apps/coordinator.h"

/* --- teams -------------------------------------------------------------------------------- */
static int fill_in(const char *function, struct chorusx_communicator *communicator,
                   chorus_team_t team)
{
    communicator->team = team;
    communicator->me = chorus_team_my_pe(team);
    communicator->n = chorus_team_n_pes(team);
    communicator->in_job = calloc((size_t)communicator->n, sizeof(*communicator->in_job));
    if (communicator->in_job == NULL)
        return chorusx_fail(CHORUS_ERR_NOMEM, function, "no memory for the communicator");
    for (int pe = 0; pe < communicator->n; pe++)
        communicator->in_job[pe] = chorus_team_translate_pe(team, pe, CHORUS_TEAM_WORLD);
    return CHORUS_OK;
}

static int start(const char *function, struct chorusx_communicator *world, bool *is_starter)
{
    int code = CHORUS_OK;

    *is_starter = chorus_n_pes() < 1;
    if (*is_starter) code = chorus_init();
    if (code != CHORUS_OK) return chorusx_fail(code, function, NULL);
    code = fill_in(function, world, CHORUS_TEAM_WORLD);
    if (code != CHORUS_OK && *is_starter) chorus_finalize();
    return code;
}

static int end(const char *function, struct chorusx_communicator *world, bool is_starter)
{
    (void)function;
    free(world->in_job);
    if (is_starter) chorus_finalize();
    return CHORUS_OK;
}

static int split(const char *function, const struct chorusx_communicator *parent, int color,
                 struct chorusx_communicator *split)
{
    chorus_team_t team;
    const int code = chorusx_team_split_color(parent->team, color, 0, &team);

    if (code != CHORUS_OK) return chorusx_fail(code, function, NULL);
    return color >= 0 ? fill_in(function, split, team) : CHORUS_OK;
}

static int leave(const char *function, struct chorusx_communicator *communicator)
{
    (void)function;
    chorus_team_destroy(communicator->team);
    free(communicator->in_job);
    return CHORUS_OK;
}

/* In memory of the host or of a GPU. */
static void clear(char *memory, size_t bytes)
{
    static const char zeros[4096];

    for (size_t at = 0; at < bytes; at += sizeof(zeros))
        chorus_putmem(memory + at, zeros,
                      bytes - at < sizeof(zeros) ? bytes - at : sizeof(zeros), chorus_my_pe());
}

static void *allocate(const char *function, const struct chorusx_communicator *communicator,
                      size_t bytes)
{
    void *memory = chorusx_team_malloc(communicator->team, bytes);
    int code = memory != NULL ? CHORUS_OK : CHORUS_ERR_NOMEM;

    if (memory != NULL) {
        clear(memory, bytes);
        code = chorus_barrier(communicator->team); /* before messages of peers */
    }
    if (code == CHORUS_OK) return memory;
    (void)chorusx_fail(code, function, NULL);
    return NULL;
}

static int release(const char *function, const struct chorusx_communicator *communicator,
                   void *memory)
{
    const int code = chorusx_team_free(communicator->team, memory);

    return code == CHORUS_OK ? code : chorusx_fail(code, function, NULL);
}

/* --- messages ----------------------------------------------------------------------------- */
static int check(const char *function, const struct chorusx_coordinator *coordinator)
{
    chorusx_heap_info_t heap;
    const int code = chorusx_heap_info(&heap);

    if (code != CHORUS_OK) return chorusx_fail(code, function, NULL);
    if (coordinator->mode == CHORUSX_LAUNCH_HOST || heap.heap != CHORUS_HEAP_host)
        return CHORUS_OK;
    return chorusx_fail(CHORUS_ERR_UNSUPPORTED, function,
                        "calls inside kernels need a heap on GPUs, and it is in host memory; "
                        "start the job with CHORUS_HEAP=cuda, or take CHORUSX_LAUNCH_HOST");
}

static int post(const char *function, struct chorusx_coordinator *coordinator,
                const struct ch_message *m)
{
    const int pe = coordinator->communicator->in_job[m->pe];
    int code = CHORUS_OK;

    if (coordinator->stream == NULL)
        chorus_putmem_signal(m->dest, m->source, m->bytes, m->signal, m->value,
                             CHORUS_SIGNAL_SET, pe);
    else
        code =
            chorusx_putmem_signal_on_stream(m->dest, m->source, m->bytes, m->signal, m->value,
                                            CHORUS_SIGNAL_SET, pe, coordinator->stream);
    return code == CHORUS_OK ? code : chorusx_fail(code, function, NULL);
}

/* Not before the posts of its group: the peers might wait for these. */
static int acknowledge(const char *function, struct chorusx_coordinator *coordinator,
                       const struct ch_message *m)
{
    struct ch_message *expected =
        ch_coordinator_grow(coordinator, coordinator->expected, sizeof(*expected));

    if (expected == NULL)
        return chorusx_fail(CHORUS_ERR_NOMEM, function, "no memory for the acknowledgement");
    coordinator->expected = expected;
    coordinator->expected[coordinator->n_pending++] = *m;
    return CHORUS_OK;
}

static int wait_for(const struct chorusx_coordinator *coordinator, const struct ch_message *m)
{
    if (coordinator->stream != NULL)
        return chorusx_signal_wait_until_on_stream(m->signal, CHORUS_CMP_GE, m->value,
                                                   coordinator->stream);
    return chorus_signal_wait_until(m->signal, CHORUS_CMP_GE, m->value) >= m->value
               ? CHORUS_OK
               : CHORUS_ERR_TIMEOUT;
}

static int complete(const char *function, struct chorusx_coordinator *coordinator)
{
    int code = CHORUS_OK;

    for (size_t i = 0; code == CHORUS_OK && i < coordinator->n_pending; i++)
        code = wait_for(coordinator, &coordinator->expected[i]);
    coordinator->n_pending = 0;
    return code == CHORUS_OK ? code : chorusx_fail(code, function, NULL);
}

/* --- collective calls --------------------------------------------------------------------- */
static int collect(const char *function, struct chorusx_coordinator *coordinator,
                   const struct ch_collective *collective)
{
    const chorusx_call call = {
        .coll = collective->coll,
        .team = coordinator->communicator->team,
        .dest = collective->dest,
        .source = collective->source,
        .count = collective->n,
        .type = collective->type,
        .op = collective->op,
        .root = collective->root,
    };
    int code;

    if (collective->coll == CHORUS_COLL_barrier)
        code = coordinator->stream == NULL
                   ? chorus_barrier(call.team)
                   : chorusx_barrier_on_stream(call.team, coordinator->stream);
    else
        code = chorusx_collective(&call, coordinator->stream);
    return code == CHORUS_OK ? code : chorusx_fail(code, function, NULL);
}

const struct ch_backend ch_backend_chorus = {
    .name = "chorus",
    .start = start,
    .end = end,
    .split = split,
    .leave = leave,
    .allocate = allocate,
    .release = release,
    .check = check,
    .post = post,
    .acknowledge = acknowledge,
    .complete = complete,
    .collect = collect,
};

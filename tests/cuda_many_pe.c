/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_many_pe.c: a PE of a job of more than 64 PEs with heaps on GPUs that are fakes, which
 * are far from each other (CHORUS_NODES), beside each other (CHORUS_P2P=0) or near.
 *
 *   cuda_many_pe [PARTS [FIRST]]
 *
 *   PARTS  letters: a for calls of each algorithm, p for teams until the pool is full
 *   FIRST  so many PEs are on one host, the others on another: few connections serve many PEs
 *
 * The code of routed kernels runs on the host, with the true routes, ring, proxy and network.
 */
#include "api/context.h"
#include "chorus/chorusx.h"
#include "coll/algorithm.h"
#include "cuda_fake.h"
#include "cuda_far.h"
#include "cuda_far_coll.h"
#include "cuda_pool.h"
#include "ref/ref_coll.h"
#include "team/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 3, ELEMENT = 4 };

#define TYPE CHORUS_TYPE_i32

static int n_failed, n, me;

static void expect(bool holds, const char *what, int line)
{
    if (holds) return;
    n_failed++;
    (void)fprintf(stderr, "PE %d, line %d: %s; %s\n", me, line, what, chorusx_last_error());
}

#define EXPECT(condition) expect(condition, #condition, __LINE__)

static void meet(void)
{
    chorus_free(chorus_malloc(64));
}

/* --- collectives -------------------------------------------------------------------------- */
/* Buffers of a team, for blocks of COUNT elements. */
struct site {
    chorus_team_t team;
    int n, me; /* PEs of the team, and the number of this one there */
    unsigned char *dest, *source;
    size_t *lists; /* of alltoallv: [4][n] */
};

static struct site site_of(chorus_team_t team)
{
    struct site s = {team, chorus_team_n_pes(team), chorus_team_my_pe(team), NULL, NULL, NULL};
    const size_t bytes = (size_t)n * COUNT * ELEMENT;

    s.dest = chorus_malloc(bytes);
    s.source = chorus_malloc(bytes);
    s.lists = malloc((size_t)4 * (size_t)n * sizeof(*s.lists));
    EXPECT(s.dest != NULL && s.source != NULL && s.lists != NULL);
    return s;
}

static void end_site(struct site *s)
{
    meet();
    free(s->lists);
    chorus_free(s->source);
    chorus_free(s->dest);
}

/* The lists of an alltoallv, as ref_coll.h has its blocks. */
static void set_lists(const struct site *s, chorusx_call *call)
{
    size_t *const lists = s->lists;

    for (int pe = 0; pe < s->n; pe++) {
        lists[pe] = ref_block(COUNT, (uint32_t)pe, (uint32_t)s->me);
        lists[s->n + pe] = (size_t)(s->n - 1 - pe) * COUNT;
        lists[2 * s->n + pe] = ref_block(COUNT, (uint32_t)s->me, (uint32_t)pe);
        lists[3 * s->n + pe] = (size_t)pe * COUNT;
    }
    call->dest_counts = lists;
    call->dest_offsets = lists + s->n;
    call->source_counts = lists + 2 * s->n;
    call->source_offsets = lists + 3 * s->n;
}

static chorusx_call call_of(const struct site *s, chorus_coll coll, unsigned round,
                            const char *algo)
{
    chorusx_call call = {
        .coll = coll,
        .team = s->team,
        .dest = s->dest,
        .source = s->source,
        .count = coll == CHORUS_COLL_barrier ? 0 : ref_own_count(coll, COUNT, (uint32_t)s->me),
        .type = TYPE,
        .op = CHORUS_OP_sum,
        .root = (int)(7 * round) % s->n,
        .algo = algo,
        .dst = 1,
        .sst = 1};

    if (coll == CHORUS_COLL_alltoallv) set_lists(s, &call);
    return call;
}

/* Fresh data for the source; dest is poisoned. */
static void fill(const struct site *s, chorus_coll coll, unsigned round)
{
    ref_poison(s->dest, (size_t)s->n * COUNT * ELEMENT);
    ref_fill(coll, TYPE, CHORUS_OP_sum, round, (uint32_t)s->me,
             ref_source_count(coll, (uint32_t)s->n, COUNT), s->source);
}

/* Is dest what the reference says? */
static bool is_right(const struct site *s, const chorusx_call *call, unsigned round)
{
    const uint32_t pes = (uint32_t)s->n, self = (uint32_t)s->me;
    const size_t source = ref_source_count(call->coll, pes, COUNT),
                 dest = ref_dest_count(call->coll, pes, COUNT);
    unsigned char *all = malloc(pes * source * ELEMENT + 1), *want = malloc(dest * ELEMENT + 1);
    const void **sources = malloc(pes * sizeof(*sources));
    bool is_equal;

    for (uint32_t pe = 0; pe < pes; pe++) {
        sources[pe] = all + pe * source * ELEMENT;
        ref_fill(call->coll, TYPE, CHORUS_OP_sum, round, pe, source,
                 all + pe * source * ELEMENT);
    }
    ref_poison(want, dest * ELEMENT);
    ref_expect(call->coll, TYPE, CHORUS_OP_sum, pes, (uint32_t)call->root, COUNT, sources, self,
               want);
    is_equal = !ref_has_dest(call->coll, (uint32_t)call->root, self) ||
               ref_compare(call->coll, TYPE, s->dest, want, dest) < 0;
    free(sources);
    free(want);
    free(all);
    return is_equal;
}

static void expect_right(const struct site *s, const chorusx_call *call, unsigned round)
{
    if (call->coll == CHORUS_COLL_barrier || is_right(s, call, round)) return;
    n_failed++;
    (void)fprintf(stderr, "PE %d: wrong result of %s, %s\n", me, ch_coll_names[call->coll],
                  call->algo != NULL ? call->algo : "by the rules");
}

/* Make the call, on a stream, or blocking if that is null. Returns its code. */
static int make(const struct site *s, chorus_coll coll, unsigned round, const char *algo,
                cudaStream_t stream)
{
    const chorusx_call call = call_of(s, coll, round, algo);
    int code;

    fill(s, coll, round);
    code = chorusx_collective(&call, (void *)stream);
    if (code == CHORUS_ERR_UNSUPPORTED) return code; /* on all PEs */
    if (code == CHORUS_OK && stream != NULL) code = chorusx_stream_synchronize((void *)stream);
    if (code == CHORUS_OK) expect_right(s, &call, round);
    meet(); /* no PE fills the memory that another one still reads */
    return code;
}

static void calls_by_rules(const struct site *s, cudaStream_t stream)
{
    for (int coll = 0; coll < CHORUS_COLL_COUNT; coll++) {
        const unsigned ran = far_coll.n;

        EXPECT(make(s, (chorus_coll)coll, 1 + (unsigned)coll, NULL, stream) == CHORUS_OK);
        EXPECT(far_coll.n > ran);
    }
}

/* Each algorithm that serves the team. */
static void calls_by_algorithm(const struct site *s, cudaStream_t stream)
{
    unsigned n_made = 0;

    for (unsigned i = 0; i < CH_ALGO_COUNT; i++) {
        const unsigned ran = far_coll.n;
        char name[64];
        int code;

        (void)snprintf(name, sizeof(name), "%s:%s", ch_algos[i].name,
                       ch_proto_names[ch_algos[i].proto]);
        code = make(s, ch_algos[i].coll, 100 + i, name, stream);
        if (code == CHORUS_ERR_UNSUPPORTED) continue;
        EXPECT(code == CHORUS_OK && far_coll.n > ran);
        n_made++;
    }
    EXPECT(n_made > 20);
}

/* A graph keeps the lists of an alltoallv, which the program changes when the call is queued,
 * and takes fresh data. */
static void replays_keep_lists(const struct site *s, cudaStream_t stream)
{
    const chorusx_call call = call_of(s, CHORUS_COLL_alltoallv, 0, NULL);

    far_coll.is_captured = 1;
    EXPECT(chorusx_collective(&call, (void *)stream) == CHORUS_OK);
    far_coll.is_captured = 0;
    memset(s->lists, 0, (size_t)4 * (size_t)s->n * sizeof(*s->lists));
    for (unsigned round = 200; round < 203; round++) {
        fill(s, CHORUS_COLL_alltoallv, round);
        if (ch_context_get()->links->network != NULL)
            ch_links_expect_posts(ch_context_get()->links);
        far_coll_replay();
        EXPECT(chorusx_stream_synchronize((void *)stream) == CHORUS_OK);
        expect_right(s, &call, round);
        meet();
    }
    far_coll_forget();
}

/* --- what calls inside kernels know of PEs --------------------------------------------------
 */
/* As the functions of these names in chorus_device.cuh. */
static bool is_far(const struct ch_device_state *state, uint32_t pe)
{
    return state->all != NULL ? state->all[pe].is_far : state->far >> pe & 1;
}

static ptrdiff_t shift_of(const struct ch_device_state *state, uint32_t pe)
{
    return state->all != NULL ? state->all[pe].shift : state->peers[pe].shift;
}

static void kernels_know_all_pes(void)
{
    const struct ch_context *context = ch_context_get();
    const struct ch_team *world = context->teams->slots[CHORUS_TEAM_WORLD].team;
    struct ch_device_state state;
    bool has_far = false;

    EXPECT(chorusx_device_state(&state, sizeof(state)) == CHORUS_OK);
    EXPECT(state.world.n == (uint32_t)n && state.world.me == (uint32_t)me);
    EXPECT((state.all != NULL) == (n > (int)CH_DEVICE_PES_MAX));
    EXPECT((state.world.remotes != NULL) ==
           (world->remotes != NULL || ch_team_is_large(world)));
    if (state.world.remotes == NULL) return;
    for (uint32_t pe = 0; pe < (uint32_t)n; pe++) {
        const bool is_near = ch_heap_is_near(context->heap, pe);

        has_far = has_far || !is_near;
        EXPECT(is_far(&state, pe) == !is_near);
        EXPECT(shift_of(&state, pe) == context->links->to[pe].shift);
        EXPECT(state.world.worlds[pe] == pe);
        EXPECT(memcmp(&state.world.peers[pe], &world->peers[pe], sizeof(struct ch_peer)) == 0);
        EXPECT((state.world.remotes[pe].link != NULL) ==
               (world->remotes != NULL && world->remotes[pe].link != NULL));
    }
    EXPECT(state.has_far == has_far);
}

/* --- the pool -------------------------------------------------------------------------------
 */
static void go_on(int code, const char *message)
{
    (void)code, (void)message;
}

/* Teams of all PEs until the pool has no room: then all PEs get the same error, what there is
 * works, and memory that teams give back serves others. */
static void pool_is_a_limit(cudaStream_t stream)
{
    enum { TEAMS_MAX = 64, WHOLE_POOL_BYTES = 64 << 20 };
    const struct ch_heap *heap = ch_context_get()->heap;
    const size_t before = pool_used(heap);
    chorus_team_t teams[TEAMS_MAX], more = CHORUS_TEAM_INVALID;
    int n_teams = 0, code = CHORUS_OK;

    if (!ch_heap_has_pool(heap)) return;
    while (n_teams < TEAMS_MAX && code == CHORUS_OK) {
        code = chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, n, NULL, 0, &teams[n_teams]);
        if (code == CHORUS_OK) n_teams++;
        EXPECT(pool_used(heap) <= pool_limit(heap));
    }
    if (code != CHORUS_OK) {
        EXPECT(code == CHORUS_ERR_NOMEM);
        EXPECT(strstr(chorusx_last_error(), "for messages between GPUs that are not near") !=
               NULL);
    }
    EXPECT(n_teams >= 1 || pool_limit(heap) < WHOLE_POOL_BYTES);
    if (me == 0)
        (void)printf("%d PEs: %zu of %zu bytes of the pool at the start, %zu with %d teams of "
                     "all more\n",
                     n, before, pool_limit(heap), pool_used(heap), n_teams);
    if (n_teams > 0) {
        struct site s = site_of(teams[n_teams - 1]);

        EXPECT(make(&s, CHORUS_COLL_reduce, 300, NULL, stream) == CHORUS_OK);
        end_site(&s);
    }
    for (int i = 0; i < n_teams; i++)
        chorus_team_destroy(teams[i]);
    EXPECT(pool_used(heap) == before);
    if (n_teams == 0) return;
    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, n, NULL, 0, &more) == CHORUS_OK);
    chorus_team_destroy(more);
}

/* The first n_first PEs are on a host of their own. */
static void choose_host(int n_first)
{
    const char *pe = getenv("CHORUS_PE");

    (void)setenv("CHORUS_NODE", pe != NULL && atoi(pe) < n_first ? "a" : "b", 1);
}

int main(int argc, char **argv)
{
    const char *const parts = argc > 1 ? argv[1] : "";
    cudaStream_t stream = NULL;
    struct site world;

    if (argc > 2) choose_host(atoi(argv[2]));
    cuda_fake_reset();
    cuda_fake.run_post = far_run;
    cuda_fake.run_call = far_coll_run;
    cuda_fake.fabric_error = CUDA_ERROR_NOT_SUPPORTED; /* PEs of other hosts are far */
    if (chorus_init() != CHORUS_OK) {
        (void)fprintf(stderr, "init: %s\n", chorusx_last_error());
        return EXIT_FAILURE;
    }
    chorusx_set_error_handler(go_on);
    n = chorus_n_pes();
    me = chorus_my_pe();
    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    kernels_know_all_pes();
    world = site_of(CHORUS_TEAM_WORLD);
    calls_by_rules(&world, stream);
    EXPECT(make(&world, CHORUS_COLL_alltoallv, 50, NULL, NULL) == CHORUS_OK);
    replays_keep_lists(&world, stream);
    if (strchr(parts, 'a') != NULL) calls_by_algorithm(&world, stream);
    end_site(&world);
    if (strchr(parts, 'p') != NULL) pool_is_a_limit(stream);
    EXPECT(cuda_fake.not_loaded == 0);
    EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
    chorus_finalize();
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

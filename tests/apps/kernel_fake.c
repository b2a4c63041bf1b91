/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_fake.c: the lanes of kernel_fake.h, and what their calls do. */
#define FAKE_OWN_CALLS
#include "apps/kernel_fake.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK_BYTES = 64 << 10, SHARED_MAX = 16, LATE_TURNS = 10000 };

/* Lanes that meet, those of a block or of a warp. */
struct group {
    unsigned lanes, came, round; /* lanes: that have not ended */
    unsigned n_set[2];           /* of the votes with even and odd numbers */
    const char *file;            /* where the first lane of this round waits */
    int line;
    uint64_t given[FAKE_WARP_LANES]; /* of a warp, by its lanes */
};

struct block {
    struct group all;
    struct group warps[FAKE_LANES_MAX / FAKE_WARP_LANES];
    const void *which[SHARED_MAX]; /* shared memory, by the place in the code */
    void *shared[SHARED_MAX];
};

struct lane {
    ucontext_t context;
    char *stack;
    unsigned block, thread;
    const struct group *waits; /* in its round `round`; null: it can go on */
    unsigned round;
    bool has_ended;
};

/* A kernel that runs. */
struct grid {
    void (*run)(void *arg);
    void *arg;
    unsigned blocks, threads, n_lanes, n_left, now;
    struct lane lanes[FAKE_LANES_MAX];
    struct block *of_blocks;
    unsigned late, late_turns; /* a block or a lane that waits, and for how long */
    bool is_late_lane;
    ucontext_t outside;
};

/* Of this thread; where PEs are fibers of a thread, it is set again after what may switch. */
static _Thread_local struct grid *grid;
static _Thread_local unsigned chance = 1;

void fake_seed(unsigned seed)
{
    chance = seed * 2654435761u + 1;
}

/* In [0, n). */
static unsigned random_below(unsigned n)
{
    chance = chance * 1664525u + 1013904223u;
    return (unsigned)((uint64_t)chance * n >> 32);
}

static struct lane *me(void)
{
    return &grid->lanes[grid->now];
}

static void give_up(const char *why, const char *file, int line)
{
    (void)fprintf(stderr, "PE %d, block %u, thread %u: %s, at %s:%d\n", chorus_my_pe(),
                  me()->block, me()->thread, why, file, line);
    exit(1);
}

/* --- fibers ------------------------------------------------------------------------------- */
static bool can_go_on(const struct lane *lane)
{
    return !lane->has_ended && (lane->waits == NULL || lane->waits->round != lane->round);
}

static void choose_late(void)
{
    grid->is_late_lane = random_below(2) == 0;
    grid->late = random_below((grid->is_late_lane ? grid->n_lanes : grid->blocks) + 1);
    grid->late_turns = random_below(LATE_TURNS);
}

static bool is_late(unsigned lane)
{
    return grid->late == (grid->is_late_lane ? lane : grid->lanes[lane].block);
}

/* Any lane that can go on, a late one only if no other can, and then at times after other PEs
 * have had time to see what it has not done. n_lanes: there is none. */
static unsigned choose(void)
{
    enum { US = 100 };
    const unsigned any = random_below(grid->n_lanes);
    unsigned late = grid->n_lanes;

    if (grid->late_turns-- == 0) choose_late();
    for (unsigned i = 0; i < grid->n_lanes; i++) {
        const unsigned at = (any + i) % grid->n_lanes;

        if (!can_go_on(&grid->lanes[at])) continue;
        if (!is_late(at)) return at;
        late = at;
    }
    if (late < grid->n_lanes && random_below(16) == 0) (void)usleep(US);
    return late;
}

static void switch_lane(const char *file, int line)
{
    const unsigned from = grid->now, to = choose();

    if (to == grid->n_lanes) give_up("all lanes wait at barriers, this one", file, line);
    if (to == from) return;
    grid->now = to;
    (void)swapcontext(&grid->lanes[from].context, &grid->lanes[to].context);
}

void fake_turn(void)
{
    if (grid != NULL) switch_lane("a turn", 0);
}

static void release(struct group *group)
{
    group->came = 0;
    group->round++;
}

/* A lane that has ended is waited for no longer. */
static void leave(struct group *group)
{
    group->lanes--;
    if (group->came > 0 && group->came == group->lanes) release(group);
}

static struct block *my_block(void)
{
    return &grid->of_blocks[me()->block];
}

static struct group *my_warp(void)
{
    return &my_block()->warps[me()->thread / FAKE_WARP_LANES];
}

static void lane_main(void)
{
    grid->run(grid->arg);
    me()->has_ended = true;
    leave(&my_block()->all);
    leave(my_warp());
    if (--grid->n_left == 0) (void)setcontext(&grid->outside);
    switch_lane("the end", 0);
}

static void start_lane(unsigned at)
{
    struct lane *lane = &grid->lanes[at];
    struct block *block = &grid->of_blocks[at / grid->threads];

    lane->block = at / grid->threads;
    lane->thread = at % grid->threads;
    block->all.lanes++;
    block->warps[lane->thread / FAKE_WARP_LANES].lanes++;
    lane->stack = malloc(STACK_BYTES);
    (void)getcontext(&lane->context);
    lane->context.uc_stack.ss_sp = lane->stack;
    lane->context.uc_stack.ss_size = STACK_BYTES;
    lane->context.uc_link = NULL;
    makecontext(&lane->context, lane_main, 0);
}

static void free_grid(struct grid *ended)
{
    for (unsigned i = 0; i < ended->n_lanes; i++)
        free(ended->lanes[i].stack);
    for (unsigned b = 0; b < ended->blocks; b++)
        for (unsigned i = 0; i < SHARED_MAX; i++)
            free(ended->of_blocks[b].shared[i]);
    free(ended->of_blocks);
    free(ended);
}

void fake_launch(void (*run)(void *arg), void *arg, unsigned blocks, unsigned threads)
{
    struct grid *mine = calloc(1, sizeof(*mine));

    mine->run = run;
    mine->arg = arg;
    mine->blocks = blocks;
    mine->threads = threads;
    mine->n_lanes = mine->n_left = blocks * threads;
    mine->of_blocks = calloc(blocks, sizeof(*mine->of_blocks));
    grid = mine;
    for (unsigned i = 0; i < mine->n_lanes; i++)
        start_lane(i);
    mine->now = choose();
    (void)swapcontext(&mine->outside, &mine->lanes[mine->now].context);
    grid = NULL;
    free_grid(mine);
}

/* --- lanes -------------------------------------------------------------------------------- */
struct fake_dim fake_thread(void)
{
    return (struct fake_dim){me()->thread, 0, 0};
}

struct fake_dim fake_block(void)
{
    return (struct fake_dim){me()->block, 0, 0};
}

struct fake_dim fake_threads(void)
{
    return (struct fake_dim){grid->threads, 1, 1};
}

struct fake_dim fake_blocks(void)
{
    return (struct fake_dim){grid->blocks, 1, 1};
}

unsigned fake_lane_of_warp(void)
{
    return me()->thread % FAKE_WARP_LANES;
}

void *fake_shared(const void *which, size_t bytes)
{
    struct block *block = my_block();
    unsigned i = 0;

    while (i < SHARED_MAX && block->shared[i] != NULL && block->which[i] != which)
        i++;
    if (i == SHARED_MAX) give_up("too many variables are shared", "CH_SHARED", 0);
    if (block->shared[i] == NULL) {
        block->which[i] = which;
        block->shared[i] = memset(malloc(bytes), 0xa5, bytes);
    }
    return block->shared[i];
}

static void meet(struct group *group, const char *file, int line)
{
    if (group->came == 0) {
        group->file = file;
        group->line = line;
    } else if (group->line != line || strcmp(group->file, file) != 0) {
        (void)fprintf(stderr, "%s:%d: other lanes wait here, and\n", group->file, group->line);
        give_up("this one waits elsewhere", file, line);
    }
    me()->waits = group;
    me()->round = group->round;
    if (++group->came == group->lanes) release(group);
    switch_lane(file, line);
    me()->waits = NULL;
}

/* The counter of the next vote is cleared between this one's barriers, when none uses it. */
static unsigned vote(struct group *group, int flag, const char *file, int line)
{
    const unsigned parity = group->round / 2 % 2;
    unsigned n;

    if (flag != 0) group->n_set[parity]++;
    meet(group, file, line);
    n = group->n_set[parity];
    group->n_set[1 - parity] = 0;
    meet(group, file, line);
    return n;
}

unsigned fake_vote_block(int flag, const char *file, int line)
{
    return vote(&my_block()->all, flag, file, line);
}

unsigned fake_vote_warp(int flag, const char *file, int line)
{
    return vote(my_warp(), flag, file, line);
}

unsigned fake_ballot(int flag, const char *file, int line)
{
    struct group *warp = my_warp();
    unsigned set = 0;

    warp->given[fake_lane_of_warp()] = flag != 0;
    meet(warp, file, line);
    for (unsigned i = 0; i < FAKE_WARP_LANES; i++)
        set |= (unsigned)(warp->given[i] != 0) << i;
    meet(warp, file, line);
    return set;
}

/* As of a GPU, a lane that there is not gives the value of this one. */
uint64_t fake_shuffle(uint64_t bits, unsigned from, const char *file, int line)
{
    struct group *warp = my_warp();
    uint64_t got = bits;

    warp->given[fake_lane_of_warp()] = bits;
    meet(warp, file, line);
    if (from < warp->lanes) got = warp->given[from];
    meet(warp, file, line);
    return got;
}

/* --- calls -------------------------------------------------------------------------------- */
/* What is around a call of the host, in which other PEs of this thread may run. */
static struct grid *before_call(void)
{
    fake_turn();
    return grid;
}

static void after_call(struct grid *mine)
{
    grid = mine;
    fake_turn();
}

#define DEFINE_BY_ONE(NAME, PARAMETERS, ARGUMENTS)           \
    void fake_##NAME PARAMETERS                              \
    {                                                        \
        struct grid *mine = before_call();                   \
                                                             \
        chorus_##NAME ARGUMENTS;                             \
        after_call(mine);                                    \
    }                                                        \
    void fake_##NAME##_warp PARAMETERS                       \
    {                                                        \
        (void)fake_vote_warp(0, #NAME, 1);                   \
        if (fake_lane_of_warp() == 0) fake_##NAME ARGUMENTS; \
        (void)fake_vote_warp(0, #NAME, 2);                   \
    }                                                        \
    void fake_##NAME##_block PARAMETERS                      \
    {                                                        \
        (void)fake_vote_block(0, #NAME, 1);                  \
        if (me()->thread == 0) fake_##NAME ARGUMENTS;        \
        (void)fake_vote_block(0, #NAME, 2);                  \
    }
FAKE_CALLS(DEFINE_BY_ONE)

/* The code of lane 0 is all lanes'. */
#define DEFINE_COLLECTIVE(NAME, PARAMETERS, ARGUMENTS)                               \
    static int call_##NAME PARAMETERS                                                \
    {                                                                                \
        struct grid *mine = before_call();                                           \
        const int code = chorus_##NAME ARGUMENTS;                                    \
                                                                                     \
        after_call(mine);                                                            \
        return code;                                                                 \
    }                                                                                \
    int fake_##NAME##_warp PARAMETERS                                                \
    {                                                                                \
        int fails;                                                                   \
                                                                                     \
        (void)fake_vote_warp(0, #NAME, 1);                                           \
        fails = fake_lane_of_warp() == 0 && call_##NAME ARGUMENTS != CHORUS_OK;      \
        return fake_vote_warp(fails, #NAME, 2) == 0 ? CHORUS_OK : CHORUS_ERR_STATE;  \
    }                                                                                \
    int fake_##NAME##_block PARAMETERS                                               \
    {                                                                                \
        int fails;                                                                   \
                                                                                     \
        (void)fake_vote_block(0, #NAME, 1);                                          \
        fails = me()->thread == 0 && call_##NAME ARGUMENTS != CHORUS_OK;             \
        return fake_vote_block(fails, #NAME, 2) == 0 ? CHORUS_OK : CHORUS_ERR_STATE; \
    }
FAKE_COLLECTIVES(DEFINE_COLLECTIVE)

void fake_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    struct grid *mine = before_call();

    chorusx_signal_op(sig_addr, signal, sig_op, pe);
    after_call(mine);
}

void fake_fence(void)
{
    struct grid *mine = before_call();

    chorus_fence();
    after_call(mine);
}

void fake_quiet(void)
{
    struct grid *mine = before_call();

    chorus_quiet();
    after_call(mine);
}

/* Of symmetric words; the host's call lets messages in. */
uint64_t fake_fetch(const uint64_t *sig_addr)
{
    struct grid *mine = before_call();
    const uint64_t value = chorus_signal_fetch(sig_addr);

    after_call(mine);
    return value;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int fake_wait_again(chorusx_wait_t *wait)
{
    const char *given = getenv("CHORUS_TIMEOUT");
    const uint64_t now = now_ns(), seconds = given != NULL ? strtoul(given, NULL, 10)
                                                           : (unsigned long)FAKE_SECONDS;

    if (wait->since_ns == 0) wait->since_ns = now;
    if (now - wait->since_ns > seconds * UINT64_C(1000000000))
        give_up("waits for ever", "a wait", 0);
    fake_turn();
    return 1;
}

static bool holds(uint64_t a, int cmp, uint64_t b)
{
    switch (cmp) {
#define X(name, operator)   \
    case CHORUS_CMP_##name: \
        return a operator b;
        CHORUS_CMP_LIST(X)
#undef X
    default:
        return false;
    }
}

uint64_t fake_wait_until(uint64_t *sig_addr, int cmp, uint64_t value)
{
    chorusx_wait_t wait = {0};
    uint64_t found = fake_fetch(sig_addr);

    while (!holds(found, cmp, value) && fake_wait_again(&wait))
        found = fake_fetch(sig_addr);
    return found;
}

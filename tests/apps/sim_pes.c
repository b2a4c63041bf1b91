/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_pes.c: a test of libchorus-apps on a simulated machine: PEs are fibers that run in a
 * random order, and a network delivers what they put in parts, late, and in any order, except
 * that the signal of a put comes after its data. A put reads its source when it is delivered.
 * Memory that is freed must not be the dest of anything that is under way. Hosts have two PEs;
 * some pairs of PEs access each other's memory. It is linked with the test and with the sources
 * of the library, in place of libchorus and of api_pes.c.
 *
 * usage: sim_NAME [SEEDS [FIRST]]     so many runs for each number of PEs, of the cases whose
 *                                     names begin as one of SIM_CASES; fails at a wrong value
 *                                     and where nothing can go on
 */
#include "chorus/chorusx.h"

#include "api_pes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum {
    STACK_BYTES = 256 << 10,
    ARENA_BYTES = 8 << 20, /* of symmetric memory */
    LINE = 64,
    OPS_MAX = 4096,
    SEEDS_DEFAULT = 40,
    PICKS_MAX = 200000 /* in a row in which nothing happens: a deadlock */
};

/* What is under way. */
struct op {
    uint32_t from, pe;
    size_t dest, word; /* offsets in the arena of pe */
    const char *source;
    size_t bytes;
    uint64_t value;
};

struct fiber {
    ucontext_t context;
    char *stack, *arena;
    size_t used; /* of the arena */
    bool has_ended;
};

static struct {
    uint64_t state; /* of random numbers */
    uint32_t n, now;
    int idle_picks;
    ucontext_t scheduler;
    struct fiber fibers[API_PES_MAX];
    struct op ops[OPS_MAX];
    size_t n_ops;
    uint64_t direct; /* a bit for each pair of PEs with access */
    /* Of collectives: what each PE brings, and how many have come to meeting points. */
    const void *blocks[API_PES_MAX];
    size_t bytes[API_PES_MAX];
    uint64_t n_met;
    void (*body)(void);
} sim;

static uint32_t random_below(uint32_t n)
{
    sim.state = sim.state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(((sim.state >> 32) * n) >> 32);
}

static void give_up(const char *why)
{
    (void)fprintf(stderr, "the simulation ends: %s, with %u PEs\n", why, sim.n);
    exit(1);
}

/* --- fibers and the network -----------------------------------------------------------------
 */
static void yield(void)
{
    (void)swapcontext(&sim.fibers[sim.now].context, &sim.scheduler);
}

/* Another fiber runs, perhaps. */
static void may_yield(void)
{
    if (random_below(3) == 0) yield();
}

static void add_op(struct op op)
{
    if (sim.n_ops == OPS_MAX) give_up("too much is under way");
    op.from = sim.now;
    sim.ops[sim.n_ops++] = op;
    sim.idle_picks = 0;
}

/* A part of the data of one operation, or its word. */
static void deliver(void)
{
    struct op *op = &sim.ops[random_below((uint32_t)sim.n_ops)];
    char *arena = sim.fibers[op->pe].arena;

    sim.idle_picks = 0;
    if (op->bytes > 0) {
        const size_t part = 1 + random_below((uint32_t)op->bytes);

        memcpy(arena + op->dest, op->source, part);
        op->dest += part;
        op->source += part;
        op->bytes -= part;
        return;
    }
    memcpy(arena + op->word, &op->value, sizeof(op->value));
    *op = sim.ops[--sim.n_ops];
}

static void run_fiber(void)
{
    sim.body();
    sim.fibers[sim.now].has_ended = true;
    yield();
}

static void start_fiber(struct fiber *f)
{
    f->used = 0;
    f->has_ended = false;
    if (f->stack == NULL) f->stack = malloc(STACK_BYTES);
    if (f->arena == NULL) f->arena = malloc(ARENA_BYTES);
    (void)getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = STACK_BYTES;
    f->context.uc_link = NULL;
    makecontext(&f->context, run_fiber, 0);
}

static uint32_t count_ended(void)
{
    uint32_t n = 0;

    for (uint32_t pe = 0; pe < sim.n; pe++)
        n += sim.fibers[pe].has_ended;
    return n;
}

static void run(void (*body)(void), uint32_t n, uint64_t seed)
{
    sim.body = body;
    sim.n = n;
    sim.n_ops = 0;
    sim.n_met = 0;
    sim.state = seed * UINT64_C(2654435761) + n;
    sim.direct = (uint64_t)random_below(UINT32_MAX) & random_below(UINT32_MAX);
    for (uint32_t pe = 0; pe < n; pe++)
        start_fiber(&sim.fibers[pe]);
    for (sim.idle_picks = 0; count_ended() < n; sim.idle_picks++) {
        if (sim.idle_picks > PICKS_MAX) give_up("nothing can go on");
        if (sim.n_ops > 0 && random_below(2) == 0) {
            deliver();
            continue;
        }
        sim.now = random_below(n);
        if (!sim.fibers[sim.now].has_ended)
            (void)swapcontext(&sim.scheduler, &sim.fibers[sim.now].context);
    }
}

/* --- the calls -------------------------------------------------------------------------------
 */
static void meet(void)
{
    const uint64_t all = (sim.n_met / sim.n + 1) * sim.n;

    sim.n_met++;
    sim.idle_picks = 0;
    while (sim.n_met < all)
        yield();
}

static size_t offset_of(const void *at)
{
    return (size_t)((const char *)at - sim.fibers[sim.now].arena);
}

int chorus_team_my_pe(chorus_team_t team)
{
    (void)team;
    return (int)sim.now;
}

int chorus_team_n_pes(chorus_team_t team)
{
    (void)team;
    return (int)sim.n;
}

/* Hosts have two PEs each: NODE is that of the caller. */
int chorus_team_translate_pe(chorus_team_t team, int pe, chorus_team_t other)
{
    (void)team;
    if (other != CHORUS_TEAM_NODE) return pe;
    return (uint32_t)pe / 2 == sim.now / 2 ? pe % 2 : -1;
}

int chorusx_team_create(chorus_team_t parent, const int pes[], int n, chorus_team_t *new_team)
{
    (void)parent;
    (void)pes;
    (void)n;
    *new_team = CHORUS_TEAM_INVALID;
    return CHORUS_ERR_UNSUPPORTED;
}

void chorus_team_destroy(chorus_team_t team)
{
    (void)team;
}

void *chorusx_team_malloc(chorus_team_t team, size_t bytes)
{
    struct fiber *f = &sim.fibers[sim.now];
    char *object = f->arena + f->used + LINE;

    (void)team;
    f->used += LINE + (bytes + LINE - 1) / LINE * LINE;
    if (f->used > ARENA_BYTES) give_up("the symmetric memory is full");
    memcpy(object - LINE, &bytes, sizeof(bytes));
    memset(object, 0, bytes);
    meet();
    return object;
}

/* Others may have memory in its place before what is under way to it arrives. */
int chorusx_team_free(chorus_team_t team, void *ptr)
{
    const size_t lo = offset_of(ptr);
    size_t bytes;

    (void)team;
    memcpy(&bytes, (char *)ptr - LINE, sizeof(bytes));
    meet();
    for (size_t i = 0; i < sim.n_ops; i++)
        if (sim.ops[i].pe == sim.now && sim.ops[i].word - lo < bytes)
            give_up("memory is freed to which something is under way");
    return CHORUS_OK;
}

static bool has_ops(uint32_t pe)
{
    for (size_t i = 0; i < sim.n_ops; i++)
        if (sim.ops[i].from == pe) return true;
    return false;
}

void chorus_quiet(void)
{
    while (has_ops(sim.now))
        yield();
}

int chorus_barrier(chorus_team_t team)
{
    (void)team;
    chorus_quiet();
    meet();
    return CHORUS_OK;
}

int chorus_collectmem(chorus_team_t team, void *dest, const void *source, size_t bytes)
{
    char *at = dest;

    (void)team;
    sim.blocks[sim.now] = source;
    sim.bytes[sim.now] = bytes;
    meet();
    for (uint32_t pe = 0; pe < sim.n; pe++) {
        memcpy(at, sim.blocks[pe], sim.bytes[pe]);
        at += sim.bytes[pe];
    }
    meet();
    return CHORUS_OK;
}

int chorus_my_pe(void)
{
    return (int)sim.now;
}

/* Of a PE to itself alone. */
void chorus_putmem(void *dest, const void *source, size_t bytes, int pe)
{
    (void)pe;
    memcpy(dest, source, bytes);
}

/* Only calls on streams ask, and these are not simulated. */
int chorus_addr_accessible(const void *addr, int pe)
{
    (void)addr;
    (void)pe;
    return 1;
}

void chorus_getmem(void *dest, const void *source, size_t bytes, int pe)
{
    (void)pe;
    memcpy(dest, source, bytes);
}

void *chorus_ptr(const void *addr, int pe)
{
    if ((uint32_t)pe != sim.now && (sim.direct >> (8 * sim.now + (uint32_t)pe) & 1) == 0)
        return NULL;
    return sim.fibers[pe].arena + offset_of(addr);
}

void chorus_putmem_signal_nbi(void *dest, const void *source, size_t bytes, uint64_t *sig_addr,
                              uint64_t signal, int sig_op, int pe)
{
    (void)sig_op;
    add_op((struct op){.pe = (uint32_t)pe,
                       .dest = offset_of(dest),
                       .word = offset_of(sig_addr),
                       .source = source,
                       .bytes = bytes,
                       .value = signal});
    may_yield();
}

void chorusx_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    (void)sig_op;
    add_op((struct op){.pe = (uint32_t)pe, .word = offset_of(sig_addr), .value = signal});
    may_yield();
}

size_t chorus_uint64_wait_until_any_vector(uint64_t *ivars, size_t n, const int *status,
                                           int cmp, const uint64_t *values)
{
    (void)cmp;
    for (;;) {
        for (size_t i = 0; i < n; i++)
            if (status[i] == 0 && ivars[i] >= values[i]) return i;
        yield();
    }
}

int chorusx_heap_info(chorusx_heap_info_t *info_out)
{
    *info_out = (chorusx_heap_info_t){.heap = CHORUS_HEAP_host};
    return CHORUS_OK;
}

int chorusx_fail(int code, const char *function, const char *message)
{
    (void)fprintf(stderr, "%s: %s\n", function, message);
    return code;
}

const char *chorusx_last_error(void)
{
    return "a wait failed";
}

/* --- what the cases use
 * ------------------------------------------------------------------------ */
int api_me(void)
{
    return (int)sim.now;
}

int api_n(void)
{
    return (int)sim.n;
}

int api_next(void)
{
    return (int)((sim.now + 1) % sim.n);
}

int api_previous(void)
{
    return (int)((sim.now + sim.n - 1) % sim.n);
}

void api_expect(bool holds, const char *condition, const char *file, int line)
{
    if (holds) return;
    (void)fprintf(stderr, "%s:%d: PE %u: %s\n", file, line, sim.now, condition);
    give_up("a condition fails");
}

void api_expect_failure(int got, int code, const char *part, const char *call, const char *file,
                        int line)
{
    (void)part;
    api_expect(got == code, call, file, line);
}

/* In place of usleep: so long that others make many steps. */
int sim_sleep(unsigned us);
int sim_sleep(unsigned us)
{
    for (unsigned i = 0; i < us / 10; i++) {
        sim.idle_picks = 0;
        yield();
    }
    return 0;
}

/* The others refuse what is wrong, and need no simulation. */
static bool is_simulated(const char *name)
{
    static const char *const beginnings[] = {SIM_CASES};

    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0) return true;
    return false;
}

int api_main(int argc, char **argv, const struct api_case *cases, int n_cases)
{
    const uint64_t n_seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : SEEDS_DEFAULT,
                   first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

    for (uint64_t seed = first; seed < first + n_seeds; seed++)
        for (uint32_t n = 1; n <= API_PES_MAX; n++)
            for (int i = 0; i < n_cases; i++)
                if (is_simulated(cases[i].name)) run(cases[i].body, n, seed);
    (void)printf("%llu seeds\n", (unsigned long long)n_seeds);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fiber.c: fibers and the adversary that says which of them runs.
 *
 * A fiber is started with setcontext and switched with _setjmp and _longjmp, which make no
 * system call. Fibers outlive a run that succeeds and wait for the next at the end of their
 * loop; those of a run that failed are started anew.
 */
#include "sim/engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define STACK_BYTES (128u << 10)
/* Far more turns than any run of ours takes: somebody is busy without getting anywhere. */
#define TURNS_MAX (1u << 24)

/* What comes out of sim.outside. */
enum { RUN_FAILED = 1, RUN_DONE };

struct sim sim;
static unsigned char stacks[SIM_COUNTED_FIBERS_MAX][STACK_BYTES] __attribute__((aligned(64)));
static void (*run_body)(uint32_t pe, uint32_t lane);

uint32_t sim_random(uint32_t below)
{
    sim.random ^= sim.random << 13;
    sim.random ^= sim.random >> 7;
    sim.random ^= sim.random << 17;
    return (uint32_t)((sim.random >> 32) * below >> 32);
}

bool sim_chance(uint32_t in_16)
{
    return sim_random(16) < in_16;
}

const char *sim_message(void)
{
    return sim.message;
}

void sim_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(sim.message, sizeof(sim.message), format, args);
    va_end(args);
    _longjmp(sim.outside, RUN_FAILED);
}

static void fail_deadlock(void)
{
    char text[sizeof(sim.message)] = "nobody can go on:";
    size_t used = strlen(text);

    for (uint32_t f = 0; f < sim.fibers && used < sizeof(text); f++) {
        const struct sim_fiber *it = &sim.fiber[f];
        const struct sim_version *latest = NULL;
        const char *place = "the other lanes";

        if (it->is_done || sim_is_idle_link(it)) continue;
        if (sim_is_shared(it->watch)) {
            const size_t cell = (uintptr_t)it->watch % SIM_BLOCK_BYTES / 8;
            latest = sim_block_at(it->watch)->latest[cell];
            place = sim_place(it->watch);
        }
        used += (size_t)snprintf(
            text + used, sizeof(text) - used,
            "\n  PE %u lane %u, call %llu, waits for %s: wants 0x%llx, there is 0x%llx", it->pe,
            it->lane, (unsigned long long)it->call, place, (unsigned long long)it->wants,
            (unsigned long long)(latest != NULL ? latest->value : 0));
    }
    sim_fail("%s", text);
}

/* --- who runs next ---------------------------------------------------------------------------
 */

static struct sim_fiber *pick(void)
{
    uint32_t best = 0;

    if (sim.n_ready == 0) fail_deadlock();
    if (!sim.by_priority) return &sim.fiber[sim.ready[sim_random(sim.n_ready)]];
    for (uint32_t i = 1; i < sim.n_ready; i++)
        if (sim.fiber[sim.ready[i]].priority > sim.fiber[sim.ready[best]].priority) best = i;
    return &sim.fiber[sim.ready[best]];
}

static void leave_ready(const struct sim_fiber *f)
{
    for (uint32_t i = 0; i < sim.n_ready; i++) {
        if (sim.ready[i] != f->id) continue;
        sim.ready[i] = sim.ready[--sim.n_ready];
        return;
    }
}

static __attribute__((noinline)) void switch_to(struct sim_fiber *to)
{
    struct sim_fiber *from = sim.now;

    if (to == from) return;
    if (++sim.turns > TURNS_MAX) sim_fail("no progress after %u turns", TURNS_MAX);
    if (from != NULL && _setjmp(from->context) != 0) return;
    sim.now = to;
    if (to->is_started) _longjmp(to->context, 1);
    to->is_started = true;
    (void)setcontext(&to->start);
}

static void fiber_main(void)
{
    for (;;) {
        struct sim_fiber *self = sim.now;

        if (self->lane == SIM_LINK_LANE) sim_link_run(self);
        if (self->lane == SIM_SERVER_LANE) sim_server_run(self);
        run_body(self->pe, self->lane);
        self->is_done = true;
        leave_ready(self);
        if (++sim.n_done == sim.lanes) {
            if (_setjmp(self->context) == 0) _longjmp(sim.outside, RUN_DONE);
        } else {
            switch_to(pick());
        }
    }
}

void sim_yield(void)
{
    if (!sim_chance(sim.restless)) return;
    if (sim.by_priority) sim.now->priority = sim_random(1u << 16);
    switch_to(pick());
}

void sim_sleep(const void *watch, uint64_t wants)
{
    struct sim_fiber *self = sim.now;

    self->watch = watch;
    self->wants = wants;
    leave_ready(self);
    switch_to(pick());
}

void sim_wake(const void *watch)
{
    for (uint32_t f = 0; f < sim.fibers; f++) {
        if (sim.fiber[f].watch != watch) continue;
        sim.fiber[f].watch = NULL;
        sim.ready[sim.n_ready++] = f;
    }
}

/* --- a run -----------------------------------------------------------------------------------
 */

static void fiber_open(uint32_t id, uint32_t pe, uint32_t lane)
{
    struct sim_fiber *f = &sim.fiber[id];

    if (lane >= SIM_SERVER_LANE || f->lane >= SIM_SERVER_LANE) f->is_started = false;
    if (!f->is_started) {
        (void)getcontext(&f->start);
        f->start.uc_stack.ss_sp = stacks[id];
        f->start.uc_stack.ss_size = STACK_BYTES;
        f->start.uc_link = NULL;
        makecontext(&f->start, fiber_main, 0);
    }
    f->is_done = false;
    f->id = id;
    f->pe = pe;
    f->lane = lane;
    memset(f->clock, 0, sizeof(f->clock));
    if (!sim.setup.is_counted) f->clock[id] = 1;
    memcpy(f->took, f->clock, sizeof(f->took));
    f->told = NULL;
    f->watch = f->missed = f->polled = NULL;
    f->fenced = NULL;
    f->priority = sim_random(1u << 16);
    f->call = 0;
    memset(f->begun, 0, sizeof(f->begun));
    memset(&f->cost, 0, sizeof(f->cost));
    memset(f->owes, 0, sizeof(f->owes));
    sim.ready[sim.n_ready++] = id;
}

struct sim_fiber *sim_fiber_beside(uint32_t pe, uint32_t lane)
{
    const uint32_t id = sim.fibers;

    if (id == (sim.setup.is_counted ? SIM_COUNTED_FIBERS_MAX : SIM_FIBERS_MAX))
        sim_fail("more links are used than the %u fibers allow", id);
    fiber_open(id, pe, lane);
    sim.fibers++;
    return &sim.fiber[id];
}

static bool are_apart(uint32_t from, uint32_t to)
{
    return sim.setup.host != NULL && sim.setup.host[from] != sim.setup.host[to];
}

struct ch_link *sim_link_in(uint32_t context, uint32_t from, uint32_t to)
{
    if (!are_apart(from, to)) return NULL;
    return sim.setup.is_counted ? sim_link_open(sim.n_links++, from, to)
                                : sim.links[context][from][to];
}

struct ch_link *sim_link(uint32_t from, uint32_t to)
{
    return sim_link_in(0, from, to);
}

/* In each context a link, and a fiber, from every PE to every other that is on another host. */
static void open_links(uint32_t context)
{
    for (uint32_t i = 0; i < sim.setup.n * sim.setup.n; i++) {
        const uint32_t from = i / sim.setup.n, to = i % sim.setup.n;

        if (!are_apart(from, to)) continue;
        sim.links[context][from][to] = sim_link_open(sim.n_links++, from, to);
        sim_link_start(sim.links[context][from][to], sim_fiber_beside(from, SIM_LINK_LANE));
    }
}

void sim_open(const struct sim_setup *setup)
{
    const bool failed = sim.n_done != sim.lanes;
    static const uint32_t chances[] = {0, 1, 4, 12};

    sim.setup = *setup;
    sim.lanes = setup->n * setup->width;
    sim.fibers = sim.lanes;
    sim.now = NULL;
    sim.n_ready = sim.n_done = sim.n_links = 0;
    sim.run++;
    sim.random = setup->seed * 0x9e3779b97f4a7c15u | 1u;
    for (int i = 0; i < 8; i++)
        (void)sim_random(1); /* neighbouring seeds part */
    sim.turns = 0;
    sim.lag = chances[sim_random(4)];
    sim.restless = chances[1 + sim_random(3)];
    sim.by_priority = sim_random(2) != 0;
    sim.message[0] = '\0';
    if (setup->width > 1) memset(sim.meetings, 0, setup->n * sizeof(sim.meetings[0]));
    for (uint32_t f = 0; f < SIM_COUNTED_FIBERS_MAX; f++) {
        if (failed) sim.fiber[f].is_started = false;
        if (f < sim.lanes) fiber_open(f, f / setup->width, f % setup->width);
    }
    for (uint32_t context = 0; context == 0 || context < setup->contexts; context++)
        if (!setup->is_counted) open_links(context);
    for (uint32_t pe = 0; setup->atomics == SIM_SERVED_ATOMICS && pe < setup->n; pe++)
        sim_server_start(sim_fiber_beside(pe, SIM_SERVER_LANE));
    sim_memory_open();
}

bool sim_run(void (*body)(uint32_t pe, uint32_t lane))
{
    run_body = body;
    switch (_setjmp(sim.outside)) {
    case 0:
        switch_to(pick());
        return false; /* never: the fibers leave by sim.outside */
    case RUN_DONE:
        return true;
    default:
        return false;
    }
}

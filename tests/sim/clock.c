/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c: who knows what: vector clocks, and the lanes of a PE that meet. */
#include "sim/engine.h"

#include "base/exec.h"

#include <string.h>

static bool join(uint32_t *into, const uint32_t *from)
{
    bool is_news = false;

    if (sim.setup.is_counted) return false;
    for (uint32_t f = 0; f < sim.fibers; f++) {
        if (into[f] >= from[f]) continue;
        into[f] = from[f];
        is_news = true;
    }
    return is_news;
}

void sim_join(struct sim_fiber *f, const uint32_t *clock)
{
    (void)join(f->clock, clock);
    sim_join_took(f, clock);
}

void sim_join_took(struct sim_fiber *f, const uint32_t *took)
{
    if (join(f->took, took)) f->told = NULL;
}

static void new_event(struct sim_fiber *f)
{
    if (sim.setup.is_counted) return;
    if (++f->clock[f->id] == SIM_EVENTS_MAX) sim_fail("a fiber had %u events", SIM_EVENTS_MAX);
    f->took[f->id] = f->clock[f->id];
}

static const uint32_t *copy_of(const uint32_t *clock)
{
    const size_t bytes = sim.fibers * sizeof(clock[0]);

    if (sim.setup.is_counted) return NULL;
    return memcpy(sim_alloc(bytes), clock, bytes);
}

const uint32_t *sim_release(struct sim_fiber *f)
{
    const uint32_t *copy = copy_of(f->clock);

    new_event(f);
    return copy;
}

const uint32_t *sim_tell_took(struct sim_fiber *f)
{
    if (f->told != NULL) return f->told;
    f->told = copy_of(f->took);
    new_event(f); /* which later takes are in */
    return f->told;
}

void sim_take(struct sim_fiber *f, sim_stamp *takers)
{
    *takers = sim_readers_add(*takers);
    f->told = NULL;
}

/* Returns what the lanes have brought: whether any has a flag, and lane 0's value. */
static const struct sim_brought *meet(int flag, uint64_t value)
{
    struct sim_fiber *self = sim.now;
    struct sim_meeting *m = &sim.meetings[self->pe];
    const uint32_t turn = m->turn % 2;

    if (m->arrived == 0) memset(&m->set[turn], 0, sizeof(m->set[turn]));
    (void)join(m->set[turn].clock, self->clock);
    (void)join(m->set[turn].took, self->took);
    if (m->set[turn].depth < self->cost.depth) m->set[turn].depth = self->cost.depth;
    m->set[turn].flag |= flag;
    if (self->lane == 0) m->set[turn].value = value;
    new_event(self);
    if (++m->arrived < sim.setup.width) {
        sim_sleep(&m->set[turn], 0);
    } else {
        m->arrived = 0;
        m->turn++;
        sim_wake(&m->set[turn]);
        sim_yield();
    }
    sim_join(self, m->set[turn].clock);
    sim_join_took(self, m->set[turn].took);
    self->cost.depth = m->set[turn].depth;
    return &m->set[turn];
}

int ch_sim_lanes_any(int flag)
{
    return meet(flag, 0)->flag;
}

uint64_t ch_sim_lanes_broadcast(uint64_t x)
{
    return meet(0, x)->value;
}

void sim_meet(void)
{
    if (sim.setup.width > 1) (void)ch_sim_lanes_any(0);
}

void sim_call_begin(uint64_t call)
{
    sim.now->call = call;
    sim.now->begun[call % SIM_CALLS_MAX] = sim_stamp_now(sim.now);
    memset(&sim.now->cost, 0, sizeof(sim.now->cost));
}

bool sim_knows_begun(uint32_t pe, uint64_t call)
{
    const sim_stamp begun = sim.fiber[pe * sim.setup.width].begun[call % SIM_CALLS_MAX];

    return begun != 0 && sim_knows(sim.now, begun);
}

/* All lanes have met: the PE's stores are the sum of its lanes'. */
struct sim_cost sim_call_end(void)
{
    const struct sim_fiber *self = sim.now, *lanes = &sim.fiber[self->pe * sim.setup.width];
    struct sim_cost sum = {self->cost.depth, 0, 0};

    for (uint32_t lane = 0; lane < sim.setup.width; lane++) {
        sum.bytes += lanes[lane].cost.bytes;
        sum.signals += lanes[lane].cost.signals;
        for (uint32_t pe = 0; pe < sim.setup.n; pe++)
            if (lanes[lane].owes[pe])
                sim_fail("PE %u lane %u ends call %llu without notifying PE %u, whose memory "
                         "it stored to",
                         self->pe, lane, (unsigned long long)self->call, pe);
    }
    return sum;
}

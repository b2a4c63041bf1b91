/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net.c: routes to peers that are not mapped: the links of a network.
 *
 * A link goes from one PE to one other. What is posted on it is done by a fiber of its own, at
 * its time, which is a party to every race: it reads the source of a put when it likes, and
 * knows of what it writes to what its poster knew. On a strong link a word is stored by that
 * fiber, after the puts before it, and so carries them. On a weak link it carries only what the
 * poster knew when it was posted.
 */
#include "sim/engine.h"

#include "base/exec.h"

#include <stdlib.h>
#include <string.h>

#define OPS_MAX 512u
#define LINKS_MAX (1u << 17)

struct op {
    void *at; /* in the peer's memory */
    const void *src;
    size_t bytes; /* 0: a word */
    uint64_t value;
    enum ch_sense sense;
    const uint32_t *clock, *took; /* of the poster */
    uint64_t call, depth;
};

struct link {
    struct ch_route head;
    struct sim_fiber *fiber; /* null: nothing was posted yet */
    uint32_t from, to;
    uint64_t posted, done;
    const uint32_t *clock; /* the fiber's, after the last that it did */
    struct op *ops;        /* [OPS_MAX] */
};

static struct link links[LINKS_MAX], *link_of[SIM_COUNTED_FIBERS_MAX]; /* by fiber */
static struct op rings[SIM_COUNTED_FIBERS_MAX][OPS_MAX];               /* likewise */

struct ch_route *sim_link_open(uint32_t index, uint32_t from, uint32_t to)
{
    if (index == LINKS_MAX) abort(); /* more than a run has PEs for */
    links[index] = (struct link){.from = from, .to = to};
    return &links[index].head;
}

void sim_link_start(struct ch_route *route, struct sim_fiber *fiber)
{
    struct link *const link = (struct link *)route;

    link->fiber = fiber;
    link->ops = rings[fiber->id];
    link_of[fiber->id] = link;
}

static void do_op(struct link *link, const struct op *op)
{
    struct sim_fiber *self = sim.now;

    sim_join(self, op->clock);
    sim_join_took(self, op->took);
    self->call = op->call;
    self->cost.depth = op->depth;
    sim_yield();
    if (op->bytes != 0)
        ch_sim_copy(op->at, op->src, op->bytes);
    else
        sim_word_store(op->at, op->value, op->sense, sim.setup.is_weak ? op->clock : NULL);
    link->clock = sim_release(self);
}

void sim_link_run(const struct sim_fiber *self)
{
    struct link *link = link_of[self->id];

    for (;;) {
        while (link->done == link->posted)
            sim_sleep(&link->posted, 0);
        sim_yield();
        do_op(link, &link->ops[link->done % OPS_MAX]);
        link->done++;
        sim_wake(&link->done);
    }
}

bool sim_is_idle_link(const struct sim_fiber *f)
{
    return f->lane == SIM_LINK_LANE && f->watch != NULL;
}

static struct op *post(struct link *link)
{
    struct sim_fiber *self = sim.now;
    struct op *op;

    if (link->fiber == NULL) sim_link_start(&link->head, sim_fiber_for_link(link->from));
    op = &link->ops[link->posted % OPS_MAX];
    if (link->posted - link->done == OPS_MAX)
        sim_fail("PE %u has %u puts to PE %u under way", self->pe, OPS_MAX, link->to);
    op->call = self->call;
    op->depth = self->cost.depth;
    op->took = sim_tell_took(self);
    op->clock = sim_release(self);
    link->posted++;
    return op;
}

static void check_place(const struct link *link, const void *there)
{
    if (!sim_is_shared(there) || sim_owner(there) != link->to)
        sim_fail("PE %u posts for PE %u what is for %s", sim.now->pe, link->to,
                 sim_place(there));
}

int ch_sim_route_is_weak(const struct ch_route *route)
{
    (void)route;
    return sim.setup.is_weak;
}

void ch_sim_route_put(struct ch_route *route, void *there, const void *src, size_t bytes)
{
    struct link *const link = (struct link *)route;
    struct op *op;

    if (bytes == 0) return;
    sim_yield();
    op = post(link);
    check_place(link, there);
    op->at = there;
    op->src = src;
    op->bytes = bytes;
    sim.now->cost.bytes += bytes;
    sim_wake(&link->posted);
    sim_yield();
}

void ch_sim_route_say(struct ch_route *route, uint64_t *there, uint64_t value,
                      enum ch_sense sense)
{
    struct link *const link = (struct link *)route;
    struct op *op;

    sim_yield();
    op = post(link);
    check_place(link, there);
    op->at = there;
    op->bytes = 0;
    op->value = value;
    op->sense = sense;
    if (sense != CH_CREDIT) sim.now->cost.signals++;
    sim_wake(&link->posted);
    sim_yield();
}

chorus_status ch_sim_route_flush(struct ch_route *route)
{
    struct link *const link = (struct link *)route;
    const uint64_t posted = link->posted;

    while (link->done < posted)
        sim_sleep(&link->done, posted);
    if (link->clock != NULL) sim_join(sim.now, link->clock);
    return CHORUS_OK;
}

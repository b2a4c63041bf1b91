/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net.c: the links of a network, to peers that are not mapped.
 *
 * A link goes from one PE to one other. What is posted on it is done by a fiber of its own, at
 * its time, which is a party to every race: it reads the source of a put when it likes, and
 * knows of what it writes to what its poster knew. On a strong link a word is stored by that
 * fiber, after the puts before it, and so carries them. On a weak link it carries only what the
 * poster knew when it was posted.
 *
 * A link that is slow reads the source of a put, and stores what it read later. A get is a copy
 * from the peer's memory, in the order of the link.
 *
 * An atomic travels like a word. At the peer, a fiber that stands for the thread that makes
 * progress there does it, with the peer's CPU, and in any order towards those of other links;
 * the link goes on once it has the answer. A device that did it would read, and then store.
 */
#include "sim/engine.h"

#include "base/exec.h"

#include <stdlib.h>
#include <string.h>

#define OPS_MAX 512u
#define LINKS_MAX (1u << 17)

struct op {
    enum { PUT, WORD, ADD, GET } kind;
    void *at;                            /* in the peer's memory; of a get, in this PE's */
    unsigned char data[CH_INLINE_BYTES]; /* of a put that was read when it was posted */
    const void *src;                     /* of a get, in the peer's memory */
    size_t bytes;
    uint64_t value;
    enum ch_sense sense;
    uint64_t *before;             /* where an atomic's answer goes */
    const uint32_t *clock, *took; /* of the poster */
    uint64_t call, depth;
};

/* What the algorithms know as a struct ch_link. */
struct link {
    struct sim_fiber *fiber; /* null: nothing was posted yet */
    uint32_t from, to;
    uint64_t posted, sent, done;
    const uint32_t *clock; /* the fiber's, after the last that it did */
    const uint32_t *read;  /* likewise, after the last source that it read */
    struct {
        void *slot, *dst;
        size_t bytes;                 /* 0: none is posted */
        const uint32_t *clock, *took; /* of who posted it */
        const uint32_t *spoiled;      /* the fiber's, after it spoiled dst; null: it has not */
        bool is_there;
    } receive;      /* of the PE that the link goes to */
    struct op *ops; /* [OPS_MAX] */
};

static struct link links[LINKS_MAX], *link_of[SIM_COUNTED_FIBERS_MAX]; /* by fiber */
static struct op rings[SIM_COUNTED_FIBERS_MAX][OPS_MAX];               /* likewise */

struct ch_link *sim_link_open(uint32_t index, uint32_t from, uint32_t to)
{
    if (index == LINKS_MAX) abort(); /* more than a run has PEs for */
    links[index] = (struct link){.from = from, .to = to};
    return (struct ch_link *)&links[index];
}

void sim_link_start(struct ch_link *head, struct sim_fiber *fiber)
{
    struct link *const link = (struct link *)head;

    link->fiber = fiber;
    link->ops = rings[fiber->id];
    link_of[fiber->id] = link;
}

/* The atomics that links have brought to a PE. */
static struct server {
    struct sim_fiber *fiber;
    uint32_t n;
    struct request {
        const struct op *op;
        const uint32_t *brings; /* what it says besides its own word */
        uint64_t before;
        const uint32_t *clock; /* the server's, once it has done it */
    } * requests[SIM_FIBERS_MAX];
} servers[SIM_FIBERS_MAX];

void sim_server_start(struct sim_fiber *fiber)
{
    servers[fiber->pe] = (struct server){.fiber = fiber};
}

void sim_server_run(const struct sim_fiber *self)
{
    struct server *server = &servers[self->pe];

    for (;;) {
        struct request *request;
        uint32_t which;

        while (server->n == 0)
            sim_sleep(&server->n, 0);
        sim_yield();
        which = sim_random(server->n);
        request = server->requests[which];
        server->requests[which] = server->requests[--server->n];
        sim_join(sim.now, request->brings);
        sim_join_took(sim.now, request->op->took);
        request->before = sim_word_add(request->op->at, request->op->value);
        request->clock = sim_release(sim.now);
        sim_wake(request);
    }
}

/* The link's fiber waits for the answer. */
static void have_served(const struct link *link, const struct op *op)
{
    struct server *server = &servers[link->to];
    struct request request = {.op = op,
                              .brings = sim.setup.is_weak ? op->clock : sim_release(sim.now)};

    server->requests[server->n++] = &request;
    sim_wake(&server->n);
    while (request.clock == NULL)
        sim_sleep(&request, 0);
    sim_join(sim.now, request.clock);
    *op->before = request.before;
}

static void do_add(const struct link *link, const struct op *op)
{
    if (sim.setup.atomics == SIM_SERVED_ATOMICS) {
        have_served(link, op);
        return;
    }
    *op->before = sim_word_latest(op->at);
    sim_yield();
    sim_word_store(op->at, *op->before + op->value, op->sense, NULL);
}

/* Some bytes at the dst of a posted receive that are not for it, as a network may store there
 * from the beginning of the receive on. */
static void spoil(const struct link *link)
{
    static const unsigned char garbage[SIM_BLOCK_BYTES] = {0xa5, 0x5a};
    const size_t bytes = link->receive.bytes;

    sim_write(link->receive.dst, garbage, bytes < sizeof(garbage) ? bytes : sizeof(garbage));
}

/* Where a put goes. A posted receive takes what it is for; of anything else, too, its dst may
 * have got bytes, before they went to where they belong. */
static void *place_of(struct link *link, const struct op *op)
{
    const size_t bytes = link->receive.bytes;

    if (bytes == 0 || link->receive.is_there) return op->at;
    sim_join(sim.now, link->receive.clock);
    sim_join_took(sim.now, link->receive.took);
    if (op->kind == PUT && op->at == link->receive.slot && op->bytes == bytes) {
        link->receive.is_there = true;
        return link->receive.dst;
    }
    spoil(link);
    link->receive.spoiled = sim_release(sim.now);
    return op->at;
}

/* The sources of this operation and of those before it were read. */
static void end_sending(struct link *link)
{
    link->read = sim_release(sim.now);
    link->sent++;
    sim_wake(&link->sent);
    sim_yield();
}

/* A slow link copies what a put names through memory of its own. */
static void put_slowly(struct link *link, const struct op *op, void *at)
{
    unsigned char through[SIM_BLOCK_BYTES];

    if (op->bytes > sizeof(through)) abort(); /* no plan has such puts */
    ch_sim_copy(through, op->src, op->bytes);
    end_sending(link);
    ch_sim_copy(at, through, op->bytes);
}

static void do_op(struct link *link, const struct op *op)
{
    void *at;

    struct sim_fiber *self = sim.now;

    sim_join(self, op->clock);
    sim_join_took(self, op->took);
    self->call = op->call;
    self->cost.depth = op->depth;
    sim_yield();
    at = place_of(link, op);
    if (sim.setup.is_slow && op->kind != PUT) end_sending(link);
    if (sim.setup.is_slow && op->kind == PUT)
        put_slowly(link, op, at);
    else if (op->kind == PUT || op->kind == GET)
        ch_sim_copy(at, op->src, op->bytes);
    else if (op->kind == WORD)
        sim_word_store(op->at, op->value, op->sense, sim.setup.is_weak ? op->clock : NULL);
    else
        do_add(link, op);
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
    if (f->lane == SIM_SERVER_LANE) return true;
    return f->lane == SIM_LINK_LANE && f->watch == &link_of[f->id]->posted;
}

static void check_place(const struct link *link, const void *there)
{
    if (!sim_is_shared(there) || sim_owner(there) != link->to)
        sim_fail("PE %u posts for PE %u what is for %s", sim.now->pe, link->to,
                 sim_place(there));
}

/* Post an operation on what is there; its poster, and what that knows, are added. The data of a
 * put without a source is in it. */
static void post(struct link *link, const void *there, const struct op *given)
{
    struct sim_fiber *self = sim.now;
    struct op *op;

    if (link->fiber == NULL)
        sim_link_start((struct ch_link *)link, sim_fiber_beside(link->from, SIM_LINK_LANE));
    op = &link->ops[link->posted % OPS_MAX];
    if (link->posted - link->done == OPS_MAX)
        sim_fail("PE %u has %u puts to PE %u under way", self->pe, OPS_MAX, link->to);
    *op = *given;
    if (op->kind == PUT && op->src == NULL) op->src = op->data;
    op->call = self->call;
    op->depth = self->cost.depth;
    op->took = sim_tell_took(self);
    op->clock = sim_release(self);
    link->posted++;
    check_place(link, there);
    sim_wake(&link->posted);
    sim_yield();
}

/* is_inline: the source is read here, and may change afterwards. */
static void post_put(struct link *link, void *there, const void *src, size_t bytes,
                     bool is_inline)
{
    struct op op = {.kind = PUT, .at = there, .bytes = bytes, .src = is_inline ? NULL : src};

    if (bytes == 0) return;
    sim_yield();
    if (is_inline) ch_sim_copy(op.data, src, bytes);
    sim.now->cost.bytes += bytes;
    post(link, there, &op);
}

void ch_link_post(struct ch_link *head, void *there, const void *src, size_t bytes)
{
    post_put((struct link *)head, there, src, bytes, false);
}

void sim_link_word(struct ch_link *head, uint64_t *there, uint64_t value, enum ch_sense sense)
{
    const struct op op = {.kind = WORD, .at = there, .value = value, .sense = sense};

    sim_yield();
    if (sense != CH_CREDIT) sim.now->cost.signals++;
    post((struct link *)head, there, &op);
}

void ch_link_post_word(struct ch_link *head, uint64_t *there, uint64_t value,
                       enum ch_sense sense)
{
    if (sim.setup.is_weak) (void)ch_link_flush(head);
    sim_link_word(head, there, value, sense);
}

void ch_link_post_signal(struct ch_link *head, void *there, const void *src, size_t bytes,
                         uint64_t *word, uint64_t value, enum ch_sense sense)
{
    post_put((struct link *)head, there, src, bytes, bytes <= CH_INLINE_BYTES);
    ch_link_post_word(head, word, value, sense);
}

void sim_link_get(struct ch_link *head, void *dst, const void *there, size_t bytes)
{
    const struct op op = {.kind = GET, .at = dst, .src = there, .bytes = bytes};

    sim_yield();
    post((struct link *)head, there, &op);
}

void sim_link_add(struct ch_link *head, uint64_t *word, uint64_t value, uint64_t *before_out)
{
    const struct op op = {
        .kind = ADD, .at = word, .value = value, .sense = CH_DATA, .before = before_out};

    sim_yield();
    post((struct link *)head, word, &op);
}

chorus_status ch_link_flush(struct ch_link *head)
{
    struct link *const link = (struct link *)head;
    const uint64_t posted = link->posted;

    while (link->done < posted)
        sim_sleep(&link->done, posted);
    if (link->clock != NULL) sim_join(sim.now, link->clock);
    return CHORUS_OK;
}

void sim_link_sent(struct ch_link *head)
{
    struct link *const link = (struct link *)head;
    const uint64_t posted = link->posted;

    while (link->sent < posted)
        sim_sleep(&link->sent, posted);
    if (link->read != NULL) sim_join(sim.now, link->read);
}

static struct link *link_back(const struct ch_link *head)
{
    const struct link *const link = (const struct link *)head;

    return (struct link *)sim_link(link->to, link->from);
}

int ch_link_post_receive(struct ch_link *head, void *slot, void *dst, size_t bytes)
{
    struct link *const link = link_back(head);

    sim_yield();
    if (link->receive.bytes != 0)
        sim_fail("PE %u posts two receives from PE %u", sim.now->pe, link->from);
    if (sim.setup.is_counted || sim_chance(4))
        return 0; /* as networks without them, or while another thread waits */
    link->receive.slot = slot;
    link->receive.dst = dst;
    link->receive.bytes = bytes;
    link->receive.is_there = false;
    link->receive.spoiled = NULL;
    link->receive.took = sim_tell_took(sim.now);
    if (sim_chance(2)) spoil(link);
    link->receive.clock = sim_release(sim.now);
    sim_yield();
    return 1;
}

int ch_link_end_receive(struct ch_link *head)
{
    struct link *const link = link_back(head);

    link->receive.bytes = 0;
    if (link->receive.spoiled != NULL) sim_join(sim.now, link->receive.spoiled);
    return link->receive.is_there;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * atomic.c: words, packets and lines, the values that a PE may read while another stores.
 *
 * A store adds a version. A load returns the latest, or, as the adversary likes, an older one
 * that this PE does not know to be replaced. Words release and acquire what their writer knows;
 * packets and lines carry, besides themselves, that what their writer had taken is taken.
 */
#include "sim/engine.h"

#include "base/exec.h"

#include <string.h>

static size_t cell_of(const void *address)
{
    return (uintptr_t)address % SIM_BLOCK_BYTES / 8;
}

/* The unit at `address`, whose cells must never have been anything else. */
static struct sim_block *unit_at(const void *address, enum sim_kind kind, size_t alignment)
{
    struct sim_block *b;
    const size_t at = (uintptr_t)address % SIM_BLOCK_BYTES;

    if (!sim_is_shared(address) || (uintptr_t)address % alignment != 0)
        sim_fail("PE %u uses %p, in %s, as a word, packet or line", sim.now->pe, address,
                 sim_place(address));
    b = sim_block_at(address);
    if (b->kind[at / 8] == kind) return b;
    for (size_t i = at; i < at + alignment; i++)
        if (b->kind[i / 8] != SIM_PLAIN || b->wrote[i] != 0 || b->read[i] != 0)
            sim_fail("PE %u uses %s in two ways", sim.now->pe, sim_place(address));
    memset(&b->kind[at / 8], (int)kind, alignment / 8);
    return b;
}

/* Whoever may sleep on `address` must be told: the PE whose memory it is, and others that
 * watch it from afar. */
static void owe(const void *address)
{
    struct sim_fiber *self = sim.now;

    self->owes[sim_owner(address)] = true;
    for (uint32_t f = 0; f < sim.fibers; f++)
        if (sim.fiber[f].watch == address) self->owes[sim.fiber[f].pe] = true;
    self->owes[self->pe] = false;
}

/* A new version of the unit. It is visible from now on; who must see it, the clocks say. */
static void publish(struct sim_block *b, const void *address, struct sim_version *v)
{
    struct sim_fiber *self = sim.now;

    v->before = b->latest[cell_of(address)];
    v->stamp = sim_stamp_now(self);
    v->taken = 0;
    v->call = self->call;
    v->depth = self->cost.depth + 1;
    b->latest[cell_of(address)] = v;
    owe(address);
    sim_wake(address);
}

/* The latest version, or one before it. Null is the zero that memory starts with. */
static const struct sim_version *observe(const struct sim_block *b, const void *address)
{
    const struct sim_version *v = b->latest[cell_of(address)];

    while (v != NULL && !sim_knows(sim.now, v->stamp) && sim_chance(sim.lag))
        v = v->before;
    return v;
}

/* For ch_wait_slow, if this load ends no wait. */
static void note_poll(const void *address, const struct sim_version *found)
{
    sim.now->polled = address;
    sim.now->polled_found = found;
}

/* About to sleep: everyone whose memory this PE stored to must have been told. With several
 * lanes one of them tells for all, perhaps later than another sleeps. */
static void sleep_on(const void *address, uint64_t wants)
{
    const struct sim_fiber *self = sim.now;

    for (uint32_t pe = 0; pe < sim.setup.n && sim.setup.width == 1; pe++)
        if (self->owes[pe])
            sim_fail("PE %u waits for %s, but has not notified PE %u of its stores", self->pe,
                     sim_place(address), pe);
    sim_sleep(address, wants);
}

static void arrive(const struct sim_version *v)
{
    struct sim_fiber *self = sim.now;

    if (v->is_data && v->call == self->call && v->depth > self->cost.depth)
        self->cost.depth = v->depth;
}

/* --- words
 * ------------------------------------------------------------------------------------- */

/* A new version of the word, which tells nothing yet. */
static struct sim_version *add_word(uint64_t *word, uint64_t value, enum ch_sense sense)
{
    struct sim_version *v = sim_alloc(sizeof(*v));
    struct sim_block *b = unit_at(word, SIM_WORD, 8);
    const struct sim_version *old;

    sim_yield();
    old = b->latest[cell_of(word)];
    /* Credits of a ring may wrap around. */
    if (old != NULL && ((int64_t)(value - old->value) < 0 || !sim_knows(sim.now, old->stamp)))
        sim_fail("PE %u stores %llu in %s, where there was %llu, perhaps another PE's",
                 sim.now->pe, (unsigned long long)value, sim_place(word),
                 (unsigned long long)old->value);
    v->value = value;
    v->is_data = sense != CH_CREDIT;
    v->clock = v->took = NULL;
    publish(b, word, v);
    return v;
}

void sim_word_store(uint64_t *word, uint64_t value, enum ch_sense sense, const uint32_t *clock)
{
    struct sim_version *v = add_word(word, value, sense);

    v->took = clock != NULL ? clock : sim_tell_took(sim.now);
    v->clock = clock != NULL ? clock : sim_release(sim.now);
}

void ch_sim_word_store(uint64_t *word, uint64_t value, enum ch_sense sense,
                       enum ch_sim_order order)
{
    if (order == CH_SIM_RELEASE)
        sim_word_store(word, value, sense, NULL);
    else
        (void)add_word(word, value, sense);
    if (sense != CH_CREDIT && sim_owner(word) != sim.now->pe) sim.now->cost.signals++;
    sim_yield();
}

static uint64_t acquire(const struct sim_version *v, enum ch_sim_order order)
{
    if (v == NULL) return 0;
    if (order == CH_SIM_ACQUIRE && v->clock != NULL) {
        sim_join(sim.now, v->clock);
        sim_join_took(sim.now, v->took);
    }
    return v->value;
}

uint64_t sim_word_latest(const uint64_t *word)
{
    struct sim_block *b = unit_at(word, SIM_WORD, 8);
    const struct sim_version *latest;

    sim_yield();
    latest = b->latest[cell_of(word)];
    return latest != NULL ? acquire(latest, CH_SIM_ACQUIRE) : 0;
}

/* Nobody comes between the load and the store. What the word has said before, it goes on
 * saying.
 */
uint64_t sim_word_add(uint64_t *word, uint64_t value)
{
    const uint64_t before = sim_word_latest(word);
    struct sim_version *v = sim_alloc(sizeof(*v));

    v->value = before + value;
    v->is_data = true;
    v->took = sim_tell_took(sim.now);
    publish(sim_block_at(word), word, v);
    v->clock = sim_release(sim.now);
    return before;
}

uint64_t ch_sim_word_load(const uint64_t *word, enum ch_sim_order order)
{
    const struct sim_block *b = unit_at(word, SIM_WORD, 8);
    const struct sim_version *v;

    sim_yield();
    v = observe(b, word);
    note_poll(word, v);
    return acquire(v, order);
}

/* What was waited for is the first value that would do, however late it is seen. */
static void arrive_first(const struct sim_version *v, uint64_t least)
{
    if (v == NULL) return;
    while (v->before != NULL && v->before->value >= least)
        v = v->before;
    arrive(v);
}

chorus_status ch_sim_word_wait(const uint64_t *word, uint64_t least, enum ch_sim_order order,
                               uint64_t *found_out)
{
    const struct sim_block *b = unit_at(word, SIM_WORD, 8);

    for (;;) {
        const struct sim_version *v, *latest;

        sim_yield();
        v = observe(b, word);
        if ((v != NULL ? v->value : 0) >= least) {
            arrive_first(v, least);
            *found_out = acquire(v, order);
            return CHORUS_OK;
        }
        latest = b->latest[cell_of(word)];
        if (latest == NULL || latest->value < least) sleep_on(word, least);
    }
}

/* --- packets and lines
 * ------------------------------------------------------------------------- */

static void store_flagged(void *unit, enum sim_kind kind, size_t unit_bytes, const void *data,
                          size_t bytes, uint64_t flag)
{
    struct sim_version *v = sim_alloc(sizeof(*v) + CH_LINE_DATA);
    struct sim_block *b = unit_at(unit, kind, unit_bytes);
    const struct sim_version *old;

    sim_yield();
    old = b->latest[cell_of(unit)];
    if (old != NULL && (old->taken == 0 || sim_readers_unknown(sim.now->took, old->taken) != 0))
        sim_fail(
            "PE %u, call %llu, stores %s again, flag %llu, not knowing whether flag %llu was "
            "taken%s",
            sim.now->pe, (unsigned long long)sim.now->call, sim_place(unit),
            (unsigned long long)flag, (unsigned long long)old->value,
            old->taken == 0 ? "; it was not" : "");
    v->value = flag;
    v->is_data = true;
    memset(v->data, 0xa5, CH_LINE_DATA);
    memcpy(v->data, data, bytes);
    publish(b, unit, v);
    v->clock = kind == SIM_QUAD ? sim.now->fenced : NULL;
    v->took = sim_tell_took(sim.now);
    if (sim_owner(unit) != sim.now->pe) sim.now->cost.bytes += bytes;
}

static int load_flagged(const void *unit, enum sim_kind kind, size_t unit_bytes, size_t bytes,
                        uint64_t flag, void *out)
{
    struct sim_block *b = unit_at(unit, kind, unit_bytes);
    struct sim_version *latest;

    sim_yield();
    latest = b->latest[cell_of(unit)];
    if (latest == NULL || latest->value != flag || observe(b, unit) != latest) {
        if (sim.now->missed != NULL && sim.now->missed != unit)
            sim_fail("PE %u polls two packets or lines in one wait", sim.now->pe);
        sim.now->missed = unit;
        sim.now->missed_flag = flag;
        return 0;
    }
    memcpy(out, latest->data, bytes);
    sim_take(sim.now, &latest->taken);
    sim_join_took(sim.now, latest->took);
    if (sim_owner(unit) != sim.now->pe) sim.now->cost.bytes += bytes;
    sim.now->missed = NULL;
    arrive(latest);
    return 1;
}

void ch_sim_packet_store(struct ch_packet *packet, uint64_t data, uint64_t flag)
{
    store_flagged(packet, SIM_PACKET, sizeof(*packet), &data, sizeof(data), flag);
}

int ch_sim_packet_load(const struct ch_packet *packet, uint64_t flag, uint64_t *data_out)
{
    return load_flagged(packet, SIM_PACKET, sizeof(*packet), sizeof(*data_out), flag, data_out);
}

/* The latest, even if this PE might not see it yet. */
uint64_t ch_sim_flag(const void *unit)
{
    const struct sim_version *latest = sim_block_at(unit)->latest[cell_of(unit)];

    return latest != NULL ? latest->value : 0;
}

void ch_sim_line_store(struct ch_line *line, const void *data, size_t bytes, uint64_t flag)
{
    store_flagged(line, SIM_LINE, sizeof(*line), data, bytes, flag);
}

int ch_sim_line_load(const struct ch_line *line, size_t bytes, uint64_t flag, void *data_out)
{
    return load_flagged(line, SIM_LINE, sizeof(*line), bytes, flag, data_out);
}

/* --- quads, tickets and relaxed words
 * ----------------------------------------------------------------------- */

void ch_sim_release_fence(void)
{
    sim_yield();
    sim.now->fenced = sim_release(sim.now);
}

/* A quad whose reception the fiber does not know is not stored again, as with packets. */
void ch_sim_quad_store(void *at, uint64_t lo, uint64_t hi)
{
    store_flagged(at, SIM_QUAD, 16, &lo, sizeof(lo), hi);
}

/* A quad has one reader, which having found a quad finds no older one. If it polls, it finds a
 * quad of the lap before again, after its credit was returned, and takes no notice of it. So
 * the first load of a quad counts as its reception. */
void ch_sim_quad_load(const void *at, uint64_t *lo, uint64_t *hi)
{
    struct sim_block *b = unit_at(at, SIM_QUAD, 16);
    struct sim_version *v;

    sim_yield();
    v = b->latest[cell_of(at)];
    while (v != NULL && v->taken == 0 && !sim_knows(sim.now, v->stamp) && sim_chance(sim.lag))
        v = v->before;
    note_poll(at, v);
    *lo = *hi = 0;
    if (v == NULL) return;
    memcpy(lo, v->data, sizeof(*lo));
    *hi = v->value;
    if (v->taken == 0) sim_take(sim.now, &v->taken);
    (void)acquire(v, CH_SIM_ACQUIRE);
    sim_join_took(sim.now, v->took);
}

/* A version of a word with many writers, which has no rules. */
static struct sim_version *add_relaxed(uint64_t *word, uint64_t value)
{
    struct sim_version *v = sim_alloc(sizeof(*v));

    v->value = value;
    v->is_data = false;
    v->clock = v->took = NULL;
    publish(unit_at(word, SIM_WORD, 8), word, v);
    return v;
}

/* Nobody comes between the load and the store. It transfers nothing. */
uint64_t ch_sim_ticket_take(uint64_t *word)
{
    const struct sim_version *latest;
    uint64_t before;

    sim_yield();
    latest = unit_at(word, SIM_WORD, 8)->latest[cell_of(word)];
    before = latest != NULL ? latest->value : 0;
    (void)add_relaxed(word, before + 1);
    sim_yield();
    return before;
}

void ch_sim_ticket_skip(uint64_t *word, uint64_t from)
{
    const struct sim_version *latest;

    sim_yield();
    latest = unit_at(word, SIM_WORD, 8)->latest[cell_of(word)];
    if ((latest != NULL ? latest->value : 0) == from) (void)add_relaxed(word, from + 1);
    sim_yield();
}

/* As a packet, it says what its writer has taken. */
void ch_sim_relaxed_store(uint64_t *word, uint64_t value)
{
    struct sim_version *v;

    sim_yield();
    v = add_relaxed(word, value);
    v->took = sim_tell_took(sim.now);
    v->clock = sim.now->fenced;
    sim_yield();
}

uint64_t ch_sim_relaxed_load(const uint64_t *word)
{
    const struct sim_block *b = unit_at(word, SIM_WORD, 8);
    const struct sim_version *v;

    sim_yield();
    v = observe(b, word);
    if (v != NULL && v->took != NULL) sim_join_took(sim.now, v->took);
    sim.now->found = v != NULL ? v->clock : NULL;
    return v != NULL ? v->value : 0;
}

void ch_sim_acquire_fence(void)
{
    sim_yield();
    if (sim.now->found != NULL) sim_join(sim.now, sim.now->found);
}

/* --- waits
 * ------------------------------------------------------------------------------------- */

/* Returns whether the last poll was of a word or quad; then sleeps until that changes. */
static bool sleep_on_polled(void)
{
    const void *const at = sim.now->polled;
    const struct sim_version *const found = sim.now->polled_found;

    if (at == NULL) return false;
    sim.now->polled = NULL;
    if (sim_block_at(at)->latest[cell_of(at)] == found)
        sleep_on(at, (found != NULL ? found->value : 0) + 1);
    return true;
}

/* The machine's pause between polls. It never runs out of policy: the engine sees a deadlock.
 */
chorus_status ch_wait_slow(const struct ch_wait_policy *p, struct ch_wait *w)
{
    const void *unit = sim.now->missed;
    const struct sim_version *latest;

    (void)p;
    w->start_ns = 1; /* the wait is long */
    if (unit == NULL && sleep_on_polled()) return CHORUS_OK;
    if (unit == NULL) sim_fail("PE %u waits without having polled", sim.now->pe);
    latest = sim_block_at(unit)->latest[cell_of(unit)];
    if (latest == NULL || latest->value != sim.now->missed_flag)
        sleep_on(unit, sim.now->missed_flag);
    return CHORUS_OK;
}

void ch_wait_end(const struct ch_wait_policy *p, struct ch_wait *w)
{
    (void)p, (void)w;
}

/* --- doors
 * ------------------------------------------------------------------------------------- */

static struct ch_door doors[SIM_PES_MAX];

struct ch_door *sim_door(uint32_t pe)
{
    return &doors[pe];
}

void ch_sim_notify(const struct ch_door *theirs)
{
    const size_t pe = (size_t)(theirs - doors);

    for (uint32_t lane = 0; lane < sim.setup.width; lane++)
        sim.fiber[sim.now->pe * sim.setup.width + lane].owes[pe] = false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated machine itself: what it must allow, and what it must not. */
#include "base/exec.h"
#include "sim/sim.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 200u

/* Of every PE's memory: a place for plain data, words, packets. */
enum { DATA = 0, WORD = 128, OTHER_WORD = 192, PACKET = 256, PE_BYTES = 512 };

static const struct ch_lanes alone = {0, 1};
static const struct ch_wait_policy policy;

static void describe(uint32_t pe, size_t offset, char *text, size_t text_bytes)
{
    (void)pe;
    (void)snprintf(text, text_bytes, "byte %zu", offset);
}

static const uint32_t *hosts; /* of the PEs; null: one for all */
static bool is_weak;          /* the links between them */
static uint32_t contexts;
static enum sim_atomics atomics;

static bool run(uint32_t n, uint32_t width, uint64_t seed, void (*body)(uint32_t, uint32_t))
{
    const struct sim_setup setup = {.n = n,
                                    .width = width,
                                    .pe_bytes = PE_BYTES,
                                    .seed = seed,
                                    .host = hosts,
                                    .contexts = contexts,
                                    .is_weak = is_weak,
                                    .atomics = atomics,
                                    .describe = describe};

    sim_open(&setup);
    return sim_run(body);
}

static void expect_always(uint32_t n, void (*body)(uint32_t, uint32_t))
{
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        ck_assert_msg(run(n, 1, seed, body), "seed %d: %s", (int)seed, sim_message());
}

/* It fails however lucky the schedule is, and says so. */
static void expect_never(uint32_t n, void (*body)(uint32_t, uint32_t), const char *part)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        ck_assert_msg(!run(n, 1, seed, body), "seed %d is fine", (int)seed);
        ck_assert_msg(strstr(sim_message(), part) != NULL, "seed %d: %s", (int)seed,
                      sim_message());
    }
}

static uint64_t *word(uint32_t pe, size_t at)
{
    return (uint64_t *)(void *)(sim_memory(pe) + at);
}

static struct ch_packet *packet(uint32_t pe)
{
    return (struct ch_packet *)(void *)(sim_memory(pe) + PACKET);
}

static void put(uint32_t pe, uint64_t value)
{
    ch_copy(sim_memory(pe) + DATA, &value, sizeof(value), alone);
}

static uint64_t get(uint32_t pe)
{
    uint64_t value = 0;

    ch_copy(&value, sim_memory(pe) + DATA, sizeof(value), alone);
    return value;
}

static void tell_in(uint32_t pe, size_t at, uint64_t value, enum ch_sim_order order)
{
    ch_sim_word_store(word(pe, at), value, CH_DATA, order);
    ch_notify(&policy, sim_door(pe));
}

static void tell(uint32_t pe, uint64_t value)
{
    tell_in(pe, WORD, value, CH_SIM_RELEASE);
}

static void hear_in(uint32_t pe, size_t at, uint64_t least, enum ch_sim_order order)
{
    uint64_t found;

    if (ch_sim_word_wait(word(pe, at), least, order, &found) != CHORUS_OK) sim_fail("an error");
}

static void hear(uint32_t pe, uint64_t least)
{
    hear_in(pe, WORD, least, CH_SIM_ACQUIRE);
}

static void take(uint32_t pe, uint64_t flag)
{
    struct ch_wait w = {0};
    uint64_t data = 0;

    while (!ch_packet_load(packet(pe), flag, &data))
        if (ch_wait_slow(&policy, &w) != CHORUS_OK) sim_fail("an error");
    if (data != 10 * flag) sim_fail("packet %d has %d", (int)flag, (int)data);
}

/* --- what order there is ---------------------------------------------------------------- */

static enum ch_sim_order store_order, load_order;

static void hand_over(uint32_t pe, uint32_t lane)
{
    (void)lane;
    if (pe == 0) {
        put(1, 7);
        tell_in(1, WORD, 1, store_order);
    } else {
        hear_in(1, WORD, 1, load_order);
        if (get(1) != 7) sim_fail("stale");
    }
}

START_TEST(word__release_and_acquire__hands_data_over)
{
    store_order = CH_SIM_RELEASE, load_order = CH_SIM_ACQUIRE;
    expect_always(2, hand_over);
}
END_TEST

START_TEST(word__relaxed_store__hands_nothing_over)
{
    store_order = CH_SIM_RELAXED, load_order = CH_SIM_ACQUIRE;
    expect_never(2, hand_over, "reads byte 0 of PE 1, not knowing whether PE 0");
}
END_TEST

START_TEST(word__relaxed_load__hands_nothing_over)
{
    store_order = CH_SIM_RELEASE, load_order = CH_SIM_RELAXED;
    expect_never(2, hand_over, "reads byte 0 of PE 1, not knowing whether PE 0");
}
END_TEST

static void pass_on(uint32_t pe, uint32_t lane)
{
    (void)lane;
    if (pe == 0) put(2, 7);
    if (pe > 0) hear(pe, 1);
    if (pe < 2) tell(pe + 1, 1);
    if (pe == 2 && get(2) != 7) sim_fail("stale");
}

START_TEST(word__chain_of_three__hands_data_over)
{
    expect_always(3, pass_on);
}
END_TEST

static void packet_as_signal(uint32_t pe, uint32_t lane)
{
    (void)lane;
    if (pe == 0) {
        put(1, 7);
        ch_packet_store(packet(1), 10, 1);
        ch_notify(&policy, sim_door(1));
    } else {
        take(1, 1);
        (void)get(1);
    }
}

START_TEST(packet__taken__orders_nothing_else)
{
    expect_never(2, packet_as_signal, "reads byte 0 of PE 1, not knowing whether PE 0");
}
END_TEST

/* --- races ------------------------------------------------------------------------------ */

static void write_unannounced(uint32_t pe, uint32_t lane)
{
    const uint64_t value = 1;

    (void)lane;
    if (pe == 0)
        put(1, 7);
    else
        sim_write(sim_memory(1) + DATA, &value, sizeof(value)); /* as on entering a call */
}

START_TEST(write__peer_not_known_to_have_entered__fails)
{
    expect_never(2, write_unannounced, "not knowing whether PE");
}
END_TEST

/* PE 0's data is read by 1 and 2; it writes again when `readers` of them have said so. */
static uint64_t readers;

static void write_again(uint32_t pe, uint32_t lane)
{
    (void)lane;
    if (pe == 0) {
        put(0, 7);
        tell(1, 1);
        tell(2, 1);
        hear_in(0, WORD, 1, CH_SIM_ACQUIRE);
        if (readers == 2) hear_in(0, OTHER_WORD, 1, CH_SIM_ACQUIRE);
        put(0, 8);
    } else {
        hear(pe, 1);
        (void)get(0);
        tell_in(0, pe == 1 ? WORD : OTHER_WORD, 1, CH_SIM_RELEASE);
    }
}

START_TEST(write__all_readers_heard__is_fine)
{
    readers = 2;
    expect_always(3, write_again);
}
END_TEST

START_TEST(write__one_reader_not_heard__fails)
{
    readers = 1;
    expect_never(3, write_again, "not knowing whether PE");
}
END_TEST

static void fill_twice(uint32_t pe, uint32_t lane)
{
    (void)lane;
    if (pe == 0) {
        ch_packet_store(packet(1), 10, 1);
        ch_notify(&policy, sim_door(1));
        if (readers == 1) hear(0, 1);
        ch_packet_store(packet(1), 20, 2);
        ch_notify(&policy, sim_door(1));
    } else {
        take(1, 1);
        tell(0, 1);
        if (readers == 1) take(1, 2);
    }
}

START_TEST(packet__stored_again_when_known_taken__is_fine)
{
    readers = 1;
    expect_always(2, fill_twice);
}
END_TEST

START_TEST(packet__stored_again_unheard__fails)
{
    readers = 0;
    expect_never(2, fill_twice, "not knowing whether flag 1 was taken");
}
END_TEST

/* --- quads and relaxed words -------------------------------------------------------------- */

/* Of PE 0: is there a fence before its quad, and a second quad in the same place? */
static bool has_fence, has_second;

static void take_quad(uint64_t wanted)
{
    struct ch_wait w = {0};

    for (;;) {
        uint64_t lo, hi;

        ch_quad_load(packet(1), &lo, &hi);
        if (hi == wanted && lo != 10 * hi) sim_fail("quad %d has %d", (int)hi, (int)lo);
        if (hi == wanted) return;
        (void)ch_wait_slow(&policy, &w);
    }
}

static void quad_as_signal(uint32_t pe, uint32_t lane)
{
    (void)lane;
    if (pe == 0) {
        put(1, 7);
        if (has_fence) ch_release_fence();
        ch_quad_store(packet(1), 10, 1);
        if (has_second) ch_quad_store(packet(1), 20, 2);
        ch_notify(&policy, sim_door(1));
    } else {
        take_quad(1);
        if (get(1) != 7) sim_fail("stale");
    }
}

START_TEST(quad__after_a_release_fence__hands_data_over)
{
    has_fence = true, has_second = false;
    expect_always(2, quad_as_signal);
}
END_TEST

START_TEST(quad__without_a_fence__hands_nothing_over)
{
    has_fence = false, has_second = false;
    expect_never(2, quad_as_signal, "reads byte 0 of PE 1, not knowing whether PE 0");
}
END_TEST

START_TEST(quad__stored_again_unheard__fails)
{
    has_fence = true, has_second = true;
    expect_never(2, quad_as_signal, "not knowing whether flag 1 was taken");
}
END_TEST

static void relaxed_as_signal(uint32_t pe, uint32_t lane)
{
    (void)lane;
    if (pe == 0) {
        put(1, 7);
        ch_relaxed_store(word(1, WORD), 1);
    } else {
        while (ch_relaxed_load(word(1, WORD)) == 0)
            (void)ch_word_load(word(1, OTHER_WORD)); /* lets others run */
        (void)get(1);
    }
}

START_TEST(relaxed_word__found__hands_nothing_over)
{
    expect_never(2, relaxed_as_signal, "reads byte 0 of PE 1, not knowing whether PE 0");
}
END_TEST

static uint32_t tickets_taken;

static void take_tickets(uint32_t pe, uint32_t lane)
{
    (void)pe, (void)lane;
    for (int i = 0; i < 4; i++)
        tickets_taken |= 1u << ch_ticket_take(word(0, WORD));
}

START_TEST(ticket__taken_by_many__is_another_for_each)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        tickets_taken = 0;
        ck_assert_msg(run(2, 3, seed, take_tickets), "%s", sim_message());
        ck_assert_uint_eq(tickets_taken, (1u << 24) - 1);
    }
}
END_TEST

/* --- delay, and the end of it ----------------------------------------------------------- */

/* Set outside the machine: what has happened, whoever may know of it. */
static bool has_stored, was_overlooked;

static void look(uint32_t pe, uint32_t lane)
{
    (void)lane;
    if (pe == 0) {
        ch_word_store(word(1, WORD), 1, CH_DATA);
        has_stored = true;
    } else {
        for (int i = 0; i < 20; i++)
            if (has_stored && ch_word_load(word(1, WORD)) == 0) was_overlooked = true;
    }
}

START_TEST(load__store_not_known__may_overlook_it)
{
    uint32_t overlooked = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        has_stored = was_overlooked = false;
        ck_assert(run(2, 1, seed, look));
        overlooked += was_overlooked;
    }
    ck_assert_uint_gt(overlooked, SEEDS / 20);
    ck_assert_uint_lt(overlooked, SEEDS);
}
END_TEST

static void never_told(uint32_t pe, uint32_t lane)
{
    (void)lane;
    if (pe == 0) tell(1, 4);
    if (pe == 1) hear(1, 5);
}

START_TEST(wait__nobody_stores__names_who_waits_for_what)
{
    expect_never(2, never_told,
                 "PE 1 lane 0, call 0, waits for byte 128 of PE 1: wants 0x5, there is 0x4");
}
END_TEST

static void not_notified(uint32_t pe, uint32_t lane)
{
    (void)lane;
    if (pe == 0) {
        ch_word_store(word(1, WORD), 1, CH_DATA);
        hear(0, 1);
    }
}

START_TEST(wait__peer_not_notified__fails)
{
    expect_never(2, not_notified, "has not notified PE 1");
}
END_TEST

static char order[64];
static size_t order_used;

static void log_turns(uint32_t pe, uint32_t lane)
{
    (void)lane;
    for (int i = 0; i < 10; i++) {
        order[order_used++] = (char)('a' + pe);
        (void)ch_word_load(word(pe, WORD));
    }
}

START_TEST(seed__same__gives_same_schedule)
{
    char first[SEEDS][sizeof(order)];
    uint32_t different = 0;

    for (int again = 0; again < 2; again++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            memset(order, 0, sizeof(order));
            order_used = 0;
            ck_assert(run(4, 1, seed, log_turns));
            if (again == 0)
                memcpy(first[seed], order, sizeof(order));
            else
                ck_assert_str_eq(first[seed], order);
            different += strcmp(first[seed], first[0]) != 0;
        }
    }
    ck_assert_uint_gt(different, SEEDS);
}
END_TEST

/* --- misuse ----------------------------------------------------------------------------- */

static int misuse;

static void misused(uint32_t pe, uint32_t lane)
{
    uint64_t through = 0;

    (void)lane;
    if (pe != 0) return;
    ch_word_store(word(0, WORD), 5, CH_DATA);
    if (misuse == 0) ch_word_store(word(0, WORD), 4, CH_DATA);
    if (misuse == 1) ch_copy(&through, word(0, WORD), sizeof(through), alone);
    if (misuse == 2)
        (void)ch_packet_load((struct ch_packet *)(void *)word(0, WORD), 1, &through);
    if (misuse == 3) (void)ch_word_load(word(0, WORD + 4));
    if (misuse == 4) (void)ch_word_load(&through);
}

START_TEST(misuse__of_a_word__is_named)
{
    static const char *const messages[] = {
        "stores 4 in byte 128 of PE 0, where there was 5",
        "accesses byte 128 of PE 0 as plain data",
        "uses byte 128 of PE 0 in two ways",
        "in byte 132 of PE 0, as a word",
        "in private memory, as a word",
    };

    misuse = _i;
    expect_never(1, misused, messages[_i]);
}
END_TEST

/* --- lanes and costs -------------------------------------------------------------------- */

static bool do_meet;

static void two_lanes(uint32_t pe, uint32_t lane)
{
    if (lane == 0) put(pe, 7);
    if (do_meet) sim_meet();
    if (lane == 1 && get(pe) != 7) sim_fail("stale");
}

START_TEST(lanes__that_met__see_each_others_writes)
{
    do_meet = true;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        ck_assert_msg(run(3, 2, seed, two_lanes), "%s", sim_message());
}
END_TEST

START_TEST(lanes__that_did_not_meet__race)
{
    do_meet = false;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        ck_assert(!run(3, 2, seed, two_lanes));
}
END_TEST

static void any_of_three(uint32_t pe, uint32_t lane)
{
    for (uint32_t turn = 0; turn < 8; turn++) {
        const int any = ch_sim_lanes_any(turn % 4 == lane);
        if (any != (turn % 4 < 3)) sim_fail("PE %u turn %u", pe, turn);
    }
}

START_TEST(lanes_any__one_of_three__all_hear_it)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        ck_assert_msg(run(2, 3, seed, any_of_three), "%s", sim_message());
}
END_TEST

static struct sim_cost costs[3];

static void count(uint32_t pe, uint32_t lane)
{
    (void)lane;
    sim_call_begin(1);
    if (pe == 0) {
        put(0, 1); /* its own: not on the wire */
        put(1, 7);
        tell(1, 1);
    } else if (pe == 1) {
        hear(1, 1);
        ch_word_store(word(2, OTHER_WORD), 1, CH_CREDIT);
        tell(2, 1);
    } else {
        hear_in(2, OTHER_WORD, 1, CH_SIM_ACQUIRE);
        if (get(1) != 7) sim_fail("stale");
        hear(2, 1);
    }
    costs[pe] = sim_call_end();
}

START_TEST(cost__chain_of_two__counts_signals_and_bytes)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        ck_assert_msg(run(3, 1, seed, count), "%s", sim_message());
        ck_assert(costs[0].depth == 0 && costs[0].bytes == 8 && costs[0].signals == 1);
        ck_assert(costs[1].depth == 1 && costs[1].bytes == 0 && costs[1].signals == 1);
        ck_assert(costs[2].depth == 2 && costs[2].bytes == 8 && costs[2].signals == 0);
    }
}
END_TEST

/* --- links between hosts -------------------------------------------------------------------
 */

static const uint32_t two_hosts[] = {0, 1};

/* PE 0 puts what it has at DATA there on PE 1, and says so. */
static void put_far(void)
{
    put(0, 7);
    ch_link_post(sim_link(0, 1), sim_memory(1) + DATA, sim_memory(0) + DATA, 8);
    ch_link_post_word(sim_link(0, 1), word(1, WORD), 1, CH_DATA);
}

static void put_then_say(uint32_t pe, uint32_t lane)
{
    (void)lane;
    if (pe == 0) {
        put_far();
        (void)ch_link_flush(sim_link(0, 1));
        put(0, 8);
    } else {
        hear(1, 1);
        if (get(1) != 7) sim_fail("stale");
    }
}

static void reuse_early(uint32_t pe, uint32_t lane)
{
    (void)lane;
    if (pe == 0) {
        put_far();
        put(0, 8);
    } else {
        hear(1, 1);
    }
}

static void say_alone(uint32_t pe, uint32_t lane)
{
    (void)lane;
    if (pe == 0) {
        put(0, 7);
        ch_link_post(sim_link(0, 1), sim_memory(1) + DATA, sim_memory(0) + DATA, 8);
        sim_link_word(sim_link(0, 1), word(1, WORD), 1, CH_DATA); /* without a flush */
    } else {
        hear(1, 1);
        (void)get(1);
    }
}

/* The word is posted in another context than the put. */
static void say_elsewhere(bool flushes)
{
    put(0, 7);
    ch_link_post(sim_link(0, 1), sim_memory(1) + DATA, sim_memory(0) + DATA, 8);
    if (flushes) (void)ch_link_flush(sim_link(0, 1));
    ch_link_post_word(sim_link_in(1, 0, 1), word(1, WORD), 1, CH_DATA);
    (void)ch_link_flush(sim_link(0, 1)); /* the run does not end before the put */
}

static void say_in_another_context(uint32_t pe, uint32_t lane)
{
    (void)lane;
    if (pe == 0) {
        say_elsewhere(false);
    } else {
        hear(1, 1);
        (void)get(1);
    }
}

static void say_in_another_context_once_flushed(uint32_t pe, uint32_t lane)
{
    (void)lane;
    if (pe == 0) {
        say_elsewhere(true);
    } else {
        hear(1, 1);
        if (get(1) != 7) sim_fail("stale");
    }
}

static void post_astray(uint32_t pe, uint32_t lane)
{
    (void)lane;
    if (pe == 0) ch_link_post_word(sim_link(0, 1), word(0, WORD), 1, CH_DATA);
}

static void say_nothing(uint32_t pe, uint32_t lane)
{
    (void)pe, (void)lane;
}

START_TEST(link__put_then_word__hands_data_over)
{
    hosts = two_hosts;
    expect_always(2, put_then_say);
    is_weak = true;
    expect_always(2, put_then_say);
}
END_TEST

START_TEST(link__source_reused_before_flush__fails)
{
    hosts = two_hosts;
    expect_never(2, reuse_early, "not knowing whether PE 0");
}
END_TEST

START_TEST(link__word_that_did_not_wait__carries_no_put_if_weak)
{
    hosts = two_hosts;
    expect_always(2, say_alone);
    is_weak = true;
    expect_never(2, say_alone, "not knowing whether PE");
}
END_TEST

START_TEST(link__word_of_another_context__carries_no_put)
{
    hosts = two_hosts;
    contexts = 2;
    expect_never(2, say_in_another_context, "not knowing whether PE");
    expect_always(2, say_in_another_context_once_flushed);
}
END_TEST

START_TEST(link__place_of_another_pe__is_named)
{
    hosts = two_hosts;
    expect_never(2, post_astray, "posts for PE 1 what is for byte 128 of PE 0");
}
END_TEST

/* --- atomics ---------------------------------------------------------------------------- */

enum { ADDERS = 4, ADDS = 3 };
static const uint32_t three_hosts[] = {0, 0, 1, 2};
static uint64_t before[ADDERS][ADDS];

/* Two PEs add by their CPU, two by a link; PE 0 has nothing else to do, or is gone already. */
static void add_together(uint32_t pe, uint32_t lane)
{
    struct ch_link *const link = sim_link(pe, 0);

    (void)lane;
    for (int i = 0; i < ADDS; i++) {
        if (link == NULL)
            before[pe][i] = sim_word_add(word(0, WORD), 1);
        else
            sim_link_add(link, word(0, WORD), 1, &before[pe][i]);
    }
    if (link != NULL) (void)ch_link_flush(link);
}

static void expect_each_once(uint64_t seed)
{
    unsigned seen = 0;

    for (int i = 0; i < ADDERS * ADDS; i++)
        seen |= 1u << before[i / ADDS][i % ADDS];
    ck_assert_msg(seen == (1u << ADDERS * ADDS) - 1, "seed %d: seen are %x", (int)seed, seen);
}

START_TEST(atomic__of_all_pes__is_served_once_each)
{
    hosts = three_hosts;
    atomics = SIM_SERVED_ATOMICS;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        memset(before, 0, sizeof(before));
        ck_assert_msg(run(ADDERS, 1, seed, add_together), "seed %d: %s", (int)seed,
                      sim_message());
        expect_each_once(seed);
    }
}
END_TEST

/* What adapters offer, beside CPUs on one word: additions get lost, which the word's history
 * shows. */
START_TEST(atomic__of_a_device_beside_cpus__fails)
{
    uint32_t n_failed = 0;

    hosts = three_hosts;
    atomics = SIM_DEVICE_ATOMICS;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        if (run(ADDERS, 1, seed, add_together)) continue;
        n_failed++;
        ck_assert_msg(strstr(sim_message(), "perhaps another PE's") != NULL, "seed %d: %s",
                      (int)seed, sim_message());
    }
    ck_assert_uint_ge(n_failed, SEEDS / 10);
}
END_TEST

static void put_then_add(uint32_t pe, uint32_t lane)
{
    static uint64_t unused;

    (void)lane;
    if (pe == 0) {
        put(0, 7);
        ch_link_post(sim_link(0, 1), sim_memory(1) + DATA, sim_memory(0) + DATA, 8);
        sim_link_add(sim_link(0, 1), word(1, WORD), 1, &unused);
        (void)ch_link_flush(sim_link(0, 1));
    } else {
        hear(1, 1);
        if (get(1) != 7) sim_fail("stale");
    }
}

START_TEST(atomic__behind_a_put__carries_it_unless_weak)
{
    hosts = two_hosts;
    atomics = SIM_SERVED_ATOMICS;
    expect_always(2, put_then_add);
    is_weak = true;
    expect_never(2, put_then_add, "not knowing whether PE");
}
END_TEST

START_TEST(link__on_one_host__is_none)
{
    ck_assert(run(2, 1, 1, say_nothing));
    ck_assert_ptr_null(sim_link(0, 1));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim");
    TCase *tcase = tcase_create("engine");

    tcase_add_test(tcase, link__put_then_word__hands_data_over);
    tcase_add_test(tcase, link__source_reused_before_flush__fails);
    tcase_add_test(tcase, link__word_that_did_not_wait__carries_no_put_if_weak);
    tcase_add_test(tcase, link__word_of_another_context__carries_no_put);
    tcase_add_test(tcase, link__place_of_another_pe__is_named);
    tcase_add_test(tcase, link__on_one_host__is_none);
    tcase_add_test(tcase, atomic__of_all_pes__is_served_once_each);
    tcase_add_test(tcase, atomic__of_a_device_beside_cpus__fails);
    tcase_add_test(tcase, atomic__behind_a_put__carries_it_unless_weak);
    tcase_add_test(tcase, word__release_and_acquire__hands_data_over);
    tcase_add_test(tcase, word__relaxed_store__hands_nothing_over);
    tcase_add_test(tcase, word__relaxed_load__hands_nothing_over);
    tcase_add_test(tcase, word__chain_of_three__hands_data_over);
    tcase_add_test(tcase, packet__taken__orders_nothing_else);
    tcase_add_test(tcase, write__peer_not_known_to_have_entered__fails);
    tcase_add_test(tcase, write__all_readers_heard__is_fine);
    tcase_add_test(tcase, write__one_reader_not_heard__fails);
    tcase_add_test(tcase, packet__stored_again_when_known_taken__is_fine);
    tcase_add_test(tcase, packet__stored_again_unheard__fails);
    tcase_add_test(tcase, quad__after_a_release_fence__hands_data_over);
    tcase_add_test(tcase, quad__without_a_fence__hands_nothing_over);
    tcase_add_test(tcase, quad__stored_again_unheard__fails);
    tcase_add_test(tcase, relaxed_word__found__hands_nothing_over);
    tcase_add_test(tcase, ticket__taken_by_many__is_another_for_each);
    tcase_add_test(tcase, load__store_not_known__may_overlook_it);
    tcase_add_test(tcase, wait__nobody_stores__names_who_waits_for_what);
    tcase_add_test(tcase, wait__peer_not_notified__fails);
    tcase_add_test(tcase, seed__same__gives_same_schedule);
    tcase_add_loop_test(tcase, misuse__of_a_word__is_named, 0, 5);
    tcase_add_test(tcase, lanes__that_met__see_each_others_writes);
    tcase_add_test(tcase, lanes__that_did_not_meet__race);
    tcase_add_test(tcase, lanes_any__one_of_three__all_hear_it);
    tcase_add_test(tcase, cost__chain_of_two__counts_signals_and_bytes);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

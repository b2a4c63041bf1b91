/* SPDX-License-Identifier: Apache-2.0 */
/* The batches of GPUs (batch_cuda.h) on a CPU: spans are cut, messages arrive, all combine. */
#include "gpu_lanes.h"

#include "coll/primitives/batch.h"
#include "coll/primitives/cells.h"

#include <check.h>
#include <stdlib.h>

enum {
    LANES = 2 * WARP_LANES,
    BYTES_MAX = 3000,
    SOURCES = CH_AHEAD < 3 ? CH_AHEAD : 3,
    GUARD = 16
};
enum { CELLS_BYTES = (BYTES_MAX / 120 + 1) * 128 + 2 * BYTES_MAX + 64 };

static unsigned chance = 1;

/* In [0, n). */
static unsigned any_of(unsigned n)
{
    chance = chance * 1664525u + 1013904223u;
    return (unsigned)((uint64_t)(chance >> 8) * n >> 24);
}

static void fill(char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (char)any_of(256);
}

/* --- plain memory: lanes one after the other -------------------------------------------- */
START_TEST(copy__any_alignment__is_whole_and_no_more)
{
    static _Alignas(16) char from[BYTES_MAX + 2 * GUARD], to[sizeof(from)];
    static char expected[sizeof(from)];

    for (int round = 0; round < 2000; round++) {
        const size_t bytes = any_of(2) ? any_of(70) : any_of(BYTES_MAX);
        const int is_aligned = any_of(4) == 0;
        const size_t at = is_aligned ? 0 : any_of(GUARD);
        const size_t source_at = is_aligned ? 0 : any_of(GUARD);
        struct ch_lanes g = {0, 1 + any_of(LANES)};

        fill(from, sizeof(from));
        fill(to, sizeof(to));
        memcpy(expected, to, sizeof(to));
        memcpy(expected + at, from + source_at, bytes);
        for (g.lane = 0; g.lane < g.width; g.lane++)
            ch_copy(to + at, from + source_at, bytes, g);
        ck_assert_mem_eq(to, expected, sizeof(to));
    }
}
END_TEST

/* --- what kernels compute before their turn ---------------------------------------------- */
/* Into memory that is not 0, which a member that is not set leaves as it was. */
static __attribute__((noinline)) void first_batch(enum ch_cell kind, struct ch_batch *b_out)
{
    static char at[BYTES_MAX];
    const struct ch_lanes g = {any_of(LANES), LANES};

    memset(b_out, 0xff, sizeof(*b_out));
    *b_out = ch_batch_first(kind, at, sizeof(at), g);
}

/* ch_wait_previous_call reads the piece of a message, of calls in plain data too. */
START_TEST(begin__plain_data__has_no_piece_of_a_message)
{
    const enum ch_cell kinds[] = {CH_CELL_simple, CH_PLAIN};
    struct ch_batch b;

    first_batch(kinds[_i], &b);
    ck_assert_uint_eq(b.own.at, 0);
    ck_assert_uint_eq(b.own.lead, 0);
    ck_assert_uint_eq(b.own.bytes, 0);
}
END_TEST

/* --- the PEs of a lane -------------------------------------------------------------------- */
/* How many lanes have no PE of the team as their first one: its address is loaded, also where a
 * lane has none. */
static unsigned n_beyond(const struct ch_coll *c, uint32_t width)
{
    const struct ch_pes others = ch_pes_others(c);
    unsigned n = 0;

    for (uint32_t lane = 0; lane < width; lane++) {
        const struct ch_lanes g = {lane, width};

        n += ch_pes_at(c, others, ch_turns_of(others.count, g).first) >= c->n;
    }
    return n;
}

START_TEST(turns__any_team_and_width__begin_at_a_pe)
{
    const uint32_t widths[] = {1, 20, 32, 64, 256, 480, 512, 1024};
    struct ch_coll c = {.me = 0};
    unsigned n = 0;

    for (c.n = 1; c.n <= 64; c.n++)
        for (c.me = 0; c.me < c.n; c.me++)
            for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
                n += n_beyond(&c, widths[i]);
    ck_assert_uint_eq(n, 0);
}
END_TEST

/* --- messages: all lanes at once --------------------------------------------------------- */
/* One to each of SOURCES places, which one set of lanes writes and another reads. */
static struct {
    enum ch_cell kind;
    size_t bytes;
    uint64_t flag;
    int combines; /* the reader all of them, or it takes the first */
    char from[SOURCES][BYTES_MAX + GUARD];
    size_t from_at;
    _Alignas(128) char cells[SOURCES][CELLS_BYTES / 128 * 128];
    _Alignas(16) char to[BYTES_MAX + 2 * GUARD];
    size_t to_at;
} m;

static void send_all(struct ch_lanes g)
{
    for (int i = 0; i < SOURCES; i++) {
        const char *from = m.from[i] + m.from_at;

        for (struct ch_batch b = ch_batch_first(m.kind, from, m.bytes, g); ch_batch_more(&b);
             ch_batch_next(&b)) {
            struct ch_value v = {0};

            ch_value_load(&v, from, &b);
            ch_value_send(m.kind, m.cells[i], &v, &b, m.flag);
        }
    }
}

static void take_batch(const struct ch_coll *c, const struct ch_batch *b, struct ch_value *v,
                       chorus_status *st)
{
    struct ch_wanted wanted[CH_AHEAD] = {0};
    struct ch_value all[CH_AHEAD] = {0};
    struct ch_accumulator acc;

    if (!m.combines) {
        ch_value_poll(m.kind, m.cells[0], v, b);
        ch_value_wait(c, m.kind, 0, m.cells[0], v, b, m.flag, st);
        return;
    }
    for (int i = 0; i < SOURCES; i++) {
        wanted[i].cells = m.cells[i];
        wanted[i].flag = m.flag;
        ch_value_poll(m.kind, m.cells[i], &all[i], b);
    }
    ch_values_wait(c, m.kind, wanted, all, SOURCES, b, st);
    ch_acc_combine(c, &acc, 1, all, SOURCES, b);
    ch_acc_to_value(c, v, &acc, b);
}

static void take_all(struct ch_lanes g)
{
    struct ch_coll c = {.type = CHORUS_TYPE_u8, .op = CHORUS_OP_sum};
    chorus_status st = CHORUS_OK;

    for (struct ch_batch b = ch_batch_first(m.kind, m.to + m.to_at, m.bytes, g);
         ch_batch_more(&b); ch_batch_next(&b)) {
        struct ch_value v = {0};

        take_batch(&c, &b, &v, &st);
        ch_value_store(m.to + m.to_at, &v, &b);
    }
}

static struct gpu_warp warps[2 * LANES / WARP_LANES]; /* the writer's, then the reader's */

static void run_lane(unsigned i)
{
    const struct ch_lanes g = {i % LANES, LANES};

    gpu_me->warp = &warps[i / WARP_LANES];
    gpu_me->lane = i % WARP_LANES;
    if (i < LANES)
        send_all(g);
    else
        take_all(g);
}

static void run_message(void)
{
    gpu_chance = (unsigned)m.flag * 977;
    gpu_run(2 * LANES, run_lane);
}

static void expect_message(const char *before)
{
    char expected[sizeof(m.to)];

    memcpy(expected, before, sizeof(expected));
    for (size_t i = 0; i < m.bytes; i++) {
        expected[m.to_at + i] = m.from[0][m.from_at + i];
        for (int k = 1; m.combines && k < SOURCES; k++)
            expected[m.to_at + i] = (char)(expected[m.to_at + i] + m.from[k][m.from_at + i]);
    }
    ck_assert_mem_eq(m.to, expected, sizeof(expected));
}

static const enum ch_cell fifos[] = {CH_CELL_ll, CH_CELL_ll128};

/* Fresh data in the same places, each time with the next flag. */
START_TEST(messages__any_bytes_and_alignment__arrive)
{
    static char before[sizeof(m.to)];
    const uint64_t messages = getenv("CHORUS_TEST_SMALL") != NULL ? 30 : 150;

    m.kind = fifos[_i];
    gpu_stores_lines = m.kind == CH_CELL_ll128;
    for (m.flag = 1; m.flag <= messages; m.flag++) {
        m.bytes = 1 + (any_of(2) ? any_of(300) : any_of(BYTES_MAX));
        m.from_at = any_of(GUARD);
        m.to_at = any_of(GUARD);
        m.combines = (int)any_of(2);
        fill(m.from[0], sizeof(m.from));
        fill(m.to, sizeof(m.to));
        memcpy(before, m.to, sizeof(before));
        run_message();
        expect_message(before);
    }
}
END_TEST

START_TEST(line__on_the_wire__ends_in_its_flag)
{
    uint64_t words[16];

    m.kind = CH_CELL_ll128;
    gpu_stores_lines = 1;
    m.flag = 77;
    m.bytes = 120;
    m.from_at = m.to_at = 0;
    m.combines = 0;
    fill(m.from[0], sizeof(m.from));
    run_message();
    memcpy(words, m.cells[0], sizeof(words));
    ck_assert_mem_eq(words, m.from[0], 120);
    ck_assert_uint_eq(words[15], 77);
}
END_TEST

/* A failure without a late PE would not be reported to the host. */
START_TEST(messages__arrive_as_the_time_ends__a_late_pe_is_named)
{
    enum { ME = 9 };
    uint32_t late = ME;
    const struct ch_coll c = {.late_peer = &late};
    const struct ch_batch b =
        ch_batch_first(CH_CELL_ll, m.cells[0], CH_PIECE_BYTES, (struct ch_lanes){0, 1});
    struct ch_wanted wanted[CH_AHEAD] = {0};
    struct ch_value v[CH_AHEAD] = {0};
    chorus_status st = CHORUS_OK;

    gpu_stores_lines = 0;
    for (int i = 0; i < SOURCES; i++) {
        wanted[i] = (struct ch_wanted){.peer = 1 + (uint32_t)i, .cells = m.cells[i], .flag = 5};
        ch_value_poll(CH_CELL_ll, m.cells[i], &v[i], &b);
    }
    for (int i = 0; i < SOURCES; i++)
        ch_value_send(CH_CELL_ll, m.cells[i], &v[i], &b, 5);
    gpu_waits_end = CHORUS_ERR_TIMEOUT;
    ch_values_wait(&c, CH_CELL_ll, wanted, v, SOURCES, &b, &st);
    gpu_waits_end = CHORUS_OK;
    ck_assert(st == CHORUS_OK || late != ME);
}
END_TEST

/* --- 16-bit floating types ---------------------------------------------------------------- */
enum { HALVES = CH_PIECES_MAX * CH_PIECE_BYTES / 2 }; /* elements of a batch */

#define DEFINE_COMBINE(T, A, OP, expr) \
    static A combine_##OP(A a, A b)    \
    {                                  \
        return expr;                   \
    }
CH_OPS_HALF(DEFINE_COMBINE, f32, float)

#define ENTRY(T, A, OP, expr) {CHORUS_OP_##OP, combine_##OP},
static const struct {
    chorus_op op;
    float (*combine)(float a, float b);
} operators[] = {CH_OPS_HALF(ENTRY, f32, float)};

static int returns_operand(chorus_op op)
{
    return op == CHORUS_OP_min || op == CHORUS_OP_max;
}

static uint16_t expected_half(chorus_type type, int op, uint16_t a, uint16_t b)
{
    const int is_f16 = type == CHORUS_TYPE_f16;
    const float x =
        is_f16 ? ch_f16_to_f32((chorus_half){a}) : ch_bf16_to_f32((chorus_bfloat16){a});
    const float y =
        is_f16 ? ch_f16_to_f32((chorus_half){b}) : ch_bf16_to_f32((chorus_bfloat16){b});
    const float z = operators[op].combine(x, y);

    if (z != z && !returns_operand(operators[op].op)) return 0x7fff;
    return is_f16 ? ch_f16_from_f32(z).bits : ch_bf16_from_f32(z).bits;
}

static void combine_halves(chorus_type type, int op, uint16_t first)
{
    const struct ch_coll c = {.type = type, .op = operators[op].op};
    static _Alignas(16) uint16_t from[2][HALVES], to[HALVES];
    const struct ch_batch b = ch_batch_first(CH_PLAIN, to, sizeof(to), (struct ch_lanes){0, 1});
    struct ch_value v[CH_AHEAD] = {0}, result;
    struct ch_accumulator acc;

    fill((char *)from, sizeof(from));
    for (unsigned i = 0; i < HALVES; i++)
        from[0][i] = (uint16_t)(first + i);
    for (int k = 0; k < 2; k++)
        ch_value_load(&v[k], (const char *)from[k], &b);
    ch_acc_combine(&c, &acc, 1, v, 2, &b);
    ch_acc_to_value(&c, &result, &acc, &b);
    ch_value_store((char *)to, &result, &b);
    for (int i = 0; i < HALVES; i++)
        ck_assert_uint_eq(to[i], expected_half(type, op, from[0][i], from[1][i]));
}

/* The min and max of NaN have its bits. */
START_TEST(halves__every_pattern__are_combined_as_on_hosts)
{
    for (int op = 0; op < (int)(sizeof(operators) / sizeof(operators[0])); op++)
        for (unsigned first = 0; first < 65536; first += HALVES) {
            combine_halves(CHORUS_TYPE_f16, op, (uint16_t)first);
            combine_halves(CHORUS_TYPE_bf16, op, (uint16_t)first);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("coll_batch");
    TCase *tcase = tcase_create("batch"), *begin = tcase_create("begin");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 100);
    tcase_add_test(tcase, copy__any_alignment__is_whole_and_no_more);
    tcase_add_loop_test(tcase, messages__any_bytes_and_alignment__arrive, 0, 2);
    tcase_add_test(tcase, line__on_the_wire__ends_in_its_flag);
    tcase_add_test(tcase, messages__arrive_as_the_time_ends__a_late_pe_is_named);
    tcase_add_test(tcase, halves__every_pattern__are_combined_as_on_hosts);
    tcase_add_loop_test(begin, begin__plain_data__has_no_piece_of_a_message, 0, 2);
    tcase_add_test(begin, turns__any_team_and_width__begin_at_a_pe);
    suite_add_tcase(suite, begin);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

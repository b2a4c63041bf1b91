/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decisions of the shipped tables over a grid of types, PEs and bytes, against
 * tests/golden/select_CLASS.txt for each class of machine. A decision is written where it
 * differs from that of fewer bytes, and the decisions for some PEs where they differ from those
 * of fewer PEs. If the two texts differ, the test prints a diff. With --print CLASS it writes
 * the text.
 */
#include "select_fixture.h"

#include <inttypes.h>
#include <stdlib.h>

enum { LINE_BYTES = 128 };

/* Classes: as in the name of a file, machine, cores, hosts. */
static const struct class
{
    const char *name, *machine;
    uint32_t cores, nodes;
} classes[] = {{"host", "host", CH_CORES_shared, 1},
               {"host_own", "host", CH_CORES_own, 1},
               {"cuda", "cuda", CH_CORES_own, 1},
               {"network", "host", CH_CORES_shared, 2},
               {"network_own", "host", CH_CORES_own, 2}};
enum { CLASSES = sizeof(classes) / sizeof(classes[0]) };

static void decide(const struct ch_select *select, const struct ch_request *r, char *line)
{
    struct ch_plan plan;

    if (ch_select_plan(select, r, &plan) != CHORUS_OK)
        (void)snprintf(line, LINE_BYTES, "%s", ch_error_message());
    else
        (void)snprintf(line, LINE_BYTES, "%s:%s ctas %u radix %u", plan.algo->name,
                       ch_proto_names[plan.algo->proto], plan.ctas, plan.radix);
}

/* A call on a machine of a class, which has what it may have. */
static struct ch_request request_on(const struct class *class, int coll, chorus_type type,
                                    uint32_t pes, uint64_t bytes)
{
    struct ch_request r = reduce_of(bytes, pes);

    r.machine = class->machine;
    r.cores = class->cores;
    r.coll = (chorus_coll)coll;
    r.type = type;
    r.nodes = class->nodes;
    if (r.nodes > 1) r.reach = CH_REACH_network;
    r.offers = ch_offers(type, r.reach, CH_NEED_apart | CH_NEED_SYMMETRIC);
    if (strcmp(class->machine, "cuda") == 0) r.offers |= CH_NEED_copy_engine;
    r.ctas_max = UINT32_MAX;
    return r;
}

/* The decisions for a collective, a type and a number of PEs; free it. */
static char *decisions_of(const struct ch_select *select, const struct class *class, int coll,
                          chorus_type type, uint32_t pes)
{
    const uint64_t last = coll == CHORUS_COLL_barrier ? 0 : 64 << 20;
    char before[LINE_BYTES] = "", line[LINE_BYTES], *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL) abort();
    for (uint64_t bytes = last == 0 ? 0 : 4; bytes <= last;
         bytes = bytes == 0 ? 1 : bytes * 4) {
        const struct ch_request r = request_on(class, coll, type, pes, bytes);

        decide(select, &r, line);
        if (strcmp(line, before) != 0)
            (void)fprintf(out, "  %" PRIu64 " bytes: %s\n", bytes, line);
        memcpy(before, line, sizeof(before));
    }
    (void)fclose(out);
    return text;
}

static void print_teams(const struct ch_select *select, const struct class *class, int coll,
                        chorus_type type, FILE *out)
{
    static const uint32_t pes[] = {2, 3, 4, 8, 16, 32, 48, 64};
    char *before = NULL;

    for (size_t p = 0; p < sizeof(pes) / sizeof(pes[0]); p++) {
        char *text = decisions_of(select, class, coll, type, pes[p]);

        if (before == NULL || strcmp(text, before) != 0)
            (void)fprintf(out, "%s %s, %u PEs\n%s", ch_coll_names[coll], ch_type_names[type],
                          pes[p], text);
        free(before);
        before = text;
    }
    free(before);
}

static void print_all(const struct ch_select *select, const struct class *class, FILE *out)
{
    /* Those after reducescatter were not measured between hosts; their rules tell no types
     * apart. */
    const int colls = class->nodes == 1 ? CHORUS_COLL_COUNT : CHORUS_COLL_reducescatter + 1;

    print_teams(select, class, CHORUS_COLL_barrier, CHORUS_TYPE_u8, out);
    for (int coll = CHORUS_COLL_barrier + 1; coll < colls; coll++) {
        print_teams(select, class, coll, CHORUS_TYPE_f32, out);
        if (coll <= CHORUS_COLL_reducescatter)
            print_teams(select, class, coll, CHORUS_TYPE_f16, out);
    }
}

START_TEST(golden__grid_of_decisions__is_as_recorded)
{
    struct ch_select *select = open_with("", NULL);
    char command[512];
    FILE *diff;

    (void)snprintf(command, sizeof(command), "diff -u '%s/select_%s.txt' - >&2", CHORUS_GOLDEN,
                   classes[_i].name);
    diff = popen(command, "w"); /* NOLINT(cert-env33-c): the command is the test's own */
    ck_assert_ptr_nonnull(diff);
    print_all(select, &classes[_i], diff);
    ck_assert_msg(pclose(diff) == 0,
                  "decisions differ, see above; if they are meant to, see docs/tuning.md");
    ch_select_close(select);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_loop_test(tests, golden__grid_of_decisions__is_as_recorded, 0, CLASSES);
}

int main(int argc, char **argv)
{
    struct ch_select *select;
    size_t i = 0;

    if (argc < 2) return run_tests("select golden", add);
    if (argc != 3 || strcmp(argv[1], "--print") != 0 ||
        setenv("XDG_CONFIG_HOME", "/nonexistent", 1) != 0)
        return 2;
    while (i < CLASSES && strcmp(classes[i].name, argv[2]) != 0)
        i++;
    if (i == CLASSES || ch_select_open("", "", &select) != CHORUS_OK) return 1;
    print_all(select, &classes[i], stdout);
    ch_select_close(select);
    return 0;
}

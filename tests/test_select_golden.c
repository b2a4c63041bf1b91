/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every decision of the shipped tables over a grid, against tests/golden/select_CLASS.txt for
 * each class of machine, so that a change of a table shows its decisions in a diff. With
 * --print CLASS it writes the grid.
 */
#include "select_fixture.h"

#include <inttypes.h>

enum { LINE_BYTES = 128, SHOWN_MAX = 20 };

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
    const char *coll = ch_coll_names[r->coll], *type = ch_type_names[r->type];
    struct ch_plan plan;

    if (ch_select_plan(select, r, &plan) != CHORUS_OK)
        (void)snprintf(line, LINE_BYTES, "%s %s: %s\n", coll, type, ch_error_message());
    else
        (void)snprintf(line, LINE_BYTES,
                       "%s %s pes %u bytes %" PRIu64 ": %s:%s ctas %u radix %u\n", coll, type,
                       r->pes, r->bytes, plan.algo->name, ch_proto_names[plan.algo->proto],
                       plan.ctas, plan.radix);
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

/* Calls `each` with every line of a class's grid, in order. */
static void walk(const struct ch_select *select, const struct class *class,
                 void (*each)(const char *line, void *arg), void *arg)
{
    static const uint32_t pes[] = {2, 3, 4, 8, 16, 32, 48, 64};
    enum { TEAMS = sizeof(pes) / sizeof(pes[0]) };
    /* Those after reducescatter were not measured between hosts; their rules tell no types
     * apart. */
    const int colls = class->nodes == 1 ? CHORUS_COLL_COUNT : CHORUS_COLL_reducescatter + 1;
    static const chorus_type types[] = {CHORUS_TYPE_f32, CHORUS_TYPE_f16};
    char line[LINE_BYTES];

    for (size_t p = 0; p < TEAMS; p++) {
        const struct ch_request r =
            request_on(class, CHORUS_COLL_barrier, CHORUS_TYPE_u8, pes[p], 0);

        decide(select, &r, line);
        each(line, arg);
    }
    for (int coll = CHORUS_COLL_barrier + 1; coll < colls; coll++)
        for (size_t t = 0; t < (coll <= CHORUS_COLL_reducescatter ? 2 : 1); t++)
            for (size_t p = 0; p < TEAMS; p++)
                for (uint64_t bytes = 4; bytes <= 64 << 20; bytes *= 4) {
                    const struct ch_request r =
                        request_on(class, coll, types[t], pes[p], bytes);

                    decide(select, &r, line);
                    each(line, arg);
                }
}

static void print(const char *line, void *arg)
{
    (void)arg;
    (void)fputs(line, stdout);
}

struct comparison {
    const char *path;
    FILE *golden;
    unsigned line, differ;
};

static void compare(const char *line, void *arg)
{
    struct comparison *c = arg;
    char golden[LINE_BYTES] = "\n";

    c->line++;
    if (fgets(golden, sizeof(golden), c->golden) != NULL && strcmp(golden, line) == 0) return;
    if (c->differ++ >= SHOWN_MAX) return;
    (void)fprintf(stderr, "%s:%u:\n-%s+%s", c->path, c->line, golden, line);
}

START_TEST(golden__grid_of_decisions__is_as_recorded)
{
    struct ch_select *select = open_with("", NULL);
    char path[256];
    struct comparison c = {.path = path};

    (void)snprintf(path, sizeof(path), "%s/select_%s.txt", CHORUS_GOLDEN, classes[_i].name);
    c.golden = fopen(path, "r");
    ck_assert_ptr_nonnull(c.golden);
    walk(select, &classes[_i], compare, &c);
    ck_assert_msg(c.differ == 0,
                  "%u decisions differ; if they are meant to, see docs/tuning.md", c.differ);
    ck_assert_msg(fgetc(c.golden) == EOF, "%s has more lines than the grid", path);
    (void)fclose(c.golden);
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
    walk(select, &classes[i], print, NULL);
    ch_select_close(select);
    return 0;
}

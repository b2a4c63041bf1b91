/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sim_coll: every algorithm on the simulated machine, for many seeds.
 *
 *   test_sim_coll [--algo COLL:NAME:PROTO] [--pes N] [--seeds COUNT | --seed S] [--part I/OF]
 *                 [--net] [--help]
 *
 * --net: on several hosts alone; else on one, and then on several, what does without `map`.
 *
 * --seed runs one and is how a failure is replayed; the failure prints the whole command.
 */
#include "ref/ref_coll.h"
#include "sim/drive.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "test_sim_coll [--algo COLL:NAME:PROTO] [--pes N] [--seeds COUNT | --seed S]\n"
    "              [--part I/OF] [--net]\n"
    "Runs algorithms on the simulated machine and compares each result with the oracle's.\n"
    "  --algo   this one, as chorus-info algorithms names it; all, if it is not given\n"
    "  --pes    on this many PEs; on 1 to 64 and 256, if it is not given\n"
    "  --seeds  with seeds 0 to COUNT - 1; --seed: with one, as a failure's replay line has "
    "it\n"
    "  --part   of all algorithms each OF-th, from the I-th on\n"
    "  --net    PEs on several hosts alone\n";

struct wanted {
    const char *algo; /* null: all */
    uint32_t pes;     /* 0: the list below */
    uint64_t first, end;
    bool is_given; /* seeds are; else as many as the list below says */
    bool is_net;   /* on several hosts alone */
};

/* PEs, and seeds of each algorithm there: a taste. `./dev full` runs six times as many, and
 * `./dev sim` thousands with few PEs. */
static const struct {
    uint32_t pes, seeds;
} teams[] = {{1, 3},  {2, 10}, {3, 10}, {5, 10}, {7, 10},
             {8, 10}, {16, 3}, {33, 1}, {64, 1}, {256, 1}};

/* Likewise of runs on several hosts that only count. */
static const struct {
    uint32_t pes, seeds;
} crowds[] = {{33, 5}, {1000, 1}};

static void name_of(const struct ch_algo *algo, char *text, size_t text_bytes)
{
    (void)snprintf(text, text_bytes, "%s:%s:%s", ch_coll_names[algo->coll], algo->name,
                   ch_proto_names[algo->proto]);
}

/* Runs [first, end) and says how a failure is replayed. */
static bool run_seeds(const struct ch_algo *algo, uint32_t pes, bool is_net, uint64_t first,
                      uint64_t end)
{
    char name[96];

    name_of(algo, name, sizeof(name));
    for (uint64_t seed = first; seed < end; seed++) {
        const uint64_t mixed = ref_hash(seed, algo->id, pes + (is_net ? 1u << 16 : 0));
        const char *wrong = drive_run(plan_make(algo, pes, is_net, mixed), mixed);

        if (wrong == NULL) continue;
        printf("%s\nreplay: test_sim_coll --algo %s --pes %u --seed %llu%s\n", wrong, name, pes,
               (unsigned long long)seed, is_net ? " --net" : "");
        return false;
    }
    return true;
}

/* The seeds of a row of the lists above. */
static uint64_t seeds_of(uint32_t listed)
{
    return getenv("CHORUS_TEST_FULL") != NULL ? 6ull * listed : listed;
}

/* On one host, or on several as far as that can be. */
static bool run_team(const struct ch_algo *algo, uint32_t pes, const struct wanted *wanted,
                     uint64_t end)
{
    const bool is_one_seed = wanted->is_given && end == wanted->first + 1;

    if (plan_is_for_host(algo, pes) && !wanted->is_net) {
        if (!run_seeds(algo, pes, false, wanted->first, end)) return false;
        if (is_one_seed) return true;
    }
    if (!plan_is_for_net(algo, pes) && (pes <= PLAN_NET_PES_MAX || !plan_is_for_many(algo)))
        return true;
    return run_seeds(algo, pes, true, wanted->first, end);
}

static bool run_crowds(const struct ch_algo *algo)
{
    for (size_t i = 0; i < sizeof(crowds) / sizeof(crowds[0]) && plan_is_for_many(algo); i++)
        if (!run_seeds(algo, crowds[i].pes, true, 0, seeds_of(crowds[i].seeds))) return false;
    return true;
}

static bool run_algo(const struct ch_algo *algo, const struct wanted *wanted)
{
    if (wanted->pes != 0) return run_team(algo, wanted->pes, wanted, wanted->end);
    for (size_t i = 0; i < sizeof(teams) / sizeof(teams[0]); i++)
        if (!run_team(algo, teams[i].pes, wanted,
                      wanted->is_given ? wanted->end : seeds_of(teams[i].seeds)))
            return false;
    return wanted->is_given || run_crowds(algo);
}

static int run_all(const struct wanted *wanted, uint32_t part, uint32_t parts)
{
    uint32_t run = 0;
    bool all_well = true;

    for (uint32_t i = 0; i < CH_ALGO_COUNT; i++) {
        char name[96];

        name_of(&ch_algos[i], name, sizeof(name));
        if (wanted->algo != NULL && strcmp(wanted->algo, name) != 0) continue;
        if (i % parts != part) continue;
        run++;
        all_well = run_algo(&ch_algos[i], wanted) && all_well;
    }
    if (run == 0 && wanted->algo != NULL) printf("no algorithm is called %s\n", wanted->algo);
    if (all_well && run != 0) printf("all is well: %u algorithms\n", run);
    return all_well && run != 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"algo", required_argument, NULL, 'a'}, {"pes", required_argument, NULL, 'n'},
        {"seed", required_argument, NULL, 's'}, {"seeds", required_argument, NULL, 'r'},
        {"part", required_argument, NULL, 'p'}, {"net", no_argument, NULL, 'w'},
        {"help", no_argument, NULL, 'h'},       {NULL, 0, NULL, 0}};
    struct wanted wanted = {NULL, 0, 0, 2000, false, false};
    uint32_t part = 0, parts = 1;

    for (int key; (key = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        char *rest = optarg;

        if (key == 'h') {
            (void)fputs(usage, stdout);
            return EXIT_SUCCESS;
        }
        if (key == 'w') {
            wanted.is_net = true;
        } else if (key == 'a') {
            wanted.algo = optarg;
        } else if (key == 'n') {
            wanted.pes = (uint32_t)strtoul(optarg, NULL, 10);
        } else if (key == 's' || key == 'r') {
            const uint64_t number = strtoull(optarg, NULL, 10);
            wanted.first = key == 's' ? number : 0;
            wanted.end = key == 's' ? number + 1 : number;
            wanted.is_given = true;
        } else if (key == 'p') {
            part = (uint32_t)strtoul(rest, &rest, 10);
            parts = *rest == '/' ? (uint32_t)strtoul(rest + 1, NULL, 10) : 0;
        } else {
            (void)fputs(usage, stderr);
            return EXIT_FAILURE;
        }
    }
    if (wanted.pes > PLAN_COUNTED_PES_MAX || part >= parts) {
        printf("--pes is at most %u, --part is like 0/2\n", PLAN_COUNTED_PES_MAX);
        return EXIT_FAILURE;
    }
    return run_all(&wanted, part, parts);
}

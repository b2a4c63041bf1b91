/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/report.h"

#include "bench/gpu.h"
#include "commit.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static char *add(struct ch_facts *facts, const char *name)
{
    facts->fact[facts->n].name = name;
    return facts->fact[facts->n++].text;
}

#define ADD(facts, name, ...) \
    (void)snprintf(add((facts), (name)), sizeof((facts)->fact[0].text), __VA_ARGS__)

/* The processor's name; its architecture if the system does not report the name. */
static void machine(struct ch_facts *facts, const char *architecture)
{
    char *const out = add(facts, "machine");
    FILE *const file = fopen("/proc/cpuinfo", "r");
    char line[512];

    (void)snprintf(out, sizeof(facts->fact[0].text), "%s", architecture);
    if (file == NULL) return;
    while (fgets(line, sizeof(line), file) != NULL) {
        const char *const value = strstr(line, ": ");

        if (strncmp(line, "model name", 10) != 0 || value == NULL) continue;
        (void)snprintf(out, sizeof(facts->fact[0].text), "%.*s", (int)strcspn(value + 2, "\n"),
                       value + 2);
        break;
    }
    (void)fclose(file);
}

/* The number of cores of all PEs as chorusrun counts them for the library; other launchers do
 * not report it, and a bound PE cannot find it. */
static void cores(struct ch_facts *facts)
{
    const char *const told = getenv("CHORUS_N_CORES");
    cpu_set_t mine;

    CPU_ZERO(&mine);
    (void)sched_getaffinity(0, sizeof(mine), &mine);
    ADD(facts, "cores", "%s for all PEs; PE 0 may use %d of %ld hardware threads",
        told != NULL ? told : "unknown", CPU_COUNT(&mine), sysconf(_SC_NPROCESSORS_ONLN));
}

static void date(struct ch_facts *facts)
{
    const time_t now = time(NULL);
    struct tm utc;

    (void)strftime(add(facts, "date"), sizeof(facts->fact[0].text), "%Y-%m-%dT%H:%M:%SZ",
                   gmtime_r(&now, &utc));
}

/* Without the program's folder, which is of no use elsewhere. */
static void command(struct ch_facts *facts, int argc, char **argv)
{
    const size_t bytes = sizeof(facts->fact[0].text);
    char *const out = add(facts, "command");
    size_t used;

    used = (size_t)snprintf(out, bytes, "%s", argc > 0 ? basename(argv[0]) : "");
    for (int i = 1; i < argc && used < bytes; i++)
        used += (size_t)snprintf(out + used, bytes - used, " %s", argv[i]);
}

/* The GPU of PE 0, and what runs there beside ours. */
static void gpu(struct ch_facts *facts, const struct ch_backend *backend)
{
    struct ch_bench_gpu_facts found;

    if (backend->on_gpu && ch_bench_gpu_describe(&found)) {
        ADD(facts, "gpu", "%s", found.gpu);
        ADD(facts, "driver", "%s", found.driver);
        ADD(facts, "cuda", "%s", found.cuda);
    }
    for (unsigned peer = 0; peer < CH_PEER_COUNT; peer++)
        if (backend->peers[peer] != NULL)
            ADD(facts, ch_sweep_peers[peer], "%s", backend->peers[peer]->version);
}

/* A fact is one line of a comment in CSV; the version of MPICH has several. */
static void make_lines(struct ch_facts *facts)
{
    for (size_t k = 0; k < facts->n; k++)
        for (char *at = facts->fact[k].text; *at != '\0'; at++)
            if (*at == '\n' || *at == '\t') *at = ' ';
}

void ch_facts_gather(struct ch_facts *facts, const struct ch_backend *backend, int argc,
                     char **argv)
{
    struct utsname kernel = {0};

    facts->n = 0;
    (void)uname(&kernel);
    ADD(facts, "program", "%s %s", backend->program, backend->version);
    machine(facts, kernel.machine);
    cores(facts);
    if (backend->reach != NULL) ADD(facts, "reach", "%s", backend->reach);
    gpu(facts, backend);
    ADD(facts, "kernel", "%s %s", kernel.sysname, kernel.release);
    ADD(facts, "compiler", "%s", CH_COMPILER);
    ADD(facts, "commit", "%s", CH_COMMIT);
    date(facts);
    command(facts, argc, argv);
    make_lines(facts);
}

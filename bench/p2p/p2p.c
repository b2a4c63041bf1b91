/* SPDX-License-Identifier: Apache-2.0 */
/* chorus-p2p: latency, bandwidth and message rate of one-sided calls between two PEs. */
#include "bench/p2p/p2p.h"

#include "bench/report.h"
#include "bench/stats.h"
#include "chorus/chorusx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Largest number of bytes that all samples of a row move, and smallest number of its
 * samples. */
#define ROW_BYTES_MOST ((uint64_t)4 << 30)
enum { SAMPLES_LEAST = 20, CASES_MOST = 512, PAGE_BYTES = 4096 };

static struct ch_p2p_case cases[CASES_MOST];
static size_t n_cases;

/* Few enough that a row of large messages takes only seconds, and at least one in every
 * round. */
static uint64_t samples_of(const struct ch_p2p_options *options, const struct ch_p2p_case *c)
{
    uint64_t n = options->iterations;
    const uint64_t most = ROW_BYTES_MOST / (c->bytes * c->window);

    if (n > most) n = most > SAMPLES_LEAST ? most : SAMPLES_LEAST;
    if (n > options->iterations) n = options->iterations;
    return (n + options->rounds - 1) / options->rounds;
}

/* Windows are shortened so that their messages fit the area. */
static void add_case(const struct ch_p2p_job *job, enum ch_p2p_op op, size_t bytes)
{
    struct ch_p2p_case *c = &cases[n_cases];
    const struct ch_p2p_options *options = job->options;

    if (n_cases == CASES_MOST) return;
    *c = (struct ch_p2p_case){.op = op, .bytes = bytes, .window = 1};
    if (!ch_p2p_is_single[op]) {
        c->window = options->window;
        if (c->window > job->area / bytes) c->window = job->area / bytes;
    }
    c->us = malloc(samples_of(options, c) * options->rounds * sizeof(c->us[0]));
    if (c->us != NULL) n_cases++;
}

static void list_cases(const struct ch_p2p_job *job)
{
    const struct ch_p2p_options *options = job->options;
    const bool is_mapped = chorus_team_n_pes(CHORUS_TEAM_SHARED) == chorus_n_pes();

    for (uint32_t op = 0; op < CH_P2P_COUNT; op++) {
        const bool has_one_width = ch_p2p_is_atomic((enum ch_p2p_op)op);

        if ((options->ops >> op & 1) == 0) continue;
        if (ch_p2p_is_of_cpu((enum ch_p2p_op)op) && !is_mapped) continue;
        if (has_one_width) add_case(job, (enum ch_p2p_op)op, sizeof(uint64_t));
        for (uint64_t bytes = options->bytes_min; !has_one_width && bytes <= options->bytes_max;
             bytes *= options->factor)
            add_case(job, (enum ch_p2p_op)op, bytes);
    }
}

/* --- rows --------------------------------------------------------------------------------- */

#define HEAD "%-12s %11s %7s %8s %12s %12s %12s %10s %10s %6s\n"

static void write_head(FILE *csv, const struct ch_facts *facts)
{
    for (size_t k = 0; csv != NULL && k < facts->n; k++)
        (void)fprintf(csv, "# %s: %s\n", facts->fact[k].name, facts->fact[k].text);
    for (size_t k = 0; k < facts->n; k++)
        (void)printf("# %s: %s\n", facts->fact[k].name, facts->fact[k].text);
    (void)printf(HEAD, "op", "bytes", "window", "samples", "time_us_min", "time_us_p50",
                 "time_us_p99", "GBps", "Mcalls_s", "wrong");
    if (csv != NULL)
        (void)fprintf(csv, "op,bytes,window,samples,time_us_min,time_us_p50,time_us_p99,GBps,"
                           "Mcalls_s,wrong\n");
}

static void write_row(FILE *csv, struct ch_p2p_case *c)
{
    double p50, p99;

    ch_stats_sort(c->us, c->n);
    p50 = ch_stats_percentile(c->us, c->n, 50);
    p99 = ch_stats_percentile(c->us, c->n, 99);
    (void)printf("%-12s %11zu %7llu %8zu %12.3f %12.3f %12.3f %10.4f %10.4f %6llu\n",
                 ch_p2p_names[c->op], c->bytes, (unsigned long long)c->window, c->n, c->us[0],
                 p50, p99, (double)c->bytes / p50 / 1e3, 1 / p50, (unsigned long long)c->wrong);
    if (csv != NULL)
        (void)fprintf(csv, "%s,%zu,%llu,%zu,%.3f,%.3f,%.3f,%.4f,%.4f,%llu\n",
                      ch_p2p_names[c->op], c->bytes, (unsigned long long)c->window, c->n,
                      c->us[0], p50, p99, (double)c->bytes / p50 / 1e3, 1 / p50,
                      (unsigned long long)c->wrong);
}

/* The time of a call divided by that of the CPU's own operation: medians of samples that
 * alternated. */
static void compare(enum ch_p2p_op ours, enum ch_p2p_op plain)
{
    for (size_t i = 0; i < n_cases; i++)
        for (size_t j = 0; j < n_cases; j++) {
            const struct ch_p2p_case *a = &cases[i], *b = &cases[j];

            if (a->op != ours || b->op != plain || a->bytes != b->bytes) continue;
            (void)printf(
                "# %s of %zu bytes: %.2f times the time of %s\n", ch_p2p_names[ours], a->bytes,
                ch_stats_percentile(a->us, a->n, 50) / ch_stats_percentile(b->us, b->n, 50),
                ch_p2p_names[plain]);
        }
}

/* Write how the peer was reached. */
static void add_peer(struct ch_facts *facts, const struct ch_p2p_job *job)
{
    const char *const transport = getenv("CHORUS_TRANSPORT");
    char *const text = facts->fact[facts->n].text;

    facts->fact[facts->n++].name = "peer";
    (void)snprintf(text, sizeof(facts->fact[0].text), "PE %d, %s; CHORUS_TRANSPORT is \"%s\"",
                   job->peer,
                   chorus_ptr(job->dest, job->peer) != NULL ? "mapped" : "over a network",
                   transport != NULL ? transport : "");
}

/* On PE 0. False: a value was wrong, or a file could not be written. */
static bool report(const struct ch_p2p_job *job, int argc, char **argv)
{
    const struct ch_p2p_options *const options = job->options;
    const struct ch_backend backend = {.program = "chorus-p2p", .version = CH_VERSION};
    FILE *csv = options->csv != NULL ? fopen(options->csv, "w") : NULL;
    struct ch_facts facts;
    uint64_t wrong = 0;

    if (options->csv != NULL && csv == NULL) {
        (void)fprintf(stderr, "chorus-p2p: cannot write %s: %s\n", options->csv,
                      strerror(errno));
        return false;
    }
    ch_facts_gather(&facts, &backend, argc, argv);
    add_peer(&facts, job);
    write_head(csv, &facts);
    for (size_t i = 0; i < n_cases; i++) {
        write_row(csv, &cases[i]);
        wrong += cases[i].wrong;
    }
    compare(CH_P2P_put, CH_P2P_copy);
    compare(CH_P2P_fetch_adds, CH_P2P_c11_adds);
    (void)printf("%zu rows, %llu wrong\n", n_cases, (unsigned long long)wrong);
    if (csv != NULL && fclose(csv) != 0) {
        (void)fprintf(stderr, "chorus-p2p: cannot write %s: %s\n", options->csv,
                      strerror(errno));
        return false;
    }
    return wrong == 0;
}

/* --- the job ------------------------------------------------------------------------------ */

static bool open_job(struct ch_p2p_job *job, const struct ch_p2p_options *options)
{
    *job = (struct ch_p2p_job){.options = options};
    job->me = chorus_my_pe();
    job->peer = chorus_n_pes() - 1;
    job->area = options->bytes_max > (8u << 20) ? options->bytes_max : 8u << 20;
    job->source = chorus_align(PAGE_BYTES, job->area);
    job->dest = chorus_align(PAGE_BYTES, job->area);
    job->signal = chorus_calloc(3, sizeof(*job->signal));
    if (job->source == NULL || job->dest == NULL || job->signal == NULL) return false;
    job->counter = job->signal + 1;
    job->wrong = job->signal + 2;
    return true;
}

static int run(const struct ch_p2p_options *options, int argc, char **argv)
{
    struct ch_p2p_job job;
    bool is_good = true;

    if (!open_job(&job, options)) {
        if (job.me == 0) (void)fprintf(stderr, "chorus-p2p: %s\n", chorusx_last_error());
        return 1;
    }
    list_cases(&job);
    for (uint64_t round = 0; round < options->rounds; round++)
        for (size_t i = 0; i < n_cases; i++)
            ch_p2p_round(&job, &cases[i], samples_of(options, &cases[i]), job.me == 0);
    if (job.me == 0) is_good = report(&job, argc, argv);
    for (size_t i = 0; i < n_cases; i++)
        free(cases[i].us);
    return is_good ? 0 : 1;
}

int main(int argc, char **argv)
{
    static struct ch_p2p_options options;
    const bool is_read = ch_p2p_options_read(argc, argv, &options);
    int status = 0;

    (void)setenv("CHORUS_ERRORS", "return", 0); /* this program prints them */
    if (chorus_init() != CHORUS_OK) {
        (void)fprintf(stderr, "chorus-p2p: %s\n", chorusx_last_error());
        return 1;
    }
    if (!is_read) {
        if (chorus_my_pe() == 0) (void)fprintf(stderr, "chorus-p2p: %s\n", options.error);
        status = 2;
    } else if (options.ask == CH_P2P_RUN) {
        status = run(&options, argc, argv);
    } else if (chorus_my_pe() == 0) {
        if (options.ask == CH_P2P_HELP)
            ch_p2p_options_help(stdout, "chorus-p2p");
        else
            (void)printf("chorus-p2p %s\n", CH_VERSION);
    }
    chorus_finalize();
    return status;
}

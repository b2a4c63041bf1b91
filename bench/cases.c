/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/cases.h"

#include "bench/algos.h"
#include "bench/terms.h"

#include <stdio.h>
#include <string.h>

/* --- rows --------------------------------------------------------------------------------- */

struct walk {
    const struct ch_backend *backend;
    const struct ch_sweep_options *options;
    ch_case_visit visit;
    void *arg;
};

static bool op_takes(chorus_op op, chorus_type type)
{
#define X(name, ctype, kind) \
    if (type == (kind)) return true;
#define Y(OP, NAMES)                       \
    if (op == CHORUS_OP##OP) {             \
        NAMES(CHORUS_ROW, X) return false; \
    }
    CHORUS_REDUCE_LIST(Y)
#undef Y
#undef X
    return false;
}

static bool walk_bytes(const struct walk *walk, struct ch_work work)
{
    const struct ch_sweep_options *const options = walk->options;
    const uint32_t pes = walk->backend->pes;
    uint64_t bytes = options->bytes_min;

    if (!ch_work_moves(&work)) return walk->visit(&work, walk->arg);
    while (bytes <= options->bytes_max) {
        const size_t count = ch_work_count(work.coll, work.type, bytes, pes);

        if (count != work.count) {
            work.count = count;
            if (!walk->visit(&work, walk->arg)) return false;
        }
        if (options->step == 0 && bytes > UINT64_MAX / options->factor) break;
        bytes = options->step != 0 ? bytes + options->step : bytes * options->factor;
    }
    return true;
}

/* A barrier has no data to divide among CTAs. */
static bool walk_ctas(const struct walk *walk, struct ch_work work)
{
    const uint32_t n = ch_work_moves(&work) ? walk->options->n_ctas : 1;

    for (uint32_t i = 0; i < n; i++) {
        work.ctas = walk->options->ctas[i];
        if (!walk_bytes(walk, work)) return false;
    }
    return true;
}

static bool walk_algos(const struct walk *walk, struct ch_work work)
{
    const struct ch_choice *const algos = walk->backend->algos[work.coll];

    work.algo = NULL;
    if (ch_algo_is_wanted(walk->options, NULL) && !walk_bytes(walk, work)) return false;
    for (size_t k = 0; algos != NULL && algos[k].name != NULL; k++) {
        work.algo = algos[k].name;
        if (ch_algo_is_wanted(walk->options, work.algo) && !walk_ctas(walk, work)) return false;
    }
    return true;
}

static bool walk_ops(const struct walk *walk, struct ch_work work)
{
    if (!ch_work_reduces(&work)) return walk_algos(walk, work);
    if (!ch_terms_are_exact(work.type, walk->backend->pes)) return true;
    for (unsigned op = 0; op < CHORUS_OP_COUNT; op++) {
        work.op = (chorus_op)op;
        if ((walk->options->ops & (1u << op)) == 0 || !ch_terms_have(work.op)) continue;
        if (!op_takes(work.op, work.type)) continue;
        if (ch_work_scans(&work) && work.op != CHORUS_OP_sum) continue;
        if (!walk_algos(walk, work)) return false;
    }
    return true;
}

static bool walk_types(const struct walk *walk, struct ch_work work)
{
    if (!ch_work_moves(&work)) return walk_algos(walk, work);
    for (unsigned type = 0; type < CHORUS_TYPE_COUNT; type++) {
        work.type = (chorus_type)type;
        if ((walk->options->types & (1u << type)) == 0) continue;
        if (!walk_ops(walk, work)) return false;
    }
    return true;
}

void ch_cases_each(const struct ch_backend *backend, const struct ch_sweep_options *options,
                   ch_case_visit visit, void *arg)
{
    const struct walk walk = {backend, options, visit, arg};

    for (unsigned coll = 0; coll < CH_SWEEP_COUNT; coll++) {
        const struct ch_work work = {.coll = (enum ch_sweep_coll)coll, .op = CHORUS_OP_sum};

        if ((options->colls & (1u << coll)) != 0 && !walk_types(&walk, work)) return;
    }
}

/* --- requirements of the backend
 * ------------------------------------------------------------ */

bool ch_cases_fit(const struct ch_backend *backend, const struct ch_sweep_options *options,
                  char *error, size_t bytes)
{
    const bool has_choices = strcmp(options->algos, "auto") != 0 || options->ctas[0] != 0 ||
                             options->radix != 0 || options->stride != 0 ||
                             options->mode != CH_SWEEP_BLOCKING || ch_vs_any(options);

    if (backend->pes > CH_SWEEP_PES_MAX)
        (void)snprintf(error, bytes, "the job has %u PEs; expected at most %u", backend->pes,
                       CH_SWEEP_PES_MAX);
    else if (options->root >= (int)backend->pes)
        (void)snprintf(error, bytes, "-r %d: expected -1, or a PE from 0 to %u", options->root,
                       backend->pes - 1);
    else if (has_choices && !backend->chooses_algos)
        (void)snprintf(error, bytes,
                       "--algo, --ctas, --radix, --team, --mode and --vs are options of "
                       "chorus-sweep only");
    else if (options->mode == CH_SWEEP_GRAPH && !backend->on_gpu)
        (void)snprintf(error, bytes,
                       "--mode graph: CUDA graphs need a heap on GPUs, and the heap is in host "
                       "memory; use --mode stream, or CHORUS_HEAP=cuda on a machine with GPUs");
    else if (ch_vs_any(options) && (options->mode == CH_SWEEP_BLOCKING || !backend->on_gpu))
        (void)snprintf(error, bytes,
                       "--vs: those libraries need streams of GPUs; use --mode stream or "
                       "graph, and CHORUS_HEAP=cuda on a machine with GPUs");
    else
        return ch_algos_fit(backend, options, error, bytes);
    return false;
}

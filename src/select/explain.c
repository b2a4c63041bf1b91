/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c: writes a plan, its rule, and why the rules before it did not apply. */
#include "base/error.h"
#include "base/text.h"
#include "select/table.h"
#include "team/sync.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Largest number of PEs for whose hosts the formulas are evaluated. */
enum { MAPPED_PES_MAX = 1 << 14 };

/* The kind of FIFO that a protocol uses, if its algorithm uses one. */
static enum ch_cell cell_of(enum ch_proto proto)
{
    return proto == CH_PROTO_ll      ? CH_CELL_ll
           : proto == CH_PROTO_ll128 ? CH_CELL_ll128
                                     : CH_CELL_simple;
}

/* Set the values for the formulas of the plan's algorithm, except those of the hosts. */
static void fill_shape(const struct ch_request *request, const struct ch_plan *plan,
                       struct ch_shape *shape_out)
{
    const size_t element = ch_type_bytes[request->type];
    const uint32_t n = request->pes;
    const bool is_far = request->reach == CH_REACH_network;
    const bool is_in_pool = ch_request_is_in_pool(request);
    const size_t most = is_in_pool ? CH_POOL_DUP_BYTES_MAX(n, true, is_far) : CH_DUP_BYTES_MAX;
    struct ch_sync_layout layout;
    uint64_t message;

    *shape_out = (struct ch_shape){
        .n = n,
        .k = plan->radix,
        .m = request->bytes,
        .e = element,
        .s = (request->bytes / element + n - 1) / n * element,
        .c = 1,
        .p = UINT32_MAX,
        .o = UINT32_MAX,
        .b = UINT64_MAX,
    };
    if (request->chunk_bytes == 0) return;
    ch_sync_layout_init(&layout, n, ch_sync_chunk_bytes(n, request->chunk_bytes, is_far, most),
                        is_far);
    shape_out->b = layout.chunk_bytes[cell_of(plan->algo->proto)];
    message = ch_coll_splits_result(request->coll) ? shape_out->s : shape_out->m;
    shape_out->p = layout.slot_bytes[cell_of(plan->algo->proto)] / CH_SLOT_UNIT;
    shape_out->o = layout.own_bytes[cell_of(plan->algo->proto)] / CH_SLOT_UNIT;
    if (message > shape_out->b) shape_out->c = (message + shape_out->b - 1) / shape_out->b;
}

/* Distribute the PEs of a request in blocks, one for each host, as equal as possible. Returns
 * null if they are too many; else memory that *nodes_out uses, to be freed. */
static uint32_t *make_host_map(const struct ch_request *request, struct ch_nodes *nodes_out)
{
    const uint32_t n = request->pes, count = request->nodes < n ? request->nodes : n;
    uint32_t *words = n > MAPPED_PES_MAX ? NULL : calloc(n + CH_NODES_WORDS(n), sizeof(*words));

    if (words == NULL) return NULL;
    for (uint32_t pe = 0; pe < n; pe++)
        words[pe] = (uint32_t)((uint64_t)pe * count / n);
    ch_nodes_init(nodes_out, words, n, words + n);
    return words;
}

/* Write a line of a table, numbered from 1, without the marks of a list item. */
static void write_line(const struct ch_table *table, uint32_t line, FILE *out)
{
    const char *at = table->text, *end = table->text + table->bytes;

    for (uint32_t i = 1; i < line && at < end; i++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));

        at = next == NULL ? end : next + 1;
    }
    if (at < end && memchr(at, '\n', (size_t)(end - at)) != NULL)
        end = memchr(at, '\n', (size_t)(end - at));
    while (at < end && strchr(" -", *at) != NULL)
        at++;
    while (at < end && strchr(" \r", end[-1]) != NULL)
        end--;
    (void)fprintf(out, "%.*s", (int)(end - at), at);
}

static void write_request(const struct ch_request *r, FILE *out)
{
    const bool has_op = ch_coll_reduces(r->coll);

    (void)fprintf(out, "%s", ch_coll_names[r->coll]);
    if (r->coll != CHORUS_COLL_barrier)
        (void)fprintf(out, ", %" PRIu64 " bytes of %s%s%s", r->bytes, ch_type_names[r->type],
                      has_op ? ", " : "", has_op ? ch_op_names[r->op] : "");
    (void)fprintf(out, ", %u PEs on %u node%s, reach %s, cores %s, machine %s%s%s\n", r->pes,
                  r->nodes, r->nodes == 1 ? "" : "s", ch_reach_names[__builtin_ctz(r->reach)],
                  ch_cores_names[__builtin_ctz(r->cores)], r->machine,
                  *r->gpu == '\0' ? "" : ", gpu ", r->gpu);
}

/* Write on which GPU the table was measured, if that is another one. Its rules are still used,
 * until there are measurements on this one. */
static void write_gpu(const struct ch_table *table, const struct ch_request *request, FILE *out)
{
    if (table->gpu == NULL || strcmp(table->gpu, request->gpu) == 0) return;
    (void)fprintf(out, "gpu    the table was measured on %s", table->gpu);
    if (*request->gpu != '\0') (void)fprintf(out, ", not on %s: a guess", request->gpu);
    (void)fprintf(out, "\n");
}

/* Write the formulas of the algorithm with their values. For an algorithm on two levels, they
 * are evaluated for a typical distribution of the PEs. */
static void write_formulas(const struct ch_request *request, const struct ch_plan *plan,
                           FILE *out)
{
    const struct ch_algo *algo = plan->algo;
    const bool has_levels = (algo->needs & CH_NEED_nodes) != 0;
    struct ch_nodes nodes;
    uint32_t *map = has_levels ? make_host_map(request, &nodes) : NULL;
    struct ch_shape shape;

    if (has_levels && map == NULL) {
        (void)fprintf(out, "steps  %s\nwire   %s\n", algo->steps_text, algo->wire_text);
        return;
    }
    fill_shape(request, plan, &shape);
    shape.h = map != NULL ? &nodes : NULL;
    (void)fprintf(out, "steps  %s = %" PRIu64 "\n", algo->steps_text, algo->steps(&shape));
    (void)fprintf(out, "wire   %s = %" PRIu64 " %s\n", algo->wire_text, algo->wire(&shape),
                  request->coll == CHORUS_COLL_barrier ? "signals" : "bytes");
    free(map);
}

static void write_plan(const struct ch_request *request, const struct ch_plan *plan, FILE *out)
{
    const struct ch_algo *algo = plan->algo;

    (void)fprintf(out, "plan   %s:%s, ctas %u", algo->name, ch_proto_names[algo->proto],
                  plan->ctas);
    if (algo->takes_radix) (void)fprintf(out, ", radix %u", plan->radix);
    (void)fprintf(out, "\nrule   ");
    if (plan->rule == NULL) {
        (void)fprintf(out, "forced by CHORUS_ALGO");
    } else {
        (void)fprintf(out, "%s:%u: ", plan->table->path, plan->rule->line);
        write_line(plan->table, plan->rule->line, out);
    }
    (void)fprintf(out, "\n");
    if (plan->table != NULL) write_gpu(plan->table, request, out);
    write_formulas(request, plan, out);
}

/* Print a table that is not for the call, and the reason. */
static void write_passed_table(const struct ch_table *passed, const struct ch_request *request,
                               FILE *out)
{
    struct ch_reason why;

    if (!ch_table_mentions(passed, request->coll))
        ch_why_set(&why, "no rule for %s", ch_coll_names[request->coll]);
    else
        ch_miss_text(ch_rule_miss(&passed->serves, request), &passed->serves, request, &why);
    (void)fprintf(out, "passed %s: %s\n", passed->path, why.text);
}

/* Print the rules of a table before `until`; false if `until` was reached. */
static bool write_passed_rules(const struct ch_table *table, const struct ch_request *request,
                               const struct ch_rule *until, FILE *out)
{
    struct ch_reason why;

    for (size_t i = 0; i < table->n_rules; i++) {
        const struct ch_rule *rule = &table->rules[i];

        if (rule == until) return false;
        if (rule->coll != request->coll) continue;
        ch_miss_text(ch_rule_miss(rule, request), rule, request, &why);
        (void)fprintf(out, "passed %s:%u: %s\n", table->path, rule->line, why.text);
    }
    return true;
}

/* Print the tables and rules that were considered before `until` (null: all), and why they did
 * not apply. */
static void write_passed(const struct ch_select *s, const struct ch_request *request,
                         const struct ch_rule *until, FILE *out)
{
    const struct ch_table *table;

    for (size_t i = 0; (table = ch_select_table(s, i)) != NULL; i++) {
        if (!ch_table_serves(table, request)) {
            write_passed_table(table, request, out);
            continue;
        }
        if (!write_passed_rules(table, request, until, out) || ch_is_last(request)) return;
    }
}

/* Write the request, its plan (null: none) and the rules that did not apply. */
static void write_all(const struct ch_select *s, const struct ch_request *request,
                      const struct ch_plan *plan, FILE *out)
{
    write_request(request, out);
    if (plan != NULL) write_plan(request, plan, out);
    if (s->forced[request->coll].algo == NULL)
        write_passed(s, request, plan == NULL ? NULL : plan->rule, out);
}

chorus_status ch_select_explain(const struct ch_select *s, const struct ch_request *request,
                                FILE *out)
{
    struct ch_plan plan;
    const chorus_status status = ch_select_find(s, request, &plan);

    write_all(s, request, status == CHORUS_OK ? &plan : NULL, out);
    return status;
}

/* A hash that is equal for requests that share a line of the log: the same rule, with bytes of
 * the same magnitude. */
static uint64_t shape_hash(const struct ch_request *r, const struct ch_plan *plan)
{
    const uint64_t magnitude = r->bytes == 0 ? 0 : 64 - (uint64_t)__builtin_clzll(r->bytes);
    const uint64_t parts[] = {
        r->coll,   magnitude,      r->pes,
        r->nodes,  r->type,        r->op,
        r->offers, plan->algo->id, plan->rule == NULL ? 0 : plan->rule->line};

    return ch_hash(CH_HASH_START, parts, sizeof(parts));
}

void ch_select_log(const struct ch_select *s, const struct ch_request *request,
                   const struct ch_plan *plan)
{
    const uint64_t bit = shape_hash(request, plan) % (CH_SEEN_WORDS * 64);
    char *text = NULL;
    size_t bytes;
    FILE *out;

    if ((__atomic_fetch_or(&s->seen[bit / 64], 1ull << bit % 64, __ATOMIC_RELAXED) >> bit % 64 &
         1) != 0)
        return;
    out = open_memstream(&text, &bytes);
    if (out == NULL) return; /* a line of the log is lost */
    write_all(s, request, plan, out);
    if (fclose(out) == 0)
        for (char *line = text, *end; *line != '\0'; line = end + 1) {
            end = strchr(line, '\n');
            *end = '\0';
            CH_LOG(DEBUG, "%s", line);
        }
    free(text);
}

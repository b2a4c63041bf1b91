/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorus-info-calls.c: prints each call and each access that records have.
 *
 * Times are seconds before the record was kept: the clocks of hosts differ. Of a call without a
 * time of its own, it is known that it began between two calls that have one.
 */
#include "chorus-info-record.h"

#include "coll/algorithm.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A call or an access of one PE. */
struct item {
    const struct ch_record *record;
    struct ch_record_call called;
    struct ch_access access; /* index 0: it is a call */
    bool is_exact;           /* from_s is when it began; else it began in [from_s, to_s] */
    double from_s, to_s;     /* until it ended, or as above; negative: before the end */
    bool has_ended;          /* to_s is when it ended */
    uint64_t order;
};

static const char *const state_names[] = {"running", "queued", "ended", "failed"};

static double time_of(const struct ch_record *record, uint64_t ticks)
{
    return -ch_record_age_s(record, ticks);
}

static void set_call(const struct ch_record *record, struct item *item)
{
    const struct ch_record_call *called = &item->called;
    const uint64_t before = ch_record_ticks_after(record, called->index);

    item->record = record;
    item->access.index = 0;
    item->is_exact = called->is_timed;
    item->from_s = time_of(record, called->ticks);
    item->has_ended = called->is_timed && called->ended != 0;
    item->to_s = item->has_ended ? time_of(record, called->ended)
                 : before != 0   ? time_of(record, before)
                                 : 0;
    item->order = called->index;
}

static void set_access(const struct ch_record *record, struct item *item)
{
    const struct ch_access *access = &item->access;

    item->record = record;
    item->is_exact = true;
    item->from_s = time_of(record, access->ticks);
    item->has_ended = access->ended != 0;
    item->to_s = item->has_ended ? time_of(record, access->ended) : 0;
    item->order = access->index;
}

static int by_time(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    if (x->from_s != y->from_s) return x->from_s < y->from_s ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* The items of one PE, in order, the last `last` of its calls and of its accesses. The caller
 * frees them; null: there is no memory. */
static struct item *collect(const struct ch_record *record, uint64_t last, size_t *n_out)
{
    struct item *items = calloc((size_t)2 * CH_RECORD_ENTRIES, sizeof(*items));
    const uint64_t most = last == 0 || last > CH_RECORD_ENTRIES ? CH_RECORD_ENTRIES : last;

    *n_out = 0;
    for (uint64_t i = 0; items != NULL && i < most; i++) {
        struct item *item = &items[*n_out];

        if (!ch_record_read(record, record->n - i, &item->called)) continue;
        set_call(record, item);
        (*n_out)++;
    }
    for (uint64_t i = 0; items != NULL && i < most; i++) {
        struct item *item = &items[*n_out];

        if (!ch_record_read_access(record, record->n_accesses - i, &item->access)) {
            item->access.index = 0;
            continue;
        }
        set_access(record, item);
        (*n_out)++;
    }
    if (items != NULL) qsort(items, *n_out, sizeof(*items), by_time);
    return items;
}

static bool is_call(const struct item *item)
{
    return item->access.index == 0;
}

static const struct ch_algo *algo_of(const struct ch_record_call *called)
{
    const uint32_t at = called->doing.algo - 1u;

    if (!ch_doing_is_collective(&called->doing) || at >= CH_ALGO_COUNT) return NULL;
    return &ch_algos[at];
}

static const char *name_of(const struct ch_doing *d)
{
    static const char *const others[] = {
#define X(name, text, unit) #name,
        CH_DOING_LIST(X)
#undef X
    };

    if (d->what < CHORUS_COLL_COUNT) return ch_coll_names[d->what];
    if (d->what > CH_DOING_FIRST && d->what < CH_DOING_END)
        return others[d->what - CH_DOING_FIRST - 1];
    return "unknown";
}

static bool has_buffers(const struct ch_doing *d)
{
    return d->what < CHORUS_COLL_COUNT && d->what != CHORUS_COLL_barrier;
}

static const char *buffers_of(const struct ch_doing *d)
{
    static const char *const texts[] = {
        ", dest and source outside the heap", ", dest in the heap, source outside",
        ", source in the heap, dest outside", ", dest and source in the heap"};

    return has_buffers(d) ? texts[!d->is_dest_outside + 2 * !d->is_source_outside] : "";
}

enum { ITEM_BYTES = 3 * CH_DOING_TEXT_BYTES };

static void describe(const struct item *item, char text[ITEM_BYTES])
{
    const struct ch_algo *algo = is_call(item) ? algo_of(&item->called) : NULL;
    char what[CH_DOING_TEXT_BYTES];

    if (is_call(item)) {
        ch_doing_text(&item->called.doing, what);
        (void)snprintf(text, ITEM_BYTES, "%s%s%s%s%s%s; %s", what,
                       buffers_of(&item->called.doing), algo != NULL ? ", by " : "",
                       algo != NULL ? algo->name : "", algo != NULL ? " " : "",
                       algo != NULL ? ch_proto_names[algo->proto] : "",
                       state_names[item->called.state]);
    } else {
        ch_access_text(&item->access, what);
        (void)snprintf(text, ITEM_BYTES, "%s%s", what,
                       item->has_ended ? "" : "; it has not ended");
    }
    ch_names_replace(item->record->names, text, ITEM_BYTES);
}

/* The PEs of the records that are shown. */
#define EACH_SHOWN(i, all, shown)           \
    for (uint32_t i = 0; i < (all)->n; i++) \
        if ((shown)->is_shown == NULL || (shown)->is_shown[i])

static void list_one(FILE *out, const struct item *item)
{
    char text[ITEM_BYTES];

    describe(item, text);
    if (item->is_exact && item->has_ended)
        (void)fprintf(out, "  %14.9f s, for %.9f s: %s\n", item->from_s,
                      item->to_s - item->from_s, text);
    else if (item->is_exact)
        (void)fprintf(out, "  %14.9f s: %s\n", item->from_s, text);
    else
        (void)fprintf(out, "  %14.9f to %.9f s: %s\n", item->from_s, item->to_s, text);
}

void calls_list(FILE *out, const struct records *all, const struct calls_shown *shown)
{
    EACH_SHOWN(i, all, shown)
    {
        size_t n = 0;
        struct item *items = collect(all->of[i], shown->last, &n);

        (void)fprintf(out,
                      "PE %u (pid %" PRIu64 "), of %" PRIu64
                      " calls, by the time at which each began (0 is when they were kept):\n",
                      all->of[i]->pe, all->of[i]->pid, all->of[i]->n);
        for (size_t k = 0; k < n; k++)
            list_one(out, &items[k]);
        (void)fprintf(out, "\n");
        free(items);
    }
}

/* --- JSON --------------------------------------------------------------------------------- */
static const char *json_bool(bool value)
{
    return value ? "true" : "false";
}

/* Arguments of a call, as members of an object that has others before them. */
static void put_arguments(FILE *out, const struct ch_record_call *called)
{
    const struct ch_doing *d = &called->doing;
    const struct ch_algo *algo = algo_of(called);

    if (ch_doing_is_alone(d) || !ch_doing_is_collective(d)) {
        (void)fprintf(out, ", \"count\": %" PRIu64, d->count);
    } else if (has_buffers(d) && d->type < CHORUS_TYPE_COUNT && d->op < CHORUS_OP_COUNT) {
        (void)fprintf(out, ", \"count\": %" PRIu64 ", \"type\": \"%s\"", d->count,
                      ch_type_names[d->type]);
        if (ch_coll_reduces((chorus_coll)d->what))
            (void)fprintf(out, ", \"op\": \"%s\"", ch_op_names[d->op]);
        if (ch_coll_has_root((chorus_coll)d->what))
            (void)fprintf(out, ", \"root\": %d", (int)d->root);
        (void)fprintf(out, ", \"in_place\": %s, \"dest_in_heap\": %s, \"source_in_heap\": %s",
                      json_bool(d->is_in_place), json_bool(!d->is_dest_outside),
                      json_bool(!d->is_source_outside));
    }
    if (!ch_doing_is_alone(d))
        (void)fprintf(out, ", \"team\": %u, \"number\": %" PRIu64, (uint32_t)d->team,
                      d->number);
    if (d->what == CH_DOING_wait)
        (void)fprintf(out, ", \"offset\": %" PRIu64 ", \"value\": %" PRIu64, d->offset,
                      d->value);
    if (algo != NULL)
        (void)fprintf(out, ", \"algorithm\": \"%s\", \"protocol\": \"%s\"", algo->name,
                      ch_proto_names[algo->proto]);
    (void)fprintf(out, ", \"on_stream\": %s, \"in_kernel\": %s", json_bool(d->is_on_stream),
                  json_bool(d->is_in_kernel));
}

/* The members that say what it is, which follow the first one. */
static void put_item(FILE *out, const struct item *item)
{
    const struct ch_access *access = &item->access;

    if (is_call(item)) {
        (void)fprintf(out, "\"index\": %" PRIu64 ", \"call\": \"%s\", \"state\": \"%s\"",
                      item->called.index, name_of(&item->called.doing),
                      state_names[item->called.state]);
        put_arguments(out, &item->called);
        return;
    }
    (void)fprintf(out,
                  "\"index\": %" PRIu64 ", \"access\": \"%s\", \"pe_of_memory\": %" PRIu64
                  ", \"offset\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"value\": %" PRIu64,
                  access->index, ch_access_name(access), access->pe, access->offset,
                  access->bytes, access->value);
}

static void put_json_item(FILE *out, const struct item *item, const char *before)
{
    char text[ITEM_BYTES];

    describe(item, text);
    (void)fprintf(out, "%s\n      {\"text\": \"%s\", ", before, text);
    put_item(out, item);
    (void)fprintf(out, ", \"began_s\": [%.9f, %.9f]", item->from_s,
                  item->is_exact ? item->from_s : item->to_s);
    if (item->has_ended) (void)fprintf(out, ", \"ended_s\": %.9f", item->to_s);
    (void)fprintf(out, "}");
}

void calls_json(FILE *out, const struct records *all, const struct calls_shown *shown)
{
    const char *before = "";

    (void)fprintf(out, "{\"pes\": [");
    EACH_SHOWN(i, all, shown)
    {
        const struct ch_record *record = all->of[i];
        size_t n = 0;
        struct item *items = collect(record, shown->last, &n);

        (void)fprintf(out,
                      "%s\n  {\"pe\": %u, \"n_pes\": %u, \"pid\": %" PRIu64
                      ", \"full\": %s, \"calls_made\": %" PRIu64 ", \"accesses_made\": %" PRIu64
                      ",\n    \"events\": [",
                      before, record->pe, record->n_pes, record->pid,
                      json_bool(record->is_full != 0), record->n, record->n_accesses);
        for (size_t k = 0; k < n; k++)
            put_json_item(out, &items[k], k == 0 ? "" : ",");
        (void)fprintf(out, "]}");
        before = ",";
        free(items);
    }
    (void)fprintf(out, "\n]}\n");
}

/* --- Perfetto ----------------------------------------------------------------------------- */
/* The format of Chrome's traces: complete events of process 0, whose threads are the PEs; times
 * are in microseconds, from `first_s` on. */
static void put_event(FILE *out, const struct item *item, double first_s)
{
    static const double us_per_s = 1e6;
    char text[ITEM_BYTES];
    const char *known = item->is_exact && item->has_ended ? "exact"
                        : item->is_exact ? "exact beginning; the end is a bound"
                                         : "bounds: it began between them";

    describe(item, text);
    (void)fprintf(out,
                  ",\n{\"name\": \"%s%s\", \"cat\": \"%s\", \"ph\": \"X\", \"pid\": 0, "
                  "\"tid\": %u, \"ts\": %.3f, \"dur\": %.3f, \"args\": {\"time\": \"%s\", ",
                  text, item->is_exact && item->has_ended ? "" : " (time not exact)",
                  is_call(item) ? "call" : "access", item->record->pe,
                  (item->from_s - first_s) * us_per_s, (item->to_s - item->from_s) * us_per_s,
                  known);
    put_item(out, item);
    (void)fprintf(out, "}}");
}

/* The PEs' names, and their items from first_s on; without `out`, first_s becomes the first
 * time. */
static void put_events(FILE *out, const struct records *all, const struct calls_shown *shown,
                       double *first_s)
{
    EACH_SHOWN(i, all, shown)
    {
        size_t n = 0;
        struct item *items = collect(all->of[i], shown->last, &n);

        if (n > 0 && items[0].from_s < *first_s) *first_s = items[0].from_s;
        if (out != NULL)
            (void)fprintf(out,
                          ",\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 0, \"tid\": "
                          "%u, \"args\": {\"name\": \"PE %u (pid %" PRIu64 ")\"}}",
                          all->of[i]->pe, all->of[i]->pe, all->of[i]->pid);
        for (size_t k = 0; out != NULL && k < n; k++)
            put_event(out, &items[k], *first_s);
        free(items);
    }
}

void calls_trace(FILE *out, const struct records *all, const struct calls_shown *shown)
{
    double first_s = 0;

    put_events(NULL, all, shown, &first_s);
    (void)fprintf(out, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n"
                       "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 0, \"args\": "
                       "{\"name\": \"job\"}}");
    put_events(out, all, shown, &first_s);
    (void)fprintf(out, "\n]}\n");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorus-info-links.c: how each PE of this job reaches each other PE, and why not by another
 * transport.
 *
 * Every process of the job runs this. Connections are opened at first use, so each PE reads a
 * word of each other PE before it describes the connection. PE 0 then fetches the rows of one
 * PE after the other, and prints them.
 */
#include "chorus-info-rows.h"
#include "chorus-info.h"

#include "api/context.h"
#include "base/option.h"
#include "chorus/chorus.h"
#include "transport/links.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NAME_CHARS: of a transport. A job of up to PAIRS_PES PEs has a row for each pair of PEs; one
 * of more has a row for consecutive peers that are reached in the same way. */
enum { NAME_CHARS = 8, PAIRS_PES = 16 };

/* --- the transports ----------------------------------------------------------------------- */

/* The reason why this kind of network is not used; null: it is used. */
static const char *why_not(const struct ch_context *context, const struct ch_kinds *kinds,
                           uint32_t kind)
{
    const char *tried;

    if (context->links->network == NULL) return "no peer is on another host";
    tried = ch_links_why_not(context->links, kind);
    if (tried == NULL || *tried != '\0') return tried;
    if (kinds->is_allowed[kind]) return "an earlier one is used";
    return "CHORUS_TRANSPORT excludes it";
}

/* why: it is not used; null: it is, for what_for. */
static void print_kind(const char *name, const char *why, const char *what_for, bool is_json)
{
    const char *text = why == NULL ? what_for : why;

    if (!is_json) {
        (void)printf("%-4s %-*s %s\n", why == NULL ? "yes:" : "no:", NAME_CHARS, name, text);
        return;
    }
    (void)printf("\n  {\"name\": \"%s\", \"used\": %s, \"why\": ", name,
                 why == NULL ? "true" : "false");
    json_print_string(stdout, text);
    (void)printf("}");
}

/* The transports in the order of preference, which is the same on all PEs. */
static chorus_status print_kinds(const struct ch_context *context, bool is_json)
{
    const bool is_on_gpu = ch_heap_device(context->heap) != NULL;
    struct ch_kinds kinds;

    CH_TRY(ch_kinds_read(context->options.transport, &kinds));
    print_kind(context->links->near_ops->name,
               kinds.may_map ? NULL : "CHORUS_TRANSPORT excludes it",
               is_on_gpu ? "near peers" : "peers of the same host", is_json);
    for (uint32_t kind = 0; kind < CH_KIND_COUNT && ch_kind_ops[kind] != NULL; kind++) {
        if (is_json) (void)printf(",");
        print_kind(ch_kind_ops[kind]->name, why_not(context, &kinds, kind),
                   "peers of other hosts", is_json);
    }
    return CHORUS_OK;
}

/* --- the rows of this PE ------------------------------------------------------------------ */

/* Read a word of each peer to which there is a link: one of an object or, over a network, whose
 * links may access no objects on GPUs, of the peer's record. */
static chorus_status touch_peers(struct ch_context *context)
{
    struct ch_links *links = context->links;
    uint64_t *word = chorus_malloc(sizeof(*word)), seen;

    if (word == NULL) return CHORUS_ERR_NOMEM; /* it has set its message */
    for (uint32_t pe = 0; pe < context->boot->n; pe++)
        if (ch_links_network_link(links, pe) != NULL)
            CH_TRY(ch_links_fetch(links, CH_CTX_DEFAULT, &seen,
                                  ch_heap_record_at_owner(context->heap, pe), sizeof(seen),
                                  pe));
        else if (ch_heap_is_near(context->heap, pe))
            CH_TRY(ch_links_get(links, CH_CTX_DEFAULT, &seen, word, sizeof(seen), pe));
    return ch_context_quiet_and_sync(context);
}

static void describe(const struct ch_context *context, uint32_t pe, struct link_row *row_out)
{
    const struct ch_boot *boot = context->boot;
    const struct ch_link_way way = ch_links_way(context->links, pe);
    const size_t length = strlen(way.kind);
    char via[CH_LINK_WHY_BYTES];

    *row_out = (struct link_row){.pe = boot->me, .lo = pe, .hi = pe + 1};
    row_out->host = boot->nodes == NULL ? "this host" : boot->hosts[ch_boot_node(boot, pe)];
    row_out->class = way.class;
    row_out->link = way.kind;
    row_out->why = way.why;
    ch_links_describe(context->links, pe, via);
    /* It begins with the name of the kind, which has a column of its own. */
    if (strncmp(via, way.kind, length) != 0 || strncmp(via + length, ": ", 2) != 0)
        (void)snprintf(row_out->via, sizeof(row_out->via), "%s", *via == '\0' ? "-" : via);
    else
        (void)snprintf(row_out->via, sizeof(row_out->via), "%s", via + length + 2);
}

/* Write the rows of this PE. */
static void write_rows(const struct ch_context *context, FILE *out)
{
    struct link_row row = {.hi = 0}, next;

    for (uint32_t pe = 0; pe < context->boot->n; pe++) {
        if (pe == context->boot->me) continue;
        describe(context, pe, &next);
        if (row.hi == pe && pe != 0 && context->boot->n > PAIRS_PES &&
            link_row_is_alike(&row, &next)) {
            row.hi = pe + 1;
            continue;
        }
        if (row.hi != 0) link_row_write(out, &row);
        row = next;
    }
    if (row.hi != 0) link_row_write(out, &row);
}

/* Make the rows of this PE. The caller frees their text. */
static chorus_status make_rows(const struct ch_context *context, struct link_rows *rows_out)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    if (out != NULL) {
        write_rows(context, out);
        if (fclose(out) == 0) {
            *rows_out = (struct link_rows){text, bytes};
            return CHORUS_OK;
        }
    }
    free(text);
    return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the links to %u PEs", context->boot->n);
}

/* --- the rows of all PEs ------------------------------------------------------------------ */

/* Where a PE has its rows, in memory that PE 0 accesses. */
struct place {
    uint64_t at, bytes, key; /* at: its own address */
    uint32_t widths[LINK_COLUMNS];
};

/* Copy the rows of this PE to memory that PE 0 accesses. */
static chorus_status share_rows(const struct ch_context *context, const struct link_rows *rows,
                                struct place *place)
{
    struct ch_memory_part part = {.bytes = rows->bytes};
    void *at = NULL;

    CH_TRY(ch_heap_local_alloc(context->heap, rows->bytes, &at));
    memcpy(at, rows->text, rows->bytes);
    part.base = at;
    place->at = (uint64_t)(uintptr_t)at;
    place->bytes = rows->bytes;
    link_rows_measure(rows, place->widths);
    return ch_links_attach(context->links, &part, &place->key);
}

static void unshare_rows(const struct ch_context *context, const struct place *place)
{
    void *at = (void *)(uintptr_t)place->at;

    ch_links_detach(context->links, at);
    ch_heap_local_free(context->heap, at);
}

/* Copy the rows of a PE of another host to `text`. */
static chorus_status fetch_rows(const struct ch_context *context, uint32_t pe,
                                const struct place *place, char *text)
{
    const char *there = (const char *)(uintptr_t)place->at;
    chorus_status status;

    CH_TRY(ch_links_add_peer_key(context->links, pe, there, place->bytes, place->key));
    status = ch_links_fetch(context->links, CH_CTX_DEFAULT, text, there, place->bytes, pe);
    ch_links_drop_peer_key(context->links, pe, there);
    return status;
}

/* Copy the rows of a PE to `text`, which has room for them. */
static chorus_status read_rows(const struct ch_context *context, uint32_t pe,
                               const struct place *place, char *text)
{
    const char *base = ch_heap_base(context->heap, pe);

    if (base == NULL) return fetch_rows(context, pe, place, text);
    memcpy(text,
           base + (place->at - (uint64_t)(uintptr_t)ch_heap_base_at_owner(context->heap, pe)),
           place->bytes);
    return CHORUS_OK;
}

static void print_rows(const struct link_rows *rows, const uint32_t widths[LINK_COLUMNS],
                       bool is_json, uint64_t *n_printed)
{
    if (is_json)
        link_rows_print_json(stdout, rows, n_printed);
    else
        link_rows_print(stdout, rows, widths);
}

/* Print the rows of all PEs. */
static chorus_status print_places(const struct ch_context *context, const struct place *places,
                                  bool is_json)
{
    uint32_t widths[LINK_COLUMNS] = {0};
    uint64_t n_printed = 0, most = 0;
    chorus_status status = CHORUS_OK;
    char *text;

    for (uint32_t pe = 0; pe < context->boot->n; pe++) {
        if (places[pe].bytes > most) most = places[pe].bytes;
        for (int i = 0; i < LINK_COLUMNS; i++)
            if (places[pe].widths[i] > widths[i]) widths[i] = places[pe].widths[i];
    }
    text = malloc(most);
    if (text == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %" PRIu64 " bytes", most);
    if (!is_json) link_rows_print_heading(stdout, widths);
    for (uint32_t pe = 0; pe < context->boot->n && status == CHORUS_OK; pe++) {
        const struct link_rows rows = {text, places[pe].bytes};

        status = read_rows(context, pe, &places[pe], text);
        if (status == CHORUS_OK) print_rows(&rows, widths, is_json, &n_printed);
    }
    free(text);
    return status;
}

/* Print what all PEs share, on PE 0; on others a no-op. */
static chorus_status print_all(const struct ch_context *context, const struct place *places,
                               bool is_json)
{
    if (context->boot->me != 0) return CHORUS_OK;
    if (is_json) (void)printf("{\"transports\": [");
    CH_TRY(print_kinds(context, is_json));
    (void)printf("%s", is_json ? "\n], \"links\": [" : "\n");
    if (context->boot->n > 1)
        CH_TRY(print_places(context, places, is_json));
    else if (!is_json)
        (void)printf("PE 0 has no peers: this is a job of one PE\n");
    if (is_json) (void)printf("\n]}\n");
    return CHORUS_OK;
}

/* Share the rows of all PEs, and print them. Collective. */
static chorus_status share_and_print(const struct ch_context *context,
                                     const struct link_rows *rows, bool is_json)
{
    struct place mine = {.at = 0}, *places = calloc(context->boot->n, sizeof(*places));
    struct ch_vote shared = {.step = "links", .values = &mine, .bytes = sizeof(mine)},
                   printed = {.step = "links"};
    chorus_status status;

    if (places == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %u PEs", context->boot->n);
    if (context->boot->n > 1) shared.mine = share_rows(context, rows, &mine);
    status = ch_boot_vote(context->boot, &shared, places);
    if (status == CHORUS_OK) {
        printed.mine = print_all(context, places, is_json);
        status = ch_boot_vote(context->boot, &printed, NULL); /* PE 0 has read all rows */
    }
    if (mine.at != 0) unshare_rows(context, &mine);
    free(places);
    return status;
}

chorus_status info_links(const struct info_args *args)
{
    struct ch_context *context;
    struct link_rows rows;
    chorus_status status;

    /* This program prints them. */
    (void)setenv(ch_variable_name(CH_VARIABLE_ERRORS), "return", 0);
    CH_TRY((chorus_status)chorus_init());
    CH_TRY(ch_context_require("chorus-info", &context));
    CH_TRY(touch_peers(context));
    CH_TRY(make_rows(context, &rows));
    status = share_and_print(context, &rows, args->is_json);
    free((void *)(uintptr_t)rows.text);
    CH_TRY(status);
    chorus_finalize();
    return CHORUS_OK;
}

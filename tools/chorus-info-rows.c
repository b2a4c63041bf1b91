/* SPDX-License-Identifier: Apache-2.0 */
#include "chorus-info-rows.h"

#include <stdlib.h>
#include <string.h>

/* Longer cells do not widen their column. */
enum { WIDTH_MAX = 64, GAP = 2 };

static const char *const names[] = {
#define X(name, heading) #name,
    LINK_COLUMN_LIST(X)
#undef X
};

static const char *const headings[] = {
#define X(name, heading) heading,
    LINK_COLUMN_LIST(X)
#undef X
};

bool link_row_is_alike(const struct link_row *a, const struct link_row *b)
{
    return strcmp(a->host, b->host) == 0 && strcmp(a->class, b->class) == 0 &&
           strcmp(a->link, b->link) == 0 && strcmp(a->why, b->why) == 0 &&
           strcmp(a->via, b->via) == 0;
}

void link_row_write(FILE *out, const struct link_row *row)
{
    char peers[32];

    (void)snprintf(peers, sizeof(peers), row->hi - row->lo > 1 ? "%u-%u" : "%u", row->lo,
                   row->hi - 1);
    (void)fprintf(out, "%u%c%s%c", row->pe, 0, peers, 0);
    (void)fprintf(out, "%s%c%s%c%s%c%s%c%s%c", row->host, 0, row->class, 0, row->link, 0,
                  row->via, 0, row->why, 0);
}

/* Find the cells of the next row, and move *at behind it. False: there is none. */
static bool next_row(const struct link_rows *rows, size_t *at, const char *cells[LINK_COLUMNS])
{
    for (int i = 0; i < LINK_COLUMNS; i++) {
        const char *end = memchr(rows->text + *at, '\0', rows->bytes - *at);

        if (end == NULL) return false;
        cells[i] = rows->text + *at;
        *at = (size_t)(end - rows->text) + 1;
    }
    return true;
}

static void widen(const char *const cells[LINK_COLUMNS], uint32_t widths[LINK_COLUMNS])
{
    for (int i = 0; i < LINK_COLUMNS; i++) {
        const size_t width = strlen(cells[i]);

        if (width <= WIDTH_MAX && width > widths[i]) widths[i] = (uint32_t)width;
    }
}

void link_rows_measure(const struct link_rows *rows, uint32_t widths[LINK_COLUMNS])
{
    const char *cells[LINK_COLUMNS];
    size_t at = 0;

    memset(widths, 0, LINK_COLUMNS * sizeof(widths[0]));
    widen(headings, widths);
    while (next_row(rows, &at, cells))
        widen(cells, widths);
}

static void print_cells(FILE *out, const char *const cells[LINK_COLUMNS],
                        const uint32_t widths[LINK_COLUMNS])
{
    for (int i = 0; i + 1 < LINK_COLUMNS; i++)
        (void)fprintf(out, "%-*s%*s", (int)widths[i], cells[i], GAP, "");
    (void)fprintf(out, "%s\n", cells[LINK_COLUMNS - 1]);
}

void link_rows_print_heading(FILE *out, const uint32_t widths[LINK_COLUMNS])
{
    print_cells(out, headings, widths);
}

void link_rows_print(FILE *out, const struct link_rows *rows,
                     const uint32_t widths[LINK_COLUMNS])
{
    const char *cells[LINK_COLUMNS];
    size_t at = 0;

    while (next_row(rows, &at, cells))
        print_cells(out, cells, widths);
}

void json_print_string(FILE *out, const char *text)
{
    enum { FIRST_PRINTABLE = 0x20 };

    (void)fputc('"', out);
    for (; *text != '\0'; text++)
        if (*text == '"' || *text == '\\')
            (void)fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < FIRST_PRINTABLE)
            (void)fprintf(out, "\\u%04x", (unsigned)*text);
        else
            (void)fputc(*text, out);
    (void)fputc('"', out);
}

/* Print the first and the last of the peers: "1-3" or "1". */
static void print_json_peers(FILE *out, const char *peers)
{
    char *end;
    const unsigned long first = strtoul(peers, &end, 10);

    (void)fprintf(out, "[%lu, %lu]", first, *end == '-' ? strtoul(end + 1, NULL, 10) : first);
}

void link_rows_print_json(FILE *out, const struct link_rows *rows, uint64_t *n_printed)
{
    const char *cells[LINK_COLUMNS];
    size_t at = 0;

    while (next_row(rows, &at, cells)) {
        (void)fprintf(out, "%s\n  {\"pe\": %s, \"peers\": ", (*n_printed)++ == 0 ? "" : ",",
                      cells[LINK_COLUMN_pe]);
        print_json_peers(out, cells[LINK_COLUMN_peers]);
        for (int i = LINK_COLUMN_host; i < LINK_COLUMNS; i++) {
            (void)fprintf(out, ", \"%s\": ", names[i]);
            json_print_string(out, cells[i]);
        }
        (void)fprintf(out, "}");
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* chorus-info-rows.h: the rows of the table of links, as PEs send them, and how they are
 * printed. */
#ifndef CHORUS_INFO_ROWS_H
#define CHORUS_INFO_ROWS_H

#include "transport/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* clang-format off */
/* Columns: name in JSON, heading. */
#define LINK_COLUMN_LIST(X) \
    X(pe, "PE") X(peers, "PEER") X(host, "HOST") X(class, "CLASS") X(link, "LINK") X(via, "VIA") X(why, "WHY")
/* clang-format on */

enum link_column {
#define X(name, heading) LINK_COLUMN_##name,
    LINK_COLUMN_LIST(X)
#undef X
        LINK_COLUMNS
};

/* How a PE reaches the PEs [lo, hi). */
struct link_row {
    uint32_t pe, lo, hi;
    const char *host, *class, *link, *why;
    char via[CH_LINK_WHY_BYTES];
};

/* Do both reach their peers in the same way? */
bool link_row_is_alike(const struct link_row *a, const struct link_row *b);

/* Write the cells of a row, in the order of the columns, each with a null character behind
 * it. */
void link_row_write(FILE *out, const struct link_row *row);

/* The text of rows that were written, and how wide each column is in them. */
struct link_rows {
    const char *text; /* [bytes] */
    size_t bytes;
};
void link_rows_measure(const struct link_rows *rows, uint32_t widths[LINK_COLUMNS]);

/* Print the heading, then rows, as a table whose columns have two blanks or more between
 * them. */
void link_rows_print_heading(FILE *out, const uint32_t widths[LINK_COLUMNS]);
void link_rows_print(FILE *out, const struct link_rows *rows,
                     const uint32_t widths[LINK_COLUMNS]);
/* Print rows as objects of a list; *n_printed: the objects that it has. */
void link_rows_print_json(FILE *out, const struct link_rows *rows, uint64_t *n_printed);

/* Print a text as a string of JSON. */
void json_print_string(FILE *out, const char *text);

#endif /* CHORUS_INFO_ROWS_H */

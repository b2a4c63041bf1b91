/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h: from bytes to a table, and names in it; only for this folder.
 *
 * libyaml loads the document as a tree whose nodes have positions, so that the first pass and
 * every later check can give file:line:column. (libcyaml, which loads into structs over
 * libyaml, keeps no positions and does not support "one name or a list of names".)
 */
#ifndef CH_TABLE_H
#define CH_TABLE_H

#include "base/error.h"
#include "select/select.h"

#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

/* A table, and the memory of its strings. */
struct ch_table_file {
    struct ch_table table; /* first, so that a pointer to it can free the whole */
    struct ch_rule *rules;
    yaml_document_t document;
    char *path, *text; /* null if the table was read from the memory of the caller */
};

/* A table that is being read. */
struct ch_reader {
    const char *path;
    yaml_document_t *document;
};

/* Refuse the table because of a node, with what was found and what is expected. */
#define CH_REFUSE(reader, node, format, ...)                         \
    CH_FAIL(CHORUS_ERR_TABLE, "%s:%zu:%zu: " format, (reader)->path, \
            (node)->start_mark.line + 1, (node)->start_mark.column + 1, __VA_ARGS__)

/* The text of a scalar; null if the node is a mapping or a sequence. */
const char *ch_node_text(const yaml_node_t *node);

/*
 * Fill values[0, count) with the values of a mapping's keys, null for absent ones. Refuses
 * other keys, and duplicate keys. `kind` names the mapping in messages: "rule".
 */
CH_MUST_CHECK chorus_status ch_node_keys(const struct ch_reader *reader, yaml_node_t *mapping,
                                         const char *kind, const char *const keys[],
                                         size_t count, yaml_node_t *values[]);

/* Read one rule. Its strings point into the document. */
CH_MUST_CHECK chorus_status ch_rule_read(const struct ch_reader *reader, yaml_node_t *node,
                                         struct ch_rule *rule_out);

/* Read the calls that a table is for: the filters of a rule, which match everything if `node`
 * is null, except teams that a network reaches, which a table must list. */
CH_MUST_CHECK chorus_status ch_serves_read(const struct ch_reader *reader, yaml_node_t *node,
                                           struct ch_rule *serves_out);

/* Read a table from memory, UTF-8 whose lines end in LF or CR LF; `text` and `path` outlive it.
 */
CH_MUST_CHECK chorus_status ch_table_parse(const char *path, const char *text, size_t bytes,
                                           struct ch_table_file **file_out);

/* ---- names and words of a table ---- */

/*
 * Finds a name that a user wrote in a list of names, and composes the message if it is
 * not in the list.
 */

/* The text that was found and what is expected; the caller puts a position or a variable before
 * it. */
struct ch_reason {
    char text[640];
};

void ch_why_set(struct ch_reason *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Append "a, b or c". */
void ch_why_list(struct ch_reason *why, const char *const names[], size_t count);

/* The name that is most similar to the text that was found, or that is the equivalent of a name
 * of other libraries; null: none is similar. */
const char *ch_name_nearest(const char *const names[], size_t count, const char *found);

/*
 * The index of `found` among names[0, count). If it is not there, returns false, and *why_out
 * lists the names and suggests the nearest. `kind` is the kind of the names, such as
 * "collective".
 */
CH_MUST_CHECK bool ch_name_find(const char *kind, const char *const names[], size_t count,
                                const char *found, size_t *index_out,
                                struct ch_reason *why_out);

#endif /* CH_TABLE_H */

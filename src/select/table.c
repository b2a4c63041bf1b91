/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c: reads a table: the bytes of its file, the tree of YAML that they are, and what the
 * tree says besides the rules (rule.c).
 */
#include "select/table.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- the bytes ---------------------------------------------------------------------------- */

enum { BYTES_MAX = 1 << 20 };
enum {
    BRACKETS_MAX = 64
}; /* a table has three nested ones; libyaml takes time proportional to the square */

/* ERR_TABLE unless this is a regular file. Only such a file has an end, and is available at
 * once; it may grow while it is read. */
static chorus_status check_kind(const char *path, int fd)
{
    struct stat found;

    if (fstat(fd, &found) != 0)
        return CH_FAIL(CHORUS_ERR_TABLE, "%s: cannot be read: %s; expected a rule table", path,
                       strerror(errno));
    if (!S_ISREG(found.st_mode))
        return CH_FAIL(CHORUS_ERR_TABLE, "%s: is not a regular file; expected a rule table",
                       path);
    return CHORUS_OK;
}

/* Read up to `room` bytes of the file. */
static chorus_status read_all(const char *path, int fd, char *text, size_t room,
                              size_t *bytes_out)
{
    size_t bytes = 0;
    ssize_t got;

    while (bytes < room && (got = read(fd, text + bytes, room - bytes)) != 0) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return CH_FAIL(CHORUS_ERR_TABLE, "%s: cannot be read: %s; expected a rule table",
                           path, strerror(errno));
        bytes += (size_t)got;
    }
    *bytes_out = bytes;
    return CHORUS_OK;
}

/* Read a regular file of at most 1 MiB; the caller frees its bytes. */
static chorus_status load_bytes(const char *path, char **text_out, size_t *bytes_out)
{
    /* Opening must not wait for the writer of a FIFO, nor make a terminal the controlling one
     * of this process. */
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    char *text = NULL;
    chorus_status status;

    if (fd < 0)
        return CH_FAIL(CHORUS_ERR_TABLE, "%s: cannot be opened: %s; expected a rule table",
                       path, strerror(errno));
    CH_TRY_GOTO(status, check_kind(path, fd), out_close);
    text = malloc(BYTES_MAX + 1);
    if (text == NULL) {
        status = CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to read the table %s", path);
        goto out_close;
    }
    CH_TRY_GOTO(status, read_all(path, fd, text, BYTES_MAX + 1, bytes_out), out_close);
    if (*bytes_out > BYTES_MAX)
        status = CH_FAIL(CHORUS_ERR_TABLE,
                         "%s: is longer than %d bytes; expected a rule table of at most 1 MiB",
                         path, BYTES_MAX);

out_close:
    (void)close(fd);
    if (status != CHORUS_OK) {
        free(text);
        return status;
    }
    *text_out = text;
    return CHORUS_OK;
}

/* Refuse the table because of a byte of its text. */
static chorus_status refuse_at(const struct ch_table *table, size_t at, const char *what,
                               const char *expected)
{
    size_t line = 1, column = 1;

    for (size_t i = 0; i < at && i < table->bytes; i++) {
        column = table->text[i] == '\n' ? 1 : column + 1;
        line += table->text[i] == '\n';
    }
    return CH_FAIL(CHORUS_ERR_TABLE, "%s:%zu:%zu: %s; expected %s", table->path, line, column,
                   what, expected);
}

/* Does the table's text have the bytes `what` at offset `at`? */
static bool begins_with(const struct ch_table *table, size_t at, const char *what)
{
    const size_t bytes = strlen(what);

    return table->bytes - at >= bytes && memcmp(table->text + at, what, bytes) == 0;
}

/* Does a line end at this offset in YAML only? There a CR alone and three other characters also
 * end a line; editors, in which users look for the line of a message, do not treat them so. */
static bool is_odd_break(const struct ch_table *table, size_t at)
{
    return (table->text[at] == '\r' && !begins_with(table, at, "\r\n")) ||
           begins_with(table, at, "\xc2\x85") || begins_with(table, at, "\xe2\x80\xa8") ||
           begins_with(table, at, "\xe2\x80\xa9");
}

/* Refuse a text whose lines YAML would count differently from editors, or that libyaml would
 * read for minutes. */
static chorus_status check_bytes(const struct ch_table *table)
{
    int depth = 0;

    if (begins_with(table, 0, "\xff\xfe") || begins_with(table, 0, "\xfe\xff"))
        return refuse_at(table, 0, "UTF-16", "UTF-8");
    for (size_t i = 0; i < table->bytes; i++) {
        const char c = table->text[i];

        if (is_odd_break(table, i))
            return refuse_at(table, i, "a line ends in another character than LF",
                             "lines that end in LF, or in CR LF");
        depth += c == '[' || c == '{';
        depth -= (c == ']' || c == '}') && depth > 0;
        if (depth > BRACKETS_MAX)
            return refuse_at(table, i, "too many brackets in one another",
                             "a mapping with version, machine, measured and rules");
    }
    return CHORUS_OK;
}

/* --- the tree ----------------------------------------------------------------------------- */

/* The keys of a table; `gpu` and `serves` may be left out. */
/* clang-format off */
#define KEY_LIST(X) X(version) X(machine) X(measured) X(gpu) X(serves) X(rules)
/* clang-format on */

enum {
#define X(key) KEY_##key,
    KEY_LIST(X)
#undef X
        KEY_COUNT
};

static const char *const key_names[KEY_COUNT] = {
#define X(key) #key,
    KEY_LIST(X)
#undef X
};

static const char table_form[] = "a mapping with version, machine, measured and rules";

static chorus_status read_rules(const struct ch_reader *reader, const yaml_node_t *rules,
                                struct ch_table_file *file)
{
    const yaml_node_item_t *first, *end;

    if (rules->type != YAML_SEQUENCE_NODE ||
        rules->data.sequence.items.start == rules->data.sequence.items.top)
        return CH_REFUSE(reader, rules, "rules is %s; expected a list of rules",
                         rules->type == YAML_SEQUENCE_NODE ? "empty" : "not a list");
    first = rules->data.sequence.items.start;
    end = rules->data.sequence.items.top;
    file->rules = calloc((size_t)(end - first), sizeof(*file->rules));
    if (file->rules == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the rules of %s", reader->path);
    file->table.rules = file->rules;
    for (const yaml_node_item_t *item = first; item < end; item++) {
        CH_TRY(ch_rule_read(reader, yaml_document_get_node(reader->document, *item),
                            &file->rules[file->table.n_rules]));
        file->table.n_rules++;
    }
    return CHORUS_OK;
}

/* Read the texts for readers, and the GPU's name. */
static chorus_status read_texts(const struct ch_reader *reader, yaml_node_t *const values[],
                                struct ch_table *table)
{
    const struct {
        int key;
        const char **text;
    } texts[] = {{KEY_machine, &table->machine},
                 {KEY_measured, &table->measured},
                 {KEY_gpu, &table->gpu}};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const yaml_node_t *node = values[texts[i].key];

        if (node == NULL) continue;
        *texts[i].text = ch_node_text(node);
        if (*texts[i].text == NULL)
            return CH_REFUSE(reader, node, "%s is not text; expected a line for the reader",
                             key_names[texts[i].key]);
    }
    return CHORUS_OK;
}

/* Read the whole table from the root of its tree. */
static chorus_status read_root(const struct ch_reader *reader, yaml_node_t *root,
                               struct ch_table_file *file)
{
    yaml_node_t *values[KEY_COUNT];
    const char *text;

    CH_TRY(ch_node_keys(reader, root, "table", key_names, KEY_COUNT, values));
    for (int i = 0; i < KEY_COUNT; i++)
        if (values[i] == NULL && i != KEY_gpu && i != KEY_serves)
            return CH_REFUSE(reader, root, "table without %s; expected %s", key_names[i],
                             table_form);
    text = ch_node_text(values[KEY_version]);
    if (text == NULL || strcmp(text, "1") != 0)
        return CH_REFUSE(reader, values[KEY_version],
                         "version is \"%s\"; expected 1, the only one there is",
                         text == NULL ? "" : text);
    CH_TRY(read_texts(reader, values, &file->table));
    CH_TRY(ch_serves_read(reader, values[KEY_serves], &file->table.serves));
    return read_rules(reader, values[KEY_rules], file);
}

/* Fail, normally with ERR_TABLE: libyaml could not make a tree of the document. */
static chorus_status refuse_yaml(const struct ch_table *table, const yaml_parser_t *parser)
{
    char what[256];

    if (parser->error == YAML_MEMORY_ERROR)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to read the table %s", table->path);
    (void)snprintf(what, sizeof(what), "not YAML: %s%s%s",
                   parser->problem != NULL ? parser->problem : "it cannot be decoded",
                   parser->context != NULL ? " " : "",
                   parser->context != NULL ? parser->context : "");
    if (parser->error == YAML_READER_ERROR)
        return refuse_at(table, parser->problem_offset, what, table_form);
    return CH_FAIL(CHORUS_ERR_TABLE, "%s:%zu:%zu: %s; expected %s", table->path,
                   parser->problem_mark.line + 1, parser->problem_mark.column + 1, what,
                   table_form);
}

/* Refuse a text with a NUL: it would be compared, and shown, as if it ended there. */
static chorus_status check_texts(const struct ch_reader *reader)
{
    for (const yaml_node_t *node = reader->document->nodes.start;
         node < reader->document->nodes.top; node++)
        if (node->type == YAML_SCALAR_NODE &&
            strlen((const char *)node->data.scalar.value) != node->data.scalar.length)
            return CH_REFUSE(reader, node, "\"%s\" goes on after a NUL; expected text without",
                             (const char *)node->data.scalar.value);
    return CHORUS_OK;
}

/* Read the document of the text, and check that it is the only one. */
static chorus_status load(const struct ch_table *table, yaml_parser_t *parser,
                          yaml_document_t *document)
{
    yaml_document_t second;
    const yaml_node_t *root;
    chorus_status status = CHORUS_OK;

    if (!yaml_parser_load(parser, document)) return refuse_yaml(table, parser);
    if (yaml_document_get_root_node(document) == NULL) {
        status = CH_FAIL(CHORUS_ERR_TABLE, "%s:1:1: the file is empty; expected %s",
                         table->path, table_form);
    } else if (!yaml_parser_load(parser, &second)) {
        status = refuse_yaml(table, parser);
    } else {
        const struct ch_reader reader = {table->path, &second};

        root = yaml_document_get_root_node(&second);
        if (root != NULL)
            status =
                CH_REFUSE(&reader, root, "a second document; expected one, %s", table_form);
        yaml_document_delete(&second);
    }
    if (status != CHORUS_OK) yaml_document_delete(document);
    return status;
}

/* Build the tree of the table's text. */
static chorus_status load_text(struct ch_table_file *file)
{
    const struct ch_table *table = &file->table;
    yaml_parser_t parser;
    chorus_status status;

    CH_TRY(check_bytes(table));
    if (!yaml_parser_initialize(&parser))
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to read the table %s", table->path);
    yaml_parser_set_input_string(&parser, (const unsigned char *)table->text, table->bytes);
    status = load(table, &parser, &file->document);
    yaml_parser_delete(&parser);
    return status;
}

chorus_status ch_table_parse(const char *path, const char *text, size_t bytes,
                             struct ch_table_file **file_out)
{
    struct ch_table_file *file = calloc(1, sizeof(*file));
    chorus_status status;

    if (file == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the table %s", path);
    file->table.path = path;
    file->table.text = text;
    file->table.bytes = bytes;
    file->table.digest = ch_hash(CH_HASH_START, text, bytes);
    status = load_text(file);
    if (status != CHORUS_OK) {
        free(file);
        return status;
    }
    const struct ch_reader reader = {path, &file->document};
    status = check_texts(&reader);
    if (status == CHORUS_OK)
        status = read_root(&reader, yaml_document_get_root_node(&file->document), file);
    if (status != CHORUS_OK) {
        ch_table_free(&file->table);
        return status;
    }
    *file_out = file;
    return CHORUS_OK;
}

chorus_status ch_table_read(const char *path, struct ch_table **table_out)
{
    struct ch_table_file *file;
    char *text, *kept_path;
    size_t bytes;
    chorus_status status;

    CH_TRY(load_bytes(path, &text, &bytes));
    kept_path = strdup(path);
    if (kept_path == NULL) {
        free(text);
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to read the table %s", path);
    }
    status = ch_table_parse(kept_path, text, bytes, &file);
    if (status != CHORUS_OK) {
        free(kept_path);
        free(text);
        return status;
    }
    file->path = kept_path;
    file->text = text;
    *table_out = &file->table;
    return CHORUS_OK;
}

void ch_table_free(struct ch_table *table)
{
    struct ch_table_file *file = (struct ch_table_file *)table;

    if (file == NULL) return;
    yaml_document_delete(&file->document);
    free(file->rules);
    free(file->path);
    free(file->text);
    free(file);
}

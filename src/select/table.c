/* SPDX-License-Identifier: Apache-2.0 */
#include "select/table.h"

#include "select/name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

const char *ch_node_text(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

chorus_status ch_node_keys(const struct ch_reader *reader, yaml_node_t *mapping,
                           const char *kind, const char *const keys[], size_t count,
                           yaml_node_t *values[])
{
    char key_kind[32];
    struct ch_why why;
    size_t index;

    if (mapping->type != YAML_MAPPING_NODE)
        return CH_REFUSE(reader, mapping, "the %s is not a mapping; expected key: value pairs",
                         kind);
    (void)snprintf(key_kind, sizeof(key_kind), "key of a %s", kind);
    for (size_t i = 0; i < count; i++)
        values[i] = NULL;
    for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
         pair < mapping->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(reader->document, pair->key);
        const char *text = ch_node_text(key);

        if (text == NULL)
            return CH_REFUSE(reader, key, "a key of the %s is not a word; expected one", kind);
        if (!ch_name_find(key_kind, keys, count, text, &index, &why))
            return CH_REFUSE(reader, key, "%s", why.text);
        if (values[index] != NULL)
            return CH_REFUSE(reader, key, "%s is given twice; expected it once in a %s", text,
                             kind);
        values[index] = yaml_document_get_node(reader->document, pair->value);
    }
    return CHORUS_OK;
}

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

/* What is for readers, and the GPU's name. */
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

/* What libyaml could not make a tree of. */
static chorus_status refuse_yaml(const char *path, const yaml_parser_t *parser)
{
    return CH_FAIL(CHORUS_ERR_TABLE, "%s:%zu:%zu: not YAML: %s%s%s; expected %s", path,
                   parser->problem_mark.line + 1, parser->problem_mark.column + 1,
                   parser->problem != NULL ? parser->problem : "it cannot be decoded",
                   parser->context != NULL ? " " : "",
                   parser->context != NULL ? parser->context : "", table_form);
}

/* The one document of the text. */
static chorus_status load(const char *path, yaml_parser_t *parser, yaml_document_t *document)
{
    yaml_document_t second;
    const yaml_node_t *root;
    chorus_status status = CHORUS_OK;

    if (!yaml_parser_load(parser, document)) return refuse_yaml(path, parser);
    if (yaml_document_get_root_node(document) == NULL) {
        status = CH_FAIL(CHORUS_ERR_TABLE, "%s:1:1: the file is empty; expected %s", path,
                         table_form);
    } else if (!yaml_parser_load(parser, &second)) {
        status = refuse_yaml(path, parser);
    } else {
        const struct ch_reader reader = {path, &second};

        root = yaml_document_get_root_node(&second);
        if (root != NULL)
            status =
                CH_REFUSE(&reader, root, "a second document; expected one, %s", table_form);
        yaml_document_delete(&second);
    }
    if (status != CHORUS_OK) yaml_document_delete(document);
    return status;
}

chorus_status ch_table_parse(const char *path, const char *text, size_t bytes,
                             struct ch_table_file **file_out)
{
    struct ch_table_file *file = calloc(1, sizeof(*file));
    yaml_parser_t parser;
    chorus_status status;

    if (file == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the table %s", path);
    file->table.path = path;
    file->table.text = text;
    file->table.bytes = bytes;
    if (!yaml_parser_initialize(&parser)) {
        free(file);
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to read the table %s", path);
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
    status = load(path, &parser, &file->document);
    yaml_parser_delete(&parser);
    if (status != CHORUS_OK) {
        free(file);
        return status;
    }
    const struct ch_reader reader = {path, &file->document};
    status = read_root(&reader, yaml_document_get_root_node(&file->document), file);
    if (status == CHORUS_OK) status = ch_table_check(&file->table);
    if (status != CHORUS_OK) {
        ch_table_free(&file->table);
        return status;
    }
    *file_out = file;
    return CHORUS_OK;
}

/* The bytes of a file, a zero byte after them. */
static chorus_status read_file(const char *path, char **text_out, size_t *bytes_out)
{
    FILE *in = fopen(path, "re");
    char *text = NULL;
    size_t room = 0;
    ssize_t got;

    if (in == NULL)
        return CH_FAIL(CHORUS_ERR_TABLE, "%s: cannot be opened: %s; expected a rule table",
                       path, strerror(errno));
    errno = 0;
    got = getdelim(&text, &room, EOF, in);
    if (got < 0 && ferror(in)) {
        const int reason = errno;

        free(text);
        (void)fclose(in);
        return CH_FAIL(CHORUS_ERR_TABLE, "%s: cannot be read: %s; expected a rule table", path,
                       strerror(reason));
    }
    (void)fclose(in);
    *text_out = text;
    *bytes_out = got < 0 ? 0 : (size_t)got;
    return CHORUS_OK;
}

chorus_status ch_table_read(const char *path, struct ch_table **table_out)
{
    struct ch_table_file *file;
    char *text, *kept_path;
    size_t bytes;
    chorus_status status;

    CH_TRY(read_file(path, &text, &bytes));
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

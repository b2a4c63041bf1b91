/* SPDX-License-Identifier: Apache-2.0 */
/* rule.c: reads a rule of a table, and finds the algorithm that a name and a protocol are of.
 */
#include "select/table.h"

#include "base/text.h"

#include <string.h>

/* --- algorithms by name ------------------------------------------------------------------- */

bool ch_algo_is_of(chorus_coll coll, const char *name, struct ch_reason *why_out)
{
    const char *names[CH_ALGO_COUNT], *last = "";
    char kind[64];
    size_t count = 0, index;

    for (size_t i = 0; i < CH_ALGO_COUNT; i++) {
        if (ch_algos[i].coll != coll) continue;
        /* The protocols of an algorithm are adjacent in the list: a name is new or equal to the
         * previous one. */
        if (strcmp(last, ch_algos[i].name) == 0) continue;
        names[count++] = last = ch_algos[i].name;
    }
    (void)snprintf(kind, sizeof(kind), "%s algorithm", ch_coll_names[coll]);
    return ch_name_find(kind, names, count, name, &index, why_out);
}

bool ch_algo_with(chorus_coll coll, const char *name, const char *proto,
                  const struct ch_algo **algo_out, struct ch_reason *why_out)
{
    const struct ch_algo *algos[CH_PROTO_COUNT];
    const char *protos[CH_PROTO_COUNT];
    char kind[96];
    size_t count = 0, index = 0;

    for (size_t i = 0; i < CH_ALGO_COUNT; i++) {
        if (ch_algos[i].coll != coll || strcmp(ch_algos[i].name, name) != 0) continue;
        algos[count] = &ch_algos[i];
        protos[count++] = ch_proto_names[ch_algos[i].proto];
    }
    (void)snprintf(kind, sizeof(kind), "protocol of %s", name);
    if (proto == NULL && count > 1) {
        ch_why_set(why_out, "%s has several protocols and none is given; expected ", name);
        ch_why_list(why_out, protos, count);
        return false;
    }
    if (proto != NULL && !ch_name_find(kind, protos, count, proto, &index, why_out))
        return false;
    *algo_out = algos[index];
    return true;
}

/* --- the values of keys ------------------------------------------------------------------- */

const char *ch_node_text(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

chorus_status ch_node_keys(const struct ch_reader *reader, yaml_node_t *mapping,
                           const char *kind, const char *const keys[], size_t count,
                           yaml_node_t *values[])
{
    char key_kind[32];
    struct ch_reason why;
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

/* The keys of a rule. */
/* clang-format off */
#define KEY_LIST(X) \
    X(coll) X(bytes) X(pes) X(nodes) X(reach) X(cores) X(dtype) X(op) X(machine) X(gpu) \
    X(algo) X(proto) X(ctas) X(radix) X(from)
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

/* A rule that is being read: its node, and the values of its keys. */
struct row {
    const struct ch_reader *reader;
    const yaml_node_t *node;
    yaml_node_t *values[KEY_COUNT];
};

/* Find the text of a required key. expected: ends the message if it is absent or no word. */
static chorus_status text_of(const struct row *row, int key, const char *expected,
                             const char **text_out)
{
    const yaml_node_t *value = row->values[key];

    if (value == NULL)
        return CH_REFUSE(row->reader, row->node, "rule without %s; expected %s", key_names[key],
                         expected);
    *text_out = ch_node_text(value);
    if (*text_out == NULL || **text_out == '\0')
        return CH_REFUSE(row->reader, value, "%s is not a word; expected %s", key_names[key],
                         expected);
    return CHORUS_OK;
}

/* Read a filter that is compared as text; null if the key is absent. */
static chorus_status read_word(const struct row *row, int key, const char *expected,
                               const char **word_out)
{
    *word_out = NULL;
    return row->values[key] == NULL ? CHORUS_OK : text_of(row, key, expected, word_out);
}

/* Read "lo..hi", or one number; false: the text is neither. */
static bool parse_range(const char *text, struct ch_range *out)
{
    const char *dots = strstr(text, "..");
    char lo[32];
    size_t chars;

    if (dots == NULL) {
        if (!ch_number_bytes(text, 0, UINT64_MAX - 1, &out->lo)) return false;
        out->hi = out->lo + 1;
        return true;
    }
    chars = (size_t)(dots - text);
    if (chars >= sizeof(lo)) return false;
    memcpy(lo, text, chars);
    lo[chars] = '\0';
    out->hi = UINT64_MAX;
    return ch_number_bytes(lo, 0, UINT64_MAX, &out->lo) &&
           (strcmp(dots + 2, "inf") == 0 || ch_number_bytes(dots + 2, 0, UINT64_MAX, &out->hi));
}

/* The part of a text that makes it no range: the upper bound if the lower one is valid. lo:
 * memory for the lower bound. */
static const char *bad_bound(const char *text, char lo[32])
{
    const char *dots = strstr(text, "..");
    uint64_t value;

    if (dots == NULL) return text;
    (void)snprintf(lo, 32, "%.*s", (int)(dots - text), text);
    return ch_number_bytes(lo, 0, UINT64_MAX, &value) ? dots + 2 : lo;
}

/* Read a range; all values if the key is absent. */
static chorus_status read_range(const struct row *row, int key, struct ch_range *out)
{
    const char *expected = "lo..hi or one number, such as 0..16K, 1M..inf or 8";
    struct ch_number_hint hint;
    const char *text;
    char lo[32];

    out->lo = 0;
    out->hi = UINT64_MAX;
    if (row->values[key] == NULL) return CHORUS_OK;
    CH_TRY(text_of(row, key, expected, &text));
    if (!parse_range(text, out))
        return CH_REFUSE(row->reader, row->values[key],
                         "%s \"%s\" is not a range; expected %s%s", key_names[key], text,
                         expected, ch_number_hint(bad_bound(text, lo), &hint));
    if (out->lo >= out->hi)
        return CH_REFUSE(row->reader, row->values[key],
                         "%s %s %s; expected lo below hi, which is the first value not covered",
                         key_names[key], text, out->lo > out->hi ? "is inverted" : "is empty");
    return CHORUS_OK;
}

/* Set the bit of one name; names[i] is bit i. */
static chorus_status read_bit(const struct row *row, const char *kind, const yaml_node_t *value,
                              const char *const names[], size_t count, uint32_t *bits)
{
    const char *text = ch_node_text(value);
    struct ch_reason why;
    size_t index;

    if (text == NULL)
        return CH_REFUSE(row->reader, value, "%s is not a name; expected one or a list of them",
                         kind);
    if (!ch_name_find(kind, names, count, text, &index, &why))
        return CH_REFUSE(row->reader, value, "%s", why.text);
    *bits |= 1u << index;
    return CHORUS_OK;
}

/* Read one name or a list of names, as bits; all bits if the key is absent. */
static chorus_status read_bits(const struct row *row, int key, const char *const names[],
                               size_t count, uint32_t *bits_out)
{
    const yaml_node_t *value = row->values[key];
    const yaml_node_item_t *item;

    *bits_out = (1u << count) - 1;
    if (value == NULL) return CHORUS_OK;
    *bits_out = 0;
    if (value->type != YAML_SEQUENCE_NODE)
        return read_bit(row, key_names[key], value, names, count, bits_out);
    item = value->data.sequence.items.start;
    if (item == value->data.sequence.items.top)
        return CH_REFUSE(row->reader, value, "%s is an empty list; expected at least one name",
                         key_names[key]);
    for (; item < value->data.sequence.items.top; item++)
        CH_TRY(read_bit(row, key_names[key],
                        yaml_document_get_node(row->reader->document, *item), names, count,
                        bits_out));
    return CHORUS_OK;
}

/* Read a whole number in lo..hi, both included; `initial` if the key is absent. */
static chorus_status read_count(const struct row *row, int key, uint32_t lo, uint32_t hi,
                                uint32_t initial, uint32_t *out)
{
    const char *text;
    uint64_t value;

    *out = initial;
    if (row->values[key] == NULL) return CHORUS_OK;
    CH_TRY(text_of(row, key, "a whole number", &text));
    if (!ch_number_whole(text, lo, hi, &value))
        return CH_REFUSE(row->reader, row->values[key],
                         "%s is \"%s\"; expected a whole number from %u to %u", key_names[key],
                         text, lo, hi);
    *out = (uint32_t)value;
    return CHORUS_OK;
}

/* Read the conditions of a rule, except its collective. */
static chorus_status read_filters(const struct row *row, struct ch_rule *rule)
{
    CH_TRY(read_range(row, KEY_bytes, &rule->bytes));
    CH_TRY(read_range(row, KEY_pes, &rule->pes));
    CH_TRY(read_range(row, KEY_nodes, &rule->nodes));
    CH_TRY(read_bits(row, KEY_reach, ch_reach_names, CH_REACH_COUNT, &rule->reach));
    CH_TRY(read_bits(row, KEY_cores, ch_cores_names, CH_CORES_COUNT, &rule->cores));
    CH_TRY(read_bits(row, KEY_dtype, ch_type_names, CHORUS_TYPE_COUNT, &rule->types));
    CH_TRY(read_bits(row, KEY_op, ch_op_names, CHORUS_OP_COUNT, &rule->ops));
    CH_TRY(read_word(row, KEY_machine, "a machine class, such as host", &rule->machine));
    return read_word(row, KEY_gpu, "a GPU's name", &rule->gpu);
}

static chorus_status read_coll(const struct row *row, chorus_coll *out)
{
    const char *text;
    struct ch_reason why;
    size_t index;

    CH_TRY(text_of(row, KEY_coll, "the collective the rule is for", &text));
    if (!ch_name_find("collective", ch_coll_names, CHORUS_COLL_COUNT, text, &index, &why))
        return CH_REFUSE(row->reader, row->values[KEY_coll], "%s", why.text);
    *out = (chorus_coll)index;
    return CHORUS_OK;
}

static chorus_status read_algo(const struct row *row, chorus_coll coll,
                               const struct ch_algo **out)
{
    const yaml_node_t *algo_node = row->values[KEY_algo], *proto_node = row->values[KEY_proto];
    const char *name, *proto;
    struct ch_reason why;

    CH_TRY(text_of(row, KEY_algo, "the algorithm to use", &name));
    if (!ch_algo_is_of(coll, name, &why))
        return CH_REFUSE(row->reader, algo_node, "%s", why.text);
    CH_TRY(read_word(row, KEY_proto, "a protocol", &proto));
    if (!ch_algo_with(coll, name, proto, out, &why))
        return CH_REFUSE(row->reader, proto_node != NULL ? proto_node : algo_node, "%s",
                         why.text);
    return CHORUS_OK;
}

static chorus_status read_radix(const struct row *row, const struct ch_algo *algo,
                                uint32_t *out)
{
    if (row->values[KEY_radix] != NULL && !algo->takes_radix)
        return CH_REFUSE(row->reader, row->values[KEY_radix],
                         "radix for %s, which takes none; expected a rule without it",
                         algo->name);
    return read_count(row, KEY_radix, CH_RADIX_MIN, CH_RADIX_MAX, CH_RADIX_DEFAULT, out);
}

/* Is the text "name.csv:line" or "fallback"? Tests of the shipped tables check that the line
 * exists. */
static bool is_evidence(const char *text)
{
    const char *colon = strrchr(text, ':');
    uint64_t line;

    if (strcmp(text, "fallback") == 0) return true;
    if (colon == NULL || colon - text < 5 || strncmp(colon - 4, ".csv", 4) != 0) return false;
    return ch_number_whole(colon + 1, 1, UINT64_MAX, &line);
}

/* Read the key `from`: the measurement that the rule rests on. */
static chorus_status read_from(const struct row *row, const char **out)
{
    const char *expected = "the measurement it rests on, \"file.csv:line\", or fallback";

    CH_TRY(text_of(row, KEY_from, expected, out));
    if (!is_evidence(*out))
        return CH_REFUSE(row->reader, row->values[KEY_from], "from is \"%s\"; expected %s",
                         *out, expected);
    return CHORUS_OK;
}

/* --- a rule ------------------------------------------------------------------------------- */

chorus_status ch_serves_read(const struct ch_reader *reader, yaml_node_t *node,
                             struct ch_rule *serves_out)
{
    static const int keys[] = {KEY_pes, KEY_reach, KEY_cores, KEY_machine, KEY_gpu};
    enum { KEYS = sizeof(keys) / sizeof(keys[0]) };
    const char *names[KEYS];
    yaml_node_t *values[KEYS] = {NULL};
    struct row row = {.reader = reader, .node = node};
    struct ch_rule serves = {0};

    for (int i = 0; i < KEYS; i++)
        names[i] = key_names[keys[i]];
    if (node != NULL) CH_TRY(ch_node_keys(reader, node, "filter", names, KEYS, values));
    for (int i = 0; i < KEYS; i++)
        row.values[keys[i]] = values[i];
    CH_TRY(read_filters(&row, &serves));
    if (row.values[KEY_reach] == NULL) serves.reach = CH_REACH_self | CH_REACH_mapped;
    *serves_out = serves;
    return CHORUS_OK;
}

chorus_status ch_rule_read(const struct ch_reader *reader, yaml_node_t *node,
                           struct ch_rule *rule_out)
{
    struct row row = {.reader = reader, .node = node};
    struct ch_rule rule = {.line = (uint32_t)node->start_mark.line + 1,
                           .column = (uint32_t)node->start_mark.column + 1};

    CH_TRY(ch_node_keys(reader, node, "rule", key_names, KEY_COUNT, row.values));
    CH_TRY(read_coll(&row, &rule.coll));
    CH_TRY(read_filters(&row, &rule));
    CH_TRY(read_algo(&row, rule.coll, &rule.algo));
    CH_TRY(read_count(&row, KEY_ctas, 1, UINT32_MAX, 1, &rule.ctas));
    CH_TRY(read_radix(&row, rule.algo, &rule.radix));
    CH_TRY(read_from(&row, &rule.from));
    *rule_out = rule;
    return CHORUS_OK;
}

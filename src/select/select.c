/* SPDX-License-Identifier: Apache-2.0 */
/* select.c: the tables and forced choices of a job, and the plan for a request. */
#include "select/select.h"

#include "base/error.h"
#include "base/text.h"
#include "select/table.h"
#include "team/device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- forced algorithms -------------------------------------------------------------------- */

enum { FIELDS = 4 }; /* coll, algo, proto, ctas */

/* Split `text` at each `separator`, in place; returns the number of parts, at most `most` +
 * 1. */
static size_t split_text(char *text, char separator, char *parts[], size_t most)
{
    size_t n = 0;

    for (char *next = text; next != NULL; n++) {
        if (n == most) return most + 1;
        parts[n] = next;
        next = strchr(next, separator);
        if (next != NULL) *next++ = '\0';
    }
    return n;
}

/* Find an algorithm of a collective by name and protocol (null: none given). False: *why_out is
 * the reason. */
static bool find_algo(chorus_coll coll, const char *name, const char *proto,
                      const struct ch_algo **algo_out, struct ch_reason *why_out)
{
    return ch_algo_is_of(coll, name, why_out) &&
           ch_algo_with(coll, name, proto, algo_out, why_out);
}

/* Read one entry of CHORUS_ALGO, which is split in place. False: *why_out is what is wrong with
 * it. */
static bool read_entry(char *entry, struct ch_forced forced[], struct ch_reason *why_out)
{
    char *parts[FIELDS];
    const size_t n = split_text(entry, ':', parts, FIELDS);
    const struct ch_algo *algo;
    uint64_t ctas = 1;
    size_t coll;

    if (n < 2 || n > FIELDS) {
        ch_why_set(why_out, "\"%s\" has %s parts; expected coll:algo[:proto[:ctas]]", entry,
                   n < 2 ? "too few" : "too many");
        return false;
    }
    if (!ch_name_find("collective", ch_coll_names, CHORUS_COLL_COUNT, parts[0], &coll, why_out))
        return false;
    if (!find_algo((chorus_coll)coll, parts[1], n > 2 ? parts[2] : NULL, &algo, why_out))
        return false;
    if (n > 3 && !ch_number_whole(parts[3], 1, UINT32_MAX, &ctas)) {
        ch_why_set(why_out, "ctas is \"%s\"; expected a whole number from 1", parts[3]);
        return false;
    }
    if (forced[coll].algo != NULL) {
        ch_why_set(why_out, "%s is given twice; expected one entry for a collective", parts[0]);
        return false;
    }
    forced[coll].algo = algo;
    forced[coll].ctas = (uint32_t)ctas;
    return true;
}

chorus_status ch_force_read(const char *text, struct ch_forced forced[])
{
    char *entries[CHORUS_COLL_COUNT], *copy;
    struct ch_reason why;
    size_t n;

    for (size_t i = 0; i < CHORUS_COLL_COUNT; i++)
        forced[i] = (struct ch_forced){NULL, 1};
    if (*text == '\0') return CHORUS_OK;
    copy = strdup(text);
    if (copy == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to read CHORUS_ALGO");
    n = split_text(copy, ',', entries, CHORUS_COLL_COUNT);
    if (n > CHORUS_COLL_COUNT) {
        ch_why_set(&why, "more entries than collectives; expected one entry for a collective");
    } else {
        size_t i = 0;

        while (i < n && read_entry(entries[i], forced, &why))
            i++;
        if (i == n) {
            free(copy);
            return CHORUS_OK;
        }
    }
    free(copy);
    return CH_FAIL(CHORUS_ERR_ARG, "CHORUS_ALGO is \"%s\": %s", text, why.text);
}

chorus_status ch_algo_find(chorus_coll coll, const char *text, const struct ch_algo **algo_out)
{
    char name[64], *proto;
    struct ch_reason why;

    if (strlen(text) >= sizeof(name))
        return CH_FAIL(CHORUS_ERR_ARG,
                       "algorithm \"%s\" is longer than any name; expected name or name:proto",
                       text);
    memcpy(name, text, strlen(text) + 1);
    proto = strchr(name, ':');
    if (proto != NULL) *proto++ = '\0';
    if (!find_algo(coll, name, proto, algo_out, &why))
        return CH_FAIL(CHORUS_ERR_ARG, "algorithm \"%s\": %s", text, why.text);
    return CHORUS_OK;
}

/* --- the tables --------------------------------------------------------------------------- */

/* Read a table and add it to the files. */
static chorus_status add_file(struct ch_select *s, const char *path)
{
    CH_TRY(ch_table_read(path, &s->files[s->n_files]));
    s->n_files++;
    return CHORUS_OK;
}

/* Read a file that may be absent; if it exists, it must be valid. */
static chorus_status add_if_there(struct ch_select *s, const char *path)
{
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) return CHORUS_OK;
    return add_file(s, path);
}

/* Add the user's table, if there is one. */
static chorus_status add_user_table(struct ch_select *s)
{
    const char *config = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
    const bool has_config = config != NULL && *config != '\0';
    chorus_status status;
    char *path;

    if (!has_config && (home == NULL || *home == '\0')) return CHORUS_OK;
    if (asprintf(&path, "%s%s/chorus/tuning.yaml", has_config ? config : home,
                 has_config ? "" : "/.config") < 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the path of the user's rule table");
    status = add_if_there(s, path);
    free(path);
    return status;
}

/* A hash of the tables and forced choices. A zero byte distinguishes "a" before "bc" from "ab"
 * before "c". */
static uint64_t digest_of(const struct ch_select *s, const char *algo)
{
    uint64_t hash = ch_hash(CH_HASH_START, algo, strlen(algo) + 1);
    const struct ch_table *table;

    for (size_t i = 0; (table = ch_select_table(s, i)) != NULL; i++)
        hash = ch_hash(hash, &table->digest, sizeof(table->digest));
    return hash;
}

chorus_status ch_select_open(const char *algo, const char *tuning,
                             struct ch_select **select_out)
{
    struct ch_select *s = calloc(1, sizeof(*s));
    chorus_status status;

    if (s != NULL) s->seen = calloc(CH_SEEN_WORDS, sizeof(*s->seen));
    if (s == NULL || s->seen == NULL) {
        free(s);
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the rule tables");
    }
    CH_TRY_GOTO(status, ch_force_read(algo, s->forced), out_close);
    if (*tuning != '\0') CH_TRY_GOTO(status, add_file(s, tuning), out_close);
    CH_TRY_GOTO(status, add_user_table(s), out_close);
    CH_TRY_GOTO(status, add_if_there(s, CH_SYSTEM_TABLE), out_close);
    s->digest = digest_of(s, algo);
    *select_out = s;
    return CHORUS_OK;

out_close:
    ch_select_close(s);
    return status;
}

void ch_select_close(struct ch_select *s)
{
    if (s == NULL) return;
    for (size_t i = 0; i < s->n_files; i++)
        ch_table_free(s->files[i]);
    free(s->seen);
    free(s);
}

uint64_t ch_select_digest(const struct ch_select *s)
{
    return s->digest;
}

/* --- the plan ----------------------------------------------------------------------------- */

bool ch_table_mentions(const struct ch_table *table, chorus_coll coll)
{
    for (size_t i = 0; i < table->n_rules; i++)
        if (table->rules[i].coll == coll) return true;
    return false;
}

bool ch_table_serves(const struct ch_table *table, const struct ch_request *request)
{
    return ch_rule_miss(&table->serves, request) == CH_MISS_NONE &&
           ch_table_mentions(table, request->coll);
}

bool ch_is_last(const struct ch_request *request)
{
    const bool is_large =
        request->pes > CH_DEVICE_PES_MAX && strcmp(request->machine, "cuda") == 0;

    return (~request->offers & CH_NEED_SYMMETRIC) == 0 && !is_large;
}

/* The first rule of a table that applies to the request; null: none does. */
static const struct ch_rule *find_matching_rule(const struct ch_table *table,
                                                const struct ch_request *request)
{
    for (size_t i = 0; i < table->n_rules; i++) {
        const struct ch_rule *rule = &table->rules[i];

        if (rule->coll == request->coll && ch_rule_miss(rule, request) == CH_MISS_NONE)
            return rule;
    }
    return NULL;
}

/* The rule that applies, and its table; null: none applies. */
static const struct ch_rule *find_rule(const struct ch_select *s,
                                       const struct ch_request *request,
                                       const struct ch_table **table_out)
{
    const struct ch_table *table;

    for (size_t i = 0; (table = ch_select_table(s, i)) != NULL; i++) {
        const struct ch_rule *rule;

        if (!ch_table_serves(table, request)) continue;
        rule = find_matching_rule(table, request);
        *table_out = table;
        if (rule != NULL || ch_is_last(request)) return rule;
    }
    return NULL;
}

static chorus_status fail_without_rule(const struct ch_request *request)
{
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                   "no rule for %s of %s serves %u PEs that are reached by %s; give a table "
                   "that does in CHORUS_TUNING",
                   ch_coll_names[request->coll], ch_type_names[request->type], request->pes,
                   ch_reach_names[__builtin_ctz(request->reach)]);
}

/* Largest number of CTAs with which the algorithm can perform the request. */
static uint32_t ctas_most(const struct ch_algo *algo, const struct ch_request *request)
{
    if (algo->kernel == CH_KERNEL_none) return 1;
    return request->ctas_max + (algo->is_wide ? request->ctas_slim : 0);
}

/* The value nearest to `value` in [lo, hi]; lo if hi is below it. */
static uint32_t clamp(uint32_t value, uint32_t lo, uint32_t hi)
{
    return value > hi ? (hi > lo ? hi : lo) : value < lo ? lo : value;
}

/* Return the plan with the forced algorithm; ERR_UNSUPPORTED if its needs are not met. */
static chorus_status plan_forced(const struct ch_forced *forced,
                                 const struct ch_request *request, struct ch_plan *plan_out)
{
    struct ch_reason why;

    if ((forced->algo->needs & ~request->offers) != 0) {
        ch_needs_text(forced->algo->needs, request->offers, &why);
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                       "%s of %s is forced to %s:%s, which %s; force another or none",
                       ch_coll_names[request->coll], ch_type_names[request->type],
                       forced->algo->name, ch_proto_names[forced->algo->proto], why.text);
    }
    *plan_out =
        (struct ch_plan){.algo = forced->algo,
                         .ctas = clamp(forced->ctas, 1, ctas_most(forced->algo, request)),
                         .radix = CH_RADIX_DEFAULT};
    return CHORUS_OK;
}

chorus_status ch_select_find(const struct ch_select *s, const struct ch_request *request,
                             struct ch_plan *plan_out)
{
    const struct ch_table *table;
    const struct ch_rule *rule;

    if (s->forced[request->coll].algo != NULL)
        return plan_forced(&s->forced[request->coll], request, plan_out);
    rule = find_rule(s, request, &table);
    if (rule == NULL) return fail_without_rule(request);
    *plan_out = (struct ch_plan){
        .algo = rule->algo,
        .ctas = clamp(rule->ctas, 1, ctas_most(rule->algo, request)),
        .radix = clamp(rule->radix, CH_RADIX_MIN, request->pes),
        .table = table,
        .rule = rule,
    };
    return CHORUS_OK;
}

chorus_status ch_select_plan(const struct ch_select *s, const struct ch_request *request,
                             struct ch_plan *plan_out)
{
    CH_TRY(ch_select_find(s, request, plan_out));
    if (CH_LOG_DEBUG <= ch_log_level_max) ch_select_log(s, request, plan_out);
    return CHORUS_OK;
}

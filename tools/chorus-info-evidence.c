/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorus-info-evidence.c: do the lines exist that the rules of a table cite in `from`?
 *
 * The files are searched for in the table's folder and in its folder raw. If these contain no
 * CSV file, the table was copied without its measurements, and passes.
 */
#include "chorus-info.h"

#include "select/select.h"

#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096, FOLDERS = 2 };

struct evidence {
    const struct ch_table *table;
    char folders[FOLDERS][PATH_BYTES];
};

static void find_folders(struct evidence *e)
{
    const char *const slash = strrchr(e->table->path, '/');
    const int bytes = slash != NULL ? (int)(slash - e->table->path) : 1;
    const char *const path = slash != NULL ? e->table->path : ".";

    (void)snprintf(e->folders[0], PATH_BYTES, "%.*s", bytes, path);
    (void)snprintf(e->folders[1], PATH_BYTES, "%.*s/raw", bytes, path);
}

static bool has_measurements(const char *folder)
{
    char pattern[PATH_BYTES + 8];
    glob_t found;
    bool has;

    (void)snprintf(pattern, sizeof(pattern), "%s/*.csv", folder);
    has = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
    globfree(&found);
    return has;
}

static FILE *open_in(const struct evidence *e, const char *name, int name_bytes)
{
    char path[PATH_BYTES + 256];
    FILE *in = NULL;

    for (int i = 0; i < FOLDERS && in == NULL; i++) {
        (void)snprintf(path, sizeof(path), "%s/%.*s", e->folders[i], name_bytes, name);
        in = fopen(path, "re");
    }
    return in;
}

/* Does line `line`, numbered from 1, begin with this text? */
static bool line_begins(FILE *in, uint64_t line, const char *with)
{
    char *text = NULL;
    size_t room = 0;
    bool begins = false;

    for (uint64_t i = 1; i <= line && getline(&text, &room, in) > 0; i++)
        begins = i == line && strncmp(text, with, strlen(with)) == 0;
    free(text);
    return begins;
}

static chorus_status check_rule(const struct evidence *e, const struct ch_rule *rule)
{
    const char *const colon = strrchr(rule->from, ':');
    const int bytes = colon != NULL ? (int)(colon - rule->from) : 0;
    char begins[128];
    bool is_there;
    FILE *in;

    if (colon == NULL) return CHORUS_OK; /* fallback */
    in = open_in(e, rule->from, bytes);
    if (in == NULL)
        return CH_FAIL(CHORUS_ERR_TABLE,
                       "%s:%u:%u: from names \"%.*s\", which is neither in %s nor in %s, which "
                       "contain other measurements; expected one of them, or fallback",
                       e->table->path, rule->line, rule->column, bytes, rule->from,
                       e->folders[0], e->folders[1]);
    (void)snprintf(begins, sizeof(begins), "%s,%s,%s,%" PRIu32 ",", ch_coll_names[rule->coll],
                   rule->algo->name, ch_proto_names[rule->algo->proto], rule->ctas);
    is_there = line_begins(in, strtoull(colon + 1, NULL, 10), begins);
    (void)fclose(in);
    if (is_there) return CHORUS_OK;
    return CH_FAIL(
        CHORUS_ERR_TABLE,
        "%s:%u:%u: from is \"%s\", but that line does not begin with \"%s\"; expected "
        "a measurement of the rule's choice",
        e->table->path, rule->line, rule->column, rule->from, begins);
}

chorus_status info_check_evidence(const struct ch_table *table)
{
    struct evidence e = {.table = table};

    find_folders(&e);
    if (!has_measurements(e.folders[0]) && !has_measurements(e.folders[1])) return CHORUS_OK;
    for (size_t i = 0; i < table->n_rules; i++)
        CH_TRY(check_rule(&e, &table->rules[i]));
    return CHORUS_OK;
}

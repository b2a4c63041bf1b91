/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compile.c: a program of the build, which writes rule tables as C for the library.
 *
 *     compile OUTPUT NAME=FILE...
 *
 * OUTPUT gets ch_shipped (select/table.h), the tables in the order of the arguments, each
 * under the name that users see. They are read as the library reads a table of the user's.
 */
#include "select/select.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_PER_LINE = 24 };

/* A string of C; null: NULL. */
static void write_string(FILE *out, const char *text)
{
    if (text == NULL) {
        (void)fputs("NULL", out);
        return;
    }
    (void)fputc('"', out);
    for (; *text != '\0'; text++)
        if (*text == '"' || *text == '\\' || *text == '?')
            (void)fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < ' ' || (unsigned char)*text > '~')
            (void)fprintf(out, "\\%03o", (unsigned)(unsigned char)*text);
        else
            (void)fputc(*text, out);
    (void)fputc('"', out);
}

static void write_range(FILE *out, const char *name, struct ch_range range)
{
    (void)fprintf(out, " .%s = {UINT64_C(%" PRIu64 "), UINT64_C(%" PRIu64 ")},", name, range.lo,
                  range.hi);
}

static void write_rule(FILE *out, const struct ch_rule *rule)
{
    (void)fprintf(out, "{.coll = (chorus_coll)%u,", (unsigned)rule->coll);
    write_range(out, "bytes", rule->bytes);
    write_range(out, "pes", rule->pes);
    write_range(out, "nodes", rule->nodes);
    (void)fprintf(out,
                  " .reach = %" PRIu32 "u, .cores = %" PRIu32 "u, .types = %" PRIu32
                  "u, .ops = %" PRIu32 "u, .machine = ",
                  rule->reach, rule->cores, rule->types, rule->ops);
    write_string(out, rule->machine);
    (void)fputs(", .gpu = ", out);
    write_string(out, rule->gpu);
    if (rule->algo != NULL)
        (void)fprintf(out, ", .algo = &ch_algos[%zu] /* %s */", (size_t)(rule->algo - ch_algos),
                      ch_algo_text((uint32_t)(rule->algo - ch_algos)));
    (void)fprintf(out, ", .ctas = %" PRIu32 "u, .radix = %" PRIu32 "u, .from = ", rule->ctas,
                  rule->radix);
    write_string(out, rule->from);
    (void)fprintf(out, ", .line = %" PRIu32 "u, .column = %" PRIu32 "u}", rule->line,
                  rule->column);
}

/* What a table refers to: its text and its rules. */
static void write_parts(FILE *out, const char *name, const struct ch_table *table)
{
    (void)fprintf(out, "\nstatic const char text_%s[] = {", name);
    for (size_t i = 0; i < table->bytes; i++)
        (void)fprintf(out, "%s%d,", i % BYTES_PER_LINE == 0 ? "\n    " : " ",
                      (signed char)table->text[i]);
    (void)fprintf(out, "\n};\n\nstatic const struct ch_rule rules_%s[] = {\n", name);
    for (size_t i = 0; i < table->n_rules; i++) {
        (void)fputs("    ", out);
        write_rule(out, &table->rules[i]);
        (void)fputs(",\n", out);
    }
    (void)fputs("};\n", out);
}

static void write_table(FILE *out, const char *name, const struct ch_table *table)
{
    (void)fprintf(out, "    {.path = \"tuning/%s.yaml\", .machine = ", name);
    write_string(out, table->machine);
    (void)fputs(", .measured = ", out);
    write_string(out, table->measured);
    (void)fputs(", .gpu = ", out);
    write_string(out, table->gpu);
    (void)fputs(",\n     .serves = ", out);
    write_rule(out, &table->serves);
    (void)fprintf(out,
                  ",\n     .rules = rules_%s, .n_rules = %zu, .text = text_%s, .bytes = "
                  "sizeof(text_%s), .digest = UINT64_C(%" PRIu64 ")},\n",
                  name, table->n_rules, name, name, table->digest);
}

static int write_all(FILE *out, char *const names[], struct ch_table *const tables[], int n)
{
    (void)fputs("/* Written by tuning/compile.c. */\n#include \"select/table.h\"\n", out);
    for (int i = 0; i < n; i++)
        write_parts(out, names[i], tables[i]);
    (void)fputs("\nconst struct ch_table ch_shipped[] = {\n", out);
    for (int i = 0; i < n; i++)
        write_table(out, names[i], tables[i]);
    (void)fprintf(out, "};\n\nconst size_t ch_n_shipped = %d;\n", n);
    return ferror(out);
}

/* Read NAME=FILE; the name then ends at the equals sign. */
static int read_table(char *argument, struct ch_table **table_out)
{
    char *equals = strchr(argument, '=');

    if (equals == NULL) {
        (void)fprintf(stderr, "compile: %s: expected NAME=FILE\n", argument);
        return 1;
    }
    *equals = '\0';
    if (ch_table_read(equals + 1, table_out) == CHORUS_OK) return 0;
    (void)fprintf(stderr, "compile: %s\n", ch_error_message());
    return 1;
}

int main(int argc, char **argv)
{
    const int n = argc - 2;
    struct ch_table **tables = n > 0 ? calloc((size_t)n, sizeof(struct ch_table *)) : NULL;
    FILE *out = NULL;
    int failed = tables == NULL;

    if (failed) (void)fprintf(stderr, "usage: compile OUTPUT NAME=FILE...\n");
    for (int i = 0; i < n && !failed; i++)
        failed = read_table(argv[i + 2], &tables[i]);
    if (!failed) out = fopen(argv[1], "w");
    if (!failed && out == NULL) perror(argv[1]);
    failed = failed || out == NULL || write_all(out, argv + 2, tables, n) != 0;
    if (out != NULL && fclose(out) != 0) failed = 1;
    for (int i = 0; i < n && tables != NULL; i++)
        ch_table_free(tables[i]);
    free(tables);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

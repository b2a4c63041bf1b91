/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/algos.h"

#include "bench/words.h"

#include <stdio.h>
#include <string.h>

/* --- the list of --algo ------------------------------------------------------------------- */

struct item {
    const char *text;
    size_t length;
};

/* The item at *at, which moves on; false at the end. */
static bool next_item(const char **at, struct item *item_out)
{
    if (*at == NULL) return false;
    item_out->text = *at;
    item_out->length = strcspn(*at, ",");
    *at = (*at)[item_out->length] == ',' ? *at + item_out->length + 1 : NULL;
    return true;
}

static bool is_word(struct item item, const char *word)
{
    return item.length == strlen(word) && memcmp(item.text, word, item.length) == 0;
}

/* Does the item name "name:proto", in full or without the protocol? */
static bool names(struct item item, const char *algo)
{
    const bool begins = strncmp(item.text, algo, item.length) == 0;

    return begins && (algo[item.length] == '\0' || algo[item.length] == ':');
}

bool ch_algo_is_wanted(const struct ch_sweep_options *options, const char *algo)
{
    const char *at = options->algos;
    struct item item;

    while (next_item(&at, &item)) {
        if (algo == NULL && is_word(item, "auto")) return true;
        if (algo != NULL && (is_word(item, "all") || names(item, algo))) return true;
    }
    return false;
}

/* --- is it known? ------------------------------------------------------------------------- */

enum { NAMES_MAX = 128, NAME_BYTES = 40 };

/* What --algo may say: each name once, with and without its protocol. */
struct algo_names {
    char text[NAMES_MAX][NAME_BYTES];
    struct ch_word words[NAMES_MAX];
    size_t n;
};

static void add_name(struct algo_names *list, const char *text, size_t length)
{
    const struct item item = {text, length};

    for (size_t k = 0; k < list->n; k++)
        if (is_word(item, list->text[k])) return;
    if (list->n == NAMES_MAX) return;
    (void)snprintf(list->text[list->n], NAME_BYTES, "%.*s", (int)length, text);
    list->words[list->n] = (struct ch_word){list->text[list->n], 0};
    list->n++;
}

static void list_algos(struct algo_names *list, const struct ch_backend *backend,
                       uint32_t colls)
{
    list->n = 0;
    add_name(list, "auto", strlen("auto"));
    add_name(list, "all", strlen("all"));
    for (unsigned coll = 0; coll < CH_SWEEP_COUNT; coll++) {
        const char *const *const algos = backend->algos[coll];

        if ((colls & (1u << coll)) == 0 || algos == NULL) continue;
        for (size_t k = 0; algos[k] != NULL; k++) {
            add_name(list, algos[k], strcspn(algos[k], ":"));
            add_name(list, algos[k], strlen(algos[k]));
        }
    }
}

static void explain_unknown(const struct algo_names *list, struct item item, char *error,
                            size_t bytes)
{
    const char *const nearest = ch_words_nearest(list->words, list->n, item.text, item.length);
    size_t used =
        (size_t)snprintf(error, bytes, "--algo: \"%.*s\" serves none of the collectives;",
                         (int)item.length, item.text);

    if (nearest != NULL && used < bytes)
        used += (size_t)snprintf(error + used, bytes - used, " did you mean \"%s\"?", nearest);
    if (used < bytes) used += (size_t)snprintf(error + used, bytes - used, " Known:");
    for (size_t k = 0; k < list->n && used < bytes; k++)
        if (strchr(list->text[k], ':') == NULL)
            used += (size_t)snprintf(error + used, bytes - used, " %s", list->text[k]);
}

bool ch_algos_fit(const struct ch_backend *backend, const struct ch_sweep_options *options,
                  char *error, size_t bytes)
{
    const char *at = options->algos;
    struct algo_names list;
    struct item item;

    list_algos(&list, backend, options->colls);
    while (next_item(&at, &item)) {
        bool is_known = false;

        for (size_t k = 0; k < list.n; k++)
            if (is_word(item, list.text[k])) is_known = true;
        if (is_known) continue;
        explain_unknown(&list, item, error, bytes);
        return false;
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/algos.h"

#include "bench/names.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- the list of --algo ------------------------------------------------------------------- */

struct item {
    const char *text;
    size_t length;
};

/* The item at *at, which is moved to the next one; false at the end. */
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

/* Is the item "name:proto", or only its name? */
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

/* --- validity
 * ------------------------------------------------------------------------------- */

enum { NAMES_MAX = 128, NAME_BYTES = 40 };

/* The values of --algo: each name once, with and without its protocol. */
struct algo_names {
    char text[NAMES_MAX][NAME_BYTES];
    struct ch_typed_name words[NAMES_MAX];
    size_t n;
};

static void add_name(struct algo_names *list, const char *text, size_t length)
{
    const struct item item = {text, length};

    for (size_t k = 0; k < list->n; k++)
        if (is_word(item, list->text[k])) return;
    if (list->n == NAMES_MAX) return;
    (void)snprintf(list->text[list->n], NAME_BYTES, "%.*s", (int)length, text);
    list->words[list->n] = (struct ch_typed_name){list->text[list->n], 0};
    list->n++;
}

/* The algorithms of a collective of the sweep, or an empty list. */
static const struct ch_choice *choices(const struct ch_backend *backend,
                                       const struct ch_sweep_options *options, unsigned coll)
{
    static const struct ch_choice none[1];
    const bool is_swept = (options->colls & (1u << coll)) != 0;

    return is_swept && backend->algos[coll] != NULL ? backend->algos[coll] : none;
}

static void list_algos(struct algo_names *list, const struct ch_backend *backend,
                       const struct ch_sweep_options *options)
{
    list->n = 0;
    add_name(list, "auto", strlen("auto"));
    add_name(list, "all", strlen("all"));
    for (unsigned coll = 0; coll < CH_SWEEP_COUNT; coll++)
        for (const struct ch_choice *at = choices(backend, options, coll); at->name; at++) {
            add_name(list, at->name, strcspn(at->name, ":"));
            add_name(list, at->name, strlen(at->name));
        }
}

struct message {
    char *text;
    size_t bytes, used;
};

static void say(struct message *message, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct message *message, const char *format, ...)
{
    va_list args;

    if (message->used >= message->bytes) return;
    va_start(args, format);
    message->used += (size_t)vsnprintf(message->text + message->used,
                                       message->bytes - message->used, format, args);
    va_end(args);
}

/* For messages: the algorithms of each collective, without protocols, or those that have a
 * radix. */
static void say_algos(struct message *message, const struct ch_backend *backend,
                      const struct ch_sweep_options *options, bool with_radix)
{

    for (unsigned coll = 0; coll < CH_SWEEP_COUNT; coll++) {
        struct item last = {"", 0};

        for (const struct ch_choice *at = choices(backend, options, coll); at->name; at++) {
            if (names(last, at->name) || (with_radix && !at->takes_radix)) continue;
            if (last.length == 0)
                say(message, "; for %s ", ch_sweep_names[coll]);
            else
                say(message, ", ");
            last = (struct item){at->name, strcspn(at->name, ":")};
            say(message, "%.*s", (int)last.length, last.text);
        }
    }
}

static bool are_known(const struct ch_backend *backend, const struct ch_sweep_options *options,
                      struct message *message)
{
    const char *at = options->algos, *nearest;
    struct algo_names list;
    struct item item;

    list_algos(&list, backend, options);
    while (next_item(&at, &item)) {
        bool is_known = false;

        for (size_t k = 0; k < list.n; k++)
            if (is_word(item, list.text[k])) is_known = true;
        if (is_known) continue;
        nearest = ch_names_nearest(list.words, list.n, item.text, item.length);
        say(message, "--algo: unknown \"%.*s\";", (int)item.length, item.text);
        if (nearest != NULL) say(message, " did you mean \"%s\"?", nearest);
        say(message, " Known: auto, all");
        say_algos(message, backend, options, false);
        return false;
    }
    return true;
}

/* --- use of --ctas and --radix
 * ---------------------------------------------------------------- */

/* Is there an algorithm that has a radix, or a forced one that has? */
static bool is_any(const struct ch_backend *backend, const struct ch_sweep_options *options,
                   bool is_forced, bool with_radix)
{
    for (unsigned coll = 0; coll < CH_SWEEP_COUNT; coll++)
        for (const struct ch_choice *at = choices(backend, options, coll); at->name; at++)
            if ((at->takes_radix || !with_radix) &&
                (ch_algo_is_wanted(options, at->name) || !is_forced))
                return true;
    return false;
}

static bool radix_is_taken(const struct ch_backend *backend,
                           const struct ch_sweep_options *options, struct message *message)
{
    if (options->radix == 0 || is_any(backend, options, true, true)) return true;
    say(message, "--radix %d: --algo \"%s\" forces no algorithm that takes a radix;",
        options->radix, options->algos);
    if (is_any(backend, options, false, true))
        say(message, " name one that does");
    else
        say(message, " leave it out, for none of these collectives has one");
    say_algos(message, backend, options, true);
    return false;
}

static bool ctas_are_taken(const struct ch_backend *backend,
                           const struct ch_sweep_options *options, struct message *message)
{
    if (options->ctas[0] == 0 || is_any(backend, options, true, false)) return true;
    say(message,
        "--ctas %d%s: --algo \"%s\" forces no algorithm, and the rule table chooses CTAs "
        "itself; force one by its name, or --algo all",
        options->ctas[0], options->n_ctas > 1 ? ",..." : "", options->algos);
    return false;
}

bool ch_algos_fit(const struct ch_backend *backend, const struct ch_sweep_options *options,
                  char *error, size_t bytes)
{
    struct message message = {.text = error, .bytes = bytes};

    return are_known(backend, options, &message) &&
           ctas_are_taken(backend, options, &message) &&
           radix_is_taken(backend, options, &message);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include "base/clock.h"
#include "chorus/lists.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { SECONDS_MAX = 999999999 };

/* Read the decimal number at the beginning of *at_io, of one or more digits, and move *at_io
 * behind it. False: there is none, or it has more than 64 bits. */
static bool read_digits(const char **at_io, uint64_t *out)
{
    const char *at = *at_io;
    uint64_t value = 0;

    if (*at < '0' || *at > '9') return false;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return false;
    *at_io = at;
    *out = value;
    return true;
}

bool ch_number_whole(const char *text, uint64_t lo, uint64_t hi, uint64_t *out)
{
    uint64_t value;

    if (!read_digits(&text, &value) || *text != '\0' || value < lo || value > hi) return false;
    *out = value;
    return true;
}

bool ch_number_bytes(const char *text, uint64_t lo, uint64_t hi, uint64_t *out)
{
    static const char units[] = "KMG";
    const char *unit;
    uint64_t value;

    if (!read_digits(&text, &value)) return false;
    unit = *text == '\0' ? NULL : strchr(units, *text);
    if (unit != NULL) {
        const unsigned shift = 10 * (unsigned)(unit - units + 1);

        if (value > UINT64_MAX >> shift) return false;
        value <<= shift;
        text++;
    }
    if (*text != '\0' || value < lo || value > hi) return false;
    *out = value;
    return true;
}

bool ch_number_seconds(const char *text, uint64_t *ns_out)
{
    uint64_t seconds, ns = 0, unit_ns = CH_NS_PER_S;
    bool has_rest = false;

    if (!read_digits(&text, &seconds) || seconds > SECONDS_MAX) return false;
    if (*text == '.') {
        if (text[1] < '0' || text[1] > '9') return false;
        for (text++; *text >= '0' && *text <= '9'; text++) {
            unit_ns /= 10;
            ns += unit_ns * (uint64_t)(*text - '0');
            has_rest = has_rest || (unit_ns == 0 && *text != '0');
        }
    }
    if (*text != '\0') return false;
    *ns_out = seconds * CH_NS_PER_S + ns;
    if (*ns_out == 0 && has_rest) *ns_out = 1;
    return true;
}

const char *ch_number_hint(const char *text, struct ch_number_hint *hint)
{
    static const char *const others[][2] = {
        {"", "b"},   {"K", "k"},   {"K", "kb"}, {"K", "kib"}, {"M", "m"},
        {"M", "mb"}, {"M", "mib"}, {"G", "g"},  {"G", "gb"},  {"G", "gib"}};
    const char *unit = text;
    uint64_t value;

    hint->text[0] = '\0';
    if (!read_digits(&unit, &value)) return hint->text;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcasecmp(unit, others[i][1]) == 0 && strcmp(unit, others[i][0]) != 0)
            (void)snprintf(hint->text, sizeof(hint->text), "; did you mean \"%llu%s\"?",
                           (unsigned long long)value, others[i][0]);
    return hint->text;
}

uint64_t ch_hash(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* --- names in lists ----------------------------------------------------------------------- */

enum {
    NAME_CHARS_MAX = 40
}; /* longer text gets no suggestion; every name in the library is shorter */

void ch_why_set(struct ch_reason *why, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why->text, sizeof(why->text), format, args);
    va_end(args);
}

/* Append before, name and after to the text. */
static void why_append(struct ch_reason *why, const char *before, const char *name,
                       const char *after)
{
    const size_t used = strlen(why->text);

    (void)snprintf(why->text + used, sizeof(why->text) - used, "%s%s%s", before, name, after);
}

void ch_why_list(struct ch_reason *why, const char *const names[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        why_append(why, i == 0 ? "" : i + 1 == count ? " or " : ", ", names[i], "");
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns the number of letters to insert, remove or change, or of neighbours to swap, that
 * turns one name into the other; SIZE_MAX if a name is longer than NAME_CHARS_MAX. */
static size_t edit_distance(const char *a, const char *b)
{
    const size_t m = strlen(a), n = strlen(b);
    size_t row[3][NAME_CHARS_MAX + 1]; /* distances of prefixes of a: of lengths i - 2, i - 1
                                          and i, in rotation */

    if (m > NAME_CHARS_MAX || n > NAME_CHARS_MAX) return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t *now = row[i % 3];
        const size_t *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

        now[0] = i;
        for (size_t j = 1; j <= n; j++) {
            now[j] = last[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = least(now[j], least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return row[m % 3][n];
}

/* Returns the name in this library for a name of other libraries that is not similar; null:
 * `found` is no such name. */
static const char *equivalent_name(const char *found)
{
    static const char *const names[][2] = {
        {"allgather", "fcollect"}, {"all_gather", "fcollect"}, {"bcast", "broadcast"}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcasecmp(names[i][0], found) == 0) return names[i][1];
    return NULL;
}

const char *ch_name_nearest(const char *const names[], size_t count, const char *found)
{
    const char *best = NULL, *equivalent = equivalent_name(found);
    size_t best_edits = (strlen(found) + 2) / 3 + 1;

    for (size_t i = 0; i < count && equivalent != NULL; i++)
        if (strcmp(names[i], equivalent) == 0) return names[i];

    for (size_t i = 0; i < count; i++) {
        const size_t e = edit_distance(names[i], found);

        if (e >= best_edits || e >= strlen(names[i])) continue;
        best_edits = e;
        best = names[i];
    }
    return best;
}

bool ch_name_find(const char *kind, const char *const names[], size_t count, const char *found,
                  size_t *index_out, struct ch_reason *why_out)
{
    const char *near;

    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], found) != 0) continue;
        *index_out = i;
        return true;
    }
    ch_why_set(why_out, "unknown %s \"%.*s\"; expected ", kind, NAME_CHARS_MAX, found);
    ch_why_list(why_out, names, count);
    near = ch_name_nearest(names, count, found);
    if (near != NULL) why_append(why_out, "; did you mean \"", near, "\"?");
    return false;
}

/* --- names in messages -------------------------------------------------------------------- */

/* What the prefix of an interface replaces. */
enum { OWN_BYTES = sizeof("chorus") - 1 };

/* An interface in which calls and constants have the names of Chorus with another prefix. Lists
 * end with null. */
struct interface {
    const char *prefix;
    const char *lacks[32];     /* parts of the names that it does not have */
    const char *extensions[8]; /* parts of the chorusx_ names that it has */
    const char *constants[8];  /* how its constants begin, after the prefix */
};

/* The others have no collectives with the prefix chorusx. */
#define LACKS(A, coll, dest, source, root, work, overlap, prefix) LACKS_##prefix(_##coll)
#define LACKS_none(part)
#define LACKS_chorus(part)
#define LACKS_chorusx(part) #part,

static const struct interface interfaces[] = {
    {"shmem",
     {"_half_", "_bfloat16_", "_reducescatter"},
     {NULL},
     {"CMP_", "CTX_", "MALLOC_", "SIGNAL_", "TEAM_", "THREAD_"}},
    {"nvshmem",
     {"_ctx", "scan", "_longdouble_", "_complex", "_ibget", "_ibput", "_lock", "_hints",
      "_pe_quiet", "_realloc", "_signal_set", "_signal_add", "_team_ptr", "_alltoalls_on",
      "_alltoallsmem_on", "_collect_on", "_collectmem_on", "NUM_CONTEXTS",
      CHORUS_COLL_ROWS(LACKS, )},
     {"_on_stream", "uniqueid", "_init_", "_mc_ptr", "_signal_op", "_buffer_",
      "_collective_launch"},
     {"CMP_", "SIGNAL_", "TEAM_", "THREAD_"}},
};

static const char *program_prefix = "";
static const char *program_heap_max;

void ch_names_set(const char *prefix, const char *heap_max)
{
    __atomic_store_n(&program_prefix, prefix, __ATOMIC_RELEASE);
    if (heap_max != NULL) __atomic_store_n(&program_heap_max, heap_max, __ATOMIC_RELEASE);
}

const char *ch_names_prefix(void)
{
    return __atomic_load_n(&program_prefix, __ATOMIC_ACQUIRE);
}

/* Returns the interface with this prefix; null: the library's own, or unknown. */
static const struct interface *find_interface(const char *prefix)
{
    for (size_t i = 0; i < sizeof(interfaces) / sizeof(interfaces[0]); i++)
        if (strncmp(interfaces[i].prefix, prefix, CH_NAMES_BYTES) == 0) return &interfaces[i];
    return NULL;
}

/* Returns the number of letters, digits and '_' with which the text begins. */
static size_t word_bytes(const char *text)
{
    size_t n = 0;

    while (isalnum((unsigned char)text[n]) || text[n] == '_')
        n++;
    return n;
}

static bool starts_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Does the word contain one of the parts? */
static bool has_part(const char *word, size_t bytes, const char *const *parts)
{
    for (; *parts != NULL; parts++)
        if (memmem(word, bytes, *parts, strlen(*parts)) != NULL) return true;
    return false;
}

static bool starts_with_one_of(const char *text, const char *const *beginnings)
{
    for (; *beginnings != NULL; beginnings++)
        if (starts_with(text, *beginnings)) return true;
    return false;
}

/* Does the interface have this word under its own prefix? Not if it is the name of a file. */
static bool has_name(const struct interface *interface, const char *word, size_t bytes)
{
    if (has_part(word, bytes, interface->lacks)) return false;
    if (word[bytes] == '.' && isalpha((unsigned char)word[bytes + 1])) return false;
    if (starts_with(word, "chorus_")) return true;
    if (starts_with(word, "chorusx_")) return has_part(word, bytes, interface->extensions);
    return starts_with(word, "CHORUS_") &&
           starts_with_one_of(word + OWN_BYTES + 1, interface->constants);
}

/* Put `word` in place of the first `old` bytes of `at`, which has `room` bytes, in capitals if
 * those are; returns the bytes put. */
static size_t replace_word(char *at, size_t room, size_t old, const char *word)
{
    const size_t bytes = strlen(word), rest = strlen(at + old) + 1;
    const bool is_upper = isupper((unsigned char)*at);

    if (bytes >= room) return old;
    memmove(at + bytes, at + old, rest < room - bytes ? rest : room - bytes);
    at[room - 1] = '\0';
    for (size_t i = 0; i < bytes; i++)
        at[i] = (char)(is_upper ? toupper((unsigned char)word[i]) : word[i]);
    return bytes;
}

void ch_names_replace(const char *prefix, char *text, size_t bytes)
{
    const struct interface *const interface = find_interface(prefix);
    const char *const heap_max = __atomic_load_n(&program_heap_max, __ATOMIC_ACQUIRE);
    size_t at = 0, n;

    while (interface != NULL && at < bytes && text[at] != '\0') {
        n = word_bytes(text + at);
        if (heap_max != NULL && n == strlen("CHORUS_HEAP_MAX") &&
            starts_with(text + at, "CHORUS_HEAP_MAX"))
            n = replace_word(text + at, bytes - at, n, heap_max);
        else if (n > OWN_BYTES && has_name(interface, text + at, n))
            n += replace_word(text + at, bytes - at, OWN_BYTES, interface->prefix) - OWN_BYTES;
        at += n != 0 ? n : 1;
    }
}

size_t ch_names_call_bytes(const char *text)
{
    const size_t bytes = word_bytes(text);
    bool is_call = starts_with(text, "chorus_") || starts_with(text, "chorusx_");

    for (size_t i = 0; i < sizeof(interfaces) / sizeof(interfaces[0]); i++)
        if (starts_with(text, interfaces[i].prefix) && memchr(text, '_', bytes) != NULL)
            is_call = true;
    return is_call ? bytes : 0;
}

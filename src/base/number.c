/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { SECONDS_MAX = 999999999 };

/* The decimal number at the beginning of *at_io, of one or more digits; *at_io is moved behind
 * it. */
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

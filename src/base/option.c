/* SPDX-License-Identifier: Apache-2.0 */
#include "base/option.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ch_parse_bytes(const char *text, int inf_allowed, uint64_t *out)
{
    unsigned long long value;
    unsigned shift = 0;
    char *end;

    if (inf_allowed && strcmp(text, "inf") == 0) {
        *out = UINT64_MAX;
        return 0;
    }
    if (*text < '0' || *text > '9') return -1;
    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno != 0) return -1;
    if (*end == 'K')
        shift = 10;
    else if (*end == 'M')
        shift = 20;
    else if (*end == 'G')
        shift = 30;
    if (shift != 0) end++;
    if (*end != '\0' || value > (UINT64_MAX >> shift)) return -1;
    *out = (uint64_t)value << shift;
    return 0;
}

static chorus_status parse_STRING(const char *name, const char *text, const char **out)
{
    (void)name;
    *out = text;
    return CHORUS_OK;
}

static chorus_status parse_BYTES(const char *name, const char *text, uint64_t *out)
{
    if (ch_parse_bytes(text, 0, out) == 0) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "CHORUS_%s is \"%s\"; expected bytes such as 4096, 64K, 16M or 2G", name,
                   text);
}

static chorus_status parse_COUNT(const char *name, const char *text, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *out <= CH_COUNT_MAX)
        return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG, "CHORUS_%s is \"%s\"; expected a whole number, 0 to %u",
                   name, text, CH_COUNT_MAX);
}

static chorus_status parse_SECONDS(const char *name, const char *text, uint64_t *out)
{
    char *end;
    const double seconds = strtod(text, &end);
    const int valid = end != text && *end == '\0' && seconds >= 0.0 && seconds < 1e9;

    if (!valid)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "CHORUS_%s is \"%s\"; expected seconds such as 30 or 0.5", name, text);
    *out = (uint64_t)(seconds * (double)CH_NS_PER_S);
    return CHORUS_OK;
}

const char *const ch_heap_names[] = {
#define X(name) #name,
    CHORUS_HEAP_LIST(X)
#undef X
};

static chorus_status parse_HEAP(const char *name, const char *text, chorus_heap *out)
{
#define X(heap)                     \
    if (strcmp(text, #heap) == 0) { \
        *out = CHORUS_HEAP_##heap;  \
        return CHORUS_OK;           \
    }
    CHORUS_HEAP_LIST(X)
#undef X
    return CH_FAIL(CHORUS_ERR_ARG, "CHORUS_%s is \"%s\"; expected auto, host or cuda", name,
                   text);
}

static chorus_status parse_SWITCH(const char *name, const char *text, bool *out)
{
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return CH_FAIL(CHORUS_ERR_ARG, "CHORUS_%s is \"%s\"; expected 0 or 1", name, text);
    *out = *text == '1';
    return CHORUS_OK;
}

chorus_status ch_options_read(struct ch_options *out)
{
    const char *text;

    out->device = CH_OPTION_NO_DEVICE;
#define X(NAME, field, KIND, initial, help) \
    text = getenv("CHORUS_" #NAME);         \
    CH_TRY(parse_##KIND(#NAME, text != NULL ? text : (initial), &out->field));
    CH_OPTION_LIST(X)
#undef X
    return CHORUS_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/option.h"

#include "base/number.h"

#include <stdlib.h>
#include <string.h>

static chorus_status parse_STRING(const char *name, const char *text, const char **out)
{
    (void)name;
    *out = text;
    return CHORUS_OK;
}

static chorus_status parse_BYTES(const char *name, const char *text, uint64_t *out)
{
    struct ch_number_hint hint;

    if (ch_number_bytes(text, 0, UINT64_MAX, out)) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "CHORUS_%s is \"%s\"; expected bytes such as 4096, 64K, 16M or 2G%s", name,
                   text, ch_number_hint(text, &hint));
}

static chorus_status parse_COUNT(const char *name, const char *text, uint64_t *out)
{
    if (ch_number_whole(text, 0, CH_COUNT_MAX, out)) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG, "CHORUS_%s is \"%s\"; expected a whole number, 0 to %u",
                   name, text, CH_COUNT_MAX);
}

static chorus_status parse_SECONDS(const char *name, const char *text, uint64_t *out)
{
    if (ch_number_seconds(text, out)) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG, "CHORUS_%s is \"%s\"; expected seconds such as 30 or 0.5",
                   name, text);
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
    text = secure_getenv("CHORUS_" #NAME);  \
    CH_TRY(parse_##KIND(#NAME, text != NULL ? text : (initial), &out->field));
    CH_OPTION_LIST(X)
#undef X
    return CHORUS_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/option.h"

#include "base/clock.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define X(NAME, setter, secrecy, field, KIND, initial, text) \
    {"CHORUS_" #NAME, CH_SETTER_##setter, CH_SECRECY_##secrecy, initial, text},
#define B(NAME, setter, secrecy, text) \
    {"CHORUS_" #NAME, CH_SETTER_##setter, CH_SECRECY_##secrecy, NULL, text},
const struct ch_variable ch_variables[CH_VARIABLE_COUNT] = {CH_VARIABLE_LIST(X, B)};
#undef B
#undef X

const char *ch_variable_get(enum ch_variable_id id)
{
    return secure_getenv(ch_variables[id].name);
}

const char *ch_variable_shown(const char *name, const char *value)
{
    const size_t bytes = strcspn(name, "=");

    for (size_t i = 0; i < CH_VARIABLE_COUNT; i++)
        if (ch_variables[i].secrecy == CH_SECRECY_SECRET &&
            strlen(ch_variables[i].name) == bytes &&
            strncmp(ch_variables[i].name, name, bytes) == 0)
            return "(secret)";
    return value;
}

/* Each parser below sets *out from `text`, the value of CHORUS_`name`, or fails with a message
 * that shows it. */
#define X(NAME, setter, secrecy, field, KIND, initial, text)  \
    _Static_assert(CH_SECRECY_##secrecy == CH_SECRECY_PUBLIC, \
                   "CHORUS_" #NAME " is shown by the parser of its kind");
CH_OPTION_LIST(X)
#undef X

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

static chorus_status parse_RECORD(const char *name, const char *text, bool *out)
{
    if (strcmp(text, "calls") != 0 && strcmp(text, "full") != 0)
        return CH_FAIL(CHORUS_ERR_ARG, "CHORUS_%s is \"%s\"; expected calls or full", name,
                       text);
    *out = *text == 'f';
    return CHORUS_OK;
}

/* Set *out to the value of CHORUS_ERRORS that has this name. False: there is none. */
static bool find_error_mode(const char *text, enum ch_errors *out)
{
#define X(name)                     \
    if (strcmp(text, #name) == 0) { \
        *out = CH_ERRORS_##name;    \
        return true;                \
    }
    CH_ERRORS_LIST(X)
#undef X
    return false;
}

static chorus_status parse_ERRORS(const char *name, const char *text, enum ch_errors *out)
{
    if (find_error_mode(text, out)) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG, "CHORUS_%s is \"%s\"; expected report, fatal or return",
                   name, text);
}

enum ch_errors ch_options_error_mode(void)
{
    const char *text = ch_variable_get(CH_VARIABLE_ERRORS);
    enum ch_errors found = CH_ERRORS_report;

    return text != NULL && find_error_mode(text, &found) ? found : CH_ERRORS_report;
}

static chorus_status parse_CHECK(const char *name, const char *text, uint64_t *out)
{
    if (ch_number_whole(text, 0, CH_CHECK_MAX, out)) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "CHORUS_%s is \"%.64s\"; expected 0 (no checks), 1 (compare calls) or 2 "
                   "(also check memory and threads)",
                   name, text);
}

static chorus_status parse_CONNECTIONS(const char *name, const char *text, uint64_t *out)
{
    *out = CH_CONNECTIONS_AUTO;
    if (strcmp(text, "auto") == 0 || ch_number_whole(text, 1, CH_CONNECTIONS_MAX, out))
        return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG, "CHORUS_%s is \"%.64s\"; expected auto, or 1 to %u", name,
                   text, CH_CONNECTIONS_MAX);
}

/* Fail if the variable has a value less than `least`, which the message calls least_text. */
static chorus_status check_least(enum ch_variable_id id, uint64_t value, uint64_t least,
                                 const char *least_text)
{
    const char *const text = ch_variable_get(id);

    if (value >= least) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "%s is \"%.64s\"; expected %s or more, or leave it out for the default",
                   ch_variable_name(id), text != NULL ? text : "", least_text);
}

/* Fail if an option is outside its limits. */
static chorus_status check_limits(const struct ch_options *options)
{
    if (options->link_ns > CH_LINK_TIMEOUT_MAX_S * CH_NS_PER_S)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "CHORUS_LINK_TIMEOUT is \"%.64s\"; expected at most %u seconds",
                       ch_variable_get(CH_VARIABLE_LINK_TIMEOUT), CH_LINK_TIMEOUT_MAX_S);
    CH_TRY(check_least(CH_VARIABLE_HEAP_STEP, options->heap_step, CH_HEAP_STEP_MIN, "4K"));
    CH_TRY(check_least(CH_VARIABLE_SYNC_MAX, options->sync_max, CH_SYNC_MAX_MIN, "1M"));
    return check_least(CH_VARIABLE_CHUNK, options->chunk, CH_CHUNK_MIN, "256");
}

chorus_status ch_options_read(struct ch_options *out)
{
    const char *text;

    out->device = CH_OPTION_NO_DEVICE;
#define X(NAME, setter, secrecy, field, KIND, initial, help) \
    text = ch_variable_get(CH_VARIABLE_##NAME);              \
    CH_TRY(parse_##KIND(#NAME, text != NULL ? text : (initial), &out->field));
    CH_OPTION_LIST(X)
#undef X
    return check_limits(out);
}

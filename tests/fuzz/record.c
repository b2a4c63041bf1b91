/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record: a file of records of calls, for chorus-info record. A record has 128 KiB, so the
 * input says how a well-formed file differs: the number of its records, the bytes cut off at
 * its end, and words to be stored at places in it. If the first byte is 0, the rest is the
 * file.
 */
#include "fuzz.h"

#include "chorus-info-record.h"

#include <string.h>

enum { PES_MAX = 3, CALLS = 5, CUT_MAX = 1 << 18 };

static uint64_t number(struct fuzz_input *in, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++)
        value = value << 8 | fuzz_byte(in);
    return value;
}

static void fill(struct ch_record *record, uint32_t pe, uint32_t n)
{
    const struct ch_doing barrier = {.what = CHORUS_COLL_barrier, .number = 1};
    const struct ch_doing wait = {.what = CH_DOING_wait, .count = 1, .offset = 64, .value = 2};
    const struct ch_access access = {
        .what = CH_ACCESS_set, .pe = (pe + 1) % n, .offset = 64, .bytes = 8, .value = 1};
    const struct ch_entry calls[] = {ch_entry_of(&barrier), ch_entry_of(&wait)};

    ch_record_init(record, pe, n);
    record->is_full = 1;
    for (int i = 0; i < CALLS; i++)
        (void)ch_record_begin(record, &calls[i == CALLS - 1], true, CH_ENTRY_RUNNING);
    (void)ch_record_access(record, &access);
    record->kept_ns = record->ns + CH_NS_PER_S;
    record->kept_ticks = record->ticks + CH_NS_PER_S;
}

/* The file; the caller passes it to records_take. */
static char *make_file(struct fuzz_input *in, size_t *bytes_out)
{
    const uint32_t n = fuzz_byte(in) % PES_MAX + 1;
    size_t bytes = n * sizeof(struct ch_record);
    struct ch_record *records = calloc(n, sizeof(*records));

    FUZZ_CHECK(records != NULL);
    for (uint32_t pe = 0; pe < n; pe++)
        fill(&records[pe], pe, n);
    *bytes_out = bytes - number(in, 3) % CUT_MAX % bytes;
    while (in->at < in->end) {
        const size_t at = number(in, 3) % (bytes - sizeof(uint64_t) + 1);
        const uint64_t value = number(in, 8);

        memcpy((char *)records + at, &value, sizeof(value));
    }
    return (char *)records;
}

static char *take_bytes(const struct fuzz_input *in, size_t *bytes_out)
{
    char *bytes;

    *bytes_out = (size_t)(in->end - in->at);
    bytes = malloc(*bytes_out + 1);
    FUZZ_CHECK(bytes != NULL);
    memcpy(bytes, in->at, *bytes_out);
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const bool is_shown[PES_MAX] = {true};
    struct fuzz_input in = {data, data + bytes};
    const struct calls_shown some = {is_shown, 2}, all = {NULL, 0};
    struct records records;
    FILE *out = fopen("/dev/null", "we");
    size_t file_bytes;
    char *file =
        fuzz_byte(&in) == 0 ? take_bytes(&in, &file_bytes) : make_file(&in, &file_bytes);

    FUZZ_CHECK(out != NULL);
    if (records_take("file", file, file_bytes, &records) != CHORUS_OK) {
        FUZZ_CHECK(strncmp(ch_error_message(), "file ", 5) == 0);
    } else {
        FUZZ_CHECK(records.n > 0 && records.n <= PES_MAX);
        calls_list(out, &records, &all);
        calls_json(out, &records, &some);
        calls_trace(out, &records, &all);
        FUZZ_CHECK(records_sum_up(&records) == CHORUS_OK);
        records_free(&records);
    }
    (void)fclose(out);
    return 0;
}

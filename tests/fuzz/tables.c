/* SPDX-License-Identifier: Apache-2.0 */
/* tables: any bytes are a rule table, or refused with a place and a reason. */
#include "fuzz.h"

#include "select/table.h"

#include <string.h>

/* Once a table has been checked, every call of a collective that it mentions is served. */
static void check_served(const struct ch_table *table, chorus_coll coll)
{
    const struct ch_request request = {
        .coll = coll,
        .bytes = 12345,
        .pes = 3,
        .nodes = 1,
        .reach = 1u << __builtin_ctz(table->serves.reach),
        .cores = CH_CORES_shared,
        .type = coll == CHORUS_COLL_barrier ? CHORUS_TYPE_u8 : CHORUS_TYPE_f32,
        .op = CHORUS_OP_sum,
        .offers = ch_needs_always_met(table->serves.reach),
        .ctas_max = 1,
        .machine = "host",
        .gpu = "",
    };
    bool is_mentioned = false;

    for (size_t i = 0; i < table->n_rules; i++) {
        if (table->rules[i].coll != coll) continue;
        is_mentioned = true;
        if (ch_rule_miss(&table->rules[i], &request) == CH_MISS_NONE) return;
    }
    FUZZ_CHECK(!is_mentioned);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1);
    struct ch_table_file *file;
    chorus_status status;

    FUZZ_CHECK(text != NULL);
    if (bytes > 0) memcpy(text, data, bytes);
    text[bytes] = '\0';
    status = ch_table_parse("fuzz.yaml", text, bytes, &file);
    if (status == CHORUS_OK) {
        status = ch_table_check(&file->table);
        for (int coll = 0; coll < CHORUS_COLL_COUNT && status == CHORUS_OK; coll++)
            check_served(&file->table, (chorus_coll)coll);
        ch_table_free(&file->table);
    }
    FUZZ_CHECK(status == CHORUS_OK || status == CHORUS_ERR_TABLE);
    FUZZ_CHECK(status == CHORUS_OK || strncmp(ch_error_message(), "fuzz.yaml:", 10) == 0);
    free(text);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deadlock.c: which PE waits for which, from the records of their calls.
 *
 * A wait for a word does not name the PE that should write it. The PE that wrote it last, by
 * the records of accesses that CHORUS_RECORD=full makes, is assumed to be the next that writes
 * it. Without such a write, all that may be known is that every PE waits.
 */
#include "base/record.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NO_PE UINT32_MAX

/* Append to the chain's text, as printf does. */
static void __attribute__((format(printf, 2, 3)))
add_text(struct ch_chain *chain, const char *format, ...)
{
    const size_t used = strlen(chain->text);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(chain->text + used, sizeof(chain->text) - used, format, args);
    va_end(args);
}

/* Is the PE in a call, or has it failed in one? *out is that call. */
static bool is_stuck(const struct ch_records *records, uint32_t pe, struct ch_record_call *out)
{
    const struct ch_record *record = records->of(records->arg, pe);

    return record != NULL && ch_record_latest(record, out) &&
           (out->state == CH_ENTRY_RUNNING || out->state == CH_ENTRY_FAILED);
}

/* Is the PE in a wait for words, or has it failed in one? *out is that wait. */
static bool is_in_wait(const struct ch_records *records, uint32_t pe,
                       struct ch_record_call *out)
{
    return is_stuck(records, pe, out) && out->doing.what == CH_DOING_wait;
}

/* Does the access write one of the words for which PE `pe` waits? */
static bool writes_awaited_word(const struct ch_access *access, uint32_t pe,
                                const struct ch_doing *wait)
{
    static const uint64_t widths[] = {
#define X(T, ctype, class, bytes) bytes,
        CHORUS_TYPE_LIST(X)
#undef X
    };
    const uint64_t width = wait->type < CHORUS_TYPE_COUNT ? widths[wait->type] : 1;
    const uint64_t behind = access->offset - wait->offset;
    const uint64_t before = wait->offset - access->offset;

    if (!ch_access_writes(access) || access->pe != pe) return false;
    return behind / width < wait->count || before < access->bytes;
}

struct write {
    uint32_t by;
    struct ch_access access;
    double age_s;
};

/* Find the last write of another PE to the words for which PE `pe` waits. False: the records
 * have none. */
static bool find_write(const struct ch_records *records, uint32_t pe,
                       const struct ch_doing *wait, struct write *out)
{
    out->by = NO_PE;
    for (uint32_t by = 0; by < records->n; by++) {
        const struct ch_record *record = by != pe ? records->of(records->arg, by) : NULL;

        if (record == NULL || !record->is_full) continue;
        for (uint64_t i = 0; i < CH_RECORD_ENTRIES; i++) {
            struct ch_access access;
            double age_s;

            if (!ch_record_read_access(record, record->accesses[i].index, &access) ||
                !writes_awaited_word(&access, pe, wait))
                continue;
            age_s = ch_record_age_s(record, access.ticks);
            if (out->by == NO_PE || age_s < out->age_s)
                *out = (struct write){by, access, age_s};
        }
    }
    return out->by != NO_PE;
}

/* Returns the number of PEs whose records are not known. */
static uint32_t count_unknown(const struct ch_records *records)
{
    uint32_t n = 0;

    for (uint32_t pe = 0; pe < records->n; pe++)
        n += records->of(records->arg, pe) == NULL;
    return n;
}

/* Was a known record made with CHORUS_RECORD=full? */
static bool is_any_full(const struct ch_records *records)
{
    for (uint32_t pe = 0; pe < records->n; pe++) {
        const struct ch_record *record = records->of(records->arg, pe);

        if (record != NULL && record->is_full) return true;
    }
    return false;
}

/* Append what PE `pe` waits for. Returns the PE that should write it; NO_PE: it is not
 * known. */
static uint32_t add_wait_text(const struct ch_records *records, uint32_t pe,
                              const struct ch_doing *wait, struct ch_chain *chain)
{
    char text[CH_WAIT_TEXT_BYTES], access[CH_ACCESS_TEXT_BYTES];
    struct write last;

    ch_wait_text(wait, text);
    add_text(chain, "PE %u waits for %s", pe, text);
    if (find_write(records, pe, wait, &last)) {
        ch_access_text(&last.access, access);
        add_text(chain, ", which PE %u wrote last (%s, %.3g s ago)", last.by, access,
                 last.age_s);
        return last.by;
    }
    if (!is_any_full(records))
        add_text(chain, "; who writes it is not known without CHORUS_RECORD=full");
    else if (count_unknown(records) == 0)
        add_text(chain, ", to which the records have no write of another PE");
    else
        add_text(chain,
                 "; who writes it is not known here, since the calls of %u of %u PEs are not; "
                 "chorusrun --record keeps those of all hosts",
                 count_unknown(records), records->n);
    return NO_PE;
}

/* Has the PE, which makes calls of this team, not begun the call? */
static bool has_not_begun(const struct ch_record *record, const struct ch_doing *call)
{
    const bool is_collective = ch_doing_is_collective(call);
    struct ch_record_call other;

    if (record == NULL || call->number == 0 ||
        ch_record_find(record, call->team, call->number, is_collective, &other))
        return false;
    return call->team == 0 ||
           ch_record_find(record, call->team, call->number - 1, is_collective, &other);
}

/* Append in which call PE `pe` is. Returns a PE that has not begun the call, the first of the
 * chain if that is one; NO_PE: none is known. */
static uint32_t add_call_text(const struct ch_records *records, uint32_t pe,
                              const struct ch_record_call *called, struct ch_chain *chain)
{
    char text[CH_DOING_TEXT_BYTES];
    uint32_t found = NO_PE;

    ch_doing_text(&called->doing, text);
    add_text(chain, "PE %u is in %s", pe, text);
    if (ch_doing_is_alone(&called->doing)) return NO_PE;
    for (uint32_t other = 0; other < records->n && found == NO_PE; other++)
        if (has_not_begun(records->of(records->arg, other), &called->doing)) found = other;
    if (has_not_begun(records->of(records->arg, chain->pes[0]), &called->doing))
        found = chain->pes[0];
    if (found != NO_PE) add_text(chain, ", which PE %u has not begun", found);
    return found;
}

static bool contains(const struct ch_chain *chain, uint32_t pe)
{
    for (uint32_t i = 0; i < chain->n; i++)
        if (chain->pes[i] == pe) return true;
    return false;
}

/* Append PE `pe` to the chain, and what it does to the text. Returns the PE that it waits for;
 * NO_PE: none is known. */
static uint32_t add_pe_text(const struct ch_records *records, uint32_t pe,
                            struct ch_chain *chain)
{
    struct ch_record_call called;

    chain->pes[chain->n++] = pe;
    if (chain->n > 1) add_text(chain, "; ");
    if (is_in_wait(records, pe, &called))
        return add_wait_text(records, pe, &called.doing, chain);
    if (is_stuck(records, pe, &called)) return add_call_text(records, pe, &called, chain);
    add_text(chain, "PE %u %s", pe,
             records->of(records->arg, pe) != NULL
                 ? "is in no call of the library"
                 : "is on a host whose calls are not known here");
    return NO_PE;
}

/* Returns the number of PEs in waits for words; 0 if a PE whose record is known is in none. */
static uint32_t count_waiting(const struct ch_records *records)
{
    struct ch_record_call called;
    uint32_t n = 0;

    for (uint32_t pe = 0; pe < records->n; pe++) {
        if (records->of(records->arg, pe) == NULL) continue;
        if (!is_in_wait(records, pe, &called)) return 0;
        n++;
    }
    return n;
}

bool ch_chain_find(const struct ch_records *records, uint32_t pe, struct ch_chain *out)
{
    struct ch_record_call called;
    uint32_t next = pe, n_waiting;

    out->n = 0;
    out->text[0] = '\0';
    if (!is_in_wait(records, pe, &called)) return false;
    do
        next = add_pe_text(records, next, out);
    while (next != NO_PE && out->n < CH_CHAIN_MAX && !contains(out, next));
    if (next != NO_PE && contains(out, next))
        add_text(out,
                 ": a cycle, if the PE that wrote a word last is the one that should write it");
    n_waiting = count_waiting(records);
    if (n_waiting == records->n)
        add_text(out, "; all %u PEs of the job are in waits for words", n_waiting);
    else if (n_waiting > 1)
        add_text(out, "; all %u PEs whose calls are known here are in waits for words",
                 n_waiting);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/record.h"

#include "chorus/chorus.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const coll_names[] = {
#define X(name) #name,
    CHORUS_COLL_LIST(X)
#undef X
};

static const char *const type_names[] = {
#define X(T, ctype, class, bytes) #T,
    CHORUS_TYPE_LIST(X)
#undef X
};

static const char *const op_names[] = {
#define X(name) #name,
    CHORUS_OP_LIST(X)
#undef X
};

static const char *const doing_texts[] = {
#define X(name, text, unit) text,
    CH_DOING_LIST(X)
#undef X
};

static const char *const doing_units[] = {
#define X(name, text, unit) unit,
    CH_DOING_LIST(X)
#undef X
};

_Static_assert((int)CHORUS_COLL_COUNT <= (int)CH_DOING_FIRST, "collectives must come first");
_Static_assert((int)CH_DOING_END <= 256 && CHORUS_TYPE_COUNT <= 256 && CHORUS_OP_COUNT <= 256,
               "the word of a call has no room for its values");
_Static_assert(sizeof(struct ch_entry) == 64 && sizeof(struct ch_access) == 64 &&
                   sizeof(struct ch_record) % 64 == 0,
               "entries are cache lines");

void ch_record_init(struct ch_record *record, uint32_t pe, uint32_t n_pes)
{
    record->pe = pe;
    record->n_pes = n_pes;
    record->pid = (uint64_t)getpid();
    (void)snprintf(record->names, sizeof(record->names), "%s", ch_names_prefix());
    record->ns = ch_clock_ns();
    record->ticks = ch_clock_ticks();
    __atomic_store_n(&record->magic, CH_RECORD_MAGIC, __ATOMIC_RELEASE);
}

enum {
    ALGO_MASK = (1 << CH_CALL_ALGO_BITS) - 1,
    ROOT_MASK = (1 << CH_CALL_ROOT_BITS) - 1,
    RADIX_MASK = (1 << CH_CALL_CTAS_AT) - 1
};

/* Returns ch_doing.what from the first word of a call; a value without a name if no call has
 * such a word. */
static uint8_t what_of(uint64_t word)
{
    const uint32_t number = word >> CH_CALL_WHAT_AT & UINT8_MAX;
    const uint32_t other = CH_DOING_FIRST + 1 + number;

    if (word >> CH_CALL_OTHER_AT & 1) return other < CH_DOING_END ? (uint8_t)other : UINT8_MAX;
    return number < CH_DOING_FIRST ? (uint8_t)number : CH_DOING_FIRST - 1;
}

struct ch_doing ch_doing_unpack(uint64_t word, uint64_t plan)
{
    const uint8_t what = what_of(word), ctas = plan >> CH_CALL_CTAS_AT & UINT8_MAX;
    const bool is_wait = what == CH_DOING_wait;
    const chorus_coll coll = what < CH_DOING_FIRST ? (chorus_coll)what : CHORUS_COLL_barrier;
    const bool reduces = ch_coll_reduces(coll), has_root = ch_coll_has_root(coll);
    const bool has_buffers =
        coll != CHORUS_COLL_barrier && (word >> CH_CALL_IN_KERNEL_AT & 1) == 0;

    return (struct ch_doing){
        .what = what,
        .type =
            coll != CHORUS_COLL_barrier || is_wait ? word >> CH_CALL_TYPE_AT & UINT8_MAX : 0,
        .op = reduces || is_wait ? word >> CH_CALL_OP_AT & UINT8_MAX : 0,
        .radix = ctas == 0 ? 0 : (plan >> CH_CALL_RADIX_AT & RADIX_MASK) + 1,
        .ctas = ctas,
        .is_in_place = ch_coll_is_plain(coll) && (word >> CH_CALL_APART_AT & 1) == 0,
        .is_on_stream = word >> CH_CALL_ON_STREAM_AT & 1,
        .is_in_kernel = word >> CH_CALL_IN_KERNEL_AT & 1,
        .is_dest_outside = has_buffers && (word >> CH_CALL_SYMMETRIC_DEST_AT & 1) == 0,
        .is_source_outside = has_buffers && (word >> CH_CALL_SYMMETRIC_SOURCE_AT & 1) == 0,
        .algo = ctas == 0 ? 0 : (word >> CH_CALL_ALGO_AT & ALGO_MASK) + 1,
        .root = has_root ? (int32_t)(word >> CH_CALL_ROOT_AT & ROOT_MASK) : 0,
    };
}

/* If calls follow each other in less time than this, not all of them get a time: about 0.4 ms
 * on x86, where reading the clock takes about 30 ticks; other clocks have 0.025 to 1 ticks in a
 * nanosecond. */
#ifdef __x86_64__
enum { CLOSE_TICKS = 1 << 20 };
#else
enum { CLOSE_TICKS = 1 << 14 };
#endif

void ch_record_set_time(struct ch_record *record, uint64_t index)
{
    struct ch_entry *entry = &record->entries[index % CH_RECORD_ENTRIES];
    const uint64_t now = ch_clock_ticks();
    const uint64_t calls = index - __atomic_load_n(&record->timed, __ATOMIC_RELAXED);
    const uint64_t passed = now - __atomic_load_n(&record->timed_ticks, __ATOMIC_RELAXED);
    const bool is_each = record->is_full || passed / CLOSE_TICKS >= calls;
    const uint64_t step = is_each ? 1 : CH_RECORD_UNTIMED;

    __atomic_store_n(&entry->ended, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->ticks, now, __ATOMIC_RELAXED);
    __atomic_store_n(&record->timed, index, __ATOMIC_RELAXED);
    __atomic_store_n(&record->timed_ticks, now, __ATOMIC_RELAXED);
    __atomic_store_n(&record->time_next, index + step, __ATOMIC_RELAXED);
}

static inline uint64_t index_of(const struct ch_entry *entry)
{
    return ch_entry_index(__atomic_load_n(&entry->index, __ATOMIC_RELAXED));
}

static inline enum ch_entry_state state_of(uint64_t word)
{
    return (enum ch_entry_state)(word >> CH_ENTRY_STATE_AT);
}

void ch_record_time_running(struct ch_record *record)
{
    const uint64_t latest = __atomic_load_n(&record->n, __ATOMIC_RELAXED);
    const uint64_t timed = __atomic_load_n(&record->timed, __ATOMIC_RELAXED);

    for (uint64_t i = latest; i > timed && latest - i < CH_RECORD_UNTIMED; i--) {
        struct ch_entry *entry = &record->entries[i % CH_RECORD_ENTRIES];

        if (__atomic_load_n(&entry->ticks, __ATOMIC_RELAXED) == 0 &&
            state_of(__atomic_load_n(&entry->index, __ATOMIC_RELAXED)) == CH_ENTRY_RUNNING)
            __atomic_store_n(&entry->ticks, ch_clock_ticks(), __ATOMIC_RELAXED);
    }
}

/* Returns when the call began; if unknown, the time of the last call before it that has one,
 * and *is_timed_out is false. */
static uint64_t ticks_of(const struct ch_record *record, uint64_t index, bool *is_timed_out)
{
    *is_timed_out = true;
    for (uint64_t i = index; i != 0 && index - i <= CH_RECORD_UNTIMED; i--) {
        const struct ch_entry *entry = &record->entries[i % CH_RECORD_ENTRIES];
        const uint64_t ticks = __atomic_load_n(&entry->ticks, __ATOMIC_ACQUIRE);

        if (ticks != 0 && index_of(entry) == i) return ticks;
        *is_timed_out = false;
    }
    return record->ticks;
}

uint64_t ch_record_ticks_after(const struct ch_record *record, uint64_t index)
{
    for (uint64_t i = index + 1; i - index <= CH_RECORD_UNTIMED; i++) {
        const struct ch_entry *entry = &record->entries[i % CH_RECORD_ENTRIES];
        const uint64_t ticks = __atomic_load_n(&entry->ticks, __ATOMIC_ACQUIRE);

        if (ticks != 0 && index_of(entry) == i) return ticks;
    }
    return 0;
}

struct ch_doing ch_entry_doing(const struct ch_entry *entry)
{
    struct ch_doing doing = ch_doing_unpack(entry->what, entry->plan);
    const bool is_wait = doing.what == CH_DOING_wait;

    doing.team = is_wait ? 0 : entry->where;
    doing.value = is_wait ? entry->where : 0;
    doing.number = is_wait ? 0 : entry->call;
    doing.offset = is_wait ? entry->call : 0;
    doing.count = entry->count;
    return doing;
}

bool ch_record_read(const struct ch_record *record, uint64_t index, struct ch_record_call *out)
{
    const struct ch_entry *entry = &record->entries[index % CH_RECORD_ENTRIES];
    const uint64_t word = __atomic_load_n(&entry->index, __ATOMIC_ACQUIRE);
    struct ch_entry copy;

    if (index == 0 || ch_entry_index(word) != index) return false;
    copy.what = __atomic_load_n(&entry->what, __ATOMIC_ACQUIRE);
    copy.plan = __atomic_load_n(&entry->plan, __ATOMIC_ACQUIRE);
    copy.where = __atomic_load_n(&entry->where, __ATOMIC_ACQUIRE);
    copy.call = __atomic_load_n(&entry->call, __ATOMIC_ACQUIRE);
    copy.count = __atomic_load_n(&entry->count, __ATOMIC_ACQUIRE);
    out->doing = ch_entry_doing(&copy);
    out->ended = __atomic_load_n(&entry->ended, __ATOMIC_ACQUIRE);
    out->ticks = ticks_of(record, index, &out->is_timed);
    out->state = state_of(word);
    out->index = index;
    return __atomic_load_n(&record->n, __ATOMIC_RELAXED) - index < CH_RECORD_ENTRIES;
}

uint64_t ch_record_access(struct ch_record *record, const struct ch_access *access)
{
    const uint64_t index = __atomic_add_fetch(&record->n_accesses, 1, __ATOMIC_RELAXED);
    struct ch_access *to = &record->accesses[index % CH_RECORD_ENTRIES];

    __atomic_store_n(&to->ticks, ch_clock_ticks(), __ATOMIC_RELEASE);
    __atomic_store_n(&to->ended, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&to->what, access->what, __ATOMIC_RELEASE);
    __atomic_store_n(&to->pe, access->pe, __ATOMIC_RELEASE);
    __atomic_store_n(&to->offset, access->offset, __ATOMIC_RELEASE);
    __atomic_store_n(&to->bytes, access->bytes, __ATOMIC_RELEASE);
    __atomic_store_n(&to->value, access->value, __ATOMIC_RELEASE);
    __atomic_store_n(&to->index, index, __ATOMIC_RELEASE);
    return index;
}

void ch_record_access_end(struct ch_record *record, uint64_t index)
{
    struct ch_access *access = &record->accesses[index % CH_RECORD_ENTRIES];

    if (__atomic_load_n(&access->index, __ATOMIC_RELAXED) == index)
        __atomic_store_n(&access->ended, ch_clock_ticks(), __ATOMIC_RELAXED);
}

bool ch_record_read_access(const struct ch_record *record, uint64_t index,
                           struct ch_access *out)
{
    const struct ch_access *from = &record->accesses[index % CH_RECORD_ENTRIES];

    out->index = __atomic_load_n(&from->index, __ATOMIC_ACQUIRE);
    if (index == 0 || out->index != index) return false;
    out->ticks = __atomic_load_n(&from->ticks, __ATOMIC_ACQUIRE);
    out->ended = __atomic_load_n(&from->ended, __ATOMIC_ACQUIRE);
    out->what = __atomic_load_n(&from->what, __ATOMIC_ACQUIRE);
    out->pe = __atomic_load_n(&from->pe, __ATOMIC_ACQUIRE);
    out->offset = __atomic_load_n(&from->offset, __ATOMIC_ACQUIRE);
    out->bytes = __atomic_load_n(&from->bytes, __ATOMIC_ACQUIRE);
    out->value = __atomic_load_n(&from->value, __ATOMIC_ACQUIRE);
    return out->what < CH_ACCESS_COUNT &&
           __atomic_load_n(&record->n_accesses, __ATOMIC_RELAXED) - index < CH_RECORD_ENTRIES;
}

/* From the latest call backwards, as far as the record has entries. */
#define EACH_BACK(i, record)                                                     \
    for (uint64_t i = __atomic_load_n(&(record)->n, __ATOMIC_RELAXED), last = i; \
         i != 0 && last - i < CH_RECORD_ENTRIES; i--)

bool ch_record_latest(const struct ch_record *record, struct ch_record_call *out)
{
    struct ch_record_call latest = {.index = 0};

    EACH_BACK(i, record)
    {
        if (!ch_record_read(record, i, out)) continue;
        if (ch_called_is_running(out)) return true;
        if (latest.index == 0) latest = *out;
    }
    *out = latest;
    return latest.index != 0;
}

static bool is_collective_of(const struct ch_doing *d, uint64_t team)
{
    return ch_doing_is_collective(d) && d->team == team;
}

bool ch_record_find(const struct ch_record *record, uint64_t team, uint64_t number,
                    bool is_collective, struct ch_record_call *out)
{
    EACH_BACK(i, record)
    {
        if (!ch_record_read(record, i, out)) continue;
        if (out->doing.team == team && out->doing.number == number &&
            ch_doing_is_collective(&out->doing) == is_collective)
            return true;
    }
    return false;
}

bool ch_record_find_upto(const struct ch_record *record, uint64_t team, uint64_t most,
                         struct ch_record_call *out)
{
    EACH_BACK(i, record)
    {
        if (ch_record_read(record, i, out) && is_collective_of(&out->doing, team) &&
            out->doing.number <= most)
            return true;
    }
    return false;
}

bool ch_record_find_running(const struct ch_record *record, uint64_t team,
                            struct ch_record_call *out)
{
    struct ch_record_call called;

    out->index = 0;
    EACH_BACK(i, record)
    {
        if (ch_record_read(record, i, &called) && ch_called_is_running(&called) &&
            is_collective_of(&called.doing, team))
            *out = called;
    }
    return out->index != 0;
}

/* PEs may differ in whether the call is on a stream, and in where their buffers are. */
uint64_t ch_doing_common_bits(const struct ch_doing *d)
{
    const uint64_t own = UINT64_C(1) << CH_CALL_ON_STREAM_AT |
                         UINT64_C(1) << CH_CALL_SYMMETRIC_DEST_AT |
                         UINT64_C(1) << CH_CALL_SYMMETRIC_SOURCE_AT;

    return ch_doing_pack(d) & ~own;
}

/* Have the calls the same count, or may PEs differ in it because the collective is uneven? */
static bool agrees_in_count(const struct ch_doing *a, const struct ch_doing *b)
{
    return a->count == b->count ||
           (ch_doing_is_collective(a) && ch_coll_is_uneven((chorus_coll)a->what));
}

bool ch_doing_agrees(const struct ch_doing *a, const struct ch_doing *b)
{
    return ch_doing_common_bits(a) == ch_doing_common_bits(b) &&
           ch_doing_plan(a) == ch_doing_plan(b) && agrees_in_count(a, b);
}

bool ch_doing_clashes(const struct ch_doing *a, const struct ch_doing *b)
{
    const uint64_t in_place = UINT64_C(1) << CH_CALL_APART_AT;

    return ch_doing_is_collective(a) && ch_doing_is_collective(b) &&
           (((ch_doing_common_bits(a) ^ ch_doing_common_bits(b)) & ~in_place) != 0 ||
            ch_doing_plan(a) != ch_doing_plan(b) || !agrees_in_count(a, b));
}

bool ch_doing_differs_in_plan(const struct ch_doing *a, const struct ch_doing *b)
{
    return a->algo != b->algo || a->radix != b->radix || a->ctas != b->ctas;
}

double ch_record_age_s(const struct ch_record *record, uint64_t ticks)
{
    const bool is_kept = record->kept_ns != 0;
    const uint64_t now_ns = is_kept ? record->kept_ns : ch_clock_ns();
    const uint64_t now_ticks = is_kept ? record->kept_ticks : ch_clock_ticks();
    const int64_t passed_ns = (int64_t)(now_ns - record->ns) + 1;
    const int64_t passed_ticks = (int64_t)(now_ticks - record->ticks);

    if (passed_ns <= 0 || passed_ticks <= 0)
        return 0; /* a file that is not what it should be */
    return (double)(int64_t)(now_ticks - ticks) * ((double)passed_ns / (double)passed_ticks) /
           (double)CH_NS_PER_S;
}

static bool is_signed(uint8_t type)
{
#define X(T, ctype, class, bytes) \
    if (type == CHORUS_TYPE_##T) return #class[0] == 'I';
    CHORUS_TYPE_LIST(X)
#undef X
    return false;
}

/* Describe a collective: "reduce (512 f32, sum)". */
static void collective_text(const struct ch_doing *d, char *text, size_t bytes)
{
    char more[32] = "";

    if (d->what >= CHORUS_COLL_COUNT || d->type >= CHORUS_TYPE_COUNT ||
        d->op >= CHORUS_OP_COUNT) {
        (void)snprintf(text, bytes, "an unknown call");
        return;
    }
    if (ch_coll_reduces((chorus_coll)d->what))
        (void)snprintf(more, sizeof(more), ", %s", op_names[d->op]);
    if (ch_coll_has_root((chorus_coll)d->what))
        (void)snprintf(more + strlen(more), sizeof(more) - strlen(more), ", root %d",
                       (int)d->root);
    if (d->what == CHORUS_COLL_barrier)
        (void)snprintf(text, bytes, "barrier");
    else
        (void)snprintf(text, bytes, "%s (%llu %s%s%s)", coll_names[d->what],
                       (unsigned long long)d->count, type_names[d->type], more,
                       d->is_in_place ? ", in place" : "");
}

void ch_wait_text(const struct ch_doing *d, char text[CH_WAIT_TEXT_BYTES])
{
    static const char *const operators[] = {
#define X(name, operator) #operator,
        CHORUS_CMP_LIST(X)
#undef X
    };
    const char *cmp = d->op <= CHORUS_CMP_LE ? operators[d->op] : "?";
    char words[40] = "the word", value[24];

    if (d->count != 1)
        (void)snprintf(words, sizeof(words), "%llu words", (unsigned long long)d->count);
    if (is_signed(d->type))
        (void)snprintf(value, sizeof(value), "%lld", (long long)d->value);
    else
        (void)snprintf(value, sizeof(value), "%llu", (unsigned long long)d->value);
    (void)snprintf(text, CH_WAIT_TEXT_BYTES, "%s at +0x%llx of the heap to be %s %s", words,
                   (unsigned long long)d->offset, cmp, value);
}

void ch_doing_text(const struct ch_doing *d, char text[CH_DOING_TEXT_BYTES])
{
    const uint32_t other = (uint32_t)d->what - CH_DOING_FIRST - 1;
    char what[CH_DOING_TEXT_BYTES / 2], wait[CH_WAIT_TEXT_BYTES];

    if (ch_doing_is_collective(d)) {
        collective_text(d, what, sizeof(what));
        (void)snprintf(text, CH_DOING_TEXT_BYTES, "%s, call %llu of team %u%s", what,
                       (unsigned long long)d->number, (unsigned)d->team,
                       d->is_on_stream   ? ", on a stream"
                       : d->is_in_kernel ? ", in a kernel"
                                         : "");
    } else if (d->what >= CH_DOING_END) {
        (void)snprintf(text, CH_DOING_TEXT_BYTES, "an unknown call");
    } else if (d->what == CH_DOING_wait) {
        ch_wait_text(d, wait);
        (void)snprintf(text, CH_DOING_TEXT_BYTES, "a wait for %s", wait);
    } else if (d->what == CH_DOING_free && d->count == CH_DOING_OUTSIDE) {
        (void)snprintf(text, CH_DOING_TEXT_BYTES, "%s of memory outside the heap",
                       doing_texts[other]);
    } else if (doing_units[other][0] == '\0') {
        (void)snprintf(text, CH_DOING_TEXT_BYTES, "%s", doing_texts[other]);
    } else {
        (void)snprintf(text, CH_DOING_TEXT_BYTES, "%s, %llu %s", doing_texts[other],
                       (unsigned long long)d->count, doing_units[other]);
    }
}

const char *ch_access_name(const struct ch_access *access)
{
    static const char *const names[] = {
#define X(name, text) text,
        CH_ACCESS_LIST(X)
#undef X
    };

    return access->what < CH_ACCESS_COUNT ? names[access->what] : "unknown access";
}

void ch_access_text(const struct ch_access *access, char text[CH_ACCESS_TEXT_BYTES])
{
    const bool has_value = access->what != CH_ACCESS_get && access->what != CH_ACCESS_fetch &&
                           access->bytes <= sizeof(access->value);
    char value[32] = "";

    if (has_value)
        (void)snprintf(value, sizeof(value), ", value %llu", (unsigned long long)access->value);
    (void)snprintf(text, CH_ACCESS_TEXT_BYTES, "%s of %llu bytes at +0x%llx of PE %llu%s",
                   ch_access_name(access), (unsigned long long)access->bytes,
                   (unsigned long long)access->offset, (unsigned long long)access->pe, value);
}

void ch_record_text(const struct ch_record *record, char text[2 * CH_DOING_TEXT_BYTES])
{
    const size_t bytes = (size_t)2 * CH_DOING_TEXT_BYTES;
    char doing[CH_DOING_TEXT_BYTES];
    struct ch_record_call called;
    const char *most;
    double seconds;

    if (!ch_record_latest(record, &called)) {
        (void)snprintf(text, bytes, "has made no call since it joined the job");
        return;
    }
    ch_doing_text(&called.doing, doing);
    ch_names_replace(record->names, doing, sizeof(doing));
    seconds = ch_record_age_s(record, called.ticks);
    most = called.is_timed ? "" : "at most ";
    switch (called.state) {
    case CH_ENTRY_RUNNING:
        (void)snprintf(text, bytes, "has been in %s, for %s%.3g s", doing, most, seconds);
        break;
    case CH_ENTRY_FAILED:
        (void)snprintf(text, bytes, "failed in %s, which it began %s%.3g s ago", doing, most,
                       seconds);
        break;
    case CH_ENTRY_QUEUED:
    case CH_ENTRY_ENDED:
        (void)snprintf(text, bytes,
                       "is in no call of the library; its last was %s, which it began "
                       "%s%.3g s ago",
                       doing, most, seconds);
        break;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h: the last calls of a PE, in its shared memory.
 *
 * The PE writes an entry when a call begins and marks it when the call ends. Other PEs read
 * the record for messages about waits, chorusrun and chorus-info for reports about the job. A
 * reader never stops the writer: the writer counts a call before it writes the entry, and a
 * reader discards what it read if so many calls were counted by then that one of them has the
 * same entry.
 *
 * All entries are more than a first-level cache holds, and the stores of a message wait for
 * those of the entry that precede them, so a call prefetches the entry of the next one.
 *
 * Reading the clock takes as long as writing the rest of an entry, and a quarter of a small
 * broadcast. While calls follow each other closely, only one in CH_RECORD_UNTIMED is given its
 * time; a call whose wait is so long that its PE yields is given it then. For other calls it
 * is known between which timed calls they began.
 *
 * With CHORUS_RECORD=full every call gets the times of its beginning and its end, and a second
 * ring has the accesses to memory of other PEs.
 */
#ifndef CH_RECORD_H
#define CH_RECORD_H

#include "base/clock.h"
#include "base/collective.h"
#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */
/* What a PE can be doing besides collectives: name, text, unit of its count ("": no count). */
#define CH_DOING_LIST(X)                                  \
    X(finalize, "chorus_finalize", "")                    \
    X(malloc, "an allocation (chorus_malloc)", "bytes")   \
    X(free, "chorus_free", "bytes into the heap")         \
    X(realloc, "chorus_realloc", "bytes")                 \
    X(team_create, "the creation of a team", "PEs")       \
    X(team_destroy, "chorus_team_destroy", "")            \
    X(wait, "a wait for words", "words")                  \
    X(lock, "a wait for a lock (chorus_set_lock)", "bytes into the heap") \
    X(team_malloc, "chorusx_team_malloc", "bytes")        \
    X(team_free, "chorusx_team_free", "")
/* clang-format on */

/* The count of CH_DOING_free where the memory is not in the heap. */
#define CH_DOING_OUTSIDE UINT64_MAX

/* Values of ch_doing.what: a chorus_coll, or one of these. */
enum ch_doing_what {
    CH_DOING_FIRST = 31,
#define X(name, text, unit) CH_DOING_##name,
    CH_DOING_LIST(X)
#undef X
        CH_DOING_END
};

/* A call as a PE made it. When it is read, values that have no meaning for its collective are
 * 0, so that calls can be compared. */
struct ch_doing {
    uint8_t what;
    uint8_t type, op;
    uint8_t radix, ctas; /* of the algorithm; the latter at most 255 */
    uint8_t is_in_place, is_on_stream, is_in_kernel;
    uint8_t is_dest_outside, is_source_outside; /* of the symmetric heap */
    uint16_t algo; /* of a collective: the algorithm's id plus 1; 0: none was chosen */
    int32_t root;
    uint64_t team;   /* ch_team.word, equal on all PEs of the team; its low half is in messages
                      */
    uint64_t number; /* number of the call on its team, from 1; collectives are counted
                        separately from other calls */
    uint64_t count;  /* elements, or CH_DOING_LIST's unit */
    uint64_t offset, value; /* CH_DOING_wait: bytes into the heap of the first word, and what it
                               is compared with; type is that of the words, op a CHORUS_CMP_
                               constant */
};

/* QUEUED: on a stream; calls on a GPU's stream remain in this state. */
enum ch_entry_state { CH_ENTRY_RUNNING, CH_ENTRY_QUEUED, CH_ENTRY_ENDED, CH_ENTRY_FAILED };

/* Returns the state of a call that has returned this status. */
static inline enum ch_entry_state ch_entry_state_of(int status)
{
    return status == 0 ? CH_ENTRY_ENDED : CH_ENTRY_FAILED;
}

/* One cache line; written by one thread at a time, all words atomic. */
struct ch_entry {
    uint64_t index; /* number of the call on this PE, from 1, and from bit CH_ENTRY_STATE_AT its
                       ch_entry_state; 0: none. Written last. */
    uint64_t ticks; /* ch_clock_ticks when it began; 0: not known */
    uint64_t what;  /* ch_doing_pack */
    uint64_t where; /* team; of a wait, value */
    uint64_t call;  /* number; of a wait, offset */
    uint64_t count;
    uint64_t ended; /* CHORUS_RECORD=full: ch_clock_ticks when it ended; 0: not known */
    uint64_t plan;  /* ch_doing_plan */
};

/* clang-format off */
/* Accesses to memory: name, text. Those before `get` write. */
#define CH_ACCESS_LIST(X)                                          \
    X(put, "put")                                                  \
    X(set, "set") /* of a signal, or atomic */                     \
    X(add, "add")                                                  \
    X(change, "atomic change") /* and, or, xor, swap, compare_swap */ \
    X(get, "get")                                                  \
    X(fetch, "fetch")                                              \
    X(wait, "wait") /* for words that had their values when it began; others are calls */
/* clang-format on */

enum ch_access_what {
#define X(name, text) CH_ACCESS_##name,
    CH_ACCESS_LIST(X)
#undef X
        CH_ACCESS_COUNT
};

/* One cache line; all words atomic. */
struct ch_access {
    uint64_t index;         /* as in struct ch_entry */
    uint64_t ticks, ended;  /* ch_clock_ticks; 0: it has not ended */
    uint64_t what;          /* a ch_access_what */
    uint64_t pe;            /* whose memory it is */
    uint64_t offset, bytes; /* in the heap */
    uint64_t value;         /* operand, or the data of a put of 8 bytes or less */
};

enum { CH_RECORD_ENTRIES = 1024, CH_RECORD_UNTIMED = 16, CH_ENTRY_STATE_AT = 62 };
#define CH_RECORD_MAGIC UINT64_C(0x3464726f63657263) /* "crecord4" */

struct ch_record {
    uint64_t magic;
    uint32_t pe, n_pes;
    uint64_t pid;
    uint64_t ns, ticks;           /* a clock value and a number of ticks, read together */
    uint64_t n;                   /* calls so far */
    uint64_t kept_ns, kept_ticks; /* when it was copied into a file; 0 in a job */
    uint64_t timed, timed_ticks;  /* the last call that was timed, and its time */
    uint64_t time_next;           /* the first call that is to be timed again */
    char names[CH_NAMES_BYTES];   /* prefix of the program's calls, see base/text.h */
    uint64_t is_full;             /* CHORUS_RECORD=full */
    uint64_t n_accesses;          /* so far */
    uint64_t rest[2];
    struct ch_entry entries[CH_RECORD_ENTRIES];   /* call i is at i % CH_RECORD_ENTRIES */
    struct ch_access accesses[CH_RECORD_ENTRIES]; /* the same; unused unless is_full */
};

/* A copy of an entry. */
struct ch_record_call {
    struct ch_doing doing;
    uint64_t index; /* number of the call on its PE; 0: no call was found */
    enum ch_entry_state state;
    uint64_t ticks; /* when it began, or when an earlier call did */
    bool is_timed;  /* it is the time of the call itself */
    uint64_t ended; /* see struct ch_entry */
};

/* Set which PE and process the record is of, and when it begins; its memory is 0 before. */
void ch_record_init(struct ch_record *record, uint32_t pe, uint32_t n_pes);

/* Returns the second word of a call that has an algorithm. */
static inline uint64_t ch_pack_call_plan(uint32_t radix, uint32_t ctas)
{
    return (uint64_t)(radix - 1) << CH_CALL_RADIX_AT |
           (uint64_t)(ctas < UINT8_MAX ? ctas : UINT8_MAX) << CH_CALL_CTAS_AT;
}

/* Returns the second word of the call, see collective.h. */
static inline uint64_t ch_doing_plan(const struct ch_doing *d)
{
    return d->algo == 0 ? 0 : ch_pack_call_plan(d->radix, d->ctas);
}

/* Returns the first word of the call, see collective.h. */
static inline uint64_t ch_doing_pack(const struct ch_doing *d)
{
    const bool is_other = d->what > CH_DOING_FIRST;
    const uint64_t what = is_other ? d->what - CH_DOING_FIRST - 1u : d->what;

    return (uint64_t)(uint32_t)d->root << CH_CALL_ROOT_AT |
           (d->algo == 0 ? 0 : (uint64_t)(d->algo - 1u) << CH_CALL_ALGO_AT) |
           (uint64_t)!d->is_dest_outside << CH_CALL_SYMMETRIC_DEST_AT |
           (uint64_t)!d->is_source_outside << CH_CALL_SYMMETRIC_SOURCE_AT |
           (uint64_t)d->is_in_kernel << CH_CALL_IN_KERNEL_AT |
           (uint64_t)d->is_on_stream << CH_CALL_ON_STREAM_AT |
           (uint64_t)is_other << CH_CALL_OTHER_AT |
           (uint64_t)!d->is_in_place << CH_CALL_APART_AT | (uint64_t)d->op << CH_CALL_OP_AT |
           (uint64_t)d->type << CH_CALL_TYPE_AT | what << CH_CALL_WHAT_AT;
}

/* Returns the call that has these two words, but 0 for team, number, count, offset and value,
 * which they do not contain. */
struct ch_doing ch_doing_unpack(uint64_t word, uint64_t plan);

/* Set the time of call `index` to now, and decide which call gets a time next. */
CH_COLD void ch_record_set_time(struct ch_record *record, uint64_t index);

/* Set the time of the latest calls that run and have none yet to now. */
void ch_record_time_running(struct ch_record *record);

/* Returns an entry with the words that say which call it is; its other members are 0. */
static inline struct ch_entry ch_entry_of(const struct ch_doing *d)
{
    const bool is_wait = d->what == CH_DOING_wait;
    const struct ch_entry entry = {.what = ch_doing_pack(d),
                                   .where = is_wait ? d->value : d->team,
                                   .call = is_wait ? d->offset : d->number,
                                   .count = d->count,
                                   .plan = ch_doing_plan(d)};

    return entry;
}

/* Returns the call of an entry: the reverse of ch_entry_of. */
struct ch_doing ch_entry_doing(const struct ch_entry *entry);

/* Begin a call; returns its index. The members index, ticks and ended of `call` are ignored.
 * is_serial: no two threads of the program make calls at the same time. */
static inline uint64_t ch_record_begin(struct ch_record *record, const struct ch_entry *call,
                                       bool is_serial, enum ch_entry_state state)
{
    uint64_t index;
    struct ch_entry *entry;

    if (is_serial) {
        index = __atomic_load_n(&record->n, __ATOMIC_RELAXED) + 1;
        __atomic_store_n(&record->n, index, __ATOMIC_RELAXED);
    } else {
        index = __atomic_add_fetch(&record->n, 1, __ATOMIC_RELAXED);
    }
    entry = &record->entries[index % CH_RECORD_ENTRIES];
    __builtin_prefetch(&record->entries[(index + 1) % CH_RECORD_ENTRIES], 1);
    __atomic_store_n(&entry->ticks, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&entry->what, call->what, __ATOMIC_RELEASE);
    __atomic_store_n(&entry->plan, call->plan, __ATOMIC_RELEASE);
    __atomic_store_n(&entry->where, call->where, __ATOMIC_RELEASE);
    __atomic_store_n(&entry->call, call->call, __ATOMIC_RELEASE);
    __atomic_store_n(&entry->count, call->count, __ATOMIC_RELEASE);
    __atomic_store_n(&entry->index, index | (uint64_t)state << CH_ENTRY_STATE_AT,
                     __ATOMIC_RELEASE);
    if (index >= __atomic_load_n(&record->time_next, __ATOMIC_RELAXED))
        ch_record_set_time(record, index);
    return index;
}

/* The number of the call in ch_entry.index. */
static inline uint64_t ch_entry_index(uint64_t word)
{
    return word & ((UINT64_C(1) << CH_ENTRY_STATE_AT) - 1);
}

/* Set the state of call `index` and, with CHORUS_RECORD=full, when it ended, unless a later
 * call has its entry. */
static inline void ch_record_mark(struct ch_record *record, uint64_t index,
                                  enum ch_entry_state state)
{
    struct ch_entry *entry = &record->entries[index % CH_RECORD_ENTRIES];
    const uint64_t word = __atomic_load_n(&entry->index, __ATOMIC_RELAXED);
    const bool is_kept = (word ^ index) << (64 - CH_ENTRY_STATE_AT) == 0;

    if (record->is_full && is_kept && state != CH_ENTRY_RUNNING)
        __atomic_store_n(&entry->ended, ch_clock_ticks(), __ATOMIC_RELAXED);
    if (is_kept)
        __atomic_store_n(&entry->index, index | (uint64_t)state << CH_ENTRY_STATE_AT,
                         __ATOMIC_RELAXED);
}

/* Record an access; returns its index. The members index, ticks and ended are ignored. */
uint64_t ch_record_access(struct ch_record *record, const struct ch_access *access);

/* Set when access `index` ended, if the record still has it. */
void ch_record_access_end(struct ch_record *record, uint64_t index);

/* Copy the access with this index to *out. False: the record no longer has it. */
bool ch_record_read_access(const struct ch_record *record, uint64_t index,
                           struct ch_access *out);

static inline bool ch_access_writes(const struct ch_access *access)
{
    return access->what < CH_ACCESS_get;
}

/* Returns a time before which call `index` began, if its own is not known: that of the next
 * call that has one; 0: none has. */
uint64_t ch_record_ticks_after(const struct ch_record *record, uint64_t index);

/* Copy the call with this index to *out. False: the record no longer has it. */
bool ch_record_read(const struct ch_record *record, uint64_t index, struct ch_record_call *out);

/* Find the latest call that has not ended, or else the latest call. False: there was none. */
bool ch_record_latest(const struct ch_record *record, struct ch_record_call *out);

/* Find call `number` of the team, counted among its collectives or among its other calls. */
bool ch_record_find(const struct ch_record *record, uint64_t team, uint64_t number,
                    bool is_collective, struct ch_record_call *out);

/* Find the latest collective of the team whose number is at most `most`. */
bool ch_record_find_upto(const struct ch_record *record, uint64_t team, uint64_t most,
                         struct ch_record_call *out);

/* Find the first collective of the team that has begun to run and has not ended. */
bool ch_record_find_running(const struct ch_record *record, uint64_t team,
                            struct ch_record_call *out);

/* Has the call not ended yet? */
static inline bool ch_called_is_running(const struct ch_record_call *called)
{
    return called->state == CH_ENTRY_RUNNING;
}

static inline bool ch_doing_is_collective(const struct ch_doing *d)
{
    return d->what < CH_DOING_FIRST;
}

/* Is it a call of a single PE, which is not collective? */
static inline bool ch_doing_is_alone(const struct ch_doing *d)
{
    return d->what == CH_DOING_wait || d->what == CH_DOING_lock;
}

/* Returns the bits of a call's first word that must be the same on all PEs of a team; its
 * second word must be the same, too. */
uint64_t ch_doing_common_bits(const struct ch_doing *d);

/* Are the two calls the same to all PEs of a team? */
bool ch_doing_agrees(const struct ch_doing *a, const struct ch_doing *b);

/* Are they collectives that cannot be the same call, whatever a PE may pass? CHORUS_CHECK also
 * asks that all PEs or none are in place, which matters only if their algorithms then differ.
 */
bool ch_doing_clashes(const struct ch_doing *a, const struct ch_doing *b);

/* Do they have different algorithms, radices or numbers of CTAs? */
bool ch_doing_differs_in_plan(const struct ch_doing *a, const struct ch_doing *b);

enum { CH_DOING_TEXT_BYTES = 160, CH_WAIT_TEXT_BYTES = 112 };

/* Describe the call: "reduce (512 f32, sum), call 17 of team 0". */
void ch_doing_text(const struct ch_doing *d, char text[CH_DOING_TEXT_BYTES]);

/* Describe what a CH_DOING_wait waits for: "the word at +0x40 of the heap to be >= 1". */
void ch_wait_text(const struct ch_doing *d, char text[CH_WAIT_TEXT_BYTES]);

enum { CH_ACCESS_TEXT_BYTES = 160 };

/* Returns the kind of the access, such as "add". */
const char *ch_access_name(const struct ch_access *access);

/* Describe the access: "add of 8 bytes at +0x40 of PE 1, value 3". */
void ch_access_text(const struct ch_access *access, char text[CH_ACCESS_TEXT_BYTES]);

/* Returns the seconds from `ticks`, a time in the record, until now or until the record was
 * copied into a file. */
double ch_record_age_s(const struct ch_record *record, uint64_t ticks);

/* Describe the PE's last call: "has been in ..., for 12 s", "failed in ...", "is in no call
 * ...". */
void ch_record_text(const struct ch_record *record, char text[2 * CH_DOING_TEXT_BYTES]);

/* --- who waits for whom, see deadlock.c --------------------------------------------------- */
enum { CH_CHAIN_MAX = 6, CH_CHAIN_BYTES = 1024 };

/* The records of a job; `of` returns null for a PE whose record is not known. */
struct ch_records {
    const struct ch_record *(*of)(const void *arg, uint32_t pe);
    const void *arg;
    uint32_t n; /* PEs of the job */
};

/* PEs each of which waits for the next. */
struct ch_chain {
    uint32_t pes[CH_CHAIN_MAX];
    uint32_t n;
    char text[CH_CHAIN_BYTES];
};

/* Follow, from PE `pe` on, which PE waits for which. False: PE `pe` neither is in a wait for
 * words nor failed in one. */
bool ch_chain_find(const struct ch_records *records, uint32_t pe, struct ch_chain *out);

#endif /* CH_RECORD_H */

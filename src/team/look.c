/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look.c: a PE that waits in a collective compares its call with those of its peers.
 *
 * PEs whose calls differ would wait for each other until the deadline, or one of them for a PE
 * that has left its call. A PE that has waited for a millisecond therefore reads the records of
 * PEs of its host, and later also those of the neighbouring hosts, over the network and without
 * waiting for it. A difference is certain: both calls have the same number on the same team,
 * and what all PEs must pass alike, or the algorithm that each PE chose, is not the same. A PE
 * that has not begun the call is late, not wrong. Then the PE marks the team (differ.h), which
 * ends the waits of all its PEs. All of this happens in the slow path of a wait; a call that
 * need not wait does nothing for it.
 *
 * The network may copy an entry of a record while its PE writes it. A record is therefore
 * copied twice, one copy after the other, and an entry counts if both have it: the PE wrote it
 * before the second copy began, and had not begun to replace it when that copy was made.
 */
#include "team/differ.h"

#include "base/clock.h"
#include "base/record.h"
#include "boot/boot.h"
#include "heap/heap.h"
#include "team/table.h"
#include "transport/links.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

/* --- records of other hosts --------------------------------------------------------------- */
/* Without the accesses. */
#define RECORD_BYTES offsetof(struct ch_record, accesses)

struct ch_ask {
    struct ch_links *links; /* borrowed, as is heap */
    const struct ch_heap *heap;
    pthread_mutex_t lock; /* guards all below */
    uint32_t pe;          /* whose record is being copied */
    uint32_t n_copies;    /* how many of the copies were requested */
    struct ch_record copies[2];
};

/* The address of a PE's record at that PE itself. */
static char *record_of(const struct ch_heap *heap, uint32_t pe)
{
    return ch_heap_record_at_owner(heap, pe);
}

/* Give the network the keys of the records of all PEs. */
static chorus_status add_peer_keys(const struct ch_voters *voters, const struct ch_ask *ask,
                                   const uint64_t *keys)
{
    for (uint32_t pe = 0; pe < voters->n; pe++)
        CH_TRY(ch_links_add_peer_key(ask->links, pe, record_of(ask->heap, pe), RECORD_BYTES,
                                     keys[pe]));
    return CHORUS_OK;
}

/* Register this PE's record with the network. With keys, all PEs get those of all others. */
static chorus_status register_records(const struct ch_voters *voters, const struct ch_ask *ask)
{
    uint64_t key, *keys;
    const struct ch_memory_part part = {.base = record_of(ask->heap, ch_heap_me(ask->heap)),
                                        .bytes = RECORD_BYTES};
    struct ch_vote vote = {"records across hosts", CHORUS_OK, &key, sizeof(key)};
    chorus_status status;

    vote.mine = ch_links_attach(ask->links, &part, &key);
    if (!ch_links_need_keys(ask->links)) return vote.mine;
    keys = calloc(voters->n, sizeof(*keys));
    if (keys == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %u keys", voters->n);
    status = ch_vote(voters, &vote, keys);
    if (status == CHORUS_OK) status = add_peer_keys(voters, ask, keys);
    free(keys);
    return status;
}

chorus_status ch_ask_open(const struct ch_voters *voters, struct ch_links *links,
                          const struct ch_heap *heap, struct ch_ask **ask_out)
{
    struct ch_ask *ask = calloc(1, sizeof(*ask));
    chorus_status status;

    if (ask == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for copies of records");
    ask->links = links;
    ask->heap = heap;
    (void)pthread_mutex_init(&ask->lock, NULL);
    status = register_records(voters, ask);
    if (status != CHORUS_OK) {
        ch_ask_close(ask);
        return status;
    }
    *ask_out = ask;
    return CHORUS_OK;
}

void ch_ask_close(struct ch_ask *ask)
{
    if (ask == NULL) return;
    for (uint32_t pe = 0; pe < ch_heap_n_pes(ask->heap); pe++)
        ch_links_drop_peer_key(ask->links, pe, record_of(ask->heap, pe));
    ch_links_detach(ask->links, record_of(ask->heap, ch_heap_me(ask->heap)));
    (void)pthread_mutex_destroy(&ask->lock);
    free(ask);
}

/* Reserve the copies for this thread; false: another thread uses them. */
static bool ask_try_lock(struct ch_ask *ask)
{
    return pthread_mutex_trylock(&ask->lock) == 0;
}

static void ask_unlock(struct ch_ask *ask)
{
    (void)pthread_mutex_unlock(&ask->lock);
}

/* Request the next copy of the record of PE ask->pe, without waiting for it. */
static void request_record(struct ch_ask *ask)
{
    ch_link_start_get(&ask->links->host[ask->pe], CH_CTX_ALGORITHMS,
                      &ask->copies[ask->n_copies++], record_of(ask->heap, ask->pe),
                      RECORD_BYTES);
}

/* Begin or continue to copy the record of a PE; true: both copies are complete, and
 * ask_find_call may read them until the next ask_step. A copy that was requested for another
 * purpose must be there before its memory is used again. */
static bool ask_step(struct ch_ask *ask, uint32_t pe)
{
    if (ask->n_copies != 0 && !ch_link_is_done(&ask->links->host[ask->pe], CH_CTX_ALGORITHMS))
        return false;
    if (ask->pe != pe) ask->n_copies = 0;
    ask->pe = pe;
    if (ask->n_copies < 2) {
        request_record(ask);
        return false;
    }
    ask->n_copies = 0;
    return true;
}

/* Find a call in the copies as ch_record_find_upto does; false also if the copies differ in
 * it. */
static bool ask_find_call(const struct ch_ask *ask, uint64_t team, uint64_t most,
                          struct ch_record_call *out)
{
    struct ch_record_call again;

    return ch_record_find_upto(&ask->copies[1], team, most, out) &&
           ch_record_read(&ask->copies[0], out->index, &again) &&
           ch_doing_pack(&out->doing) == ch_doing_pack(&again.doing) &&
           ch_doing_plan(&out->doing) == ch_doing_plan(&again.doing) &&
           out->doing.team == again.doing.team && out->doing.number == again.doing.number &&
           out->doing.count == again.doing.count;
}

/* --- comparison --------------------------------------------------------------------------- */
/* A look compares with so many PEs of the host: each may cost the reading of a whole record. */
enum { NEAR_MOST = 16 };

/* Waits of this length are frequent, also if no PE is late, and asking another host costs it
 * time. From FAR_ALL_NS on other hosts than the neighbouring ones are asked too, to which there
 * may be no connection yet. */
#define FAR_NS (10 * CH_NS_PER_MS)
#define FAR_ALL_NS (10 * CH_NS_PER_S)

/* How long to wait for the call of a PE that is known to differ. */
#define ASK_NS CH_NS_PER_S

/* Does a call of PE `pe`, whose number is at most that of `mine`, differ from this PE's call of
 * that number? */
static bool clashes(const struct ch_team *team, const struct ch_record_call *mine, uint32_t pe,
                    const struct ch_record_call *theirs, struct ch_two *out)
{
    struct ch_record_call own = *mine;

    if (theirs->doing.number != mine->doing.number &&
        !ch_record_find(team->record, team->word, theirs->doing.number, true, &own))
        return false;
    if (!ch_doing_clashes(&own.doing, &theirs->doing)) return false;
    *out = (struct ch_two){{team->me, pe}, {own.doing, theirs->doing}};
    return true;
}

/* Does the last call of a mapped PE, up to the number of `mine`, differ from this PE's? */
static bool clashes_near(const struct ch_team *team, const struct ch_record_call *mine,
                         uint32_t pe, struct ch_two *out)
{
    struct ch_record_call theirs;

    return ch_record_find_upto(team->members[pe].record, team->word, mine->doing.number,
                               &theirs) &&
           clashes(team, mine, pe, &theirs, out);
}

/* Compare this PE's call with those of the next PEs of this host, in each look other ones.
 * True: two calls differ, which `out` receives. */
static bool compare_near(struct ch_team *team, const struct ch_record_call *mine,
                         struct ch_two *out)
{
    uint32_t at = __atomic_load_n(&team->look_near, __ATOMIC_RELAXED), n_looked = 0;

    for (uint32_t k = 1; k < team->n && n_looked < NEAR_MOST; k++) {
        const uint32_t pe = (team->me + 1 + at) % team->n;

        at = (at + 1) % team->n;
        if (pe == team->me || team->members[pe].record == NULL) continue;
        if (clashes_near(team, mine, pe, out)) return true;
        n_looked++;
    }
    __atomic_store_n(&team->look_near, at, __ATOMIC_RELAXED);
    return false;
}

/* The PE of another host to compare with next: one with this PE's number on the hosts before
 * and after its own; is_all: later on more distant ones. If PEs differ, PEs of one host do, or
 * those of two neighbouring hosts. */
static uint32_t next_far_peer(const struct ch_team *team, bool is_all)
{
    const struct ch_nodes *nodes = &team->levels->nodes;
    const uint32_t turn = __atomic_load_n(&team->look_far, __ATOMIC_RELAXED);
    const uint32_t step = turn / 2 % (is_all ? nodes->count - 1 : 1) + 1;
    const uint32_t distance = turn % 2 == 0 ? step : nodes->count - step;
    const uint32_t host = (nodes->node[team->me] + distance) % nodes->count;

    return ch_node_pe(nodes, host, nodes->local[team->me] % ch_node_pes(nodes, host));
}

/* Does the call that the copies show of PE `pe` differ from this PE's? The caller has locked
 * `ask`. */
static bool clashes_far(const struct ch_team *team, struct ch_ask *ask,
                        const struct ch_record_call *mine, uint32_t pe, struct ch_two *out)
{
    struct ch_record_call theirs;

    return ask_find_call(ask, team->word, mine->doing.number, &theirs) &&
           clashes(team, mine, pe, &theirs, out);
}

/* As compare_near, with one PE of another host; false also if its record has not arrived
 * yet. */
static bool compare_far(struct ch_team *team, const struct ch_record_call *mine, bool is_all,
                        struct ch_two *out)
{
    const uint32_t pe = next_far_peer(team, is_all);
    struct ch_ask *ask = team->teams->ask;
    bool found = false;

    if (team->members[pe].record != NULL) { /* on this host, in another group of GPUs */
        __atomic_store_n(&team->look_far, team->look_far + 1, __ATOMIC_RELAXED);
        return clashes_near(team, mine, pe, out);
    }
    if (!ask_try_lock(ask)) return false;
    if (ask_step(ask, team->members[pe].world)) {
        found = clashes_far(team, ask, mine, pe, out);
        __atomic_store_n(&team->look_far, team->look_far + 1, __ATOMIC_RELAXED);
    }
    ask_unlock(ask);
    return found;
}

void ch_team_look(void *arg, uint64_t waited_ns)
{
    struct ch_team *team = arg;
    struct ch_record_call mine;
    struct ch_two two;
    const bool has_hosts = team->levels != NULL && team->teams->ask != NULL;

    if (!ch_record_find_running(team->record, team->word, &mine) ||
        ch_team_is_call_refused(team, &mine.doing))
        return;
    ch_team_compare_again(team, &mine.doing);
    if (compare_near(team, &mine, &two) ||
        (has_hosts && waited_ns >= FAR_NS &&
         compare_far(team, &mine, waited_ns >= FAR_ALL_NS, &two)))
        ch_team_refuse(team, ch_doing_key(&two.calls[0]), &two);
}

/* As clashes_far, but wait up to ASK_NS for the record of PE `other` to arrive and show a call
 * that differs. False also if another thread uses the copies. */
static bool ask_and_wait(struct ch_team *team, const struct ch_record_call *mine,
                         uint32_t other, struct ch_two *out)
{
    struct ch_ask *ask = team->teams->ask;
    struct ch_wait_policy policy = *team->policy;
    struct ch_wait w = {0};
    bool found = false;

    if (ask == NULL || !ask_try_lock(ask)) return false;
    policy.timeout_ns = ASK_NS;
    policy.warn_ns = 0;
    while (!found && ch_wait_slow(&policy, &w) == CHORUS_OK)
        if (ask_step(ask, team->members[other].world))
            found = clashes_far(team, ask, mine, other, out);
    ch_wait_end(&policy, &w);
    ask_unlock(ask);
    return found;
}

bool ch_team_find_clash(struct ch_team *team, const struct ch_record_call *mine, uint32_t other,
                        struct ch_two *out)
{
    const bool is_near = team->members[other].record != NULL;

    if (is_near ? clashes_near(team, mine, other, out) : ask_and_wait(team, mine, other, out))
        return true;
    return ch_team_find_clash_near(team, mine->doing.number, out);
}

bool ch_team_find_clash_near(const struct ch_team *team, uint64_t number, struct ch_two *out)
{
    struct ch_record_call first, other;
    bool has_first = false;

    for (uint32_t k = 0; k < team->n; k++) {
        const uint32_t pe = (team->me + k) % team->n;
        const struct ch_record *record =
            pe == team->me ? team->record : team->members[pe].record;

        if (record == NULL || !ch_record_find(record, team->word, number, true, &other))
            continue;
        if (has_first && ch_doing_clashes(&first.doing, &other.doing)) {
            out->pes[1] = pe;
            out->calls[1] = other.doing;
            return true;
        }
        if (has_first) continue;
        has_first = true;
        first = other;
        out->pes[0] = pe;
        out->calls[0] = other.doing;
    }
    return false;
}

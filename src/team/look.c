/* SPDX-License-Identifier: Apache-2.0 */
#include "team/look.h"

#include "base/clock.h"
#include "team/ask.h"
#include "team/check.h"
#include "team/table.h"

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
static bool clashes(const struct ch_team *team, const struct ch_called *mine, uint32_t pe,
                    const struct ch_called *theirs, struct ch_two *out)
{
    struct ch_called own = *mine;

    if (theirs->doing.number != mine->doing.number &&
        !ch_record_find(team->record, team->word, theirs->doing.number, true, &own))
        return false;
    if (!ch_doing_clashes(&own.doing, &theirs->doing)) return false;
    *out = (struct ch_two){{team->me, pe}, {own.doing, theirs->doing}};
    return true;
}

static bool clashes_near(const struct ch_team *team, const struct ch_called *mine, uint32_t pe,
                         struct ch_two *out)
{
    struct ch_called theirs;

    return ch_record_find_upto(team->members[pe].record, team->word, mine->doing.number,
                               &theirs) &&
           clashes(team, mine, pe, &theirs, out);
}

/* The next PEs of this host, in each look other ones. */
static bool look_near(struct ch_team *team, const struct ch_called *mine, struct ch_two *out)
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

/* PEs with this PE's number on the hosts before and after its own, later on more distant
 * ones. If PEs differ, PEs of one host do, or those of two neighbouring hosts. */
static uint32_t far_peer(const struct ch_team *team, bool is_all)
{
    const struct ch_nodes *nodes = &team->levels->nodes;
    const uint32_t turn = __atomic_load_n(&team->look_far, __ATOMIC_RELAXED);
    const uint32_t step = turn / 2 % (is_all ? nodes->count - 1 : 1) + 1;
    const uint32_t distance = turn % 2 == 0 ? step : nodes->count - step;
    const uint32_t host = (nodes->node[team->me] + distance) % nodes->count;

    return ch_node_pe(nodes, host, nodes->local[team->me] % ch_node_pes(nodes, host));
}

/* With the lock of `ask`. */
static bool clashes_far(const struct ch_team *team, struct ch_ask *ask,
                        const struct ch_called *mine, uint32_t pe, struct ch_two *out)
{
    struct ch_called theirs;

    return ch_ask_find(ask, team->word, mine->doing.number, &theirs) &&
           clashes(team, mine, pe, &theirs, out);
}

static bool look_far(struct ch_team *team, const struct ch_called *mine, bool is_all,
                     struct ch_two *out)
{
    const uint32_t pe = far_peer(team, is_all);
    struct ch_ask *ask = team->teams->ask;
    bool found = false;

    if (!ch_ask_try_lock(ask)) return false;
    if (ch_ask_step(ask, team->members[pe].world)) {
        found = clashes_far(team, ask, mine, pe, out);
        __atomic_store_n(&team->look_far, team->look_far + 1, __ATOMIC_RELAXED);
    }
    ch_ask_unlock(ask);
    return found;
}

void ch_team_look(void *arg, uint64_t waited_ns)
{
    struct ch_team *team = arg;
    struct ch_called mine;
    struct ch_two two;
    const bool has_hosts = team->levels != NULL && team->teams->ask != NULL;

    if (!ch_record_find_running(team->record, team->word, &mine) ||
        ch_team_is_refused_in(team, &mine.doing))
        return;
    ch_team_check_again(team, &mine.doing);
    if (look_near(team, &mine, &two) || (has_hosts && waited_ns >= FAR_NS &&
                                         look_far(team, &mine, waited_ns >= FAR_ALL_NS, &two)))
        ch_team_refuse(team, ch_doing_key(&two.calls[0]), &two);
}

/* Waits, unless another thread does. */
static bool ask_now(struct ch_team *team, const struct ch_called *mine, uint32_t other,
                    struct ch_two *out)
{
    struct ch_ask *ask = team->teams->ask;
    struct ch_patience patience = *team->patience;
    struct ch_wait w = {0};
    bool found = false;

    if (ask == NULL || !ch_ask_try_lock(ask)) return false;
    patience.timeout_ns = ASK_NS;
    patience.warn_ns = 0;
    while (!found && ch_wait_slow(&patience, &w) == CHORUS_OK)
        if (ch_ask_step(ask, team->members[other].world))
            found = clashes_far(team, ask, mine, other, out);
    ch_wait_end(&patience, &w);
    ch_ask_unlock(ask);
    return found;
}

bool ch_team_find_clash(struct ch_team *team, const struct ch_called *mine, uint32_t other,
                        struct ch_two *out)
{
    const bool is_near = team->members[other].record != NULL;

    if (is_near ? clashes_near(team, mine, other, out) : ask_now(team, mine, other, out))
        return true;
    return ch_team_find_clash_near(team, mine->doing.number, out);
}

bool ch_team_find_clash_near(const struct ch_team *team, uint64_t number, struct ch_two *out)
{
    struct ch_called first, other;
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

/* SPDX-License-Identifier: Apache-2.0 */
#include "team/ask.h"

#include "transport/transport.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

/* Without the accesses. */
#define RECORD_BYTES offsetof(struct ch_record, accesses)

struct ch_ask {
    struct ch_network *network; /* borrowed, as is heap */
    const struct ch_heap *heap;
    pthread_mutex_t lock; /* guards all below */
    uint32_t pe;          /* whose record is being copied */
    uint32_t n_copies;    /* how many of the copies were requested */
    struct ch_record copies[2];
};

static char *record_of(const struct ch_heap *heap, uint32_t pe)
{
    return ch_heap_record_home(heap, pe);
}

static chorus_status learn_all(const struct ch_voters *voters, const struct ch_ask *ask,
                               const uint64_t *keys)
{
    for (uint32_t pe = 0; pe < voters->n; pe++)
        CH_TRY(ch_network_learn(ask->network, pe, record_of(ask->heap, pe), RECORD_BYTES,
                                keys[pe]));
    return CHORUS_OK;
}

/* With keys, all PEs get those of all others. */
static chorus_status attach(const struct ch_voters *voters, const struct ch_ask *ask)
{
    uint64_t key, *keys;
    struct ch_vote vote = {"records across hosts", CHORUS_OK, &key, sizeof(key)};
    chorus_status status;

    vote.mine = ch_network_attach(ask->network, record_of(ask->heap, ch_heap_me(ask->heap)),
                                  RECORD_BYTES, &key);
    if (!ch_network_has_keys(ask->network)) return vote.mine;
    keys = calloc(voters->n, sizeof(*keys));
    if (keys == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %u keys", voters->n);
    status = ch_vote(voters, &vote, keys);
    if (status == CHORUS_OK) status = learn_all(voters, ask, keys);
    free(keys);
    return status;
}

chorus_status ch_ask_open(const struct ch_voters *voters, struct ch_network *network,
                          const struct ch_heap *heap, struct ch_ask **ask_out)
{
    struct ch_ask *ask = calloc(1, sizeof(*ask));
    chorus_status status;

    if (ask == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for copies of records");
    ask->network = network;
    ask->heap = heap;
    (void)pthread_mutex_init(&ask->lock, NULL);
    status = attach(voters, ask);
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
        ch_network_forget(ask->network, pe, record_of(ask->heap, pe));
    ch_network_detach(ask->network, record_of(ask->heap, ch_heap_me(ask->heap)));
    (void)pthread_mutex_destroy(&ask->lock);
    free(ask);
}

bool ch_ask_try_lock(struct ch_ask *ask)
{
    return pthread_mutex_trylock(&ask->lock) == 0;
}

void ch_ask_unlock(struct ch_ask *ask)
{
    (void)pthread_mutex_unlock(&ask->lock);
}

static void request(struct ch_ask *ask)
{
    ch_network_request(ask->network, CH_CTX_ALGORITHMS, ask->pe, &ask->copies[ask->n_copies++],
                       record_of(ask->heap, ask->pe), RECORD_BYTES);
}

/* A copy that was requested for another purpose must be there before its memory is used
 * again. */
bool ch_ask_step(struct ch_ask *ask, uint32_t pe)
{
    if (ask->n_copies != 0 && !ch_network_is_done(ask->network, CH_CTX_ALGORITHMS, ask->pe))
        return false;
    if (ask->pe != pe) ask->n_copies = 0;
    ask->pe = pe;
    if (ask->n_copies < 2) {
        request(ask);
        return false;
    }
    ask->n_copies = 0;
    return true;
}

bool ch_ask_find(const struct ch_ask *ask, uint64_t team, uint64_t most, struct ch_called *out)
{
    struct ch_called again;

    return ch_record_find_upto(&ask->copies[1], team, most, out) &&
           ch_record_read(&ask->copies[0], out->index, &again) &&
           ch_doing_pack(&out->doing) == ch_doing_pack(&again.doing) &&
           ch_doing_plan(&out->doing) == ch_doing_plan(&again.doing) &&
           out->doing.team == again.doing.team && out->doing.number == again.doing.number &&
           out->doing.count == again.doing.count;
}

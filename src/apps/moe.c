/* SPDX-License-Identifier: Apache-2.0 */
/* moe.c: creation and end of a mixture-of-experts object, and what is active in it. */
#include "apps/moe.h"

#include "apps/gather.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

/* On two cores, 128 tokens of 7 KiB came back in half the time with messages of 1 MiB as with
 * 256 KiB, and not faster with 4 MiB (bench/apps/moe.c). With many PEs memory is the limit. */
#define MESSAGE_BYTES_DEFAULT ((size_t)1 << 20)
#define MESSAGES_BYTES_DEFAULT ((size_t)64 << 20) /* of those from all PEs */

static int refuse(int code, const char *message)
{
    (void)chorusx_fail(code, "chorusx_moe_create", message); /* which returns the code */
    return code;
}

/* --- sizes -------------------------------------------------------------------------------- */
static size_t greater(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A product that no size_t holds is as great as possible. */
static size_t product(size_t a, size_t b)
{
    size_t value;

    return __builtin_mul_overflow(a, b, &value) ? SIZE_MAX : value;
}

/* A slot has room for one unit of every kind of call, and for no more than a call sends. */
static size_t slot_bytes(const struct chorusx_moe *moe)
{
    const chorusx_moe_config_t *c = &moe->config;
    const size_t entries = lesser((size_t)c->topk, moe->experts_each); /* of a token, on a PE */
    const size_t token =
        greater(c->hidden_bytes + c->scale_bytes, product(entries, c->combine_bytes));
    const size_t most = greater(product(c->tokens_max, token),
                                product(c->tokens_max * entries, sizeof(struct ch_moe_entry)));
    size_t bytes = lesser(most, c->message_bytes);

    bytes = greater(greater(bytes, token), moe->header_bytes);
    return bytes > SIZE_MAX - LINE ? bytes : (bytes + LINE - 1) / LINE * LINE;
}

static void set_sizes(struct chorusx_moe *moe, const chorusx_moe_config_t *config)
{
    moe->config = *config;
    if (config->combine_bytes == 0) moe->config.combine_bytes = config->hidden_bytes;
    if (config->message_bytes == 0)
        moe->config.message_bytes =
            lesser(MESSAGE_BYTES_DEFAULT, MESSAGES_BYTES_DEFAULT / moe->n_pes);
    moe->experts_each = (uint32_t)config->experts / moe->n_pes;
    moe->header_bytes =
        (sizeof(struct ch_moe_header) + (size_t)config->experts * sizeof(uint32_t) + 7) / 8 * 8;
    moe->slot_bytes = slot_bytes(moe);
}

/* --- what is active ----------------------------------------------------------------------- */
/* FNV-1a, of 64 bits. */
static uint64_t hash(uint64_t value, bool is_on)
{
    return (value ^ (is_on ? 1u : 0u)) * 0x100000001b3u;
}

static void set_active(struct chorusx_moe *moe, const unsigned char *pes,
                       const unsigned char *experts)
{
    uint64_t value = 0xcbf29ce484222325u;
    bool are_all_active = true;

    for (uint32_t p = 0; p < moe->n_pes; p++) {
        moe->peers[p].is_active = pes == NULL || pes[p] != 0;
        moe->is_on[(uint32_t)moe->config.experts + p] = moe->peers[p].is_active;
        are_all_active = are_all_active && moe->peers[p].is_active;
        value = hash(value, moe->peers[p].is_active);
    }
    for (uint32_t e = 0; e < (uint32_t)moe->config.experts; e++) {
        moe->is_on[e] =
            moe->peers[e / moe->experts_each].is_active && (experts == NULL || experts[e] != 0);
        value = hash(value, moe->is_on[e]);
    }
    moe->is_active = moe->peers[moe->me].is_active;
    moe->are_all_active = are_all_active;
    moe->mask_hash = value;
    moe->mask_number++;
    if (moe->is_on_gpu) ch_moe_store_active(moe);
}

int chorusx_moe_set_active(chorusx_moe_t moe, const unsigned char *pes,
                           const unsigned char *experts)
{
    if (moe == NULL) return chorusx_fail(CHORUS_ERR_ARG, __func__, "the object is null");
    if (moe->call.kind != NULL)
        return chorusx_fail(CHORUS_ERR_STATE, __func__,
                            "a call is under way; end it before, by chorusx_moe_dispatch_end "
                            "or chorusx_moe_combine_end");
    set_active(moe, pes, experts);
    return CHORUS_OK;
}

/* --- the object --------------------------------------------------------------------------- */
static void free_object(struct chorusx_moe *moe)
{
    for (uint32_t p = 0; moe->peers != NULL && p < moe->n_pes; p++)
        free(moe->peers[p].staging);
    free(moe->peers);
    free(moe->is_on);
    free(moe->host_of);
    free(moe->rail_of);
    free(moe->pes_of_hosts);
    free(moe->rows);
    free(moe->weights);
    free(moe->skipped);
    free(moe->wanted);
    free(moe);
}

static bool allocate(struct chorusx_moe *moe)
{
    const size_t topk = (size_t)moe->config.topk, words = (size_t)CH_MOE_WORDS * moe->n_pes;

    moe->peers = calloc(moe->n_pes, sizeof(*moe->peers));
    moe->is_on = calloc((size_t)moe->config.experts + moe->n_pes, sizeof(*moe->is_on));
    moe->host_of = calloc(moe->n_pes, sizeof(*moe->host_of));
    moe->rail_of = calloc(moe->n_pes, sizeof(*moe->rail_of));
    moe->pes_of_hosts = calloc(moe->n_pes, sizeof(*moe->pes_of_hosts));
    moe->rows = calloc(topk, sizeof(*moe->rows));
    moe->weights = calloc(topk, sizeof(*moe->weights));
    moe->skipped = calloc(words, sizeof(*moe->skipped));
    moe->wanted = calloc(words, sizeof(*moe->wanted));
    return moe->peers != NULL && moe->is_on != NULL && moe->host_of != NULL &&
           moe->rail_of != NULL && moe->pes_of_hosts != NULL && moe->rows != NULL &&
           moe->weights != NULL && moe->skipped != NULL && moe->wanted != NULL;
}

/* Where the peers have their slots for this PE. */
static bool place(struct chorusx_moe *moe)
{
    char *slots = moe->memory + ch_moe_words_bytes(moe->n_pes) + 2 * moe->me * moe->slot_bytes;

    for (uint32_t p = 0; p < moe->n_pes; p++) {
        struct ch_moe_peer *peer = &moe->peers[p];

        peer->pe = chorus_team_translate_pe(moe->team, (int)p, CHORUS_TEAM_WORLD);
        peer->there = slots;
        if (p == moe->me) continue;
        peer->direct = chorus_ptr(slots, peer->pe);
        if (peer->direct == NULL) peer->staging = malloc(2 * moe->slot_bytes);
        if (peer->direct == NULL && peer->staging == NULL) return false;
    }
    return true;
}

static char *allocate_symmetric(const struct chorusx_moe *moe)
{
    const size_t slots = product(2 * (size_t)moe->n_pes, moe->slot_bytes);

    if (moe->is_on_gpu) return chorusx_team_malloc(moe->team, ch_moe_gpu_bytes(moe));
    return chorusx_team_malloc(moe->team, slots > SIZE_MAX / 2
                                              ? SIZE_MAX / 2
                                              : ch_moe_words_bytes(moe->n_pes) + slots);
}

/* What is of messages. Collective: all PEs find the leaders, whatever they have. */
static bool set_messages(struct chorusx_moe *moe, const struct chorusx_moe *sizes)
{
    uint32_t *leaders = ch_moe_gather_leaders(sizes);
    const bool is_set = moe != NULL && leaders != NULL && place(moe);

    if (is_set) ch_moe_set_hosts(moe, leaders);
    free(leaders);
    return is_set;
}

/* An object with its symmetric memory; null: there is no memory. Collective. */
static struct chorusx_moe *make_object(const struct chorusx_moe *sizes)
{
    struct chorusx_moe *moe = malloc(sizeof(*moe));
    bool is_made;

    if (moe != NULL) *moe = *sizes;
    if (moe != NULL && !allocate(moe)) {
        free_object(moe);
        moe = NULL;
    }
    is_made = sizes->is_on_gpu ? moe != NULL && ch_moe_set_gpu(moe) : set_messages(moe, sizes);
    if (is_made) set_active(moe, NULL, NULL);
    if (is_made || moe == NULL) return moe;
    free_object(moe);
    return NULL;
}

/* The failure, after the symmetric memory is freed. */
static int give_up(const struct chorusx_moe *sizes, int code, const char *message)
{
    if (chorusx_team_free(sizes->team, sizes->memory) != CHORUS_OK) return refuse(code, NULL);
    return refuse(code, message);
}

static int create(chorus_team_t team, const chorusx_moe_config_t *config, chorus_heap heap,
                  struct chorusx_moe **moe_out)
{
    struct chorusx_moe sizes = {.team = team,
                                .me = (uint32_t)chorus_team_my_pe(team),
                                .n_pes = (uint32_t)chorus_team_n_pes(team),
                                .is_on_gpu = heap == CHORUS_HEAP_cuda};
    struct chorusx_moe *moe;

    set_sizes(&sizes, config);
    sizes.memory = allocate_symmetric(&sizes);
    if (sizes.memory == NULL)                  /* on all PEs */
        return refuse(CHORUS_ERR_NOMEM, NULL); /* with the message of the call */
    if (sizes.is_on_gpu && ch_moe_check_near(&sizes) != CHORUS_OK)
        return give_up(&sizes, CHORUS_ERR_UNSUPPORTED,
                       "the GPU of a PE does not access the memory of all others (chorus-info "
                       "links); pass a team of PEs that do");
    moe = make_object(&sizes);
    if (ch_apps_agree(team, moe != NULL) == CHORUS_OK) {
        *moe_out = moe;
        return CHORUS_OK;
    }
    if (moe != NULL) free_object(moe);
    return give_up(&sizes, CHORUS_ERR_NOMEM, "a PE has no memory for the object");
}

static int check(chorus_team_t team, const chorusx_moe_config_t *config, chorus_heap heap)
{
    const uint32_t n_pes = (uint32_t)chorus_team_n_pes(team);
    struct ch_moe_given own = {.is_given = config != NULL};
    char message[CH_MOE_MESSAGE_BYTES];
    void *all;
    int code;

    if (config != NULL) own.config = *config;
    code = ch_apps_gather_equal(team, &own, sizeof(own), &all);
    if (code != CHORUS_OK)
        return refuse(code, "there is no memory for what PEs tell each other");
    code = ch_moe_check_config(n_pes, all, message, sizeof(message));
    if (code == CHORUS_OK && heap == CHORUS_HEAP_cuda)
        code = ch_moe_check_gpu(n_pes, &own.config, message, sizeof(message));
    free(all);
    return code == CHORUS_OK ? code : refuse(code, message);
}

int chorusx_moe_create(chorus_team_t team, const chorusx_moe_config_t *config,
                       chorusx_moe_t *moe)
{
    chorus_heap heap;
    int code = ch_apps_check(__func__, team, moe, &heap);

    if (moe != NULL) *moe = CHORUSX_MOE_INVALID;
    if (code != CHORUS_OK || moe == NULL) return code;
    code = check(team, config, heap);
    return code == CHORUS_OK ? create(team, config, heap, moe) : code;
}

int chorusx_moe_destroy(chorusx_moe_t moe)
{
    int code;

    if (moe == CHORUSX_MOE_INVALID) return CHORUS_OK;
    if (moe->call.kind != NULL && moe->failed == CHORUS_OK)
        return chorusx_fail(CHORUS_ERR_STATE, __func__,
                            "a call is under way; end it before, by chorusx_moe_dispatch_end "
                            "or chorusx_moe_combine_end");
    if (moe->n_routes > 0)
        return chorusx_fail(CHORUS_ERR_STATE, __func__,
                            "a route of the object is not freed; call chorusx_moe_route_free "
                            "before");
    code = ch_apps_free(moe->team, moe->memory);
    for (uint32_t p = 0; code != CHORUS_OK && p < moe->n_pes; p++)
        moe->peers[p].staging = NULL; /* the network may still read it */
    free_object(moe);
    return code;
}

int chorusx_moe_dropped(chorusx_moe_t moe, uint64_t *dropped_out)
{
    if (moe == NULL || dropped_out == NULL)
        return chorusx_fail(CHORUS_ERR_ARG, __func__,
                            moe == NULL ? "the object is null" : "dropped_out is null");
    if (moe->is_on_gpu) return ch_moe_gpu_dropped(moe, dropped_out);
    *dropped_out = moe->dropped;
    return CHORUS_OK;
}

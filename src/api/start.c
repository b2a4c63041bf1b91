/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start.c: creates and destroys the state of a PE, folder by folder, after comparing what must
 * be equal on all PEs.
 */
#include "api/context.h"

#include "api/check.h"
#include "api/coll.h"
#include "api/modules.h"
#include "base/error.h"
#include "boot/boot.h"
#include "coll/cuda/gpu.h"
#include "coll/host/host.h"
#include "team/table.h"
#include "transport/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what must be equal ------------------------------------------------------------------- */

/* clang-format off */
/* Options that decide the layout of shared memory: name, field. */
#define AGREED_OPTIONS(X) X(HEAP_MAX, heap_max) X(HEAP_STEP, heap_step) \
    X(SYNC_MAX, sync_max) X(CTAS, ctas) X(CHUNK, chunk)
/* clang-format on */

/* A set of kinds has a bit for each network, and this one for `mapped`; or it is KINDS_UNKNOWN,
 * as the variable has a name that is none. */
#define KIND_MAPPED (UINT32_C(1) << CH_KIND_COUNT)
#define KINDS_UNKNOWN UINT32_MAX

enum { KINDS_TEXT_BYTES = 64 };

struct claim {
#define X(NAME, field) uint64_t field;
    AGREED_OPTIONS(X)
#undef X
    uint32_t kinds; /* that CHORUS_TRANSPORT allows */
    uint16_t heap;  /* a chorus_heap */
    uint16_t check;
    uint64_t select_digest;
    uint64_t n_cores; /* number of cores that it counts on its host; whether PEs share cores
                         decides on algorithms, too */
};

/* Returns the set of the kinds that CHORUS_TRANSPORT allows. If it has an unknown name on all
 * PEs, that is reported when the links are opened. */
static uint32_t read_kinds(const char *transport)
{
    struct ch_kinds kinds;
    uint32_t set;

    if (ch_kinds_read(transport, &kinds) != CHORUS_OK) {
        ch_error_forget();
        return KINDS_UNKNOWN;
    }
    set = kinds.may_map ? KIND_MAPPED : 0;
    for (int k = 0; k < CH_KIND_COUNT; k++)
        if (kinds.is_allowed[k]) set |= UINT32_C(1) << k;
    return set;
}

/* For messages: the names in a set of kinds. */
static const char *kinds_text(uint32_t set, char text_out[KINDS_TEXT_BYTES])
{
    int used = snprintf(text_out, KINDS_TEXT_BYTES, "%s",
                        set == KINDS_UNKNOWN       ? "unknown names"
                        : set == 0                 ? "nothing"
                        : (set & KIND_MAPPED) != 0 ? "mapped"
                                                   : "");

    for (int k = 0; k < CH_KIND_COUNT && set != KINDS_UNKNOWN; k++)
        if ((set & UINT32_C(1) << k) != 0 && ch_kind_ops[k] != NULL)
            used += snprintf(text_out + used, (size_t)(KINDS_TEXT_BYTES - used), "%s%s",
                             used == 0 ? "" : ",", ch_kind_ops[k]->name);
    return text_out;
}

/* Set the values of this PE that must be equal on all PEs, except n_cores. */
static void fill_claim(struct claim *claim, const struct ch_options *options,
                       uint64_t select_digest)
{
#define X(NAME, field) claim->field = options->field;
    AGREED_OPTIONS(X)
#undef X
    claim->kinds = read_kinds(options->transport);
    claim->heap = (uint16_t)options->heap;
    claim->check = (uint16_t)options->check;
    claim->select_digest = select_digest;
}

/* Fail, as CHORUS_TRANSPORT differs. */
static chorus_status fail_kinds(const struct claim *claims, uint32_t pe)
{
    char there[KINDS_TEXT_BYTES], first[KINDS_TEXT_BYTES];

    return CH_FAIL(
        CHORUS_ERR_ARG,
        "CHORUS_TRANSPORT allows %s on PE %u and %s on PE 0; set it alike for all PEs",
        kinds_text(claims[pe].kinds, there), pe, kinds_text(claims[0].kinds, first));
}

/* Fails for the first PE whose claim differs from that of PE 0. */
static chorus_status compare_claims(const struct ch_boot *boot, const struct claim *claims)
{
    for (uint32_t pe = 1; pe < boot->n; pe++) {
#define X(NAME, field)                                                                         \
    if (claims[pe].field != claims[0].field)                                                   \
        return CH_FAIL(CHORUS_ERR_ARG,                                                         \
                       "CHORUS_" #NAME " is %llu on PE %u and %llu on PE 0; set it alike for " \
                       "all PEs",                                                              \
                       (unsigned long long)claims[pe].field, pe,                               \
                       (unsigned long long)claims[0].field);
        AGREED_OPTIONS(X)
#undef X
        if (claims[pe].heap != claims[0].heap)
            return CH_FAIL(
                CHORUS_ERR_ARG,
                "the heap asked for is %s on PE %u and %s on PE 0; set CHORUS_HEAP, or the "
                "attributes of chorusx_init_attr, to the same value on all PEs",
                ch_heap_names[claims[pe].heap], pe, ch_heap_names[claims[0].heap]);
        if (claims[pe].kinds != claims[0].kinds) return fail_kinds(claims, pe);
        if (claims[pe].check != claims[0].check)
            return CH_FAIL(CHORUS_ERR_ARG,
                           "CHORUS_CHECK is %u on PE %u and %u on PE 0; set it to the same "
                           "value on all PEs",
                           claims[pe].check, pe, claims[0].check);
        if (claims[pe].select_digest != claims[0].select_digest)
            return CH_FAIL(CHORUS_ERR_ARG,
                           "PE %u would choose other algorithms than PE 0: its rule tables or "
                           "CHORUS_ALGO differ; give all PEs the same CHORUS_ALGO and "
                           "CHORUS_TUNING, and the same files in the user's and the system's "
                           "folder",
                           pe);
        if (claims[pe].n_cores != claims[0].n_cores && boot->nodes == NULL)
            return CH_FAIL(CHORUS_ERR_ARG,
                           "PE %u found %llu cores for the PEs of its host, and PE 0 found "
                           "%llu; start all PEs with the same set of cores",
                           pe, (unsigned long long)claims[pe].n_cores,
                           (unsigned long long)claims[0].n_cores);
    }
    return CHORUS_OK;
}

chorus_status ch_context_agree(struct ch_boot *boot, const struct ch_options *options,
                               uint64_t select_digest, chorus_status mine)
{
    struct claim claim = {0}, *claims = calloc(boot->n, sizeof(*claims));
    const struct ch_vote vote = {"start", mine, &claim, sizeof(claim)};
    chorus_status status;

    if (claims == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the options of %u PEs", boot->n);
    fill_claim(&claim, options, select_digest);
    claim.n_cores = boot->n_cores;
    status = ch_boot_vote(boot, &vote, claims);
    if (status == CHORUS_OK) status = compare_claims(boot, claims);
    free(claims);
    return status;
}

/* --- the folders -------------------------------------------------------------------------- */

/* What the heap calls for its memory, in the four functions below; self: the links. */
static chorus_status register_memory(void *self, const struct ch_memory_part *part,
                                     uint64_t *key_out)
{
    return ch_links_attach(self, part, key_out);
}

static void unregister_memory(void *self, void *base)
{
    ch_links_detach(self, base);
}

static chorus_status add_peer_part(void *self, uint32_t pe, const struct ch_memory_part *there,
                                   uint64_t key)
{
    return ch_links_add_peer_part(self, pe, there, key);
}

static void drop_peer_part(void *self, uint32_t pe, const char *there)
{
    ch_links_drop_peer_key(self, pe, there);
}

/* Create the links. With a network, let the heap attach its memory for peers of other hosts,
 * also when it grows, unless their GPUs are all near. */
static chorus_status open_links(struct ch_context *context)
{
    struct ch_heap *heap = context->heap;
    struct ch_heap_registration registration = {register_memory, unregister_memory,
                                                add_peer_part, drop_peer_part, NULL};

    CH_TRY(ch_links_open(context->boot, heap, &context->options, &context->policy,
                         &context->links));
    registration.self = context->links;
    if (context->links->network != NULL &&
        (ch_heap_device(heap) == NULL || ch_heap_has_pool(heap)))
        ch_heap_set_registration(heap, &registration);
    return CHORUS_OK;
}

/* Create the links to mapped peers, and enable the fast path of rma.h if calls can use it. */
static chorus_status map_links(struct ch_context *context)
{
    CH_TRY(ch_links_map(context->links));
    if (context->options.check < 2 && ch_links_list_near(context->links, context->near))
        context->n_near = context->boot->n;
    return CHORUS_OK;
}

/* Create the parts that need no peer. */
static chorus_status create_local_parts(struct ch_context *context)
{
    const struct ch_options *options = &context->options;

    CH_TRY(map_links(context));
    CH_TRY(
        ch_workers_create((uint32_t)options->ctas, (int)context->boot->me, &context->workers));
    if (ch_heap_device(context->heap) == NULL) return CHORUS_OK;
    CH_TRY(ch_modules_check());
    return ch_gpu_open(context->heap, options, &context->policy, &context->gpu);
}

/* Vote whether all PEs have created their parts; `mine` is this PE's status. On GPUs, also set
 * share_ctas, the most CTAs of a call, to the smallest of all PEs: CTA i of a PE waits for CTA
 * i of others, and all PEs choose the same number. */
static chorus_status vote_on_local_parts(struct ch_context *context, chorus_status mine)
{
    const bool is_on_gpu = ch_heap_device(context->heap) != NULL;
    const uint32_t own = context->gpu != NULL ? ch_gpu_share_ctas(context->gpu) : 1;
    uint32_t *all = calloc(context->boot->n, sizeof(*all));
    struct ch_vote made = {.step = "start", .mine = mine, .values = &own};
    chorus_status status;

    if (is_on_gpu) made.bytes = sizeof(own);
    if (all == NULL && mine == CHORUS_OK)
        made.mine =
            CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the answers of %u PEs", context->boot->n);
    status = ch_boot_vote(context->boot, &made, all);
    context->share_ctas = UINT32_MAX;
    for (uint32_t pe = 0;
         pe < context->boot->n && status == CHORUS_OK && is_on_gpu && all != NULL; pe++)
        if (all[pe] < context->share_ctas) context->share_ctas = all[pe];
    free(all);
    return status;
}

/* Create the teams; on GPUs, first find out whether the link between them keeps lines whole. */
static chorus_status open_teams(struct ch_context *context)
{
    struct ch_device_terms terms;
    const bool is_on_gpu = context->gpu != NULL;

    if (is_on_gpu) {
        CH_TRY(ch_lines_try(context->boot, context->heap, context->options.timeout_ns,
                            &context->keeps_lines));
        terms = ch_gpu_terms(context->gpu);
    }
    CH_TRY(ch_teams_open(context->boot, context->heap, context->links, &context->options,
                         &context->policy, is_on_gpu ? &terms : NULL, &context->teams));
    ch_teams_name_algorithms(context->teams, ch_algo_text);
    return CHORUS_OK;
}

/* Called by waits for words that take long: log for what this PE waits. arg: the context. */
static void warn_of_wait(void *arg, uint64_t waited_ns)
{
    const struct ch_context *context = arg;

    if (context->teams != NULL)
        ch_teams_warn(context->teams, &context->policy, NULL, waited_ns);
}

/* Called by exchanges of boot that take long: those of chorus_init, and that of
 * chorus_finalize, which is in the record. missing: names the missing PEs; null: not known. */
static void warn_of_exchange(void *arg, const char *missing, uint64_t waited_ns)
{
    const struct ch_context *context = arg;
    char deadline[CH_DEADLINE_BYTES];

    if (context->teams != NULL) {
        ch_teams_warn(context->teams, &context->policy, missing, waited_ns);
        return;
    }
    ch_deadline_text(context->boot->timeout_ns, deadline);
    CH_LOG(WARN, "PE %u has waited %.3g s in chorus_init, for %s; %s", context->boot->me,
           (double)waited_ns / (double)CH_NS_PER_S, missing != NULL ? missing : "other PEs",
           deadline);
}

/* Create all parts of a PE's state. Selection comes first: it needs no other PE, and the PEs
 * compare the rules that they read before they lay out memory. If one PE fails, all PEs get its
 * message. */
static chorus_status open_segments_and_teams(struct ch_context *context)
{
    const struct ch_options *options = &context->options;
    struct ch_boot *boot = context->boot;
    chorus_status mine;
    uint64_t digest;

    ch_trace_set_nvtx(options->nvtx);
    boot->warn_ns = options->warn_ns;
    boot->warn = warn_of_exchange;
    boot->warn_arg = context;
    CH_TRY(ch_boot_locate(boot, options));
    mine = ch_select_open(options->algo, options->tuning, &context->select);
    digest = mine == CHORUS_OK ? ch_select_digest(context->select) : 0;
    CH_TRY(ch_context_agree(boot, options, digest, mine));
    CH_TRY(ch_heap_open(boot, options, &context->heap));
    if (options->ctas == 0)
        context->options.ctas =
            ch_heap_device(context->heap) != NULL ? CH_CTAS_ON_GPU : CH_CTAS_ON_HOST;
    ch_wait_policy_init(&context->policy, ch_heap_door(context->heap, boot->me), boot->n_beside,
                        boot->n_cores, options->timeout_ns);
    context->policy.record = ch_heap_record(context->heap, boot->me);
    context->policy.warn_ns = options->warn_ns;
    context->policy.warn = warn_of_wait;
    context->policy.warn_arg = context;
    if (boot->ops->guard != NULL) {
        context->policy.over = &boot->why_over;
        boot->ops->guard(boot, context->policy.door);
    }
    CH_TRY(open_links(context));
    CH_TRY(vote_on_local_parts(context, create_local_parts(context)));
    return open_teams(context);
}

chorus_status ch_context_open(const struct ch_options *options, struct ch_boot *boot,
                              int thread_level, struct ch_context **context_out)
{
    const size_t bytes = sizeof(struct ch_context) + boot->n * sizeof(struct ch_near);
    struct ch_context *context = calloc(1, bytes);
    chorus_status status;

    if (context == NULL) {
        boot->ops->close(boot);
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a PE's %zu bytes", bytes);
    }
    context->options = *options;
    context->boot = boot;
    context->thread_level = thread_level;
    context->owner = pthread_self();
    ch_pool_open(&context->pool);
    status = open_segments_and_teams(context);
    if (status != CHORUS_OK) {
        ch_handle_failure("chorus_init",
                          status); /* before others learn that this PE has left */
        ch_context_close(context);
        return status;
    }
    *context_out = context;
    return CHORUS_OK;
}

void ch_context_close(struct ch_context *context)
{
    if (context == NULL) return;
    ch_streams_close(context);
    ch_gpu_close(context->gpu);
    ch_workers_destroy(context->workers);
    ch_links_disconnect(context->links);
    ch_teams_close(context->teams);
    ch_links_close(context->links);
    if (context->boot->ops->guard != NULL) context->boot->ops->guard(context->boot, NULL);
    ch_heap_close(context->heap);
    ch_select_close(context->select);
    context->boot->ops->close(context->boot);
    ch_pool_close(&context->pool);
    ch_guard_close(&context->guard);
    free(context);
}

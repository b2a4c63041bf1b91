/* SPDX-License-Identifier: Apache-2.0 */
/* open.c: finds a provider, and opens its objects. */
#include "transport/ofi/ofi.h"

#include "base/clock.h"
#include "base/exec_host.h"

#include <dirent.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLOSE_NS                                                                \
    (CH_NS_PER_S / 2) /* longest time that close waits for operations in flight \
                       */
#define API FI_VERSION(1, 14)
enum { KEY_TEXT_BYTES = 64 };

/* Fail since the provider cannot be used; error: of libfabric, negative. */
static chorus_status fail_provider(const char *what, int error)
{
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "libfabric: %s: %s", what, fi_strerror(-error));
}

void ch_ofi_fail(struct ch_endpoint *ep, uint32_t pe, int error, const char *what)
{
    struct ch_ofi_peer *peer = &ep->peers[pe];

    if (ep->status == CHORUS_OK)
        (void)snprintf(ep->why, sizeof(ep->why),
                       "PE %u on host %s (ofi: provider %s, domain %s): %s: %s", pe,
                       ep->terms.hosts != NULL ? ep->terms.hosts[pe] : "?",
                       ep->info->fabric_attr->prov_name, ep->info->domain_attr->name, what,
                       fi_strerror(error));
    ep->status = ep->status != CHORUS_OK ? ep->status : CHORUS_ERR_ABORTED;
    peer->has_failed = true;
    peer->n_out = sizeof(struct ch_ofi_header);
    peer->done = peer->asked = peer->posted;
    peer->first_pending = peer->end_pending;
}

/* ---- the provider ---- */

/* Is the provider implemented in software, over sockets or memory? The network tcp is faster.
 */
static bool is_software(const struct fi_info *info)
{
    static const char *const names[] = {"tcp", "sockets", "udp", "net", "shm", "sm2", "psm3"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const size_t length = strlen(names[i]);
        const char *const name = info->fabric_attr->prov_name;

        if (strncmp(name, names[i], length) == 0 &&
            (name[length] == '\0' || name[length] == ';'))
            return true;
    }
    return false;
}

/* Returns why the keys of memory can be guessed, possibly in `text`; null: they cannot. */
static const char *why_guessable(const struct fi_info *info, char text[KEY_TEXT_BYTES])
{
    if ((info->domain_attr->mr_mode & FI_MR_PROV_KEY) != 0) return "makes its own memory keys";
    if (info->domain_attr->mr_key_size >= sizeof(uint64_t)) return NULL;
    (void)snprintf(text, KEY_TEXT_BYTES, "has memory keys of %zu bytes",
                   info->domain_attr->mr_key_size);
    return text;
}

/*
 * Whoever reaches an endpoint over sockets can read and write registered memory whose key he
 * knows, so keys there are 64 random bits. On fabrics, providers may make them, and what
 * protects the memory is who is connected to the fabric.
 */
chorus_status ch_ofi_check_keys(const struct fi_info *info, const struct ch_options *options)
{
    char text[KEY_TEXT_BYTES];
    const char *why = is_software(info) ? why_guessable(info, text) : NULL;

    if (why == NULL || options->insecure) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                   "libfabric: provider %s works over sockets and %s, which others on the "
                   "network can guess; choose another (FI_PROVIDER), or set "
                   "CHORUS_INSECURE=1 if nobody else reaches this host",
                   info->fabric_attr->prov_name, why);
}

/* Does CHORUS_TRANSPORT name this network? */
static bool is_wanted_by_name(const struct ch_options *options)
{
    return options->transport[0] != '^' && strstr(options->transport, "ofi") != NULL;
}

/* Is the provider of the domain that CHORUS_NET names, if any? Layered providers may ignore the
 * requested one. */
static bool is_of_domain(const struct fi_info *info, const struct ch_options *options)
{
    return *options->net == '\0' || strcmp(info->domain_attr->name, options->net) == 0;
}

/* What a provider must have besides what every PE needs. */
struct wish {
    bool gpu;       /* it registers memory of GPUs */
    uint64_t order; /* of messages, FI_ORDER_ bits */
};

/* Create the requirements for a provider. Null: no memory. */
static struct fi_info *make_hints(const struct ch_options *options, const struct wish *wish)
{
    struct fi_info *hints = fi_allocinfo();

    if (hints == NULL) return NULL;
    hints->caps = FI_MSG | FI_RMA | (wish->gpu ? FI_HMEM : 0);
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = wish->order;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->av_type = FI_AV_TABLE;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY |
                                  FI_MR_VIRT_ADDR | FI_MR_ENDPOINT |
                                  (wish->gpu ? FI_MR_HMEM : 0);
    if (*options->net != '\0') hints->domain_attr->name = strdup(options->net);
    return hints;
}

/* Is this a provider to use? One in software, which transfers copies (post.c), cannot access
 * memory of GPUs. */
static bool is_usable(const struct fi_info *info, const struct ch_options *options,
                      const struct wish *wish)
{
    if (is_software(info) && (wish->gpu || !is_wanted_by_name(options))) return false;
    return is_of_domain(info, options);
}

/* Find the first usable provider; null in *info_out: there is none. Returns 0, or a negative
 * error of libfabric. */
static int find_usable_info(const struct ch_options *options, const struct wish *wish,
                            struct fi_info **info_out)
{
    struct fi_info *hints = make_hints(options, wish), *all = NULL, *each;
    int error;

    if (hints == NULL) return -FI_ENOMEM;
    error = fi_getinfo(API, NULL, NULL, 0, hints, &all);
    fi_freeinfo(hints);
    if (error != 0) return error;
    for (each = all; each != NULL; each = each->next)
        if (is_usable(each, options, wish)) break;
    *info_out = each != NULL ? fi_dupinfo(each) : NULL;
    fi_freeinfo(all);
    return 0;
}

/* Is there a file in the folder? */
static bool has_entries(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry = NULL;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.') break;
    if (dir != NULL) (void)closedir(dir);
    return entry != NULL;
}

/* Has this host an adapter for a fabric? Libfabric 1.17 takes 70 ms of a core to look for
 * providers, because one of them reads all symbols of the kernel; without an adapter, the PEs
 * of a large job would spend this time in vain. */
static bool has_adapter(void)
{
    return has_entries("/sys/class/infiniband") || has_entries("/sys/class/cxi");
}

static chorus_status fail_only_sockets(void)
{
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                   "libfabric has only providers over sockets here, and the network tcp is "
                   "faster; CHORUS_TRANSPORT=ofi uses one of them");
}

/* Set ep->info to the best usable provider, and ep->takes_gpu; null: there is none. Ordered
 * messages are required; memory of the GPU, if there is one, and messages ordered after writes
 * are preferred. Returns 0, or a negative error of libfabric. */
static int find_best_info(struct ch_endpoint *ep)
{
    static const struct wish by_preference[] = {{true, FI_ORDER_SAS | FI_ORDER_SAW},
                                                {true, FI_ORDER_SAS},
                                                {false, FI_ORDER_SAS | FI_ORDER_SAW},
                                                {false, FI_ORDER_SAS}};
    const size_t n = sizeof(by_preference) / sizeof(by_preference[0]);
    int error = 0;

    for (size_t i = ep->terms.gpu != NULL ? 0 : 2; i < n && ep->info == NULL; i++) {
        error = find_usable_info(ep->terms.options, &by_preference[i], &ep->info);
        ep->takes_gpu = ep->info != NULL && by_preference[i].gpu;
    }
    return error;
}

/* Set ep->info to a usable provider. */
static chorus_status find_provider(struct ch_endpoint *ep)
{
    int error;

    if (!is_wanted_by_name(ep->terms.options) && !has_adapter()) return fail_only_sockets();
    CH_TRY(ch_ofi_load());
    error = find_best_info(ep);
    if (error != 0)
        return fail_provider(
            "no provider has reliable datagrams with messages in order and remote "
            "memory access (fi_info lists them)",
            error);
    if (ep->info != NULL) return ch_ofi_check_keys(ep->info, ep->terms.options);
    if (*ep->terms.options->net != '\0')
        return CH_FAIL(
            is_wanted_by_name(ep->terms.options) ? CHORUS_ERR_ARG : CHORUS_ERR_UNSUPPORTED,
            "libfabric: CHORUS_NET is \"%s\"; expected a domain of a provider; fi_info "
            "lists them",
            ep->terms.options->net);
    return fail_only_sockets();
}

/* Open the completion queue, with a descriptor to poll if the provider has one. */
static chorus_status open_queue(struct ch_endpoint *ep)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD};
    int error = fi_cq_open(ep->domain, &attr, &ep->cq, NULL);

    ep->fd = -1;
    if (error != 0) {
        attr.wait_obj = FI_WAIT_NONE;
        error = fi_cq_open(ep->domain, &attr, &ep->cq, NULL);
    } else if (fi_control(&ep->cq->fid, FI_GETWAIT, &ep->fd) != 0) {
        ep->fd = -1;
    }
    return error != 0 ? fail_provider("cannot open a queue of completions", error) : CHORUS_OK;
}

/* Open the domain, and an endpoint with its queue and addresses. */
static chorus_status open_fabric(struct ch_endpoint *ep)
{
    struct fi_av_attr attr = {.type = FI_AV_TABLE, .count = ep->terms.n};
    int error;

    error = fi_fabric(ep->info->fabric_attr, &ep->fabric, NULL);
    if (error == 0) error = fi_domain(ep->fabric, ep->info, &ep->domain, NULL);
    if (error != 0) return fail_provider("cannot open the domain", error);
    CH_TRY(open_queue(ep));
    error = fi_av_open(ep->domain, &attr, &ep->av, NULL);
    if (error == 0) error = fi_endpoint(ep->domain, ep->info, &ep->endpoint, NULL);
    if (error == 0) error = fi_ep_bind(ep->endpoint, &ep->cq->fid, FI_TRANSMIT | FI_RECV);
    if (error == 0) error = fi_ep_bind(ep->endpoint, &ep->av->fid, 0);
    if (error == 0) error = fi_enable(ep->endpoint);
    return error != 0 ? fail_provider("cannot open an endpoint", error) : CHORUS_OK;
}

/* ---- start and end ---- */

static void push_op(struct ch_ofi_op **list, struct ch_ofi_op *op)
{
    op->next = *list;
    *list = op;
}

/* Allocate the tables of operations and peers, and the buffers of messages; post those for
 * receiving. */
static chorus_status make_buffers(struct ch_endpoint *ep)
{
    enum { MESSAGES = CH_OFI_SENDS + CH_OFI_RECEIVES };
    const size_t bytes = (size_t)MESSAGES * CH_OFI_MESSAGE;
    struct ch_memory_part part = {.bytes = bytes};

    ep->ops = calloc(CH_OFI_OPS, sizeof(ep->ops[0]));
    ep->buffers = part.base = aligned_alloc(CH_OFI_MESSAGE, bytes);
    ep->peers = calloc(ep->terms.n, sizeof(ep->peers[0]));
    if (ep->ops == NULL || ep->buffers == NULL || ep->peers == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "ofi: no memory for %u PEs", ep->terms.n);
    if ((ep->info->domain_attr->mr_mode & FI_MR_LOCAL) != 0)
        CH_TRY(ch_ofi_register(ep, &part, FI_SEND | FI_RECV, &ep->buffers_mr));
    for (uint32_t i = 0; i < CH_OFI_OPS; i++) {
        struct ch_ofi_op *op = &ep->ops[i];

        if (i < MESSAGES) op->buffer = ep->buffers + (size_t)i * CH_OFI_MESSAGE;
        op->kind = i < CH_OFI_SENDS ? CH_OFI_SEND : CH_OFI_RECEIVE;
        if (i >= MESSAGES) op->kind = CH_OFI_BULK;
        if (op->kind == CH_OFI_SEND) push_op(&ep->free_sends, op);
        if (op->kind == CH_OFI_BULK) push_op(&ep->free_bulks, op);
        if (op->kind == CH_OFI_RECEIVE) ch_ofi_post_receive(ep, op);
    }
    return ep->status;
}

void ch_ofi_close_endpoint(struct ch_endpoint *ep)
{
    if (ep->endpoint != NULL) (void)fi_close(&ep->endpoint->fid);
    ep->endpoint = NULL;
    for (uint32_t pe = 0; ep->peers != NULL && pe < ep->terms.n; pe++) {
        ep->peers[pe].has_failed = true;
        ep->peers[pe].bulks = 0;
    }
    for (uint32_t i = 0; ep->ops != NULL && i < CH_OFI_OPS; i++) {
        if (ep->ops[i].mr != NULL) (void)fi_close(&ep->ops[i].mr->fid);
        ep->ops[i].mr = NULL;
    }
}

/* Does a provider in software still read from a peer? */
static bool is_reading(const struct ch_endpoint *ep)
{
    return ep->is_software && ep->ops != NULL && ch_ofi_is_reading(ep, CH_LINK_ALL);
}

static void ofi_close(struct ch_endpoint *ep)
{
    const uint64_t start_ns = ch_clock_ns();

    if (ep == NULL) return;
    while (((ep->status == CHORUS_OK && ep->n_sends > 0) || is_reading(ep)) &&
           ch_clock_ns() - start_ns < CLOSE_NS)
        ch_ofi_step(ep);
    sodium_memzero(ep->terms.secret, sizeof(ep->terms.secret));
    if (is_reading(ep)) return; /* see make_copy: everything is kept, since it would crash */
    ch_ofi_close_endpoint(ep);
    for (size_t i = 0; i < ep->parts.n; i++)
        (void)fi_close(&((struct fid_mr *)ep->parts.all[i].handle)->fid);
    if (ep->buffers_mr != NULL) (void)fi_close(&ep->buffers_mr->fid);
    if (ep->av != NULL) (void)fi_close(&ep->av->fid);
    if (ep->cq != NULL) (void)fi_close(&ep->cq->fid);
    if (ep->domain != NULL) (void)fi_close(&ep->domain->fid);
    if (ep->fabric != NULL) (void)fi_close(&ep->fabric->fid);
    if (ep->info != NULL) fi_freeinfo(ep->info);
    for (uint32_t pe = 0; ep->peers != NULL && pe < ep->terms.n; pe++)
        ch_parts_free(&ep->peers[pe].parts);
    ch_parts_free(&ep->parts);
    for (uint32_t i = 0; ep->ops != NULL && i < CH_OFI_OPS; i++)
        free(ep->ops[i].copy);
    free(ep->peers);
    free(ep->ops);
    free(ep->buffers);
    free(ep);
}

static chorus_status ofi_open(const struct ch_link_terms *terms, struct ch_endpoint **ep_out)
{
    struct ch_endpoint *ep = calloc(1, sizeof(*ep));
    chorus_status st;

    if (ep == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "ofi: no memory for a network");
    ep->terms = *terms;
    ep->fd = -1;
    if (sodium_init() < 0) {
        st = CH_FAIL(CHORUS_ERR_SYSTEM, "ofi: libsodium has no source of random numbers");
        goto out_close;
    }
    CH_TRY_GOTO(st, find_provider(ep), out_close);
    ep->is_ordered = (ep->info->tx_attr->msg_order & FI_ORDER_SAW) != 0;
    ep->is_software = is_software(ep->info);
    CH_TRY_GOTO(st, open_fabric(ep), out_close);
    CH_TRY_GOTO(st, make_buffers(ep), out_close);
    *ep_out = ep;
    return CHORUS_OK;

out_close:
    ofi_close(ep);
    return st;
}

static uint32_t ofi_caps(const struct ch_endpoint *ep)
{
    return CH_LINK_KEYS | (ep->takes_gpu ? CH_LINK_GPU : 0);
}

static void ofi_card(const struct ch_endpoint *ep, char card_out[CH_LINK_ADDRESS_BYTES])
{
    struct ch_ofi_card card = {0};
    size_t bytes = sizeof(card.name);

    if (fi_getname(&ep->endpoint->fid, card.name, &bytes) == 0)
        card.name_bytes = (uint32_t)bytes;
    memset(card_out, 0, CH_LINK_ADDRESS_BYTES);
    memcpy(card_out, &card, sizeof(card));
}

/* Compute the token of messages from one PE to another, which no other user of the fabric
 * knows. */
static void make_token(const struct ch_endpoint *ep, uint32_t from, uint32_t to,
                       unsigned char *token_out)
{
    const uint32_t pes[2] = {from, to};

    (void)crypto_generichash(token_out, CH_OFI_TOKEN, (const unsigned char *)pes, sizeof(pes),
                             ep->terms.secret, sizeof(ep->terms.secret));
}

static chorus_status ofi_meet(struct ch_endpoint *ep,
                              const char (*cards)[CH_LINK_ADDRESS_BYTES])
{
    for (uint32_t pe = 0; pe < ep->terms.n; pe++) {
        struct ch_ofi_peer *peer = &ep->peers[pe];
        struct ch_ofi_card card;

        memcpy(&card, cards[pe], sizeof(card));
        make_token(ep, ep->terms.me, pe, peer->token_out);
        make_token(ep, pe, ep->terms.me, peer->token_in);
        peer->n_out = sizeof(struct ch_ofi_header);
        if (card.name_bytes == 0 ||
            fi_av_insert(ep->av, card.name, 1, &peer->address, 0, NULL) != 1)
            return CH_FAIL(CHORUS_ERR_SYSTEM,
                           "libfabric: PE %u on host %s has no address that this host can use",
                           pe, ep->terms.hosts != NULL ? ep->terms.hosts[pe] : "?");
    }
    return CHORUS_OK;
}

static chorus_status ofi_progress(struct ch_endpoint *ep, bool *moved_out)
{
    ch_ofi_step(ep);
    if (ep->has_arrived) ch_notify(NULL, ep->terms.door);
    if (ep->has_moved) *moved_out = true;
    ep->has_moved = ep->has_arrived = false;
    if (ep->status == CHORUS_OK) return CHORUS_OK;
    return CH_FAIL(ep->status, "%s", ep->why);
}

/* Was there no room for a message, so that progress has to send it? */
static bool has_unsent(const struct ch_endpoint *ep)
{
    for (uint32_t pe = 0; pe < ep->terms.n; pe++)
        if (!ep->peers[pe].has_failed && ep->peers[pe].n_out != sizeof(struct ch_ofi_header))
            return true;
    return false;
}

/* There may be completions already that the descriptor will not announce: then it is not
 * returned. Nor does it announce that a provider has room again, as when it has connected. */
static int ofi_watch(struct ch_endpoint *ep)
{
    struct fid *queue = &ep->cq->fid;

    if (ep->endpoint == NULL) return -1; /* a provider may still list it with the queue */
    if (has_unsent(ep)) return -1;
    return ep->fd >= 0 && fi_trywait(ep->fabric, &queue, 1) == FI_SUCCESS ? ep->fd : -1;
}

static void ofi_describe(const struct ch_endpoint *ep, uint32_t pe,
                         char why_out[CH_LINK_WHY_BYTES])
{
    (void)pe;
    (void)snprintf(why_out, CH_LINK_WHY_BYTES, "ofi: provider %s, domain %s, %s",
                   ep->info->fabric_attr->prov_name, ep->info->domain_attr->name,
                   ep->is_ordered ? "signals directly after data"
                                  : "signals after the data is acknowledged");
}

const struct ch_link_ops ch_link_ofi = {
    .name = "ofi",
    .open = ofi_open,
    .close = ofi_close,
    .caps = ofi_caps,
    .address = ofi_card,
    .meet = ofi_meet,
    .attach = ch_ofi_attach,
    .detach = ch_ofi_detach,
    .add_peer_key = ch_ofi_add_peer_key,
    .drop_peer_key = ch_ofi_drop_peer_key,
    .put = ch_ofi_put,
    .put_signal = ch_ofi_put_signal,
    .get = ch_ofi_get,
    .amo = ch_ofi_amo,
    .is_sent = ch_ofi_is_sent,
    .is_done = ch_ofi_is_done,
    .abandon = ch_ofi_abandon,
    .progress = ofi_progress,
    .watch = ofi_watch,
    .describe = ofi_describe,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* open.c: finds a provider, opens its objects, and registers memory. */
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
enum {
    KEY_TEXT_BYTES = 64,
    KEY_TRIES = 8, /* random keys, in case that one is in use */
};

static chorus_status refuse(const char *what, int error)
{
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "libfabric: %s: %s", what, fi_strerror(-error));
}

void ch_ofi_fail(struct ch_net *net, uint32_t pe, int error, const char *what)
{
    struct ch_ofi_peer *peer = &net->peers[pe];

    if (net->status == CHORUS_OK)
        (void)snprintf(net->why, sizeof(net->why),
                       "PE %u on host %s (ofi: provider %s, domain %s): %s: %s", pe,
                       net->terms.hosts != NULL ? net->terms.hosts[pe] : "?",
                       net->info->fabric_attr->prov_name, net->info->domain_attr->name, what,
                       fi_strerror(error));
    net->status = net->status != CHORUS_OK ? net->status : CHORUS_ERR_ABORTED;
    peer->has_failed = true;
    peer->n_out = sizeof(struct ch_ofi_envelope);
    peer->done = peer->asked = peer->posted;
    peer->first_pending = peer->end_pending;
}

/* ---- the provider ---- */

/* Providers that are implemented in software over sockets or memory; the network tcp is
 * faster. */
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

/* How the keys of memory can be guessed; null: they cannot. */
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

static bool is_wanted_by_name(const struct ch_options *options)
{
    return options->transport[0] != '^' && strstr(options->transport, "ofi") != NULL;
}

/* Layered providers may ignore the requested domain. */
static bool is_of_domain(const struct fi_info *info, const struct ch_options *options)
{
    return *options->net == '\0' || strcmp(info->domain_attr->name, options->net) == 0;
}

static struct fi_info *make_hints(const struct ch_options *options, uint64_t order)
{
    struct fi_info *hints = fi_allocinfo();

    if (hints == NULL) return NULL;
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = order;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->av_type = FI_AV_TABLE;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR | FI_MR_ENDPOINT;
    if (*options->net != '\0') hints->domain_attr->name = strdup(options->net);
    return hints;
}

/* The first usable provider; null in *info_out: there is none. */
static int look_for(const struct ch_options *options, uint64_t order, struct fi_info **info_out)
{
    struct fi_info *hints = make_hints(options, order), *all = NULL, *each;
    int error;

    if (hints == NULL) return -FI_ENOMEM;
    error = fi_getinfo(API, NULL, NULL, 0, hints, &all);
    fi_freeinfo(hints);
    if (error != 0) return error;
    for (each = all; each != NULL; each = each->next)
        if ((is_wanted_by_name(options) || !is_software(each)) && is_of_domain(each, options))
            break;
    *info_out = each != NULL ? fi_dupinfo(each) : NULL;
    fi_freeinfo(all);
    return 0;
}

static bool has_entries(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry = NULL;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.') break;
    if (dir != NULL) (void)closedir(dir);
    return entry != NULL;
}

/* Libfabric 1.17 takes 70 ms of a core to look for providers, because one of them reads all
 * symbols of the kernel; without an adapter, the PEs of a large job would spend this time in
 * vain. */
static bool has_adapter(void)
{
    return has_entries("/sys/class/infiniband") || has_entries("/sys/class/cxi");
}

static chorus_status only_sockets(void)
{
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                   "libfabric has only providers over sockets here, and the network tcp is "
                   "faster; CHORUS_TRANSPORT=ofi uses one of them");
}

/* Ordered messages are required; messages ordered after writes are preferred. */
static chorus_status find_provider(struct ch_net *net)
{
    int error;

    if (!is_wanted_by_name(net->terms.options) && !has_adapter()) return only_sockets();
    CH_TRY(ch_ofi_load());
    error = look_for(net->terms.options, FI_ORDER_SAS | FI_ORDER_SAW, &net->info);
    if (net->info == NULL) error = look_for(net->terms.options, FI_ORDER_SAS, &net->info);
    if (error != 0)
        return refuse("no provider has reliable datagrams with messages in order and remote "
                      "memory access (fi_info lists them)",
                      error);
    if (net->info != NULL) return ch_ofi_check_keys(net->info, net->terms.options);
    if (*net->terms.options->net != '\0')
        return CH_FAIL(
            is_wanted_by_name(net->terms.options) ? CHORUS_ERR_ARG : CHORUS_ERR_UNSUPPORTED,
            "libfabric: CHORUS_NET is \"%s\"; expected a domain of a provider; fi_info "
            "lists them",
            net->terms.options->net);
    return only_sockets();
}

static chorus_status open_queue(struct ch_net *net)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD};
    int error = fi_cq_open(net->domain, &attr, &net->cq, NULL);

    net->fd = -1;
    if (error != 0) {
        attr.wait_obj = FI_WAIT_NONE;
        error = fi_cq_open(net->domain, &attr, &net->cq, NULL);
    } else if (fi_control(&net->cq->fid, FI_GETWAIT, &net->fd) != 0) {
        net->fd = -1;
    }
    return error != 0 ? refuse("cannot open a queue of completions", error) : CHORUS_OK;
}

static chorus_status open_fabric(struct ch_net *net)
{
    struct fi_av_attr attr = {.type = FI_AV_TABLE, .count = net->terms.n};
    int error;

    error = fi_fabric(net->info->fabric_attr, &net->fabric, NULL);
    if (error == 0) error = fi_domain(net->fabric, net->info, &net->domain, NULL);
    if (error != 0) return refuse("cannot open the domain", error);
    CH_TRY(open_queue(net));
    error = fi_av_open(net->domain, &attr, &net->av, NULL);
    if (error == 0) error = fi_endpoint(net->domain, net->info, &net->ep, NULL);
    if (error == 0) error = fi_ep_bind(net->ep, &net->cq->fid, FI_TRANSMIT | FI_RECV);
    if (error == 0) error = fi_ep_bind(net->ep, &net->av->fid, 0);
    if (error == 0) error = fi_enable(net->ep);
    return error != 0 ? refuse("cannot open an endpoint", error) : CHORUS_OK;
}

/* ---- memory ---- */

/* Providers that make the keys ignore it. */
static uint64_t make_key(const struct ch_net *net)
{
    const size_t bytes = net->info->domain_attr->mr_key_size;
    uint64_t key;

    randombytes_buf(&key, sizeof(key));
    return bytes < sizeof(key) ? key & ((UINT64_C(1) << 8 * bytes) - 1) : key;
}

chorus_status ch_ofi_register(struct ch_net *net, const void *memory, size_t bytes,
                              uint64_t access, struct fid_mr **mr_out)
{
    const bool is_of_endpoint = (net->info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0;
    int error = -FI_ENOKEY;

    if (net->ep == NULL)
        return CH_FAIL(CHORUS_ERR_ABORTED,
                       "libfabric: no memory is registered after a failure");
    for (int i = 0; i < KEY_TRIES && error == -FI_ENOKEY; i++)
        error =
            fi_mr_reg(net->domain, memory, bytes, access, 0, make_key(net), 0, mr_out, NULL);

    if (error == 0 && is_of_endpoint) {
        error = fi_mr_bind(*mr_out, &net->ep->fid, 0);
        if (error == 0) error = fi_mr_enable(*mr_out);
        if (error != 0) (void)fi_close(&(*mr_out)->fid);
    }
    if (error == 0) return CHORUS_OK;
    return CH_FAIL(error == -FI_ENOMEM ? CHORUS_ERR_NOMEM : CHORUS_ERR_SYSTEM,
                   "libfabric: %zu bytes cannot be registered: %s; is the limit of locked "
                   "memory (ulimit -l) too small?",
                   bytes, fi_strerror(-error));
}

static chorus_status ofi_attach(struct ch_net *net, void *base, size_t bytes, uint64_t *key_out)
{
    struct fid_mr *mr;
    chorus_status st;

    CH_TRY(ch_ofi_register(net, base, bytes,
                           FI_REMOTE_WRITE | FI_REMOTE_READ | FI_WRITE | FI_READ, &mr));
    *key_out = fi_mr_key(mr);
    st = ch_parts_add(&net->parts, (struct ch_part){(uintptr_t)base, bytes, *key_out, mr});
    if (st != CHORUS_OK) (void)fi_close(&mr->fid);
    return st;
}

static void ofi_detach(struct ch_net *net, void *base)
{
    struct ch_part part;

    if (ch_parts_remove(&net->parts, (uintptr_t)base, &part))
        (void)fi_close(&((struct fid_mr *)part.handle)->fid);
}

static chorus_status ofi_learn(struct ch_net *net, uint32_t pe, const char *there, size_t bytes,
                               uint64_t key)
{
    return ch_parts_add(&net->peers[pe].parts,
                        (struct ch_part){(uintptr_t)there, bytes, key, NULL});
}

static void ofi_forget(struct ch_net *net, uint32_t pe, const char *there)
{
    struct ch_part part;

    (void)ch_parts_remove(&net->peers[pe].parts, (uintptr_t)there, &part);
}

/* ---- start and end ---- */

static void push(struct ch_ofi_op **list, struct ch_ofi_op *op)
{
    op->next = *list;
    *list = op;
}

static chorus_status make_ops(struct ch_net *net)
{
    enum { MESSAGES = CH_OFI_SENDS + CH_OFI_RECEIVES };
    const size_t bytes = (size_t)MESSAGES * CH_OFI_MESSAGE;

    net->ops = calloc(CH_OFI_OPS, sizeof(net->ops[0]));
    net->buffers = aligned_alloc(CH_OFI_MESSAGE, bytes);
    net->peers = calloc(net->terms.n, sizeof(net->peers[0]));
    if (net->ops == NULL || net->buffers == NULL || net->peers == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "ofi: no memory for %u PEs", net->terms.n);
    if ((net->info->domain_attr->mr_mode & FI_MR_LOCAL) != 0)
        CH_TRY(ch_ofi_register(net, net->buffers, bytes, FI_SEND | FI_RECV, &net->buffers_mr));
    for (uint32_t i = 0; i < CH_OFI_OPS; i++) {
        struct ch_ofi_op *op = &net->ops[i];

        if (i < MESSAGES) op->buffer = net->buffers + (size_t)i * CH_OFI_MESSAGE;
        op->kind = i < CH_OFI_SENDS ? CH_OFI_SEND : CH_OFI_RECEIVE;
        if (i >= MESSAGES) op->kind = CH_OFI_BULK;
        if (op->kind == CH_OFI_SEND) push(&net->free_sends, op);
        if (op->kind == CH_OFI_BULK) push(&net->free_bulks, op);
        if (op->kind == CH_OFI_RECEIVE) ch_ofi_receive(net, op);
    }
    return net->status;
}

void ch_ofi_end(struct ch_net *net)
{
    if (net->ep != NULL) (void)fi_close(&net->ep->fid);
    net->ep = NULL;
    for (uint32_t pe = 0; net->peers != NULL && pe < net->terms.n; pe++) {
        net->peers[pe].has_failed = true;
        net->peers[pe].bulks = 0;
    }
    for (uint32_t i = 0; net->ops != NULL && i < CH_OFI_OPS; i++) {
        if (net->ops[i].mr != NULL) (void)fi_close(&net->ops[i].mr->fid);
        net->ops[i].mr = NULL;
    }
}

static bool is_reading(const struct ch_net *net)
{
    return net->is_software && net->ops != NULL && ch_ofi_is_reading(net, CH_NET_ALL);
}

static void ofi_close(struct ch_net *net)
{
    const uint64_t start_ns = ch_clock_ns();

    if (net == NULL) return;
    while (((net->status == CHORUS_OK && net->n_sends > 0) || is_reading(net)) &&
           ch_clock_ns() - start_ns < CLOSE_NS)
        ch_ofi_step(net);
    sodium_memzero(net->terms.secret, sizeof(net->terms.secret));
    if (is_reading(net)) return; /* see make_copy: everything is kept, since it would crash */
    ch_ofi_end(net);
    for (size_t i = 0; i < net->parts.n; i++)
        (void)fi_close(&((struct fid_mr *)net->parts.all[i].handle)->fid);
    if (net->buffers_mr != NULL) (void)fi_close(&net->buffers_mr->fid);
    if (net->av != NULL) (void)fi_close(&net->av->fid);
    if (net->cq != NULL) (void)fi_close(&net->cq->fid);
    if (net->domain != NULL) (void)fi_close(&net->domain->fid);
    if (net->fabric != NULL) (void)fi_close(&net->fabric->fid);
    if (net->info != NULL) fi_freeinfo(net->info);
    for (uint32_t pe = 0; net->peers != NULL && pe < net->terms.n; pe++)
        ch_parts_free(&net->peers[pe].parts);
    ch_parts_free(&net->parts);
    for (uint32_t i = 0; net->ops != NULL && i < CH_OFI_OPS; i++)
        free(net->ops[i].copy);
    free(net->peers);
    free(net->ops);
    free(net->buffers);
    free(net);
}

static chorus_status ofi_open(const struct ch_net_terms *terms, struct ch_net **net_out)
{
    struct ch_net *net = calloc(1, sizeof(*net));
    chorus_status st;

    if (net == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "ofi: no memory for a network");
    net->terms = *terms;
    net->fd = -1;
    if (sodium_init() < 0) {
        st = CH_FAIL(CHORUS_ERR_SYSTEM, "ofi: libsodium has no source of random numbers");
        goto out_close;
    }
    CH_TRY_GOTO(st, find_provider(net), out_close);
    net->is_ordered = (net->info->tx_attr->msg_order & FI_ORDER_SAW) != 0;
    net->is_software = is_software(net->info);
    CH_TRY_GOTO(st, open_fabric(net), out_close);
    CH_TRY_GOTO(st, make_ops(net), out_close);
    *net_out = net;
    return CHORUS_OK;

out_close:
    ofi_close(net);
    return st;
}

static uint32_t ofi_caps(const struct ch_net *net)
{
    (void)net;
    return CH_NET_KEYS;
}

static void ofi_card(const struct ch_net *net, char card_out[CH_NET_CARD_BYTES])
{
    struct ch_ofi_card card = {0};
    size_t bytes = sizeof(card.name);

    if (fi_getname(&net->ep->fid, card.name, &bytes) == 0) card.name_bytes = (uint32_t)bytes;
    memset(card_out, 0, CH_NET_CARD_BYTES);
    memcpy(card_out, &card, sizeof(card));
}

/* The token of messages from one PE to another, which no other user of the fabric knows. */
static void make_token(const struct ch_net *net, uint32_t from, uint32_t to,
                       unsigned char *token_out)
{
    const uint32_t pes[2] = {from, to};

    (void)crypto_generichash(token_out, CH_OFI_TOKEN, (const unsigned char *)pes, sizeof(pes),
                             net->terms.secret, sizeof(net->terms.secret));
}

static chorus_status ofi_meet(struct ch_net *net, const char (*cards)[CH_NET_CARD_BYTES])
{
    for (uint32_t pe = 0; pe < net->terms.n; pe++) {
        struct ch_ofi_peer *peer = &net->peers[pe];
        struct ch_ofi_card card;

        memcpy(&card, cards[pe], sizeof(card));
        make_token(net, net->terms.me, pe, peer->token_out);
        make_token(net, pe, net->terms.me, peer->token_in);
        peer->n_out = sizeof(struct ch_ofi_envelope);
        if (card.name_bytes == 0 ||
            fi_av_insert(net->av, card.name, 1, &peer->address, 0, NULL) != 1)
            return CH_FAIL(CHORUS_ERR_SYSTEM,
                           "libfabric: PE %u on host %s has no address that this host can use",
                           pe, net->terms.hosts != NULL ? net->terms.hosts[pe] : "?");
    }
    return CHORUS_OK;
}

static chorus_status ofi_progress(struct ch_net *net, bool *moved_out)
{
    ch_ofi_step(net);
    if (net->has_arrived) ch_notify(NULL, net->terms.door);
    if (net->has_moved) *moved_out = true;
    net->has_moved = net->has_arrived = false;
    if (net->status == CHORUS_OK) return CHORUS_OK;
    return CH_FAIL(net->status, "%s", net->why);
}

/* There may be completions already that the descriptor will not announce. */
static int ofi_watch(struct ch_net *net)
{
    struct fid *queue = &net->cq->fid;

    if (net->ep == NULL) return -1; /* a provider may still list it with the queue */
    return net->fd >= 0 && fi_trywait(net->fabric, &queue, 1) == FI_SUCCESS ? net->fd : -1;
}

static void ofi_describe(const struct ch_net *net, uint32_t pe, char why_out[CH_NET_WHY_BYTES])
{
    (void)pe;
    (void)snprintf(why_out, CH_NET_WHY_BYTES, "ofi: provider %s, domain %s, %s",
                   net->info->fabric_attr->prov_name, net->info->domain_attr->name,
                   net->is_ordered ? "signals directly after data"
                                   : "signals after the data is acknowledged");
}

const struct ch_net_ops ch_net_ofi = {
    .name = "ofi",
    .open = ofi_open,
    .close = ofi_close,
    .caps = ofi_caps,
    .card = ofi_card,
    .meet = ofi_meet,
    .attach = ofi_attach,
    .detach = ofi_detach,
    .learn = ofi_learn,
    .forget = ofi_forget,
    .put = ch_ofi_put,
    .say = ch_ofi_say,
    .get = ch_ofi_get,
    .amo = ch_ofi_amo,
    .is_sent = ch_ofi_is_sent,
    .is_done = ch_ofi_is_done,
    .abandon = ch_ofi_abandon,
    .progress = ofi_progress,
    .watch = ofi_watch,
    .describe = ofi_describe,
};

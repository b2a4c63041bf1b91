/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program without the job's secret that reaches the endpoints of its PEs through libfabric:
 * it neither reads nor writes their memory, and the job goes on. Which providers are refused,
 * because that would not hold. And how memory of GPUs is registered and transferred, with a
 * provider that is a fake.
 */
#include "base/clock.h"
#include "net_pes.h"
#include "transport/ofi/ofi.h"

#include <check.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BYTES = 4096, SECRET = 0x5e, KEYS = 5 };
#define PATIENCE_NS (CH_NS_PER_S / 5) /* a provider may answer nothing to what is refused */

/* ---- a stranger ---- */

struct stranger {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
    struct fid_mr *mr;
    fi_addr_t victim;
    char buffer[2 * CH_OFI_MESSAGE];
    struct fi_context2 context;
};

static struct fi_info *make_hints(const struct fi_info *theirs)
{
    struct fi_info *hints = fi_allocinfo();

    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = theirs->domain_attr->mr_mode;
    hints->domain_attr->name = strdup(theirs->domain_attr->name);
    hints->fabric_attr->prov_name = strdup(theirs->fabric_attr->prov_name);
    return hints;
}

/* With the provider of the PE, whose address it knows. */
static void stranger_open(struct stranger *s, const struct fi_info *theirs,
                          const struct ch_ofi_card *card)
{
    struct fi_info *hints = make_hints(theirs);
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_MSG};
    struct fi_av_attr av = {.type = FI_AV_TABLE};

    memset(s, 0, sizeof(*s));
    EXPECT(fi_getinfo(FI_VERSION(1, 14), NULL, NULL, 0, hints, &s->info) == 0);
    fi_freeinfo(hints);
    EXPECT(fi_fabric(s->info->fabric_attr, &s->fabric, NULL) == 0);
    EXPECT(fi_domain(s->fabric, s->info, &s->domain, NULL) == 0);
    EXPECT(fi_cq_open(s->domain, &cq, &s->cq, NULL) == 0);
    EXPECT(fi_av_open(s->domain, &av, &s->av, NULL) == 0);
    EXPECT(fi_endpoint(s->domain, s->info, &s->ep, NULL) == 0);
    EXPECT(fi_ep_bind(s->ep, &s->cq->fid, FI_TRANSMIT | FI_RECV) == 0);
    EXPECT(fi_ep_bind(s->ep, &s->av->fid, 0) == 0 && fi_enable(s->ep) == 0);
    EXPECT(fi_av_insert(s->av, card->name, 1, &s->victim, 0, NULL) == 1);
    EXPECT(fi_mr_reg(s->domain, s->buffer, sizeof(s->buffer), FI_READ | FI_WRITE, 0, 1, 0,
                     &s->mr, NULL) == 0);
}

static void stranger_close(struct stranger *s)
{
    (void)fi_close(&s->ep->fid);
    (void)fi_close(&s->mr->fid);
    (void)fi_close(&s->av->fid);
    (void)fi_close(&s->cq->fid);
    (void)fi_close(&s->domain->fid);
    (void)fi_close(&s->fabric->fid);
    fi_freeinfo(s->info);
}

/* Until the operation ends, well or not. */
static void await(struct stranger *s, uint64_t patience_ns)
{
    const uint64_t start_ns = ch_clock_ns();
    struct fi_cq_err_entry error = {0};
    struct fi_cq_msg_entry entry;
    ssize_t n = -FI_EAGAIN;

    while (n == -FI_EAGAIN && ch_clock_ns() - start_ns < patience_ns) {
        n = fi_cq_read(s->cq, &entry, 1);
        (void)sched_yield();
    }
    if (n == -FI_EAVAIL) (void)fi_cq_readerr(s->cq, &error, 0);
}

enum what { READ, WRITE, SEND };

/* What a stranger does to a PE, of whom it knows all but what is secret. */
struct attempt {
    const struct fi_info *theirs;
    struct ch_ofi_card card;
    enum what what;
    bool is_right; /* it will succeed */
    size_t bytes;
    uint64_t there, key;
    char data[2 * CH_OFI_MESSAGE]; /* what it sends, or gets */
};

static ssize_t post(struct stranger *s, const struct attempt *a)
{
    if (a->what == READ)
        return fi_read(s->ep, s->buffer, a->bytes, fi_mr_desc(s->mr), s->victim, a->there,
                       a->key, &s->context);
    if (a->what == WRITE)
        return fi_write(s->ep, s->buffer, a->bytes, fi_mr_desc(s->mr), s->victim, a->there,
                        a->key, &s->context);
    return fi_send(s->ep, s->buffer, a->bytes, fi_mr_desc(s->mr), s->victim, &s->context);
}

/* Each time with a new endpoint, since one that was refused may be of no more use. */
static void attempt(struct attempt *a)
{
    const uint64_t start_ns = ch_clock_ns(), factor = a->is_right ? 100 : 1;
    struct stranger *s = malloc(sizeof(*s));
    ssize_t error = -FI_EAGAIN;

    stranger_open(s, a->theirs, &a->card);
    memcpy(s->buffer, a->data, sizeof(s->buffer));
    while (error == -FI_EAGAIN && ch_clock_ns() - start_ns < factor * CH_NS_PER_S) {
        error = post(s, a);
        if (error == -FI_EAGAIN) (void)fi_cq_read(s->cq, NULL, 0);
    }
    if (error == 0) await(s, factor * PATIENCE_NS);
    memcpy(a->data, s->buffer, sizeof(s->buffer));
    stranger_close(s);
    free(s);
}

/* The first is the right one: with it, what follows would succeed. */
static void guess_keys(struct attempt *a, uint64_t right)
{
    a->bytes = 64;
    a->what = READ;
    a->key = right;
    a->is_right = true;
    attempt(a);
    a->is_right = false;
    EXPECT(a->data[0] == SECRET);
    for (a->key = 0; a->key < KEYS; a->key++) {
        a->what = READ;
        memset(a->data, 0, sizeof(a->data));
        attempt(a);
        EXPECT(a->data[0] == 0);
        a->what = WRITE;
        memset(a->data, 1, sizeof(a->data));
        attempt(a);
    }
}

/* A word for the memory of PE 1 as if from PE 0, with a token that is wrong in all bits or in
 * one; then what is no message. */
static void send_frames(struct attempt *a, const struct net_pe *pe)
{
    const struct ch_frame say = {
        .kind = CH_FRAME_WORD, .there = (uintptr_t)pe->there[1], .value = 1};
    struct ch_ofi_header header = {.from = 0, .bytes = sizeof(header) + sizeof(say)};

    a->what = SEND;
    a->bytes = header.bytes;
    memcpy(a->data + sizeof(header), &say, sizeof(say));
    memcpy(a->data, &header, sizeof(header));
    attempt(a);
    memcpy(header.token, pe->ep->peers[1].token_out, sizeof(header.token));
    header.token[CH_OFI_TOKEN - 1] ^= 1;
    memcpy(a->data, &header, sizeof(header));
    attempt(a);
    a->bytes = 3;
    attempt(a);
    header.from = UINT32_MAX;
    memcpy(a->data, &header, sizeof(header));
    a->bytes = sizeof(a->data);
    attempt(a);
}

/* ---- the job ---- */

static char card_of_1[CH_LINK_ADDRESS_BYTES];
static uint32_t is_over; /* atomic: the stranger has tried everything */

static void act_as_stranger(const struct net_pe *pe)
{
    const struct ch_part *part = &pe->ep->peers[1].parts.all[0];
    struct attempt *a = calloc(1, sizeof(*a));

    a->theirs = pe->ep->info;
    memcpy(&a->card, card_of_1, sizeof(a->card));
    if ((a->theirs->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0) a->there = part->base;
    guess_keys(a, part->key);
    send_frames(a, pe);
    free(a);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
}

static void stranger_main(struct ch_boot *boot)
{
    char source[1000];
    struct net_pe pe;

    net_pe_open(&pe, boot, &ch_link_ofi, BYTES, 1);
    memset(pe.memory, SECRET, BYTES);
    if (pe.me == 1) ch_link_ofi.address(pe.ep, card_of_1);
    net_pe_meet(&pe);
    if (pe.me == 0) act_as_stranger(&pe);
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE) && net_pe_step(&pe))
        ;
    net_pe_meet(&pe);
    for (size_t i = 0; i < BYTES; i++)
        EXPECT(pe.memory[i] == SECRET);
    net_pe_meet(&pe);
    net_fill(source, sizeof(source), pe.me);
    ch_link_ofi.put(pe.ep, 0, pe.next, pe.there[pe.next] + 8, source, sizeof(source));
    net_pe_done(&pe, 0, pe.next);
    net_pe_meet(&pe);
    EXPECT(net_is_filled(pe.memory + 8, sizeof(source), pe.before));
    net_pe_meet(&pe);
    net_pe_close(&pe);
}

START_TEST(stranger__without_secret__reads_and_writes_nothing)
{
    is_over = 0;
    net_run(2, stranger_main);
}
END_TEST

/* ---- sleep ---- */

/* Nothing wakes a PE for what it could not send at once. */
static void unsent_main(struct ch_boot *boot)
{
    struct ch_ofi_op *room;
    struct net_pe pe;

    net_pe_open(&pe, boot, &ch_link_ofi, BYTES, 1);
    room = pe.ep->free_sends;
    pe.ep->free_sends = NULL;
    net_put_word(&ch_link_ofi, pe.ep, 0, pe.next, (uint64_t *)(void *)pe.there[pe.next], 1);
    EXPECT(ch_link_ofi.watch(pe.ep) == -1);
    pe.ep->free_sends = room;
    net_pe_word(&pe, (const uint64_t *)(const void *)pe.memory, 1);
    net_pe_done(&pe, 0, pe.next);
    net_pe_meet(&pe);
    while (pe.ep->fd >= 0 && ch_link_ofi.watch(pe.ep) == -1 && net_pe_step(&pe))
        ;
    net_pe_meet(&pe);
    net_pe_close(&pe);
}

START_TEST(watch__with_unsent_messages__gives_no_descriptor)
{
    net_run(2, unsent_main);
}
END_TEST

/* ---- keys ---- */

static void keys_main(struct ch_boot *boot)
{
    enum { PARTS = 4 };
    char *memory = aligned_alloc(BYTES, (size_t)PARTS * BYTES);
    uint64_t keys[PARTS];
    struct net_pe pe;

    net_pe_open(&pe, boot, &ch_link_ofi, BYTES, 1);
    for (size_t i = 0; i < PARTS; i++) {
        const struct ch_memory_part part = {.base = memory + i * BYTES, .bytes = BYTES};

        EXPECT(ch_link_ofi.attach(pe.ep, &part, &keys[i]) == CHORUS_OK);
        EXPECT(keys[i] >> 32 != 0);
        EXPECT(i == 0 || keys[i] - keys[i - 1] > UINT32_MAX);
    }
    net_pe_close(&pe);
    free(memory);
}

/* Each fails once in 2^32 runs though the keys are random. */
START_TEST(keys__of_parts__are_random)
{
    net_run(1, keys_main);
}
END_TEST

static chorus_status check(const char *provider, uint64_t mr_mode, size_t key_bytes,
                           bool is_insecure)
{
    const struct ch_options options = {.insecure = is_insecure};
    struct fi_info *info = fi_allocinfo();
    chorus_status st;

    info->fabric_attr->prov_name = strdup(provider);
    info->domain_attr->mr_mode = (int)mr_mode;
    info->domain_attr->mr_key_size = key_bytes;
    st = ch_ofi_check_keys(info, &options);
    fi_freeinfo(info);
    return st;
}

START_TEST(keys__that_can_be_guessed__refuse_sockets)
{
    ck_assert_int_eq(ch_ofi_load(), CHORUS_OK);
    ck_assert_int_eq(check("tcp;ofi_rxm", 0, 8, false), CHORUS_OK);
    ck_assert_int_eq(check("tcp;ofi_rxm", FI_MR_PROV_KEY, 8, false), CHORUS_ERR_UNSUPPORTED);
    ck_assert(
        pes_message_has("provider tcp;ofi_rxm works over sockets and makes its own memory "
                        "keys"));
    ck_assert(pes_message_has("CHORUS_INSECURE=1"));
    ck_assert_int_eq(check("sockets", 0, 4, false), CHORUS_ERR_UNSUPPORTED);
    ck_assert(pes_message_has("provider sockets works over sockets and has memory keys of 4 "
                              "bytes"));
    ck_assert_int_eq(check("udp;ofi_rxd", FI_MR_PROV_KEY, 8, false), CHORUS_ERR_UNSUPPORTED);
    ck_assert_int_eq(check("tcp;ofi_rxm", FI_MR_PROV_KEY, 8, true), CHORUS_OK);
    ck_assert_int_eq(check("sockets", 0, 4, true), CHORUS_OK);
    ck_assert_int_eq(check("verbs;ofi_rxm", FI_MR_PROV_KEY, 4, false), CHORUS_OK);
    ck_assert_int_eq(check("efa", FI_MR_PROV_KEY, 8, false), CHORUS_OK);
}
END_TEST

/* ---- memory of GPUs ---- */

enum { PART = 1 << 20, WRITES_MAX = 4 };
#define PEERS_GPU ((uintptr_t)0x7000000000)
#define PEERS_HOST ((uintptr_t)0x8000000000)

static const struct ch_device_id gpu_id = {.ordinal = 3};

/* What a provider that is a fake was asked for. */
static struct {
    int error; /* of registering; negative */
    struct fi_mr_attr attr;
    struct iovec memory;
    int n_regions; /* now */
    struct iovec writes[WRITES_MAX];
    void *descs[WRITES_MAX];
    int n_writes;
} provider;

static int close_region(struct fid *fid)
{
    provider.n_regions--;
    free(fid);
    return 0;
}

static struct fi_ops region_ops = {.close = close_region};

static int regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
                   struct fid_mr **mr_out)
{
    struct fid_mr *mr;

    (void)fid, (void)flags;
    provider.attr = *attr;
    provider.memory = *attr->mr_iov;
    if (provider.error != 0) return provider.error;
    mr = calloc(1, sizeof(*mr));
    mr->fid.ops = &region_ops;
    mr->key = attr->requested_key;
    mr->mem_desc = mr;
    provider.n_regions++;
    *mr_out = mr;
    return 0;
}

static ssize_t writemsg(struct fid_ep *endpoint, const struct fi_msg_rma *msg, uint64_t flags)
{
    (void)endpoint, (void)flags;
    provider.writes[provider.n_writes] = *msg->msg_iov;
    provider.descs[provider.n_writes++] = *msg->desc;
    return 0;
}

static ssize_t refuse_send(struct fid_ep *endpoint, const void *buffer, size_t bytes,
                           void *desc, fi_addr_t to, void *of)
{
    (void)endpoint, (void)buffer, (void)bytes, (void)desc, (void)to, (void)of;
    return -FI_EAGAIN;
}

static struct fi_ops_mr mr_ops = {.regattr = regattr};
static struct fi_ops_rma rma_ops = {.writemsg = writemsg};
static struct fi_ops_msg msg_ops = {.send = refuse_send};
static struct fid_domain domain = {.mr = &mr_ops};
static struct fid_ep endpoint = {.rma = &rma_ops, .msg = &msg_ops};

static char *gpu; /* two parts, which the CPU cannot access */

static void add_peers_part(struct ch_endpoint *ep, uintptr_t base, enum ch_memory_kind kind)
{
    const struct ch_memory_part part = {.base = (void *)base, .bytes = PART, .kind = kind};

    ck_assert_int_eq(ch_ofi_add_peer_key(ep, 1, &part, 7), CHORUS_OK);
}

static struct ch_endpoint *open_fake(void)
{
    static struct ch_options options;
    static struct ch_door door;
    struct ch_endpoint *ep = calloc(1, sizeof(*ep));

    ck_assert_int_eq(ch_ofi_load(), CHORUS_OK);
    memset(&provider, 0, sizeof(provider));
    gpu = mmap(NULL, 2 * (size_t)PART, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ep->terms =
        (struct ch_link_terms){.options = &options, .n = 2, .gpu = &gpu_id, .door = &door};
    ep->info = fi_allocinfo();
    ep->info->fabric_attr->prov_name = strdup("fake");
    ep->info->domain_attr->name = strdup("fake0");
    ep->info->domain_attr->mr_key_size = sizeof(uint64_t);
    ep->info->ep_attr->max_msg_size = (size_t)1 << 30;
    ep->domain = &domain;
    ep->endpoint = &endpoint;
    ep->takes_gpu = ep->is_ordered = true;
    ep->peers = calloc(2, sizeof(*ep->peers));
    ep->peers[1].n_out = sizeof(struct ch_ofi_header);
    ep->ops = calloc(CH_OFI_OPS, sizeof(*ep->ops));
    for (int i = 0; i < WRITES_MAX; i++) {
        ep->ops[i].next = ep->free_bulks;
        ep->free_bulks = &ep->ops[i];
    }
    add_peers_part(ep, PEERS_GPU, CH_MEMORY_GPU);
    add_peers_part(ep, PEERS_HOST, CH_MEMORY_HOST);
    return ep;
}

static void close_fake(struct ch_endpoint *ep)
{
    while (ep->parts.n > 0)
        ch_ofi_detach(ep, (void *)ep->parts.all[0].base);
    ck_assert_int_eq(provider.n_regions, 0);
    ch_parts_free(&ep->parts);
    ch_parts_free(&ep->peers[1].parts);
    fi_freeinfo(ep->info);
    free(ep->peers);
    free(ep->ops);
    free(ep);
    (void)munmap(gpu, 2 * (size_t)PART);
}

static chorus_status attach_gpu(struct ch_endpoint *ep, size_t number)
{
    const struct ch_memory_part part = {
        .base = gpu + number * PART, .bytes = PART, .kind = CH_MEMORY_GPU, .dma_buf = -1};
    uint64_t key;

    return ch_ofi_attach(ep, &part, &key);
}

START_TEST(gpu__its_memory__is_registered_by_address_and_device)
{
    struct ch_endpoint *ep = open_fake();

    ck_assert_uint_eq(ch_link_ofi.caps(ep), CH_LINK_KEYS | CH_LINK_GPU);
    ck_assert_int_eq(attach_gpu(ep, 0), CHORUS_OK);
    ck_assert_int_eq(provider.attr.iface, FI_HMEM_CUDA);
    ck_assert_int_eq(provider.attr.device.cuda, 3);
    ck_assert_uint_eq(provider.attr.iov_count, 1);
    ck_assert_ptr_eq(provider.memory.iov_base, gpu);
    ck_assert_uint_eq(provider.memory.iov_len, PART);
    ck_assert_uint_eq(provider.attr.access,
                      FI_REMOTE_WRITE | FI_REMOTE_READ | FI_WRITE | FI_READ);
    ck_assert_int_eq(provider.n_regions, 1);
    close_fake(ep);
}
END_TEST

START_TEST(gpu__provider_refuses_its_memory__says_why)
{
    struct ch_endpoint *ep = open_fake();

    provider.error = -FI_EOPNOTSUPP;
    ck_assert_int_eq(attach_gpu(ep, 0), CHORUS_ERR_UNSUPPORTED);
    ck_assert(
        pes_message_has("libfabric: provider fake cannot register 1024 KiB of GPU memory: "
                        "Operation not supported; this needs a libfabric that was built "
                        "with CUDA, and drivers"));
    provider.error = -FI_ENOMEM;
    ck_assert_int_eq(attach_gpu(ep, 0), CHORUS_ERR_NOMEM);
    ck_assert(pes_message_has("libfabric: 1048576 bytes of GPU memory cannot be registered"));
    ck_assert(pes_message_has("is the limit of locked memory (ulimit -l) too small?"));
    ep->takes_gpu = false;
    ck_assert_int_eq(attach_gpu(ep, 0), CHORUS_ERR_UNSUPPORTED);
    ck_assert(
        pes_message_has("libfabric: provider fake cannot register 1024 KiB of GPU memory: "
                        "it does not offer FI_HMEM, or is software over sockets; fi_info "
                        "-c FI_HMEM lists those that do"));
    ck_assert_uint_eq(ep->parts.n, 0);
    close_fake(ep);
}
END_TEST

/* Short ones, which otherwise are copied into messages. */
START_TEST(gpu__puts_at_either_end__are_writes)
{
    struct ch_endpoint *ep = open_fake();
    uint64_t word = 1;

    ck_assert_int_eq(attach_gpu(ep, 0), CHORUS_OK);
    ck_assert_int_eq(attach_gpu(ep, 1), CHORUS_OK);
    ck_assert_int_eq(ch_ofi_put(ep, 0, 1, (char *)PEERS_HOST, &word, 8), CHORUS_OK);
    ck_assert_int_eq(provider.n_writes, 0);
    ck_assert_int_eq(ch_ofi_put(ep, 0, 1, (char *)PEERS_HOST, gpu + 8, 8), CHORUS_OK);
    ck_assert_int_eq(provider.n_writes, 1);
    ck_assert_ptr_eq(provider.writes[0].iov_base, gpu + 8);
    ck_assert_ptr_eq(provider.descs[0], ep->parts.all[0].handle);
    ck_assert_int_eq(ch_ofi_put(ep, 0, 1, (char *)PEERS_GPU, &word, 8), CHORUS_OK);
    ck_assert_int_eq(provider.n_writes, 2);
    ck_assert_ptr_eq(provider.writes[1].iov_base, &word);
    ck_assert_ptr_null(provider.descs[1]);
    ck_assert_int_eq(ch_ofi_put(ep, 0, 1, (char *)PEERS_GPU, gpu + PART - 4, 12), CHORUS_OK);
    ck_assert_int_eq(provider.n_writes, 4);
    ck_assert_uint_eq(provider.writes[2].iov_len, 4);
    ck_assert_ptr_eq(provider.writes[3].iov_base, gpu + PART);
    ck_assert_ptr_eq(provider.descs[3], ep->parts.all[1].handle);
    close_fake(ep);
}
END_TEST

START_TEST(gpu__word_or_atomic_there__fails_the_peer)
{
    const struct ch_put_signal put = {
        .word = (uint64_t *)PEERS_GPU, .op = _i == 0 ? CH_AMO_SET : CH_AMO_ADD, .value = 1};
    struct ch_endpoint *ep = open_fake();

    ck_assert_int_eq(ch_ofi_put_signal(ep, 0, 1, &put), CHORUS_OK);
    ck_assert(ep->peers[1].has_failed);
    ck_assert_ptr_nonnull(strstr(ep->why,
                                 "its word is in GPU memory, where its CPU cannot change "
                                 "it for an atomic operation or a signal"));
    close_fake(ep);
}
END_TEST

/* A provider without FI_HMEM is used nevertheless. */
START_TEST(gpu__no_provider_takes_its_memory__opens_another)
{
    static struct ch_options options;
    static struct ch_door door;
    static const uint32_t node = 0;
    static const char *const host = "alpha";
    const struct ch_link_terms terms = {.options = &options,
                                        .n = 1,
                                        .nodes = &node,
                                        .hosts = &host,
                                        .gpu = &gpu_id,
                                        .door = &door};
    struct ch_endpoint *ep = NULL;

    ck_assert_int_eq(ch_options_read(&options), CHORUS_OK);
    options.transport = "ofi";
    ck_assert_int_eq(ch_link_ofi.open(&terms, &ep), CHORUS_OK);
    if ((ch_link_ofi.caps(ep) & CH_LINK_GPU) == 0)
        ck_assert_int_eq(attach_gpu(ep, 0), CHORUS_ERR_UNSUPPORTED);
    ch_link_ofi.close(ep);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("ofi");
    Suite *suite = suite_create("transport_ofi");
    SRunner *runner = srunner_create(suite);
    int failed;

    if (ch_ofi_load() != CHORUS_OK) return 77;
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, stranger__without_secret__reads_and_writes_nothing);
    tcase_add_test(tcase, watch__with_unsent_messages__gives_no_descriptor);
    tcase_add_test(tcase, keys__of_parts__are_random);
    tcase_add_test(tcase, keys__that_can_be_guessed__refuse_sockets);
    tcase_add_test(tcase, gpu__its_memory__is_registered_by_address_and_device);
    tcase_add_test(tcase, gpu__provider_refuses_its_memory__says_why);
    tcase_add_test(tcase, gpu__puts_at_either_end__are_writes);
    tcase_add_loop_test(tcase, gpu__word_or_atomic_there__fails_the_peer, 0, 2);
    tcase_add_test(tcase, gpu__no_provider_takes_its_memory__opens_another);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

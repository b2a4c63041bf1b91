/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program without the job's secret that reaches the endpoints of its PEs through libfabric:
 * it neither reads nor writes their memory, and the job goes on. And which providers are
 * refused, because that would not hold.
 */
#include "base/clock.h"
#include "net_pes.h"
#include "transport/ofi/ofi.h"

#include <check.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 4096, SECRET = 0x5e, KEYS = 5 };
#define PATIENCE_NS (CH_NS_PER_S / 5) /* a provider may answer nothing */

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
static void await(struct stranger *s)
{
    const uint64_t start_ns = ch_clock_ns();
    struct fi_cq_err_entry error = {0};
    struct fi_cq_msg_entry entry;
    ssize_t n = -FI_EAGAIN;

    while (n == -FI_EAGAIN && ch_clock_ns() - start_ns < PATIENCE_NS) {
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
    const uint64_t start_ns = ch_clock_ns();
    struct stranger *s = malloc(sizeof(*s));
    ssize_t error = -FI_EAGAIN;

    stranger_open(s, a->theirs, &a->card);
    memcpy(s->buffer, a->data, sizeof(s->buffer));
    while (error == -FI_EAGAIN && ch_clock_ns() - start_ns < CH_NS_PER_S) {
        error = post(s, a);
        if (error == -FI_EAGAIN) (void)fi_cq_read(s->cq, NULL, 0);
    }
    if (error == 0) await(s);
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
    attempt(a);
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
    tcase_add_test(tcase, keys__of_parts__are_random);
    tcase_add_test(tcase, keys__that_can_be_guessed__refuse_sockets);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

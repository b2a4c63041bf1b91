/* SPDX-License-Identifier: Apache-2.0 */
/* A heap on GPUs, which are fakes: all PEs get one or none does, and all is given back. */
#include "device_fake.h"
#include "heap/inside.h"
#include "heap_pes.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define M ((size_t)1 << 20)
#define SYNC_BYTES (4 * M)

static struct ch_options options_for(chorus_heap kind)
{
    struct ch_options options = pes_options(64 * M);

    options.heap = kind;
    options.sync_max = SYNC_BYTES;
    return options;
}

static chorus_status open_kind(struct ch_boot *boot, chorus_heap kind,
                               struct ch_heap **heap_out)
{
    const struct ch_options options = options_for(kind);

    *heap_out = NULL;
    return ch_heap_open(boot, &options, heap_out);
}

static struct ch_heap *open_on_gpus(struct ch_boot *boot)
{
    struct ch_heap *heap;

    EXPECT(open_kind(boot, CHORUS_HEAP_cuda, &heap) == CHORUS_OK);
    EXPECT(ch_heap_device(heap) != NULL);
    return heap;
}

/* This PE's address of the same place on a peer. */
static unsigned char *on_peer(const struct ch_heap *heap, void *mine, uint32_t pe)
{
    const char *own = ch_heap_data_base(heap, ch_heap_me(heap));

    return (unsigned char *)ch_heap_data_base(heap, pe) + ((char *)mine - own);
}

static void close_all(struct ch_boot *boot, struct ch_heap *heap)
{
    pes_meet(boot);
    ch_heap_close(heap);
    pes_meet(boot);
    EXPECT(fake.devices == 0 && fake.reserved == 0 && fake.handles == 0);
    EXPECT(fake.mapped == 0 && fake.registered == 0 && fake.bound == 0);
}

/* What each PE writes to the next is what that one finds, in each of many chunks. */
static void grow_and_share(struct ch_boot *boot)
{
    enum { BLOCKS = 5 };
    struct ch_heap *heap = open_on_gpus(boot);
    const uint32_t next = (boot->me + 1) % boot->n;
    const uint32_t previous = (boot->me + boot->n - 1) % boot->n;
    void *blocks[BLOCKS];

    EXPECT(ch_heap_door_on_device(heap) == ch_heap_door(heap, boot->me));
    for (int i = 0; i < BLOCKS; i++) {
        EXPECT(ch_heap_alloc(heap, 64, 7 * M, &blocks[i]) == CHORUS_OK);
        EXPECT(ch_heap_contains(heap, blocks[i], 7 * M));
        memset(on_peer(heap, blocks[i], next), (int)(10 * boot->me) + i, 7 * M);
    }
    pes_meet(boot);
    for (int i = 0; i < BLOCKS; i++) {
        const unsigned char *bytes = blocks[i];

        EXPECT(bytes[0] == 10 * previous + (unsigned)i && bytes[7 * M - 1] == bytes[0]);
    }
    EXPECT(ch_heap_check(heap) == CHORUS_OK);
    close_all(boot, heap);
}

START_TEST(heap__grows_on_every_gpu__peers_see_it)
{
    pes_run_threads(3, grow_and_share);
    pes_run_processes(3, grow_and_share);
    pes_run_threads(1, grow_and_share);
}
END_TEST

static void fill_up(struct ch_boot *boot)
{
    struct ch_heap *heap = open_on_gpus(boot);
    struct ch_heap_info before, after;
    void *block = NULL;

    ch_heap_info_get(heap, &before);
    EXPECT(before.reserved_bytes == 64 * M);
    EXPECT(ch_heap_alloc(heap, 64, 30 * M, &block) == CHORUS_ERR_NOMEM);
    EXPECT(pes_message_has("31457280 bytes were requested from the symmetric heap"));
    EXPECT(pes_message_has("PE 0: its GPU (fake 0) has 16777216 bytes free"));
    EXPECT(ch_heap_alloc(heap, 64, 65 * M, &block) == CHORUS_ERR_NOMEM);
    ch_heap_info_get(heap, &after);
    EXPECT(memcmp(&before, &after, sizeof(before)) == 0);
    EXPECT(ch_heap_alloc(heap, 64, 10 * M, &block) == CHORUS_OK);
    close_all(boot, heap);
}

/* --- why peers are near, beside or far --- */

static void expect_class(const struct ch_heap *heap, uint32_t pe, enum ch_class class,
                         const char *why)
{
    EXPECT(ch_heap_class(heap, pe) == class);
    EXPECT(strcmp(ch_heap_why_class(heap, pe), why) == 0);
}

static void expect_all_near(struct ch_boot *boot, const char *why)
{
    struct ch_heap *heap = open_on_gpus(boot);

    for (uint32_t pe = 0; pe < boot->n; pe++)
        expect_class(heap, pe, CH_CLASS_near, pe == boot->me ? "this PE" : why);
    close_all(boot, heap);
}

static void expect_nvlink(struct ch_boot *boot)
{
    expect_all_near(boot, "peer access (NVLink)");
}

static void expect_pci(struct ch_boot *boot)
{
    expect_all_near(boot, "peer access (PCI Express)");
}

static void expect_same_gpu(struct ch_boot *boot)
{
    expect_all_near(boot, "same GPU");
}

START_TEST(class__gpus_with_access__are_near_by_what_connects_them)
{
    pes_run_threads(3, expect_nvlink);
    pes_run_processes(3, expect_nvlink);
    fake.is_without_nvlink = 1;
    pes_run_processes(3, expect_pci);
    fake.bad = 1;
    fake.shares_device = 1;
    pes_run_processes(2, expect_same_gpu);
}
END_TEST

static void open_on_two_hosts(struct ch_boot *boot)
{
    struct ch_options options = options_for(CHORUS_HEAP_cuda);
    const uint32_t half = boot->n / 2;
    struct ch_heap *heap = NULL;

    options.nodes = 2;
    EXPECT(ch_boot_locate(boot, &options) == CHORUS_OK);
    EXPECT(ch_heap_open(boot, &options, &heap) == CHORUS_OK);
    for (uint32_t pe = 0; pe < boot->n; pe++)
        if (pe == boot->me)
            expect_class(heap, pe, CH_CLASS_near, "this PE");
        else if (pe / half == boot->me / half)
            expect_class(heap, pe, CH_CLASS_near, "peer access (NVLink)");
        else
            expect_class(heap, pe, CH_CLASS_far, "CHORUS_NODES pretends another host");
    close_all(boot, heap);
}

START_TEST(class__pretended_hosts__are_far)
{
    pes_run_threads(4, open_on_two_hosts);
}
END_TEST

/* --- peers of other hosts, by fabric handles --- */

/* On two hosts of two PEs each. Multicast, which serves one host, is asked for in vain. */
static struct ch_heap *open_on_named_hosts(struct ch_boot *boot)
{
    struct ch_options options = options_for(CHORUS_HEAP_cuda);
    struct ch_heap *heap = NULL;

    fake.host = (int)boot->me / 2;
    options.node = fake.host == 0 ? "a" : "b";
    options.nvls = true;
    EXPECT(ch_boot_locate(boot, &options) == CHORUS_OK);
    EXPECT(ch_heap_open(boot, &options, &heap) == CHORUS_OK);
    EXPECT(ch_heap_multicast_shift(heap) == 0);
    EXPECT(ch_heap_class(heap, boot->me ^ 1) == CH_CLASS_near);
    for (uint32_t pe = 0; pe < boot->n; pe++)
        EXPECT(ch_heap_is_mapped(heap, pe) == (pe / 2 == boot->me / 2));
    return heap;
}

static void close_named(struct ch_boot *boot, struct ch_heap *heap)
{
    EXPECT(fake.devices == 1 && fake.handles == 0);
    close_all(boot, heap);
}

/* The class of both PEs of the other host, and why. */
static void expect_others(const struct ch_boot *boot, const struct ch_heap *heap,
                          enum ch_class class, const char *why)
{
    const uint32_t first = boot->me / 2 == 0 ? 2 : 0;

    expect_class(heap, first, class, why);
    expect_class(heap, first + 1, class, why);
}

/* What each PE writes to the next host's is what that finds, in memory of the start and of a
 * growth. */
static void reach_other_hosts(struct ch_boot *boot)
{
    struct ch_heap *heap = open_on_named_hosts(boot);
    const uint32_t other = (boot->me + 2) % boot->n;
    void *block = NULL, *sync = NULL;

    expect_others(boot, heap, CH_CLASS_near, "fabric handle (multi-node NVLink)");
    EXPECT(!ch_heap_has_pool(heap));
    EXPECT(ch_heap_sync_alloc(heap, M, &sync) == CHORUS_OK);
    EXPECT(ch_heap_alloc(heap, 64, 9 * M, &block) == CHORUS_OK);
    pes_meet(boot);
    memset(on_peer(heap, block, other), 10 + (int)boot->me, 9 * M);
    memset(on_peer(heap, sync, other), 20 + (int)boot->me, M);
    pes_meet(boot);
    EXPECT(((unsigned char *)block)[9 * M - 1] == 10 + other);
    EXPECT(((unsigned char *)sync)[0] == 20 + other);
    EXPECT(fake.descriptors == 0);
    close_named(boot, heap);
}

START_TEST(hosts__all_gpus_take_fabric_handles__are_near)
{
    fake.has_fabric = 1;
    pes_run_processes(4, reach_other_hosts);
}
END_TEST

static void lack_fabric(struct ch_boot *boot)
{
    struct ch_heap *heap;

    fake.bad = boot->me == 1 ? 1 : -1;
    heap = open_on_named_hosts(boot);
    expect_others(boot, heap, CH_CLASS_far, "CHORUS_NODE names another host");
    EXPECT(ch_heap_has_pool(heap) && fake.descriptors == 1);
    close_named(boot, heap);
}

START_TEST(hosts__one_gpu_offers_no_fabric_handle__are_far)
{
    fake.has_fabric = 1;
    fake.has_no_fabric = 1;
    pes_run_processes(4, lack_fabric);
}
END_TEST

/* PE `bad` cannot map what the PEs of the other host have, so no PE of one host is near one of
 * the other. */
static void refuse_foreign(struct ch_boot *boot, uint32_t bad)
{
    const char *const hosts = "not all PEs of the two hosts map each other's memory";
    struct ch_heap *heap;

    fake.bad = boot->me == bad ? (int)bad % 2 : -1;
    heap = open_on_named_hosts(boot);
    EXPECT(ch_heap_has_pool(heap) && fake.descriptors == 0);
    if (boot->me == bad) {
        expect_others(boot, heap, CH_CLASS_far, "taking memory: the test says no");
    } else if (boot->me / 2 == bad / 2) {
        expect_others(boot, heap, CH_CLASS_far, hosts);
    } else {
        expect_class(heap, bad, CH_CLASS_far,
                     "the peer does not map this PE's memory: see its row");
        expect_class(heap, bad ^ 1, CH_CLASS_far, hosts);
    }
    close_named(boot, heap);
}

static void refuse_foreign_on_1(struct ch_boot *boot)
{
    refuse_foreign(boot, 1);
}

static void refuse_foreign_on_3(struct ch_boot *boot)
{
    refuse_foreign(boot, 3);
}

START_TEST(hosts__one_gpu_takes_no_handle_of_another_host__are_far_with_the_reason)
{
    fake.has_fabric = 1;
    fake.takes_no_foreign = 1;
    pes_run_processes(4, refuse_foreign_on_1);
    pes_run_processes(4, refuse_foreign_on_3);
}
END_TEST

static void pretend_hosts(struct ch_boot *boot)
{
    open_on_two_hosts(boot);
    EXPECT(fake.fabric_queries == 1 && fake.descriptors == 0);
}

/* As CHORUS_NODES says, though handles would serve. */
START_TEST(hosts__pretended__are_not_tried)
{
    fake.has_fabric = 1;
    pes_run_processes(4, pretend_hosts);
}
END_TEST

/* A PE that fails before the trial. */
static void fail_before_trial(struct ch_boot *boot)
{
    struct ch_options options = options_for(CHORUS_HEAP_cuda);
    struct ch_heap *heap = NULL;

    fake.bad = boot->me == 1 ? 1 : -1;
    fake.host = (int)boot->me / 2;
    options.node = fake.host == 0 ? "a" : "b";
    EXPECT(ch_boot_locate(boot, &options) == CHORUS_OK);
    EXPECT(ch_heap_open(boot, &options, &heap) == CHORUS_ERR_SYSTEM);
    EXPECT(pes_message_has("heap on GPUs: PE 1 on host a: registering: the test says no"));
    EXPECT(fake.devices == 0 && fake.handles == 0 && fake.mapped == 0 && fake.reserved == 0);
}

START_TEST(hosts__a_pe_fails_before_the_trial__is_told_on_all)
{
    fake.has_fabric = 1;
    fake.registers_nothing = 1;
    pes_run_processes(4, fail_before_trial);
}
END_TEST

/* PE 0 of a host of PEs none of which are near each other. No job starts with such a heap. */
struct apart {
    struct ch_boot boot;
    struct ch_data data;
    struct ch_heap heap;
    uint32_t groups[2];
    uint8_t reasons[2];
    char *refusals[2];
};

static void apart_init(struct apart *a)
{
    *a = (struct apart){.boot = {.n = 2},
                        .data = {.n = 2,
                                 .boot = &a->boot,
                                 .groups = a->groups,
                                 .reasons = a->reasons,
                                 .refusals = a->refusals},
                        .heap = {.n = 2, .boot = &a->boot, .data = &a->data},
                        .groups = {0, 1}};
}

static void expect_beside(struct ch_data_reach reach, const char *refusal, const char *why)
{
    static const struct ch_device_id device;
    struct apart a;

    apart_init(&a);
    reach.device = &device;
    if (refusal != NULL) ch_data_keep_refusal(&a.data, 1, refusal);
    ch_data_keep_reason(&a.data, 1, &reach);
    ck_assert_int_eq(ch_heap_class(&a.heap, 1), CH_CLASS_beside);
    ck_assert_str_eq(ch_heap_why_class(&a.heap, 1), why);
    free(a.refusals[1]);
}

START_TEST(class__no_access_on_a_host__is_beside_with_the_reason)
{
    expect_beside((struct ch_data_reach){.is_p2p_on = false}, NULL, "CHORUS_P2P=0");
    expect_beside((struct ch_data_reach){.is_p2p_on = true},
                  "GPU 0 cannot reach GPU 1; give the job others", "GPU 0 cannot reach GPU 1");
    expect_beside((struct ch_data_reach){.is_p2p_on = true}, NULL,
                  "CUDA reports no peer access");
    expect_beside((struct ch_data_reach){.is_p2p_on = true, .may_map = true}, NULL,
                  "the peer does not map this PE's memory: see its row");
    expect_beside(
        (struct ch_data_reach){.is_p2p_on = true, .may_map = true, .may_be_mapped = true}, NULL,
        "not all PEs of the two groups have peer access to each other");
}
END_TEST

/* --- how memory becomes known to other processes --- */

static void grow_by_fabric(struct ch_boot *boot)
{
    grow_and_share(boot);
    EXPECT(fake.fabric_handles > 1 && fake.descriptors == 0);
}

static void grow_by_descriptors(struct ch_boot *boot)
{
    grow_and_share(boot);
    EXPECT(fake.fabric_handles == 0 && fake.descriptors > 1);
}

static void grow_in_a_process(struct ch_boot *boot)
{
    grow_by_descriptors(boot);
    EXPECT(fake.fabric_queries == 0);
}

START_TEST(handles__all_gpus_offer_fabric__no_descriptor_is_passed)
{
    fake.has_fabric = 1;
    pes_run_processes(3, grow_by_fabric);
    pes_run_threads(3, grow_in_a_process); /* descriptors that nobody needs */
}
END_TEST

START_TEST(handles__one_gpu_without_fabric__are_descriptors_on_all)
{
    fake.has_fabric = 1;
    fake.bad = 1;
    fake.has_no_fabric = 1;
    pes_run_processes(3, grow_by_descriptors);
}
END_TEST

/* Of one PE alone, which all follow. */
static void forgo_fabric(struct ch_boot *boot)
{
    struct ch_options options = options_for(CHORUS_HEAP_cuda);
    struct ch_heap *heap = NULL;

    options.fabric = boot->me != 2;
    EXPECT(ch_heap_open(boot, &options, &heap) == CHORUS_OK);
    EXPECT(fake.fabric_handles == 0 && fake.descriptors == 1);
    close_all(boot, heap);
}

START_TEST(handles__option_is_off_on_one_pe__are_descriptors_on_all)
{
    fake.has_fabric = 1;
    pes_run_processes(3, forgo_fabric);
}
END_TEST

/* On two hosts, of which the PE on one wants no peers. */
static void forgo_peers(struct ch_boot *boot)
{
    struct ch_options options = options_for(CHORUS_HEAP_cuda);
    struct ch_heap *heap = NULL;

    options.nodes = 2;
    options.p2p = boot->me != 1;
    EXPECT(ch_boot_locate(boot, &options) == CHORUS_OK);
    EXPECT(ch_heap_open(boot, &options, &heap) == CHORUS_OK);
    EXPECT(fake.fabric_handles == 0 && fake.descriptors == 1);
    close_all(boot, heap);
}

START_TEST(handles__p2p_is_off_on_one_pe__are_descriptors_on_all)
{
    fake.has_fabric = 1;
    pes_run_processes(2, forgo_peers);
}
END_TEST

START_TEST(alloc__gpu_is_full__fails_on_all_and_changes_nothing)
{
    fake.free_bytes = 16 * M;
    pes_run_threads(2, fill_up);
    pes_run_processes(2, fill_up);
}
END_TEST

/* PE 1's fault appears once the heap is open. */
static void fail_to_grow(struct ch_boot *boot, int *fault, chorus_status code, const char *why)
{
    struct ch_heap *heap = open_on_gpus(boot);
    void *block = NULL;
    int mapped;

    pes_meet(boot);
    mapped = fake.mapped;
    pes_meet(boot);
    if (boot->me == 1) *fault = 1;
    EXPECT(ch_heap_alloc(heap, 64, 9 * M, &block) == code);
    EXPECT(pes_message_has(why));
    EXPECT(ch_heap_check(heap) == CHORUS_OK);
    pes_meet(boot);
    EXPECT(fake.mapped == mapped && fake.handles == 0);
    pes_meet(boot);
    if (boot->me == 1) *fault = 0;
    pes_meet(boot);
    EXPECT(ch_heap_alloc(heap, 64, 9 * M, &block) == CHORUS_OK);
    close_all(boot, heap);
}

static void fail_to_create(struct ch_boot *boot)
{
    fail_to_grow(boot, &fake.has_no_memory, CHORUS_ERR_NOMEM, "PE 1: allocating");
}

static void fail_to_map(struct ch_boot *boot)
{
    fail_to_grow(boot, &fake.maps_nothing, CHORUS_ERR_SYSTEM, "PE 1: mapping");
}

START_TEST(grow__one_gpu_fails__none_grows)
{
    fake.bad = 1;
    pes_run_threads(3, fail_to_create);
    pes_run_processes(3, fail_to_create);
    pes_run_threads(3, fail_to_map);
    pes_run_processes(3, fail_to_map);
}
END_TEST

/* A network that takes no memory, or no keys of peers. */
struct net {
    int refuses, refuses_keys; /* the next call fails */
    int parts, keys;           /* there now */
};

static chorus_status net_attach(void *self, const struct ch_memory_part *part,
                                uint64_t *key_out)
{
    struct net *net = self;

    EXPECT(part->kind == CH_MEMORY_GPU);
    *key_out = 7;
    if (net->refuses) return CH_FAIL(CHORUS_ERR_SYSTEM, "attaching: the test says no");
    net->parts++;
    return CHORUS_OK;
}

static void net_detach(void *self, void *base)
{
    EXPECT(base != NULL);
    ((struct net *)self)->parts--;
}

static chorus_status net_add(void *self, uint32_t pe, const struct ch_memory_part *there,
                             uint64_t key)
{
    struct net *net = self;

    EXPECT(key == 7 && there->bytes != 0);
    if (net->refuses_keys && pe == 1)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "adding a key: the test says no");
    net->keys |= 1 << pe;
    return CHORUS_OK;
}

static void net_drop(void *self, uint32_t pe, const char *there)
{
    EXPECT(there != NULL);
    ((struct net *)self)->keys &= ~(1 << pe);
}

static void expect_no_growth(struct ch_boot *boot, struct ch_heap *heap, struct net *net,
                             const char *why)
{
    const int mapped = fake.mapped;
    void *block = NULL;

    EXPECT(ch_heap_alloc(heap, 64, 9 * M, &block) == CHORUS_ERR_SYSTEM);
    EXPECT(pes_message_has(why) && block == NULL);
    EXPECT(net->parts == 0 && net->keys == 0);
    EXPECT(fake.mapped == mapped && fake.handles == 0);
    EXPECT(ch_heap_check(heap) == CHORUS_OK);
    pes_meet(boot);
}

/* PE 1's network refuses what all have mapped. */
static void fail_to_register(struct ch_boot *boot)
{
    struct ch_heap *heap = open_on_gpus(boot);
    struct net net = {0};
    const struct ch_heap_registration registration = {net_attach, net_detach, net_add, net_drop,
                                                      &net};
    unsigned char *block;
    void *object = NULL;

    ch_heap_set_registration(heap, &registration);
    net.refuses = boot->me == 1;
    expect_no_growth(boot, heap, &net, "growth: PE 1: attaching: the test says no");
    net.refuses = 0;
    net.refuses_keys = boot->me == 1;
    expect_no_growth(boot, heap, &net, "growth: PE 1: adding a key: the test says no");
    net.refuses_keys = 0;
    EXPECT(ch_heap_alloc(heap, 64, 9 * M, &object) == CHORUS_OK);
    EXPECT(net.parts == 1 && net.keys == (1 << boot->n) - 1);
    block = on_peer(heap, object, (boot->me + 1) % boot->n);
    memset(block, (int)boot->me + 1, 9 * M);
    pes_meet(boot);
    EXPECT(((unsigned char *)object)[9 * M - 1] == (boot->me + boot->n - 1) % boot->n + 1);
    close_all(boot, heap);
}

START_TEST(grow__one_network_refuses__is_undone_on_all_and_may_be_tried_again)
{
    pes_run_processes(3, fail_to_register);
}
END_TEST

/* With auto the heap is then on hosts, and nothing is left on GPUs. */
static void open_with_fault(struct ch_boot *boot, chorus_status code, const char *why)
{
    struct ch_heap *heap;
    void *block = NULL;

    EXPECT(open_kind(boot, CHORUS_HEAP_cuda, &heap) == code);
    EXPECT(pes_message_has("heap on GPUs: PE 1: "));
    EXPECT(pes_message_has(why));
    pes_meet(boot);
    EXPECT(open_kind(boot, CHORUS_HEAP_auto, &heap) == CHORUS_OK);
    EXPECT(ch_heap_device(heap) == NULL && ch_heap_door_on_device(heap) == NULL);
    EXPECT(ch_heap_data_base(heap, boot->me) == ch_heap_base(heap, boot->me));
    EXPECT(ch_heap_alloc(heap, 64, 9 * M, &block) == CHORUS_OK);
    close_all(boot, heap);
}

static void open_without_one(struct ch_boot *boot)
{
    open_with_fault(boot, CHORUS_ERR_SYSTEM, "no GPU here, says the test");
}

static void open_too_far(struct ch_boot *boot)
{
    struct ch_heap *heap;

    EXPECT(open_kind(boot, CHORUS_HEAP_cuda, &heap) == CHORUS_OK);
    EXPECT(ch_heap_has_pool(heap));
    EXPECT((ch_heap_class(heap, 1) == CH_CLASS_beside) == (boot->me != 1));
    EXPECT(strcmp(ch_heap_why_class(heap, 1), "this PE") == 0 ||
           strstr(ch_heap_why_class(heap, 1), "cannot reach the memory of PE") != NULL ||
           strstr(ch_heap_why_class(heap, 1), "the peer does not map this PE's memory") !=
               NULL);
    close_all(boot, heap);
    EXPECT(open_kind(boot, CHORUS_HEAP_auto, &heap) == CHORUS_OK);
    EXPECT(ch_heap_device(heap) == NULL);
    close_all(boot, heap);
}

static void open_when_full(struct ch_boot *boot)
{
    open_with_fault(boot, CHORUS_ERR_NOMEM, "allocating 4194304 bytes: the test says no");
}

static void open_unmappable(struct ch_boot *boot)
{
    open_with_fault(boot, CHORUS_ERR_SYSTEM, "mapping: the test says no");
}

static void run_fault(int *fault, pes_main pe_main)
{
    *fault = 1;
    pes_run_threads(3, pe_main);
    pes_run_processes(3, pe_main);
    *fault = 0;
}

START_TEST(open__one_gpu_fails__is_told_on_all_or_auto_stays_on_hosts)
{
    fake.bad = 1;
    ck_assert_int_eq(setenv("CHORUS_LOG", "none", 1), 0);
    run_fault(&fake.is_absent, open_without_one);
    run_fault(&fake.is_far, open_too_far);
    run_fault(&fake.has_no_memory, open_when_full);
    run_fault(&fake.maps_nothing, open_unmappable);
}
END_TEST

static void open_untaken(struct ch_boot *boot)
{
    open_with_fault(boot, CHORUS_ERR_SYSTEM, "taking memory: the test says no");
    EXPECT(fake.fabric_handles == 2 && fake.descriptors == 0);
}

/* Whatever fails on the way, nobody waits for a descriptor that does not come. */
START_TEST(open__by_fabric_and_one_gpu_fails__is_told_on_all)
{
    fake.has_fabric = 1;
    fake.bad = 1;
    ck_assert_int_eq(setenv("CHORUS_LOG", "none", 1), 0);
    fake.takes_no_fabric = 1;
    pes_run_processes(3, open_untaken);
    fake.takes_no_fabric = 0;
    run_fault(&fake.has_no_memory, open_when_full);
    run_fault(&fake.maps_nothing, open_unmappable);
}
END_TEST

static void use_sync(struct ch_boot *boot)
{
    struct ch_heap *heap = open_on_gpus(boot);
    struct ch_heap_info info;
    void *a = NULL, *b = NULL, *c = NULL;

    EXPECT(ch_heap_sync_alloc(heap, 3 * M, &a) == CHORUS_OK);
    EXPECT((char *)a == ch_heap_data_base(heap, boot->me));
    memset(a, 0xff, 3 * M);
    EXPECT(ch_heap_sync_alloc(heap, M + 1, &b) == CHORUS_ERR_NOMEM);
    EXPECT(pes_message_has("raise CHORUS_SYNC_MAX"));
    EXPECT(ch_heap_sync_alloc(heap, M, &b) == CHORUS_OK);
    EXPECT((uintptr_t)b % 128 == 0);
    ch_heap_sync_free(heap, a);
    ch_heap_sync_free(heap, NULL);
    EXPECT(ch_heap_sync_alloc(heap, 2 * M, &c) == CHORUS_OK && c == a);
    for (size_t i = 0; i < 2 * M; i += 4095)
        EXPECT(((char *)c)[i] == 0);
    ch_heap_info_get(heap, &info);
    EXPECT(info.local_used_bytes == 3 * M);
    EXPECT(!ch_heap_contains(heap, c, 1));
    close_all(boot, heap);
}

START_TEST(sync_alloc__on_gpus__is_zero_and_of_fixed_bytes)
{
    pes_run_threads(2, use_sync);
}
END_TEST

static void resize(struct ch_boot *boot)
{
    struct ch_heap *heap = open_on_gpus(boot);
    void *block = NULL, *wall = NULL, *moved = NULL;

    EXPECT(ch_heap_alloc(heap, 64, 1000, &block) == CHORUS_OK);
    EXPECT(ch_heap_alloc(heap, 64, 64, &wall) == CHORUS_OK);
    memset(block, 9, 1000);
    EXPECT(ch_heap_realloc(heap, block, 6 * M, &moved) == CHORUS_OK && moved != block);
    EXPECT(((char *)moved)[0] == 9 && ((char *)moved)[999] == 9);
    EXPECT(ch_heap_zero(heap, moved, 500) == CHORUS_OK);
    EXPECT(((char *)moved)[499] == 0 && ((char *)moved)[500] == 9);
    close_all(boot, heap);
}

START_TEST(realloc__on_gpus__keeps_the_contents)
{
    pes_run_threads(2, resize);
}
END_TEST

/* --- multicast: what the heap does for it, on devices that only say they have it --- */

static chorus_status open_with_nvls(struct ch_boot *boot, bool is_asked,
                                    struct ch_heap **heap_out)
{
    struct ch_options options = options_for(CHORUS_HEAP_cuda);

    options.nvls = is_asked;
    return ch_heap_open(boot, &options, heap_out);
}

static void grow_with_multicast(struct ch_boot *boot, int n_here)
{
    struct ch_heap *heap = NULL;
    char *all;
    void *block = NULL;

    EXPECT(open_with_nvls(boot, true, &heap) == CHORUS_OK);
    EXPECT(ch_heap_multicast_shift(heap) != 0);
    EXPECT(ch_heap_alloc(heap, 64, 7 * M, &block) == CHORUS_OK);
    all = (char *)block + ch_heap_multicast_shift(heap);
    memset(all, 5, 7 * M); /* the range is mapped there, and is none of the segments */
    EXPECT(((char *)block)[0] == 0);
    pes_meet(boot);
    EXPECT(fake.bound == 2 * n_here); /* two chunks */
    EXPECT(fake.fabric_handles == 0);
    close_all(boot, heap);
}

static void grow_threads(struct ch_boot *boot)
{
    grow_with_multicast(boot, (int)boot->n);
}

static void grow_processes(struct ch_boot *boot)
{
    grow_with_multicast(boot, 1);
}

START_TEST(multicast__all_ask_and_have_it__covers_every_chunk)
{
    pes_run_threads(3, grow_threads);
    pes_run_processes(3, grow_processes);
    fake.has_fabric = 1; /* objects have descriptors, and memory with them */
    pes_run_processes(3, grow_processes);
}
END_TEST

static void expect_none(struct ch_boot *boot, bool is_asked)
{
    struct ch_heap *heap = NULL;
    void *block = NULL;

    EXPECT(open_with_nvls(boot, is_asked, &heap) == CHORUS_OK);
    EXPECT(ch_heap_multicast_shift(heap) == 0);
    EXPECT(ch_heap_alloc(heap, 64, 7 * M, &block) == CHORUS_OK);
    EXPECT(fake.bound == 0);
    close_all(boot, heap);
}

static void ask_nobody(struct ch_boot *boot)
{
    expect_none(boot, false);
}

static void expect_name(struct ch_boot *boot, const char *name)
{
    struct ch_heap *heap = NULL;

    EXPECT(open_with_nvls(boot, false, &heap) == CHORUS_OK);
    EXPECT(strcmp(ch_heap_gpu_name(heap), name) == 0);
    pes_meet(boot);
    ch_heap_close(heap);
}

static void expect_one_model(struct ch_boot *boot)
{
    expect_name(boot, "fake 0");
}

static void expect_several_models(struct ch_boot *boot)
{
    expect_name(boot, "");
}

/* Rules must decide alike on all PEs, whoever's GPU is which. */
START_TEST(gpu_name__told_only_if_all_pes_have_it)
{
    pes_run_threads(3, expect_several_models);
    pes_run_processes(2, expect_several_models);
    fake.is_one_model = 1;
    pes_run_threads(3, expect_one_model);
}
END_TEST

static void ask_all(struct ch_boot *boot)
{
    expect_none(boot, true);
}

static void ask_all_but_one(struct ch_boot *boot)
{
    expect_none(boot, boot->me != 1);
}

START_TEST(multicast__one_pe_is_without__is_off_on_all)
{
    pes_run_threads(3, ask_nobody);
    pes_run_threads(1, ask_all);
    pes_run_threads(3, ask_all_but_one);
    pes_run_processes(3, ask_all_but_one);
    fake.bad = 2;
    fake.has_no_multicast = 1;
    pes_run_threads(3, ask_all);
    fake.has_no_multicast = 0;
    fake.shares_device = 1;
    pes_run_processes(3, ask_all);
}
END_TEST

START_TEST(multicast__a_site_forbids_it__is_off)
{
    ck_assert_int_eq(setenv("CHORUS_LOG", "none", 1), 0);
    ck_assert_int_eq(setenv("NCCL_NVLS_ENABLE", "0", 1), 0);
    pes_run_threads(2, ask_all);
}
END_TEST

static void fail_to_bind(struct ch_boot *boot)
{
    struct ch_heap *heap = NULL;
    void *block = NULL;
    int mapped, bound;

    EXPECT(open_with_nvls(boot, true, &heap) == CHORUS_OK);
    pes_meet(boot);
    mapped = fake.mapped, bound = fake.bound;
    pes_meet(boot);
    if (boot->me == 1) fake.binds_nothing = 1;
    pes_meet(boot);
    EXPECT(ch_heap_alloc(heap, 64, 9 * M, &block) == CHORUS_ERR_SYSTEM);
    EXPECT(pes_message_has("PE 1: binding: the test says no"));
    pes_meet(boot);
    EXPECT(fake.mapped == mapped && fake.bound == bound);
    EXPECT(ch_heap_check(heap) == CHORUS_OK);
    pes_meet(boot);
    if (boot->me == 1) fake.binds_nothing = 0;
    pes_meet(boot);
    EXPECT(ch_heap_alloc(heap, 64, 9 * M, &block) == CHORUS_OK);
    close_all(boot, heap);
}

START_TEST(multicast__one_cannot_bind__none_grows)
{
    fake.bad = 1;
    pes_run_threads(3, fail_to_bind);
    pes_run_processes(3, fail_to_bind);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("heap_device");
    TCase *tcase = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, heap__grows_on_every_gpu__peers_see_it);
    tcase_add_test(tcase, handles__all_gpus_offer_fabric__no_descriptor_is_passed);
    tcase_add_test(tcase, handles__one_gpu_without_fabric__are_descriptors_on_all);
    tcase_add_test(tcase, handles__option_is_off_on_one_pe__are_descriptors_on_all);
    tcase_add_test(tcase, handles__p2p_is_off_on_one_pe__are_descriptors_on_all);
    tcase_add_test(tcase, open__by_fabric_and_one_gpu_fails__is_told_on_all);
    tcase_add_test(tcase, alloc__gpu_is_full__fails_on_all_and_changes_nothing);
    tcase_add_test(tcase, grow__one_gpu_fails__none_grows);
    tcase_add_test(tcase, grow__one_network_refuses__is_undone_on_all_and_may_be_tried_again);
    tcase_add_test(tcase, open__one_gpu_fails__is_told_on_all_or_auto_stays_on_hosts);
    tcase_add_test(tcase, sync_alloc__on_gpus__is_zero_and_of_fixed_bytes);
    tcase_add_test(tcase, realloc__on_gpus__keeps_the_contents);
    tcase_add_test(tcase, gpu_name__told_only_if_all_pes_have_it);
    tcase_add_test(tcase, multicast__all_ask_and_have_it__covers_every_chunk);
    tcase_add_test(tcase, multicast__one_pe_is_without__is_off_on_all);
    tcase_add_test(tcase, multicast__a_site_forbids_it__is_off);
    tcase_add_test(tcase, multicast__one_cannot_bind__none_grows);
    tcase_add_test(tcase, class__gpus_with_access__are_near_by_what_connects_them);
    tcase_add_test(tcase, class__pretended_hosts__are_far);
    tcase_add_test(tcase, class__no_access_on_a_host__is_beside_with_the_reason);
    tcase_add_test(tcase, hosts__all_gpus_take_fabric_handles__are_near);
    tcase_add_test(tcase, hosts__one_gpu_offers_no_fabric_handle__are_far);
    tcase_add_test(tcase,
                   hosts__one_gpu_takes_no_handle_of_another_host__are_far_with_the_reason);
    tcase_add_test(tcase, hosts__pretended__are_not_tried);
    tcase_add_test(tcase, hosts__a_pe_fails_before_the_trial__is_told_on_all);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

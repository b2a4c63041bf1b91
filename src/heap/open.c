/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.c: creates the heaps of n processes or threads, each of which can access the others.
 *
 * Every step that can fail on one PE is followed by a vote, so that all PEs succeed or none
 * does.
 */
#include "heap/inside.h"

#include "base/error.h"
#include "base/limits.h"
#include "boot/boot.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What each PE publishes first. */
struct greeting {
    uint64_t pid, pid_space; /* together identify a process, also across containers */
    uint64_t symmetric_bytes;
    uint64_t base; /* of the own segment, for PEs of the same process */
};

/* Does this PE request multicast in hardware? */
static bool wants_multicast(const struct ch_options *options)
{
    const char *no = ch_nvls_forbidding_variable(options->nvls, secure_getenv);

    if (options->nvls && no != NULL)
        CH_LOG(WARN, "no multicast in hardware, in spite of CHORUS_NVLS: %s disables it", no);
    return no == NULL;
}

/* What this PE publishes first. */
static struct greeting greeting_of(const struct ch_heap *heap)
{
    struct stat space = {0};

    (void)stat("/proc/self/ns/pid", &space);
    return (struct greeting){
        .pid = (uint64_t)getpid(),
        .pid_space = (uint64_t)space.st_ino,
        .symmetric_bytes = heap->layout.symmetric_bytes,
        .base = (uint64_t)(uintptr_t)heap->segments[heap->me].base,
    };
}

static bool same_process(const struct greeting *a, const struct greeting *b)
{
    return a->pid == b->pid && a->pid_space == b->pid_space;
}

/* ERR_ARG if the heap may not grow to the same size on all PEs. */
static chorus_status check_greetings(const struct ch_heap *heap, const struct greeting *all)
{
    for (uint32_t pe = 1; pe < heap->n; pe++)
        if (all[pe].symmetric_bytes != all[0].symmetric_bytes)
            return CH_FAIL(
                CHORUS_ERR_ARG,
                "the heap may grow to %llu bytes on PE 0 and %llu on PE %u; give every "
                "PE the same CHORUS_HEAP_MAX",
                (unsigned long long)all[0].symmetric_bytes,
                (unsigned long long)all[pe].symmetric_bytes, pe);
    return CHORUS_OK;
}

/* Map the segments of the PEs of this host. Those of PEs of this process are used directly;
 * descriptors are exchanged only if there are other processes, and only within each host. */
static chorus_status connect_peers(struct ch_heap *heap, const struct greeting *all)
{
    struct ch_boot *const boot = heap->boot;
    uint32_t n_here = 0, n_same = 0;
    chorus_status st;
    int *fds;

    for (uint32_t pe = 0; pe < heap->n; pe++) {
        if (!same_process(&all[pe], &all[heap->me])) continue;
        n_same++;
        if (!ch_boot_is_near(boot, pe)) continue;
        n_here++;
        if (pe != heap->me)
            ch_segment_share(&heap->layout, (char *)(uintptr_t)all[pe].base,
                             &heap->segments[pe]);
    }
    ch_segment_drop_users(&heap->segments[heap->me], heap->n - n_here);
    /* All PEs get the same result: one process contains all PEs, or it does not. */
    if (n_same == heap->n) return CHORUS_OK;

    fds = malloc(heap->n * sizeof(*fds));
    if (fds == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %u descriptors", heap->n);
    CH_TRY_GOTO(st, boot->ops->exchange(boot, NULL, 0, heap->segments[heap->me].fd, NULL, fds),
                out_fds);
    st = ch_segments_map(&heap->layout, fds, heap->n, heap->segments);
    for (uint32_t pe = 0; pe < heap->n; pe++)
        if (fds[pe] >= 0) (void)close(fds[pe]);

out_fds:
    free(fds);
    return st;
}

/* Create everything that needs no peer. */
static chorus_status create_local_parts(struct ch_heap *heap)
{
    struct ch_segment *const own = &heap->segments[heap->me];

    CH_TRY(ch_arena_init(&heap->arena));
    CH_TRY(ch_arena_init(&heap->local));
    CH_TRY(ch_segment_create(&heap->layout, heap->n, own));
    ch_record_init(ch_heap_record(heap, heap->me), heap->me, heap->n);
    heap->extent.symmetric = own->base + heap->layout.symmetric_offset;
    heap->symmetric_bytes = heap->layout.symmetric_bytes;
    return CHORUS_OK;
}

/* Number this PE among those of its machine. Hosts that CHORUS_NODES pretends are one. */
static void place_on_machine(const struct ch_boot *boot, const struct ch_options *options,
                             uint32_t *place_out, uint32_t *n_out)
{
    *place_out = *n_out = 0;
    for (uint32_t pe = 0; pe < boot->n; pe++) {
        if (options->nodes == 0 && !ch_boot_is_near(boot, pe)) continue;
        *place_out += pe < boot->me;
        (*n_out)++;
    }
}

/* Find the GPU that each PE could use; all PEs have one or none. */
static chorus_status find_devices(const struct ch_heap *heap, const struct ch_options *options,
                                  const struct greeting *all, struct ch_data_peer *peers)
{
    struct ch_data_peer mine;
    struct ch_vote vote = {"heap on GPUs", CHORUS_OK, &mine, sizeof(mine)};
    uint32_t place, n_places;

    memset(&mine, 0, sizeof(mine));
    mine.wants_multicast = wants_multicast(options);
    place_on_machine(heap->boot, options, &place, &n_places);
    vote.mine = ch_device_find(options->device, place, n_places, &mine.device);
    CH_TRY(ch_boot_vote(heap->boot, &vote, peers));
    for (uint32_t pe = 0; pe < heap->n; pe++) {
        const bool is_on_machine = options->nodes != 0 || ch_boot_is_near(heap->boot, pe);

        peers[pe].is_here = is_on_machine && same_process(&all[pe], &all[heap->me]);
    }
    return CHORUS_OK;
}

/* ERR_UNSUPPORTED if two PEs of one process use the same GPU. Kernels of PEs wait for each
 * other. CUDA time-slices those of several processes; within one process it may delay a kernel
 * until another has ended, whatever their streams. */
static chorus_status check_sharing(const struct greeting *all, const struct ch_data_peer *peers,
                                   uint32_t n)
{
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++)
            if (same_process(&all[a], &all[b]) &&
                ch_device_is_same(&peers[a].device, &peers[b].device))
                return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                               "heap on GPUs: PEs %u and %u are threads of one process and use "
                               "the same GPU (%s at %s), on which CUDA may run the kernel of "
                               "one only after that of the other; give each its own GPU, start "
                               "them as processes (chorusrun), or set CHORUS_HEAP=host",
                               a, b, peers[a].device.name, peers[a].device.bus);
    return CHORUS_OK;
}

/* Undo ch_data_open and ch_heap_pool_open; a no-op if the objects are in host memory. */
static void close_data(struct ch_heap *heap)
{
    if (heap->data == NULL) return;
    ch_heap_pool_close(heap);
    ch_data_close(heap->data);
    heap->data = NULL;
}

/* Place the objects on GPUs: CHORUS_OK on all PEs, or the failure of one. */
static chorus_status open_data(struct ch_heap *heap, const struct ch_options *options,
                               const struct greeting *all, const struct ch_data_peer *peers)
{
    const struct ch_data_own own = {ch_heap_door(heap, heap->me), heap->segments[heap->me].fd};
    chorus_status st;

    CH_TRY(check_sharing(all, peers, heap->n));
    CH_TRY(ch_data_open(heap->boot, options, peers, own, &heap->data));
    if (options->heap == CHORUS_HEAP_auto && !ch_data_is_one_group(heap->data))
        st = CH_FAIL(
            CHORUS_ERR_UNSUPPORTED,
            "GPUs that are not all near each other are used only if CHORUS_HEAP is cuda");
    else
        st = ch_heap_pool_open(heap);
    if (st != CHORUS_OK) {
        close_data(heap);
        return st;
    }
    heap->extent.symmetric = heap->data->bases[heap->me] + heap->data->symmetric_offset;
    heap->symmetric_bytes = heap->data->symmetric_bytes;
    return CHORUS_OK;
}

/* May the heap be in host memory, as placing it on GPUs has failed with `st`? */
static bool may_use_host_memory(chorus_status st, const struct ch_options *options)
{
    return options->heap == CHORUS_HEAP_auto && st != CHORUS_ERR_ABORTED &&
           st != CHORUS_ERR_TIMEOUT;
}

/* Place the objects on GPUs. OK also if that fails and they may be in host memory. */
static chorus_status use_gpus(struct ch_heap *heap, const struct ch_options *options,
                              const struct greeting *all, struct ch_data_peer *peers)
{
    chorus_status st = find_devices(heap, options, all, peers);

    if (st == CHORUS_OK) {
        st = open_data(heap, options, all, peers);
        if (st == CHORUS_OK || !may_use_host_memory(st, options)) return st;
        CH_LOG(WARN, "objects are in host memory, though every PE has a GPU: %s",
               ch_error_message());
    } else {
        if (!may_use_host_memory(st, options)) return st;
        CH_LOG(INFO, "objects are in host memory: %s", ch_error_message());
    }
    ch_error_forget();
    return CHORUS_OK;
}

/* Place the heap on GPUs if the options request it or, with auto, if that works on every PE;
 * otherwise it is in the segments. */
static chorus_status place_objects(struct ch_heap *heap, const struct ch_options *options,
                                   const struct greeting *all)
{
    struct ch_data_peer *peers;
    chorus_status st;

    if (options->heap == CHORUS_HEAP_host) return CHORUS_OK;
    peers = calloc(heap->n, sizeof(*peers));
    if (peers == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %u PEs", heap->n);
    st = use_gpus(heap, options, all, peers);
    free(peers);
    return st;
}

/* Create this PE's parts, exchange greetings, map the peers and place the objects. */
static chorus_status open_with_peers(struct ch_heap *heap, const struct ch_options *options)
{
    struct greeting mine, *all = malloc(heap->n * sizeof(*all));
    struct ch_vote greet = {"heap", CHORUS_OK, &mine, sizeof(mine)},
                   connected = {.step = "heap"};
    chorus_status st;

    if (all == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the data of %u PEs", heap->n);
    greet.mine = create_local_parts(heap);
    mine = greeting_of(heap);
    st = ch_boot_vote(heap->boot, &greet, all);
    if (st == CHORUS_OK) st = check_greetings(heap, all);
    if (st != CHORUS_OK) {
        ch_segment_drop_users(&heap->segments[heap->me],
                              heap->n - 1); /* no other PE shares it */
        goto out_all;
    }
    for (uint32_t pe = 0; pe < heap->n; pe++)
        heap->homes[pe] = all[pe].base;
    connected.mine = connect_peers(heap, all);
    CH_TRY_GOTO(st, ch_boot_vote(heap->boot, &connected, NULL), out_all);
    st = place_objects(heap, options, all);

out_all:
    free(all);
    return st;
}

chorus_status ch_heap_open(struct ch_boot *boot, const struct ch_options *options,
                           struct ch_heap **heap_out)
{
    struct ch_heap *const heap = calloc(1, sizeof(*heap));
    chorus_status st;

    if (heap == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the data of a heap");
    heap->boot = boot;
    heap->me = boot->me;
    heap->n = boot->n;
    heap->step_bytes = options->heap_step;
    ch_layout_init(&heap->layout, options->heap_max, options->sync_max, boot->n);
    (void)pthread_mutex_init(&heap->local_lock, NULL);
    heap->segments = calloc(boot->n, sizeof(*heap->segments));
    heap->homes = calloc(boot->n, sizeof(*heap->homes));
    st = heap->segments != NULL && heap->homes != NULL
             ? open_with_peers(heap, options)
             : CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %u PEs", boot->n);
    if (st != CHORUS_OK) {
        ch_heap_close(heap);
        return st;
    }
    *heap_out = heap;
    return CHORUS_OK;
}

void ch_heap_close(struct ch_heap *heap)
{
    if (heap == NULL) return;
    close_data(heap);
    for (uint32_t pe = 0; heap->segments != NULL && pe < heap->n; pe++)
        ch_segment_close(&heap->segments[pe]);
    free(heap->segments);
    free(heap->homes);
    ch_arena_clear(&heap->local);
    ch_arena_clear(&heap->arena);
    (void)pthread_mutex_destroy(&heap->local_lock);
    free(heap);
}

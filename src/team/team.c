/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team.c: the memory of a team and its end, its peers, and what it needs for peers that are not
 * mapped: links, local copies of sync memory, and keys.
 */
#include "team/team.h"

#include "device/device.h"
#include "team/differ.h"
#include "team/routes.h"
#include "team/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- the memory that peers write to ------------------------------------------------------- */
/* Alignment of sync memory and mailboxes, that of a struct ch_line. */
#define PLACE_STEP sizeof(struct ch_line)

/* The offset of the team's sync memory in this PE's memory, in units of PLACE_STEP. */
static uint64_t sync_steps(const struct ch_teams *teams, const struct ch_team *team)
{
    const char *base = team->is_in_pool ? ch_heap_base(teams->heap, teams->me_world)
                                        : ch_heap_data_base(teams->heap, teams->me_world);

    return (uint64_t)((char *)team->sync - base) / PLACE_STEP;
}

/* The offset of its mailbox, in the same units. */
static uint64_t mail_steps(const struct ch_teams *teams, const struct ch_team *team)
{
    const char *base = ch_heap_base(teams->heap, teams->me_world);

    return (uint64_t)((char *)team->mail - base) / PLACE_STEP;
}

static size_t mail_bytes(const struct ch_team *team)
{
    return CH_MAIL_SETS * (size_t)team->n * sizeof(struct ch_packet);
}

/* The offset of the PE's mark from its mailbox: behind it, at a cache line. */
static size_t refusal_offset(const struct ch_team *team)
{
    return (mail_bytes(team) + CH_CACHE_LINE_BYTES - 1) / CH_CACHE_LINE_BYTES *
           CH_CACHE_LINE_BYTES;
}

/* The offset of the PE's area for CHORUS_CHECK from its mailbox. */
static size_t check_offset(const struct ch_team *team)
{
    return refusal_offset(team) + sizeof(struct ch_refusal);
}

/* Bytes of the mailbox, the mark and the area for CHORUS_CHECK together. */
static size_t shared_bytes(const struct ch_team *team)
{
    return check_offset(team) + team->check_bytes;
}

/* --- peers that are not mapped ------------------------------------------------------------ */
/* Bytes of the part of sync memory that algorithms use; on GPUs all peers are mapped. */
static size_t sync_bytes(const struct ch_team *team)
{
    return ch_dup_offset(&team->layout, team->n_dups);
}

/* Must the network learn of its sync memory? All of the pool is attached. */
static bool is_sync_attached(const struct ch_team *team)
{
    return !team->is_on_gpu;
}

/* Can this PE's kernels load and store the sync memory of a PE that is not near? That of a PE
 * of the same host is in a pool. */
static bool is_sync_mapped(const struct ch_teams *teams, const struct ch_team *team,
                           uint32_t world)
{
    return team->is_in_pool && ch_links_host_link(teams->links, world) == NULL;
}

/* The link by which algorithms reach a PE; null: they load and store its memory. GPUs that are
 * all near do so. If some are not, sync memory is in the segments, so those of other hosts are
 * reached by links, near or not. */
static struct ch_link *remote_link(const struct ch_teams *teams, const struct ch_team *team,
                                   uint32_t world)
{
    struct ch_link *link = ch_links_host_link(teams->links, world);

    if (team->is_on_gpu && !team->is_in_pool) return NULL;
    return link != NULL ? link : ch_links_network_link(teams->links, world);
}

/* Set how many PEs of the team are reached by a network, and how many of them need a local copy
 * of their sync memory: those of this host have theirs mapped, in their pools. */
static void count_linked(const struct ch_teams *teams, const struct ch_team *team,
                         uint32_t *linked_out, uint32_t *mirrored_out)
{
    *linked_out = *mirrored_out = 0;
    for (uint32_t pe = 0; pe < team->n; pe++) {
        const uint32_t world = team->members[pe].world;

        if (remote_link(teams, team, world) == NULL) continue;
        ++*linked_out;
        *mirrored_out += !is_sync_mapped(teams, team, world);
    }
}

/* Number of hosts that PEs of the team are on; on GPUs, of groups of near PEs. */
static uint32_t count_nodes(const struct ch_teams *teams, const struct ch_team *team)
{
    const uint32_t *nodes = ch_links_nodes(teams->links);
    uint32_t n = 0;

    for (uint32_t pe = 0; nodes != NULL && pe < team->n; pe++) {
        uint32_t before = 0;

        while (nodes[team->members[before].world] != nodes[team->members[pe].world])
            before++;
        n += before == pe;
    }
    return n > 0 ? n : 1;
}

/* Allocate the local copies of what this PE writes to the sync memory of peers that are not
 * mapped, n_far of them, which begin `step` apart. Outside of the pool, except for FIFOs, pages
 * are allocated when they are written; these are few, since most of that memory is written by
 * other PEs. */
static chorus_status make_mirrors(const struct ch_teams *teams, struct ch_team *team,
                                  uint32_t n_far, size_t step)
{
    void *made = NULL;

    team->mirrors_bytes = (n_far - 1) * step + sync_bytes(team);
    if (team->is_in_pool) {
        CH_TRY(ch_heap_pool_alloc(teams->heap, team->mirrors_bytes, &made));
        team->mirrors = made;
        return CHORUS_OK;
    }
    made = mmap(NULL, team->mirrors_bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        return CH_FAIL(
            CHORUS_ERR_SYSTEM,
            "no address space for messages of a team of %u PEs to %u of other hosts: %s",
            team->n, n_far, strerror(errno));
    team->mirrors = made;
    return CHORUS_OK;
}

/* Allocate the pages of the FIFO of plain data from PE `writer` in the duplicate at `dup`:
 * otherwise each message of the first lap would wait for the allocation of pages. Older kernels
 * do not support this, which only costs time. */
static void fill_pages(const struct ch_team *team, char *dup, uint32_t writer)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE),
                 bytes = team->layout.fifo_bytes[CH_CELL_simple];
    char *const fifo = dup + team->layout.fifo_offset[CH_CELL_simple] + writer * bytes;
    const size_t skip = (uintptr_t)fifo % page;

    (void)madvise(fifo - skip, skip + bytes, MADV_POPULATE_WRITE);
}

/* In large teams a PE uses only few FIFOs. */
enum { PES_MOST = 16 };

void ch_team_fill_boards(const struct ch_team *team)
{
    if (team->remotes != NULL || team->is_on_gpu || team->n == 1 || team->n > PES_MOST) return;
    for (uint32_t pe = 0; pe < team->n; pe++)
        fill_pages(team, team->peers[pe].sync, pe);
}

/* Set the link to peer `pe`, whose sync memory is mapped. */
static void add_link_beside(const struct ch_teams *teams, struct ch_team *team, uint32_t pe,
                            struct ch_link *link)
{
    const uint32_t world = team->members[pe].world;

    team->remotes[pe].link = link;
    team->remotes[pe].sync = (ptrdiff_t)((uintptr_t)ch_heap_base_at_owner(teams->heap, world) -
                                         (uintptr_t)ch_heap_base(teams->heap, world));
}

/* Set the link to peer `pe`, whose sync memory has its local copy at `mirror` from now on. */
static void add_link(struct ch_team *team, uint32_t pe, struct ch_link *link, char *mirror)
{
    struct ch_peer *peer = &team->peers[pe];

    team->remotes[pe].link = link;
    team->remotes[pe].sync = (ptrdiff_t)((uintptr_t)peer->sync - (uintptr_t)mirror);
    peer->sync = mirror;
    if (team->n > PES_MOST || team->is_in_pool) return;
    fill_pages(team, mirror, team->me);
    fill_pages(team, team->sync, pe);
}

chorus_status ch_team_link(const struct ch_teams *teams, struct ch_team *team)
{
    uint32_t n_linked, n_mirrored;
    char *mirror;
    size_t step;

    count_linked(teams, team, &n_linked, &n_mirrored);
    if (n_linked == 0) return CHORUS_OK;
    team->n_nodes = count_nodes(teams, team);
    team->is_beside = n_mirrored == 0;
    team->remotes = calloc(team->n, sizeof(*team->remotes));
    if (team->remotes == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the links of %u PEs", team->n);
    step = ch_sync_mirror_step(&team->layout, team->n, team->me, team->n_dups);
    if (n_mirrored > 0) CH_TRY(make_mirrors(teams, team, n_mirrored, step));
    mirror = team->mirrors;
    for (uint32_t pe = 0; pe < team->n; pe++) {
        const uint32_t world = team->members[pe].world;
        struct ch_link *link = remote_link(teams, team, world);

        if (link == NULL) continue;
        if (is_sync_mapped(teams, team, world)) {
            add_link_beside(teams, team, pe, link);
        } else {
            add_link(team, pe, link, mirror);
            mirror += step;
        }
    }
    return CHORUS_OK;
}

chorus_status ch_team_attach(const struct ch_teams *teams, const struct ch_team *team,
                             struct ch_team_keys *keys_out)
{
    const struct ch_memory_part mail = {.base = team->mail, .bytes = shared_bytes(team)};
    const struct ch_memory_part sync = {.base = team->sync, .bytes = sync_bytes(team)};

    CH_TRY(ch_links_attach(teams->links, &mail, &keys_out->mail));
    if (!is_sync_attached(team)) return CHORUS_OK;
    return ch_links_attach(teams->links, &sync, &keys_out->sync);
}

chorus_status ch_team_add_peer_keys(const struct ch_teams *teams, const struct ch_team *team,
                                    uint32_t pe, const struct ch_team_keys *keys)
{
    const struct ch_member *member = &team->members[pe];

    if (member->link == NULL) return CHORUS_OK;
    CH_TRY(ch_links_add_peer_key(teams->links, member->world, member->mail, shared_bytes(team),
                                 keys->mail));
    if (!is_sync_attached(team)) return CHORUS_OK;
    return ch_links_add_peer_key(teams->links, member->world,
                                 team->peers[pe].sync + team->remotes[pe].sync,
                                 sync_bytes(team), keys->sync);
}

/* Let the network forget the keys of peer `pe`, if it is not mapped. */
static void drop_peer_keys(const struct ch_teams *teams, const struct ch_team *team,
                           uint32_t pe)
{
    const uint32_t world = team->members[pe].world;

    if (team->members[pe].link == NULL) return;
    ch_links_drop_peer_key(teams->links, world, team->members[pe].mail);
    if (!is_sync_attached(team) || team->remotes == NULL) return;
    ch_links_drop_peer_key(teams->links, world, team->peers[pe].sync + team->remotes[pe].sync);
}

/* Undo ch_team_link, ch_team_attach and ch_team_add_peer_keys. */
static void unregister_routes(const struct ch_teams *teams, struct ch_team *team)
{
    ch_links_detach(teams->links, team->mail);
    if (is_sync_attached(team)) ch_links_detach(teams->links, team->sync);
    for (uint32_t pe = 0; team->members != NULL && pe < team->n; pe++)
        drop_peer_keys(teams, team, pe);
    if (team->is_in_pool)
        ch_heap_pool_free(teams->heap, team->mirrors);
    else if (team->mirrors != NULL)
        (void)munmap(team->mirrors, team->mirrors_bytes);
    free(team->remotes);
}

/* --- memory, peers and turns -------------------------------------------------------------- */
/* Number of teams that any PE of this process has created; determines their numbers. */
static uint64_t last_id;

static void free_dups(struct ch_team *team)
{
    if (team->dups == NULL) return;
    for (uint32_t d = 0; d < team->n_dups; d++) {
        free(team->dups[d].positions);
        free(team->dups[d].slots);
    }
    free(team->dups);
}

/* Allocate the state of the team's CTAs between calls. On a failure it sets no message, and
 * ch_team_free frees what there is. */
static chorus_status alloc_dups(struct ch_team *team)
{
    team->dups = calloc(team->n_dups, sizeof(*team->dups));
    if (team->dups == NULL) return CHORUS_ERR_SYSTEM;
    for (uint32_t d = 0; d < team->n_dups; d++) {
        team->dups[d].positions =
            calloc((size_t)CH_CELL_COUNT * team->n, sizeof(struct ch_positions));
        team->dups[d].slots = calloc(team->n, sizeof(struct ch_slot));
        if (team->dups[d].positions == NULL || team->dups[d].slots == NULL)
            return CHORUS_ERR_SYSTEM;
    }
    return CHORUS_OK;
}

void ch_team_free(struct ch_teams *teams, struct ch_team *team)
{
    struct ch_heap *heap = teams->heap;

    if (team == NULL) return;
    ch_team_free(teams, team->node);
    ch_team_free(teams, team->rail);
    ch_team_end_objects(teams, team);
    free(team->levels);
    ch_routes_close(teams, team);
    unregister_routes(teams, team);
    ch_heap_local_free(heap, team->mail);
    if (team->is_in_pool) {
        ch_heap_pool_free(heap, team->sync);
        ch_heap_sync_free(heap, team->states);
    } else {
        ch_heap_sync_free(heap, team->sync);
    }
    for (int i = 0; i < CH_TEAM_CAPTURES; i++)
        ch_device_event_destroy(ch_heap_device(heap), team->last_captured[i].event);
    free_dups(team);
    free(team->ctas);
    free(team->peers);
    free(team->members);
    free(team);
}

/* Prepare a team of several PEs for marks, which end the waits of its collectives. */
static void init_refusal(const struct ch_teams *teams, struct ch_team *team)
{
    char *const mail = team->mail;

    if (team->n == 1) return;
    team->refusal = (struct ch_refusal *)(void *)(mail + refusal_offset(team));
    if (team->check_bytes != 0)
        team->check = (struct ch_check *)(void *)(mail + check_offset(team));
    team->refusable_own = *teams->policy;
    team->refusable_own.refused = &team->refusal->key;
    team->refusable_own.is_concerned = ch_team_is_concerned;
    team->refusable_own.look = ch_team_look;
    team->refusable_own.look_arg = team;
    team->refusable = &team->refusable_own;
}

/* Allocate sync memory and, on a GPU, the states of the duplicates. */
static chorus_status alloc_sync(const struct ch_teams *teams, struct ch_team *team)
{
    const size_t sync = sync_bytes(team),
                 states = team->is_on_gpu ? team->n_dups * CH_DEVICE_DUP_BYTES(team->n) +
                                                ch_device_area_bytes(team)
                                          : 0;

    if (team->is_in_pool) {
        CH_TRY(ch_heap_pool_alloc(teams->heap, sync, &team->sync));
        return ch_heap_sync_alloc(teams->heap, states, &team->states);
    }
    CH_TRY(ch_heap_sync_alloc(teams->heap, sync + states, &team->sync));
    team->states = (char *)team->sync + sync;
    return CHORUS_OK;
}

/* Allocate the memory that peers write to. The mailbox comes first: that of WORLD is then near
 * the doorbell, so that a peer that stores to both needs one page of page tables less. */
static chorus_status alloc_shared(struct ch_teams *teams, struct ch_team *team)
{
    if (teams->is_checked && team->n > 1)
        team->check_bytes = ch_check_bytes(team->n, teams->links->network != NULL);
    CH_TRY(ch_heap_local_alloc(teams->heap, shared_bytes(team), &team->mail));
    init_refusal(teams, team);
    CH_TRY(alloc_sync(teams, team));
    if ((sync_steps(teams, team) | mail_steps(teams, team)) <= UINT32_MAX) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_NOMEM,
                   "the sync memory of this PE's teams exceeds %zu bytes; destroy some teams",
                   PLACE_STEP << 32);
}

/* Create the event of the first capture with the team, so that a call allocates nothing during
 * that capture. device: null on a host. */
static chorus_status make_event(const struct ch_device *device, struct ch_team *team)
{
    if (device == NULL) return CHORUS_OK;
    return ch_device_event_create(device, &team->last_captured[0].event);
}

/* Set the number of duplicates, which is the largest number of CTAs of a call. */
static void set_n_dups(const struct ch_teams *teams, struct ch_team *team,
                       struct ch_reach_of_team reach)
{
    const uint32_t pooled = CH_POOL_DUPS_OF(team->n, reach.is_far),
                   most = reach.dups_most < pooled ? reach.dups_most : pooled;

    /* Routed kernels, which run all calls of large teams, use no slim duplicates. */
    team->n_dups =
        team->is_on_gpu && !ch_team_is_large(team) ? 2 * teams->n_dups : teams->n_dups;
    team->layout.n_whole = teams->n_dups;
    if (!team->is_in_pool) return;
    if (team->layout.n_whole > most) team->layout.n_whole = most;
    team->n_dups = team->layout.n_whole;
}

chorus_status ch_team_alloc(struct ch_teams *teams, uint32_t n, size_t chunk_bytes,
                            struct ch_reach_of_team reach, struct ch_team **team_out)
{
    struct ch_team *team = calloc(1, sizeof(*team));
    chorus_status status = CHORUS_OK;

    if (team == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a team of %u PEs", n);
    team->n = n;
    team->teams = teams;
    team->id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED) << CH_TEAM_SLOT_BITS;
    team->policy = team->refusable = teams->policy;
    team->n_in_use = &teams->n_in_use;
    team->n_nodes = 1;
    team->record = ch_heap_record(teams->heap, teams->me_world);
    /* It reaches all PEs of the job, so only teams that contain all of them can use it. */
    if (n == ch_heap_n_pes(teams->heap)) team->multicast = ch_heap_multicast_shift(teams->heap);
    team->is_on_gpu = ch_heap_device(teams->heap) != NULL;
    team->is_in_pool = reach.is_in_pool;
    ch_sync_layout_init(&team->layout, n, chunk_bytes, reach.is_far);
    set_n_dups(teams, team, reach);
    team->peers = calloc(n, sizeof(*team->peers));
    team->members = calloc(n, sizeof(*team->members));
    if (team->peers == NULL || team->members == NULL || alloc_dups(team) != CHORUS_OK)
        status = CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a team of %u PEs", n);
    else
        status = alloc_shared(teams, team);
    if (status == CHORUS_OK) status = make_event(ch_heap_device(teams->heap), team);
    if (status != CHORUS_OK) {
        ch_team_free(teams, team);
        return status;
    }
    *team_out = team;
    return CHORUS_OK;
}

uint64_t ch_team_pack_offsets(const struct ch_teams *teams, const struct ch_team *team)
{
    return sync_steps(teams, team) << 32 | mail_steps(teams, team);
}

void ch_team_add_peer(const struct ch_teams *teams, struct ch_team *team, uint32_t pe,
                      uint32_t world, uint64_t place)
{
    struct ch_link *const link = ch_links_host_link(teams->links, world);
    const bool is_remote = remote_link(teams, team, world) != NULL;
    struct ch_heap *const heap = teams->heap;
    char *const data = is_remote || !ch_heap_is_near(heap, world)
                           ? ch_heap_data_at_owner(heap, world)
                           : ch_heap_data_base(heap, world);
    char *const base =
        link != NULL ? ch_heap_base_at_owner(heap, world) : ch_heap_base(heap, world);
    struct ch_peer *peer = &team->peers[pe];

    if (world == teams->me_world) team->me = pe;
    team->is_across = team->is_across || link != NULL;
    team->members[pe] =
        (struct ch_member){.world = world,
                           .link = link,
                           .mail = base + (uint32_t)place * PLACE_STEP,
                           .record = link != NULL ? NULL : ch_heap_record(heap, world)};
    team->members[pe].refusal =
        (struct ch_refusal *)(void *)(team->members[pe].mail + refusal_offset(team));
    if (team->check != NULL)
        team->members[pe].check =
            (struct ch_check *)(void *)(team->members[pe].mail + check_offset(team));
    peer->shift = data - ch_heap_data_base(heap, teams->me_world);
    peer->sync = (team->is_in_pool ? base : data) + (place >> 32) * PLACE_STEP;
    peer->door = ch_heap_door(heap, link != NULL ? teams->me_world : world);
    team->is_sync_alike =
        (pe == 0 || team->is_sync_alike) && place >> 32 == sync_steps(teams, team);
}

int ch_team_find(const struct ch_team *team, uint32_t world)
{
    for (uint32_t pe = 0; pe < team->n; pe++)
        if (team->members[pe].world == world) return (int)pe;
    return -1;
}

chorus_status ch_team_fail_broken(int status)
{
    return CH_FAIL(CHORUS_ERR_STATE,
                   "the team is unusable since an earlier call on it failed (%s)",
                   ch_status_text(status));
}

chorus_status ch_team_wait(struct ch_team *team, uint64_t ticket)
{
    const chorus_status status = ch_word_wait(team->policy, &team->ticket_serving, ticket);

    if (status == CHORUS_OK) return CHORUS_OK;
    return CH_FAIL(status, "an earlier call on the same team has not finished");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route.c: the data of a team for peers that are not mapped: routes, local copies of sync
 * memory, keys.
 */
#include "team/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The part of sync memory that algorithms use; on GPUs all peers are mapped. */
static size_t sync_bytes(const struct ch_team *team)
{
    return ch_dup_offset(&team->layout, team->n_dups);
}

static uint32_t count_far(const struct ch_teams *teams, const struct ch_team *team)
{
    uint32_t n = 0;

    for (uint32_t pe = 0; pe < team->n; pe++)
        n += ch_network_route(teams->network, team->members[pe].world) != NULL;
    return n;
}

static uint32_t count_nodes(const struct ch_teams *teams, const struct ch_team *team)
{
    const uint32_t *nodes = ch_network_nodes(teams->network);
    uint32_t n = 0;

    for (uint32_t pe = 0; nodes != NULL && pe < team->n; pe++) {
        uint32_t before = 0;

        while (nodes[team->members[before].world] != nodes[team->members[pe].world])
            before++;
        n += before == pe;
    }
    return n > 0 ? n : 1;
}

/* Local copies of what this PE writes to the sync memory of those peers. Except for FIFOs,
 * pages are allocated when they are written; these are few, since most of that memory is
 * written by other PEs. */
static chorus_status make_mirrors(struct ch_team *team, uint32_t n_far)
{
    void *made;

    team->mirrors_bytes = n_far * sync_bytes(team);
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
    if (team->remotes != NULL || team->n == 1 || team->n > PES_MOST) return;
    for (uint32_t pe = 0; pe < team->n; pe++)
        fill_pages(team, team->peers[pe].sync, pe);
}

static void add_route(struct ch_team *team, uint32_t pe, struct ch_route *route, uint32_t nth)
{
    struct ch_peer *peer = &team->peers[pe];
    char *const mirror = team->mirrors + nth * sync_bytes(team);

    team->remotes[pe].route = route;
    team->remotes[pe].sync = (ptrdiff_t)((uintptr_t)peer->sync - (uintptr_t)mirror);
    peer->sync = mirror;
    if (team->n > PES_MOST) return;
    fill_pages(team, mirror, team->me);
    fill_pages(team, team->sync, pe);
}

chorus_status ch_team_route(const struct ch_teams *teams, struct ch_team *team)
{
    const uint32_t n_far = count_far(teams, team);

    team->n_nodes = count_nodes(teams, team);
    if (n_far == 0) return CHORUS_OK;
    team->remotes = calloc(team->n, sizeof(*team->remotes));
    if (team->remotes == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the routes of %u PEs", team->n);
    CH_TRY(make_mirrors(team, n_far));
    for (uint32_t pe = 0, nth = 0; pe < team->n; pe++) {
        struct ch_route *route = ch_network_route(teams->network, team->members[pe].world);

        if (route != NULL) add_route(team, pe, route, nth++);
    }
    return CHORUS_OK;
}

chorus_status ch_team_attach(const struct ch_teams *teams, const struct ch_team *team,
                             struct ch_team_keys *keys_out)
{
    CH_TRY(ch_network_attach(teams->network, team->mail, ch_team_shared_bytes(team),
                             &keys_out->mail));
    return ch_network_attach(teams->network, team->sync, sync_bytes(team), &keys_out->sync);
}

chorus_status ch_team_learn(const struct ch_teams *teams, const struct ch_team *team,
                            uint32_t pe, const struct ch_team_keys *keys)
{
    const struct ch_member *member = &team->members[pe];

    if (team->remotes == NULL || team->remotes[pe].route == NULL) return CHORUS_OK;
    CH_TRY(ch_network_learn(teams->network, member->world, member->mail,
                            ch_team_shared_bytes(team), keys->mail));
    return ch_network_learn(teams->network, member->world,
                            team->peers[pe].sync + team->remotes[pe].sync, sync_bytes(team),
                            keys->sync);
}

static void forget(const struct ch_teams *teams, const struct ch_team *team, uint32_t pe)
{
    const uint32_t world = team->members[pe].world;

    if (team->remotes[pe].route == NULL) return;
    ch_network_forget(teams->network, world, team->members[pe].mail);
    ch_network_forget(teams->network, world, team->peers[pe].sync + team->remotes[pe].sync);
}

void ch_team_end_routes(const struct ch_teams *teams, struct ch_team *team)
{
    ch_network_detach(teams->network, team->mail);
    ch_network_detach(teams->network, team->sync);
    for (uint32_t pe = 0; team->remotes != NULL && pe < team->n; pe++)
        forget(teams, team, pe);
    if (team->mirrors != NULL) (void)munmap(team->mirrors, team->mirrors_bytes);
    free(team->remotes);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * far_pes.c: PEs on more hosts than any PE has connections, which make teams; then PE 2 is late
 * for the next team, and all others say that it was PE 2: also those that hear of others
 * through that PE, as it is the leader of the second host, next to the first in the tree of
 * leaders.
 *
 *     CHORUS_NODES=40 CHORUS_TIMEOUT=3 chorusrun -n 41 far_pes
 */
#include "chorus/chorusx.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* 17 neighbours in the tree of leaders; the launcher, and where this PE listens. */
enum { LATE = 2, SOCKETS_MOST = 20, TEAMS = 3, LATE_US = 3500000 };

static int count_sockets(void)
{
    char path[300], what[64] = "";
    DIR *dir = opendir("/proc/self/fd");
    const struct dirent *entry;
    int n = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        if (readlink(path, what, sizeof(what) - 1) > 0)
            n += strncmp(what, "socket:", strlen("socket:")) == 0;
    }
    if (dir != NULL) (void)closedir(dir);
    return n;
}

static int make_team(chorus_team_t *team)
{
    return chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, chorus_n_pes(), NULL, 0, team);
}

static int fail(const char *what)
{
    (void)fprintf(stderr, "PE %d: %s\n", chorus_my_pe(), what);
    return 1;
}

int main(void)
{
    chorus_team_t team = CHORUS_TEAM_INVALID;
    char late[32];
    int n;

    if (chorus_init() != 0) return 2;
    for (int i = 0; i < TEAMS; i++)
        if (make_team(&team) != 0) return fail(chorusx_last_error());
    n = count_sockets();
    if (n > SOCKETS_MOST) (void)fprintf(stderr, "%d sockets\n", n);
    if (n > SOCKETS_MOST) return fail("that is more than the tree of leaders needs");
    if (chorus_my_pe() == LATE) {
        (void)usleep(LATE_US);
    } else {
        (void)snprintf(late, sizeof(late), " for PE %d;", LATE);
        if (make_team(&team) == 0) return fail("a team without a PE");
        if (strstr(chorusx_last_error(), late) == NULL) return fail(chorusx_last_error());
    }
    chorus_finalize();
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_pe LIST: a PE whose threads besides its own may run on the hardware thread LIST alone,
 * a number; what chorusrun says by CHORUS_SPARE. The thread that makes progress moves when it
 * begins, so it is looked for during ten seconds.
 */
#include <chorus/chorus.h>

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int count_moved(int number)
{
    DIR *folder = opendir("/proc/self/task");
    const struct dirent *entry;
    int moved = 0;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        const pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
        cpu_set_t set;

        if (thread > 0 && thread != getpid() &&
            sched_getaffinity(thread, sizeof(set), &set) == 0)
            moved += CPU_COUNT(&set) == 1 && CPU_ISSET((size_t)number, &set);
    }
    if (folder != NULL) (void)closedir(folder);
    return moved;
}

int main(int argc, char **argv)
{
    int moved = 0;

    if (argc != 2 || chorus_init() != 0) return 2;
    for (int i = 0; i < 1000 && moved == 0; i++, (void)usleep(10000))
        moved = count_moved((int)strtol(argv[1], NULL, 10));
    if (moved != 1)
        (void)printf("%d threads of PE %d are on %s\n", moved, chorus_my_pe(), argv[1]);
    chorus_finalize();
    return moved != 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* torchrun_pe: a PE that prints its process and the address of an object, waits until PE 0
 * reads a line from standard input, and exits with 1 if the object has changed or a peer is not
 * reached. */
#include "chorus/chorus.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    static const char before[] = "kept by its PE";
    char line[16], *object;
    int *peers, is_right;

    if (chorus_init() != 0) return 2;
    object = chorus_malloc(64);
    peers = chorus_calloc(1, sizeof(*peers));
    if (object == NULL || peers == NULL) return 2;
    (void)strcpy(object, before);
    chorus_barrier_all();
    chorus_int_atomic_inc(peers, (chorus_my_pe() + 1) % chorus_n_pes());
    chorus_barrier_all();
    (void)printf("%d %p\n", (int)getpid(), (void *)object);
    (void)fflush(stdout);
    if (chorus_my_pe() == 0 && fgets(line, sizeof(line), stdin) == NULL) return 2;
    chorus_barrier_all();
    is_right = *peers == 1 && strcmp(object, before) == 0;
    chorus_barrier_all();
    chorus_finalize();
    return is_right ? 0 : 1;
}

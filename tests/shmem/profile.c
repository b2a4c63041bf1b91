/* SPDX-License-Identifier: Apache-2.0 */
/* A tool's own shmem_ functions come before the library's, and reach them by pshmem_ names. */
#include <pshmem.h>

#include "expect.h"

static int n_puts, n_barriers;

void shmem_int_put(int *dest, const int *source, size_t nelems, int pe)
{
    n_puts++;
    pshmem_int_put(dest, source, nelems, pe);
}

void shmem_barrier_all(void)
{
    n_barriers++;
    pshmem_barrier_all();
}

int main(void)
{
    static int dest = -1, source;

    shmem_init();
    find_neighbours();
    source = me;
    shmem_int_put(&dest, &source, 1, next);
    shmem_barrier_all();
    EXPECT(dest == previous);
    EXPECT(n_puts == 1 && n_barriers == 1);
    shmem_pcontrol(1);
    shmem_finalize();
    return 0;
}

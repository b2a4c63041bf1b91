/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of a shared library that was linked with OpenSHMEM, and one of its in the program.
 */
#include "expect.h"

extern int library_word;
int library_send(int value, int pe);
int library_got(void);

int main(void)
{
    shmem_init();
    find_neighbours();
    EXPECT(library_word == 5);
    shmem_barrier_all();
    (void)library_send(100 + me, next);
    shmem_barrier_all();
    EXPECT(library_got() == 100 + previous && library_word == 101 + previous);
    shmem_barrier_all();
    shmem_int_p(&library_word, 7 + me, next);
    shmem_barrier_all();
    EXPECT(library_word == 7 + previous);
    shmem_finalize();
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* library.c: a shared library that calls OpenSHMEM: its variables are symmetric too. */
#include <shmem.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int library_word = 5;
static int library_hidden;

EXPORTED int library_send(int value, int pe);
EXPORTED int library_got(void);

/* Store to both variables of a PE. */
int library_send(int value, int pe)
{
    shmem_int_p(&library_hidden, value, pe);
    shmem_int_p(&library_word, value + 1, pe);
    return library_word;
}

int library_got(void)
{
    return library_hidden;
}

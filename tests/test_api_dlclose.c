/* SPDX-License-Identifier: Apache-2.0 */
/* test_api_dlclose LIBRARY: a program that loads the library, and closes it in a job. */
#include "chorus/chorusx.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { A_WHILE_US = 50000 };

static void *find(void *library, const char *name)
{
    void *const found = dlsym(library, name);

    if (found != NULL) return found;
    (void)fprintf(stderr, "%s\n", dlerror());
    exit(EXIT_FAILURE);
}

/* The threads of a stream and of CTAs, and what runs at a fork, are the library's code. */
int main(int argc, char **argv)
{
    void *const library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*init)(void), (*create)(chorus_stream_t *);
    chorus_stream_t stream;

    if (library == NULL) {
        (void)fprintf(stderr, "usage: test_api_dlclose LIBRARY; %s\n", dlerror());
        return EXIT_FAILURE;
    }
    init = (int (*)(void))(uintptr_t)find(library, "chorus_init");
    create = (int (*)(chorus_stream_t *))(uintptr_t)find(library, "chorusx_stream_create");
    if (setenv("CHORUS_CTAS", "3", 1) != 0 || init() != CHORUS_OK ||
        create(&stream) != CHORUS_OK || dlclose(library) != 0) {
        (void)fprintf(stderr, "the library does not start, or does not close\n");
        return EXIT_FAILURE;
    }
    (void)usleep(A_WHILE_US);
    if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) != NULL) return EXIT_SUCCESS;
    (void)fprintf(stderr, "the library is gone, and its threads run\n");
    return EXIT_FAILURE;
}

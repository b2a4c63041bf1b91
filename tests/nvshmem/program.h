/* SPDX-License-Identifier: Apache-2.0 */
/* program.h: how a program here ends: it prints one line, and fails if a result was wrong. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdio.h>
#include <stdlib.h>

/* What main returns. */
static inline int program_end(const char *name, int pe, int n_pes, int n_wrong)
{
    if (n_wrong == 0) {
        printf("%s: PE %d of %d: ok\n", name, pe, n_pes);
        return EXIT_SUCCESS;
    }
    printf("%s: PE %d of %d: %d values are wrong\n", name, pe, n_pes, n_wrong);
    return EXIT_FAILURE;
}

#endif /* PROGRAM_H */

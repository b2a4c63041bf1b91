/* SPDX-License-Identifier: Apache-2.0 */
/* names_of PREFIX: each line of the standard input, as messages have it with this prefix. */
#include "base/text.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    char line[256];

    while (argc == 2 && fgets(line, sizeof(line), stdin) != NULL) {
        ch_names_replace(argv[1], line, sizeof(line));
        (void)fputs(line, stdout);
    }
    return 0;
}

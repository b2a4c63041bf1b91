/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <string.h>
#include <unistd.h>

char *fuzz_lines(const uint8_t *data, size_t bytes, char **lines_out, size_t most,
                 size_t *n_out)
{
    char *text = malloc(bytes + 1), *next = text;

    FUZZ_CHECK(text != NULL);
    if (bytes > 0) memcpy(text, data, bytes);
    text[bytes] = '\0';
    for (*n_out = 0; *n_out < most && next != NULL && *next != '\0'; (*n_out)++) {
        lines_out[*n_out] = next;
        next = strchr(next, '\n');
        if (next != NULL) *next++ = '\0';
    }
    return text;
}

int fuzz_next_fd(void)
{
    const int fd = dup(STDIN_FILENO);

    FUZZ_CHECK(fd >= 0);
    (void)close(fd);
    return fd;
}

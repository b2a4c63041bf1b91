/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool ch_read_bytes(struct ch_sweep_options *options, char letter, const char *text,
                   uint64_t *out)
{
    static const char suffixes[] = "KMG";
    const char *suffix;
    unsigned shift = 0;
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    suffix = *end != '\0' ? strchr(suffixes, *end) : NULL;
    if (suffix != NULL) {
        shift = 10 * (unsigned)(suffix - suffixes + 1);
        end++;
    }
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || *out == 0 ||
        *out > (UINT64_MAX >> 1 >> shift))
        return CH_REFUSE(options,
                         "-%c \"%s\": expected bytes from 1, such as 8, 64K, 16M or 1G", letter,
                         text);
    *out <<= shift;
    return true;
}

bool ch_read_number(struct ch_sweep_options *options, const char *name, const char *text,
                    long lo, long hi, long *out)
{
    char *end;

    errno = 0;
    *out = strtol(text, &end, 10);
    if (end != text && *end == '\0' && errno == 0 && *out >= lo && *out <= hi) return true;
    return CH_REFUSE(options, "%s \"%s\": expected a whole number from %ld to %ld", name, text,
                     lo, hi);
}

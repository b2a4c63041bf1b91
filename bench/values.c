/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/values.h"

#include "base/text.h"

#include <string.h>

bool ch_read_bytes(struct ch_sweep_options *options, char letter, const char *text,
                   uint64_t *out)
{
    struct ch_number_hint hint;

    if (ch_number_bytes(text, 1, UINT64_MAX / 2, out)) return true;
    return CH_REFUSE(options, "-%c \"%s\": expected bytes from 1, such as 8, 64K, 16M or 1G%s",
                     letter, text, ch_number_hint(text, &hint));
}

bool ch_read_number(struct ch_sweep_options *options, const char *name, const char *text,
                    long lo, long hi, long *out)
{
    uint64_t value = 0;

    if (lo == -1 && strcmp(text, "-1") == 0) {
        *out = -1;
        return true;
    }
    *out = lo;
    if (!ch_number_whole(text, lo < 0 ? 0 : (uint64_t)lo, (uint64_t)hi, &value))
        return CH_REFUSE(options, "%s \"%s\": expected a whole number from %ld to %ld", name,
                         text, lo, hi);
    *out = (long)value;
    return true;
}

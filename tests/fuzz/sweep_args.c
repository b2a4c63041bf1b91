/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_args: each line is a word of chorus-sweep's command line. */
#include "fuzz.h"

#include "bench/options.h"

enum { WORDS_MAX = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static char program[] = "chorus-sweep";
    char *words[WORDS_MAX + 2] = {program}, *text;
    struct ch_sweep_options options;
    size_t n;

    text = fuzz_lines(data, bytes, words + 1, WORDS_MAX, &n);
    words[n + 1] = NULL;
    if (!ch_sweep_options_read((int)n + 1, words, &options)) {
        FUZZ_CHECK(options.error[0] != '\0');
    } else if (options.ask == CH_SWEEP_RUN) {
        FUZZ_CHECK(options.bytes_min <= options.bytes_max);
        FUZZ_CHECK((options.factor == 0) != (options.step == 0));
        FUZZ_CHECK(options.n_ctas >= 1 && options.n_ctas <= CH_SWEEP_CTAS_MAX);
    }
    free(text);
    return 0;
}

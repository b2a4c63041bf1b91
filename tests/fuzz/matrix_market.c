/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_market: any bytes are a square matrix in order, or refused with a place and a reason.
 */
#include "fuzz.h"

#include "bench/apps/matrix_market.h"

#include <string.h>

static void check_matrix(const struct csr *matrix)
{
    FUZZ_CHECK(matrix->starts[0] == 0);
    for (size_t i = 0; i < matrix->rows; i++) {
        FUZZ_CHECK(matrix->starts[i] <= matrix->starts[i + 1]);
        for (size_t k = matrix->starts[i]; k < matrix->starts[i + 1]; k++) {
            FUZZ_CHECK(matrix->columns[k] < matrix->rows);
            FUZZ_CHECK(k == matrix->starts[i] || matrix->columns[k - 1] < matrix->columns[k]);
        }
    }
}

/* Columns are those of the line, and one behind it at most. */
static void check_place(const char *text, size_t bytes, const struct matrix_market_error *error)
{
    const char *const end = text + bytes, *line = text;
    size_t lines = 1;

    for (const char *c = text; c < end && lines < error->line; c++)
        if (*c == '\n') {
            line = c + 1;
            lines++;
        }
    FUZZ_CHECK(error->line >= 1 && error->line <= lines + 1);
    FUZZ_CHECK(error->column >= 1);
    FUZZ_CHECK(error->line > lines || error->column <= (size_t)(end - line) + 1);
    FUZZ_CHECK(error->text[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text =
        calloc(1, bytes > 0 ? bytes : 1); /* AddressSanitizer sees what is read behind */
    struct matrix_market_error error = {0};
    struct csr matrix;

    FUZZ_CHECK(text != NULL);
    if (bytes > 0) memcpy(text, data, bytes);
    if (matrix_market_parse(text, bytes, &matrix, &error)) {
        check_matrix(&matrix);
        csr_free(&matrix);
    } else {
        check_place(text, bytes, &error);
    }
    free(text);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The solvers of bench/apps: grids and rows that are divided, serial runs, matrix files. */
#include "bench/apps/cg.h"
#include "bench/apps/jacobi.h"
#include "bench/apps/matrix_market.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BANNER "%%MatrixMarket matrix coordinate real symmetric\n"

/* --- Jacobi ------------------------------------------------------------------------------- */
START_TEST(jacobi__grid_that_divides__has_blocks_side_by_side)
{
    struct jacobi_block block;
    char text[128];

    ck_assert(jacobi_divide(12, 8, 6, 3, &block, text, sizeof(text)));
    ck_assert_uint_eq(block.rows, 4);
    ck_assert_uint_eq(block.columns, 4);
    ck_assert_uint_eq(block.row, 4);
    ck_assert_uint_eq(block.column, 4);
    ck_assert_int_eq(block.neighbours[JACOBI_NORTH], 1);
    ck_assert_int_eq(block.neighbours[JACOBI_SOUTH], 5);
    ck_assert_int_eq(block.neighbours[JACOBI_WEST], 2);
    ck_assert_int_eq(block.neighbours[JACOBI_EAST], -1);
}
END_TEST

START_TEST(jacobi__grid_that_does_not_divide__says_what_to_take)
{
    struct jacobi_block block;
    char text[128];

    ck_assert(!jacobi_divide(10, 8, 3, 0, &block, text, sizeof(text)));
    ck_assert_str_eq(
        text, "the grid has 10 rows, which do not divide among 3 PEs; take 9 or 12 rows");
    ck_assert(!jacobi_divide(10, 1, 4, 0, &block, text, sizeof(text)));
    ck_assert_str_eq(
        text, "the grid has 1 columns, which do not divide among 2 PEs; take 2 or 4 columns");
}
END_TEST

/* PEs in one process: halos are copied. */
static void copy_halos(const struct jacobi_block *blocks, double *const *grids, int n_pes)
{
    for (int pe = 0; pe < n_pes; pe++)
        for (int side = 0; side < JACOBI_SIDES; side++) {
            const struct jacobi_block *b = &blocks[pe];
            const int from = b->neighbours[side], there = jacobi_opposite(side);
            double column[64];

            if (from < 0) continue;
            if (jacobi_is_column(side)) {
                jacobi_pack(&blocks[from], there, grids[from], column);
                jacobi_unpack(b, side, column, grids[pe]);
            } else {
                memcpy(grids[pe] + jacobi_halo_at(b, side),
                       grids[from] + jacobi_own_at(&blocks[from], there),
                       b->columns * sizeof(double));
            }
        }
}

static void step_of_pes(const struct jacobi_block *blocks, double *(*grids)[2], int n_pes,
                        int step)
{
    double *from[16];

    for (int pe = 0; pe < n_pes; pe++)
        from[pe] = grids[pe][step % 2];
    copy_halos(blocks, from, n_pes);
    for (int pe = 0; pe < n_pes; pe++) {
        jacobi_relax_border(&blocks[pe], grids[pe][(step + 1) % 2], from[pe]);
        jacobi_relax_inside(&blocks[pe], grids[pe][(step + 1) % 2], from[pe]);
    }
}

static void check_blocks(int n_pes, size_t rows, size_t columns)
{
    const struct jacobi_run run = {.steps = 21, .every = 10, .scale = 4};
    struct jacobi_block whole, blocks[16];
    double *expected[2], *grids[16][2], residual, change = 0;
    char text[128];

    ck_assert(jacobi_divide(rows, columns, 1, 0, &whole, text, sizeof(text)));
    for (int k = 0; k < 2; k++)
        expected[k] = calloc(jacobi_doubles(&whole), sizeof(double));
    ck_assert_int_eq(jacobi_serial(&whole, &run, expected, &residual), 1);
    for (int pe = 0; pe < n_pes; pe++) {
        ck_assert(jacobi_divide(rows, columns, n_pes, pe, &blocks[pe], text, sizeof(text)));
        for (int k = 0; k < 2; k++) {
            grids[pe][k] = calloc(jacobi_doubles(&blocks[pe]), sizeof(double));
            jacobi_fill(&blocks[pe], run.scale, grids[pe][k]);
        }
    }
    for (int step = 0; step < run.steps; step++) {
        step_of_pes(blocks, grids, n_pes, step);
        for (int pe = 0; pe < n_pes && step + 1 == 20; pe++)
            change = fmax(change, jacobi_change(&blocks[pe], grids[pe][0], grids[pe][1]));
    }
    ck_assert(change == residual);
    for (int pe = 0; pe < n_pes; pe++)
        for (size_t i = 0; i < blocks[pe].rows; i++)
            ck_assert_mem_eq(grids[pe][1] + jacobi_at(&blocks[pe], (ptrdiff_t)i, 0),
                             expected[1] + jacobi_at(&whole, (ptrdiff_t)(blocks[pe].row + i),
                                                     (ptrdiff_t)blocks[pe].column),
                             blocks[pe].columns * sizeof(double));
    for (int k = 0; k < 2; k++) {
        free(expected[k]);
        for (int pe = 0; pe < n_pes; pe++)
            free(grids[pe][k]);
    }
}

START_TEST(jacobi__blocks__have_the_bits_of_the_serial_run)
{
    check_blocks(1, 5, 7);
    check_blocks(3, 3, 9); /* blocks of one row */
    check_blocks(4, 2, 2);
    check_blocks(6, 24, 12);
    check_blocks(16, 12, 20);
}
END_TEST

START_TEST(jacobi__many_steps__approach_the_mean_of_the_neighbours)
{
    const struct jacobi_run run = {.steps = 1000, .every = 10, .scale = 1};
    struct jacobi_block whole;
    double *grids[2], residual = 1;
    char text[128];

    ck_assert(jacobi_divide(8, 8, 1, 0, &whole, text, sizeof(text)));
    for (int k = 0; k < 2; k++)
        grids[k] = calloc(jacobi_doubles(&whole), sizeof(double));
    ck_assert_int_eq(jacobi_serial(&whole, &run, grids, &residual), 0);
    ck_assert(residual < 1e-14);
    ck_assert(grids[0][jacobi_at(&whole, 3, 3)] > 1 && grids[0][jacobi_at(&whole, 3, 3)] < 2);
    free(grids[0]);
    free(grids[1]);
}
END_TEST

/* --- matrix files ------------------------------------------------------------------------- */
static bool parse(const char *text, struct csr *matrix, struct matrix_market_error *error)
{
    return matrix_market_parse(text, strlen(text), matrix, error);
}

START_TEST(matrix_market__symmetric_file__has_both_triangles)
{
    struct matrix_market_error error;
    struct csr m;

    ck_assert(parse(BANNER "% a comment\n\n3 3 4\n3 1 -1.5\n1 1 2\n% another\n2 2 1e1\n3 3 +4",
                    &m, &error));
    ck_assert_uint_eq(m.rows, 3);
    ck_assert_uint_eq(m.starts[1], 2);
    ck_assert_uint_eq(m.starts[2], 3);
    ck_assert_uint_eq(m.starts[3], 5);
    ck_assert_uint_eq(m.columns[1], 2);
    ck_assert(m.values[1] == -1.5 && m.values[2] == 10 && m.values[3] == -1.5);
    csr_free(&m);
}
END_TEST

START_TEST(matrix_market__general_integers_and_crlf__are_read)
{
    struct matrix_market_error error;
    struct csr m;

    ck_assert(parse("%%matrixmarket MATRIX coordinate Integer general\r\n2 2 2\r\n"
                    "2\t1\t7\r\n1 1 3\r\n",
                    &m, &error));
    ck_assert_uint_eq(m.starts[1], 1);
    ck_assert_uint_eq(m.starts[2], 2);
    ck_assert(m.values[0] == 3 && m.values[1] == 7);
    csr_free(&m);
}
END_TEST

static const struct {
    const char *text, *message;
    size_t line, column;
} broken[] = {
    {"", "expected %%MatrixMarket, found the end of the line", 1, 1},
    {"%MatrixMarket", "expected %%MatrixMarket, found %MatrixMarket", 1, 1},
    {"%%MatrixMarket matrix array real general\n", "expected coordinate, found array", 1, 23},
    {"%%MatrixMarket matrix coordinate complex general\n",
     "expected real or integer, found complex", 1, 34},
    {"%%MatrixMarket matrix coordinate real hermitian\n",
     "expected general or symmetric, found hermitian", 1, 39},
    {"%%MatrixMarket matrix coordinate real general x\n",
     "expected the end of the line, found x", 1, 47},
    {BANNER "% no more\n", "expected rows, columns and entries, found the end", 3, 1},
    {BANNER "2 3 1\n1 1 1\n", "expected a square matrix, found 2 rows, 3 columns", 2, 1},
    {BANNER "2 2\n1 1 1\n", "expected entries, found the end of the line", 2, 4},
    {BANNER "2 x 1\n1 1 1\n", "expected columns, a number of 1 to 4294967295, found x", 2, 3},
    {BANNER "0 0 0\n", "expected rows, a number of 1 to 4294967295, found 0", 2, 1},
    {BANNER "9 9 9\n1 1 1\n", "the text has room for 3 entries, fewer than 9 rows", 2, 1},
    {BANNER "2 2 9\n1 1 1\n", "expected entries, a number of 1 to 3, found 9", 2, 5},
    {BANNER "2 2 2\n1 1 1\n\n%\n", "expected 2 entries, found the end after 1", 6, 1},
    {BANNER "1 1 1\n1 1 1\n1 1 1\n", "expected the end after 1 entries, found another line", 4,
     1},
    {BANNER "2 2 2\n1 1 1\n3 1 1\n", "expected a row, a number of 1 to 2, found 3", 4, 1},
    {BANNER "2 2 2\n1 1 1\n 2 -1 1\n", "expected a column, a number of 1 to 2, found -1", 4, 4},
    {BANNER "2 2 2\n1 1 1\n2 2 inf\n", "expected a value, a finite number, found inf", 4, 5},
    {BANNER "2 2 2\n1 1 1.0f\n", "expected a value, a finite number, found 1.0f", 3, 5},
    {BANNER "2 2 2\n1 1\n", "expected a value, found the end of the line", 3, 4},
    {BANNER "2 2 2\n1 1 1 1\n", "expected the end of the line, found 1", 3, 7},
    {BANNER "2 2 2\n1 2 1\n",
     "row 1, column 2 is above the diagonal, and symmetric files have what is below", 3, 1},
    {BANNER "2 2 3\n2 1 1\n1 1 1\n2 1 5\n", "row 1, column 2 is in line 3 already", 5, 1},
    {BANNER "1 1 1\n1 1 0000000000000000000000000000000000000000000000000000000000000001\n",
     "a word has more than 63 characters", 3, 5},
};

START_TEST(matrix_market__broken_text__is_refused_with_line_and_column)
{
    struct matrix_market_error error;
    struct csr m;

    ck_assert(!parse(broken[_i].text, &m, &error));
    ck_assert_str_eq(error.text, broken[_i].message);
    ck_assert_uint_eq(error.line, broken[_i].line);
    ck_assert_uint_eq(error.column, broken[_i].column);
}
END_TEST

START_TEST(matrix_market__file__is_named_in_errors)
{
    char path[] = "/tmp/matrix_market_XXXXXX", text[256], expected[256];
    const int fd = mkstemp(path);
    struct csr m;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq((int)write(fd, BANNER "2 2 x\n", strlen(BANNER "2 2 x\n")),
                     (int)strlen(BANNER "2 2 x\n"));
    (void)close(fd);
    ck_assert(!matrix_market_read(path, &m, text, sizeof(text)));
    (void)snprintf(expected, sizeof(expected),
                   "%s:2:5: expected entries, a number of 1 to 2, found x", path);
    ck_assert_str_eq(text, expected);
    (void)unlink(path);
    ck_assert(!matrix_market_read(path, &m, text, sizeof(text)));
    (void)snprintf(expected, sizeof(expected), "%s: cannot be read: No such file or directory",
                   path);
    ck_assert_str_eq(text, expected);
}
END_TEST

/* --- CG ----------------------------------------------------------------------------------- */
START_TEST(cg__laplacian__is_solved)
{
    const struct cg_run run = {.tolerance = 1e-10, .steps_max = 500, .scale = 2};
    struct cg_result result;
    struct csr m;
    double x[7 * 9], residual = 1;

    ck_assert(csr_laplace(7, 9, &m));
    ck_assert(cg_serial(&m, 3, &run, x, &result));
    ck_assert_int_eq(result.end, CG_CONVERGED);
    ck_assert_int_le(result.steps, 7 * 9);
    ck_assert(cg_residual(&m, run.scale, x, &residual));
    ck_assert(residual <= 2 * run.tolerance);
    csr_free(&m);
}
END_TEST

static void check_end(const char *text, enum cg_end end, int steps_max, const char *message)
{
    const struct cg_run run = {.tolerance = 1e-10, .steps_max = steps_max, .scale = 1};
    struct matrix_market_error error;
    struct cg_result result;
    struct csr m;
    double x[8];
    char said[256];

    ck_assert(parse(text, &m, &error));
    ck_assert(cg_serial(&m, 1, &run, x, &result));
    ck_assert_int_eq(result.end, end);
    cg_explain(&result, said, sizeof(said));
    ck_assert_str_eq(said, message);
    csr_free(&m);
}

START_TEST(cg__matrix_that_is_not_positive_definite__ends_and_says_so)
{
    check_end(BANNER "2 2 2\n1 1 1\n2 2 -2\n", CG_NOT_POSITIVE, 100,
              "the matrix is not positive definite, or nearly singular: p * A p is -1.53125 "
              "after 0 steps; CG needs "
              "a symmetric positive definite matrix");
    check_end(BANNER "2 2 3\n1 1 1\n2 1 2\n2 2 1\n", CG_NOT_POSITIVE, 100,
              "the matrix is not positive definite, or nearly singular: p * A p is -0.0140337 "
              "after 1 steps; CG "
              "needs a symmetric positive definite matrix");
    check_end(
        BANNER "2 2 2\n1 1 1\n2 2 3\n", CG_STEPS_MAX, 1,
        "CG has not converged after 1 steps: the residual is 0.469055 of b; the matrix is not "
        "positive definite, or nearly singular");
}
END_TEST

START_TEST(csr__matrix_that_is_not_symmetric__is_refused)
{
    struct matrix_market_error error;
    struct csr m;
    char text[256];

    ck_assert(parse("%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1\n2 2 1\n"
                    "3 3 1\n3 2 4\n",
                    &m, &error));
    ck_assert(!csr_is_symmetric(&m, text, sizeof(text)));
    ck_assert_str_eq(text, "the matrix is not symmetric: row 3, column 2 is 4, row 2, column 3 "
                           "is 0; CG needs a symmetric positive definite matrix");
    csr_free(&m);
}
END_TEST

/* Each PE multiplies its rows, when it has what its peers send. */
static void check_parts(const struct csr *whole, int n_pes)
{
    double x[64] = {0}, expected[64], own[64] = {0}, y[64];

    for (size_t i = 0; i < whole->rows; i++)
        x[i] = 1.0 / (double)(i + 3);
    csr_multiply(whole, 0, whole->rows, x, expected);
    for (int pe = 0; pe < n_pes; pe++) {
        struct csr_part part;

        ck_assert(csr_divide(whole, n_pes, pe, &part));
        memcpy(own, x + part.first, part.matrix.rows * sizeof(double));
        for (size_t i = 0; i < part.halo; i++)
            own[part.matrix.rows + i] = NAN;
        csr_multiply(&part.matrix, part.inside_lo, part.inside_hi, own, y);
        ck_assert_mem_eq(y + part.inside_lo, expected + part.first + part.inside_lo,
                         (part.inside_hi - part.inside_lo) * sizeof(double));
        for (int from = 0; from < n_pes; from++) {
            struct csr_part other;

            ck_assert(csr_divide(whole, n_pes, from, &other));
            for (int i = 0; i < other.n_peers; i++)
                for (size_t k = 0; other.peers[i].pe == pe && k < other.peers[i].n_send; k++)
                    own[other.peers[i].place + k] = x[other.first + other.peers[i].send[k]];
            csr_part_free(&other);
        }
        csr_multiply(&part.matrix, 0, part.matrix.rows, own, y);
        ck_assert_mem_eq(y, expected + part.first, part.matrix.rows * sizeof(double));
        csr_part_free(&part);
    }
}

START_TEST(csr__parts__multiply_as_the_whole)
{
    struct matrix_market_error error;
    struct csr m;

    ck_assert(csr_laplace(5, 6, &m));
    for (int n_pes = 1; n_pes <= 32; n_pes++) /* of 31 and 32, some have no row */
        check_parts(&m, n_pes);
    csr_free(&m);
    ck_assert(
        parse(BANNER "5 5 7\n1 1 9\n2 2 9\n3 3 9\n4 4 9\n5 5 9\n5 1 2\n4 2 3\n", &m, &error));
    for (int n_pes = 1; n_pes <= 5; n_pes++)
        check_parts(&m, n_pes);
    csr_free(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("solvers");
    TCase *cases = tcase_create("solvers");
    SRunner *runner;
    int failed;

    tcase_add_test(cases, jacobi__grid_that_divides__has_blocks_side_by_side);
    tcase_add_test(cases, jacobi__grid_that_does_not_divide__says_what_to_take);
    tcase_add_test(cases, jacobi__blocks__have_the_bits_of_the_serial_run);
    tcase_add_test(cases, jacobi__many_steps__approach_the_mean_of_the_neighbours);
    tcase_add_test(cases, matrix_market__symmetric_file__has_both_triangles);
    tcase_add_test(cases, matrix_market__general_integers_and_crlf__are_read);
    tcase_add_loop_test(cases, matrix_market__broken_text__is_refused_with_line_and_column, 0,
                        sizeof(broken) / sizeof(broken[0]));
    tcase_add_test(cases, matrix_market__file__is_named_in_errors);
    tcase_add_test(cases, cg__laplacian__is_solved);
    tcase_add_test(cases, cg__matrix_that_is_not_positive_definite__ends_and_says_so);
    tcase_add_test(cases, csr__matrix_that_is_not_symmetric__is_refused);
    tcase_add_test(cases, csr__parts__multiply_as_the_whole);
    suite_add_tcase(suite, cases);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}

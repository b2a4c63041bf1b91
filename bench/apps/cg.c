/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/apps/cg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTIAL = 4 /* sums that an adder works on at the same time */ };

void cg_fill(size_t first, size_t n, double scale, double *b_out)
{
    for (size_t i = 0; i < n; i++)
        b_out[i] = scale * (1 + 0.125 * (double)((first + i) % 7));
}

void cg_dot(size_t n, const double *r, const double *w, double sums_out[2])
{
    double r_r[PARTIAL] = {0}, r_w[PARTIAL] = {0};
    size_t i = 0;

    for (; i + PARTIAL <= n; i += PARTIAL)
        for (size_t k = 0; k < PARTIAL; k++) {
            r_r[k] += r[i + k] * r[i + k];
            r_w[k] += r[i + k] * w[i + k];
        }
    for (; i < n; i++) {
        r_r[i % PARTIAL] += r[i] * r[i];
        r_w[i % PARTIAL] += r[i] * w[i];
    }
    sums_out[0] = (r_r[0] + r_r[1]) + (r_r[2] + r_r[3]);
    sums_out[1] = (r_w[0] + r_w[1]) + (r_w[2] + r_w[3]);
}

void cg_divide_memory(double *memory, size_t n, struct cg_vectors *v)
{
    v->w = memory;
    v->p = memory + n;
    v->s = memory + 2 * n;
    v->x = memory + 3 * n;
}

void cg_pack(const struct csr_peer *peer, const double *r, double *packed_out)
{
    for (size_t i = 0; i < peer->n_send; i++)
        packed_out[i] = r[peer->send[i]];
}

static void begin(size_t first, size_t n, const struct cg_run *run, struct cg_vectors *v,
                  struct cg_scalars *scalars_out)
{
    *scalars_out = (struct cg_scalars){0};
    cg_fill(first, n, run->scale, v->r);
    memset(v->x, 0, n * sizeof(*v->x));
    memset(v->p, 0, n * sizeof(*v->p));
    memset(v->s, 0, n * sizeof(*v->s));
}

void cg_begin(const struct csr_part *part, const struct cg_run *run, struct cg_vectors *v,
              struct cg_scalars *scalars_out)
{
    begin(part->first, part->matrix.rows, run, v, scalars_out);
}

/* How the method goes on with the dot products of a step; beta and the new alpha. */
static enum cg_end next(const struct cg_run *run, const double sums[2], struct cg_scalars *c,
                        double *beta_out)
{
    const double r_r = sums[0], r_w = sums[1];
    const bool is_first = c->result.steps == 0;
    const double beta = is_first ? 0 : r_r / c->r_r,
                 curvature = is_first ? r_w : r_w - beta * r_r / c->alpha;

    if (is_first) c->b_b = r_r;
    c->result.residual = sqrt(r_r / c->b_b);
    c->result.curvature = curvature;
    if (c->result.residual <= run->tolerance) return CG_CONVERGED;
    if (!(curvature > 0)) return CG_NOT_POSITIVE;
    if (c->result.steps == run->steps_max) return CG_STEPS_MAX;
    c->result.steps++;
    c->r_r = r_r;
    c->alpha = r_r / curvature;
    *beta_out = beta;
    return CG_GOES_ON;
}

static bool advance(size_t n, const struct cg_run *run, const double sums[2],
                    struct cg_vectors *v, struct cg_scalars *c)
{
    double *restrict r = v->r, *restrict p = v->p, *restrict s = v->s, *restrict x = v->x;
    const double *restrict w = v->w;
    double beta;

    c->result.end = next(run, sums, c, &beta);
    if (c->result.end != CG_GOES_ON) return false;
    for (size_t i = 0; i < n; i++) {
        p[i] = r[i] + beta * p[i];
        s[i] = w[i] + beta * s[i];
        x[i] += c->alpha * p[i];
        r[i] -= c->alpha * s[i];
    }
    return true;
}

bool cg_advance(const struct csr_part *part, const struct cg_run *run, const double sums[2],
                struct cg_vectors *v, struct cg_scalars *scalars)
{
    return advance(part->matrix.rows, run, sums, v, scalars);
}

/* --- the serial run ----------------------------------------------------------------------- */
static void dot_by_pes(const struct csr *matrix, int n_pes, const struct cg_vectors *v,
                       double sums_out[2])
{
    sums_out[0] = sums_out[1] = 0;
    for (int pe = 0; pe < n_pes; pe++) {
        const size_t first = csr_first(matrix->rows, n_pes, pe),
                     end = csr_first(matrix->rows, n_pes, pe + 1);
        double sums[2];

        cg_dot(end - first, v->r + first, v->w + first, sums);
        sums_out[0] += sums[0];
        sums_out[1] += sums[1];
    }
}

bool cg_serial(const struct csr *matrix, int n_pes, const struct cg_run *run, double *x_out,
               struct cg_result *result_out)
{
    const size_t n = matrix->rows;
    double *const memory = calloc(4 * n, sizeof(*memory)), *const r = calloc(n, sizeof(*r));
    struct cg_vectors v = {.r = r};
    struct cg_scalars scalars;
    double sums[2];
    const bool has_memory = memory != NULL && r != NULL;

    if (has_memory) {
        cg_divide_memory(memory, n, &v);
        v.x = x_out;
        begin(0, n, run, &v, &scalars);
        do {
            csr_multiply(matrix, 0, n, v.r, v.w);
            dot_by_pes(matrix, n_pes, &v, sums);
        } while (advance(n, run, sums, &v, &scalars));
        *result_out = scalars.result;
    }
    free(memory);
    free(r);
    return has_memory;
}

bool cg_residual(const struct csr *matrix, double scale, const double *x, double *residual_out)
{
    const size_t n = matrix->rows;
    double *const b = calloc(n, sizeof(*b)), *const a_x = calloc(n, sizeof(*a_x));
    const bool has_memory = b != NULL && a_x != NULL;
    double r_r = 0, b_b = 0;

    if (has_memory) {
        cg_fill(0, n, scale, b);
        csr_multiply(matrix, 0, n, x, a_x);
        for (size_t i = 0; i < n; i++) {
            r_r += (b[i] - a_x[i]) * (b[i] - a_x[i]);
            b_b += b[i] * b[i];
        }
        *residual_out = sqrt(r_r / b_b);
    }
    free(b);
    free(a_x);
    return has_memory;
}

void cg_explain(const struct cg_result *result, char *text, size_t text_bytes)
{
    if (result->end == CG_NOT_POSITIVE)
        (void)snprintf(text, text_bytes,
                       "the matrix is not positive definite, or nearly singular: p * A p is %g "
                       "after %d steps; CG "
                       "needs a symmetric positive definite matrix",
                       result->curvature, result->steps);
    else
        (void)snprintf(
            text, text_bytes,
            "CG has not converged after %d steps: the residual is %g of b; the matrix "
            "is not positive definite, or nearly singular",
            result->steps, result->residual);
}

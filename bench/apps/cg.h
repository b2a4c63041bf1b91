/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cg.h: the method of conjugate gradients for A x = b, in the form of Chronopoulos and Gear
 * (J. Comput. Appl. Math. 25, 1989): the two dot products of a step, r * r and r * A r, are
 * needed at the same time, so that PEs reduce once a step, and not twice. Here is what does not
 * depend on how PEs communicate.
 */
#ifndef BENCH_APPS_CG_H
#define BENCH_APPS_CG_H

#include "bench/apps/csr.h"

struct job;

struct cg_run {
    double tolerance; /* of the residual's norm, relative to that of b */
    int steps_max;
    double scale; /* by which b is multiplied */
};

enum cg_end { CG_GOES_ON, CG_CONVERGED, CG_NOT_POSITIVE, CG_STEPS_MAX };

struct cg_result {
    enum cg_end end;
    int steps;
    double residual;  /* of the last step, relative to b */
    double curvature; /* p * A p of the last step; positive for every p if A is definite */
};

/* The vectors of a PE, of its rows; r also has the halo. */
struct cg_vectors {
    double *r, *w; /* the residual, and A r */
    double *p, *s; /* the direction, and A p */
    double *x;
};

/* The numbers that a step takes over from the one before. */
struct cg_scalars {
    double b_b, r_r, alpha;
    struct cg_result result;
};

/* b, multiplied by scale, of rows first <= i < first + n. */
void cg_fill(size_t first, size_t n, double scale, double *b_out);

/* x = 0 and r = b. */
void cg_begin(const struct csr_part *part, const struct cg_run *run, struct cg_vectors *v,
              struct cg_scalars *scalars_out);

/* This PE's share of r * r and r * w, each in the order of the rows by four partial sums. */
void cg_dot(size_t n, const double *r, const double *w, double sums_out[2]);

/* The rest of a step, when sums has the dot products; whether another follows. */
bool cg_advance(const struct csr_part *part, const struct cg_run *run, const double sums[2],
                struct cg_vectors *v, struct cg_scalars *scalars);

/*
 * All steps with the whole matrix. Dot products are sums over the rows of each of n_pes PEs,
 * added in the order of PEs: what n_pes PEs compute has the same bits if they reduce in this
 * order. x has matrix->rows elements. False if there is no memory.
 */
bool cg_serial(const struct csr *matrix, int n_pes, const struct cg_run *run, double *x_out,
               struct cg_result *result_out);

/* The norm of b - A x relative to that of b, computed anew; false if there is no memory. */
bool cg_residual(const struct csr *matrix, double scale, const double *x, double *residual_out);

/* Why there is no solution, in a text of text_bytes. */
void cg_explain(const struct cg_result *result, char *text, size_t text_bytes);

/* --- ways --------------------------------------------------------------------------------- */
/* A solver; the part is kept. x_out is memory of the way, and has the solution after solve. */
struct cg_way {
    const char *name;
    void *(*open)(const struct job *job, const struct csr_part *part, double **x_out);
    void (*solve)(void *state, const struct cg_run *run, struct cg_result *result_out);
    void (*close)(void *state);
};

extern const struct cg_way cg_chorus, cg_mpi, cg_coordinator, cg_coordinator_mpi;

/* Divide memory of 4 * n doubles into the vectors but r, which the way has elsewhere. */
void cg_divide_memory(double *memory, size_t n, struct cg_vectors *v);

/* The elements that a peer gets, one after another. */
void cg_pack(const struct csr_peer *peer, const double *r, double *packed_out);

#endif /* BENCH_APPS_CG_H */

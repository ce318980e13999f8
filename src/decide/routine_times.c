/* SPDX-License-Identifier: MIT */
/*
 * A routine's time is that of its arithmetic, at a share of the side's rate for products. The CPU
 * adds a time for each element, because parts of the routine wait for memory; the GPU adds a time
 * for each column, because columns follow each other:
 *
 *   CPU: t = flops / (share * rate) + m * n * element
 *   GPU: t = flops / (share * rate) + min(m, n) * column
 *
 * GESDD of a tall or wide matrix takes the time of its QR factorization and of GESDD of a square R.
 *
 * The GPU's time includes the copies up and down, which do not overlap the arithmetic. The figures
 * are those of OpenBLAS 0.3.26 to 0.3.34 on 16 cores of a Xeon with AVX-512, and of cuSOLVER 12 and
 * our LU and QR (compute/lu.h, compute/qr.h) on an H100, in double precision, fitted to n = 64 to
 * 4096 (bench/routines.py).
 */
#include "decide/routine_times.h"

#include <math.h>

#include "decide/tuning.h"
#include "kernels/lapack/panel_kabi.h"

/* panels: of factorizations by our kernels. rotate_s: of SYEV and GESVD, which iterate by rotations
 * that update the vectors on one core; if the vectors do not fit its cache, rotations take several
 * times as long. by_r: the CPU first computes the QR factorization of a tall or wide matrix. */
static const struct row {
    double cpu_share, cpu_element_s;
    struct rate {
        double share, column_s;
    } gpu, panels;
    double rotate_s;
    bool by_r;
} rows[XG_ROUTINE_COUNT] = {
    [XG_ROUTINE_POTRF] = {1.00, 2.5e-9, {0.90, 0.4e-6}},
    [XG_ROUTINE_POTRS] = {0.80, 0.5e-9, {0.30, 1e-6}},
    [XG_ROUTINE_POSV] = {0.90, 3e-9, {0.60, 1.4e-6}},
    [XG_ROUTINE_POTRI] = {0.80, 10e-9, {0.23, 3e-6}},
    [XG_ROUTINE_GETRF] = {1.00, 6e-9, {0.16, 2.3e-6}, {0.20, 2e-6}},
    [XG_ROUTINE_GETRS] = {0.80, 0.5e-9, {0.30, 1e-6}},
    [XG_ROUTINE_GESV] = {1.00, 9e-9, {0.16, 3e-6}, {0.20, 2.6e-6}},
    [XG_ROUTINE_GETRI] = {1.00, 10e-9, {0.23, 1.5e-6}},
    [XG_ROUTINE_TRTRI] = {1.00, 3e-9, {0.23, 1.2e-6}},
    [XG_ROUTINE_GEQRF] = {0.90, 25e-9, {0.22, 4e-6}, {0.40, 1.3e-6}},
    [XG_ROUTINE_ORGQR] = {0.80, 25e-9, {0.22, 1.5e-6}},
    [XG_ROUTINE_ORMQR] = {0.80, 10e-9, {0.30, 2e-6}},
    [XG_ROUTINE_GELS] = {0.90, 25e-9, {0.22, 4e-6}, {0.40, 3e-6}},
    [XG_ROUTINE_GELSD] = {0.90, 25e-9, {0.22, 4e-6}, {0.40, 3e-6}},
    [XG_ROUTINE_GELSS] = {0.90, 25e-9, {0.22, 4e-6}, {0.40, 3e-6}},
    [XG_ROUTINE_SYEVD] = {0.43, 70e-9, {0.07, 10e-6}, .rotate_s = 0.5e-9},
    [XG_ROUTINE_SYGVD] = {0.43, 80e-9, {0.07, 15e-6}},
    [XG_ROUTINE_GEEV] = {0.48, 900e-9, {0.0097, 184e-6}},
    [XG_ROUTINE_GESDD] = {0.46, 200e-9, {0.13, 27e-6}, .rotate_s = 1.5e-9, .by_r = true},
};

static const double GPU_CALL_S = 0.2e-3; /* copies of small operands, waits, info */

double xg_routine_flops(const struct xg_routine *r)
{
    const double m = (double)r->m, n = (double)r->n, k = (double)r->k;
    const double least = fmin(m, n), most = fmax(m, n);
    const double factor = 2 * most * least * least - 2.0 / 3 * least * least * least; /* of QR */
    const double values = (double)r->operand[XG_SLOT_W].rows;
    const double solve = 2 * n * n * k;
    const double flops[XG_ROUTINE_COUNT] = {
        [XG_ROUTINE_POTRF] = n * n * n / 3,
        [XG_ROUTINE_TRTRI] = n * n * n / 3,
        [XG_ROUTINE_POTRS] = solve,
        [XG_ROUTINE_POSV] = n * n * n / 3 + solve,
        [XG_ROUTINE_POTRI] = 2.0 / 3 * n * n * n,
        [XG_ROUTINE_GETRF] = factor / 2,
        [XG_ROUTINE_GETRS] = solve,
        [XG_ROUTINE_GESV] = factor / 2 + solve,
        [XG_ROUTINE_GETRI] = 4.0 / 3 * n * n * n,
        [XG_ROUTINE_GEQRF] = factor,
        [XG_ROUTINE_GELS] = factor + 4 * m * n * k - n * n * k,
        [XG_ROUTINE_GELSD] = factor + 4 * m * n * k - solve,
        [XG_ROUTINE_GELSS] = factor + 4 * m * n * k - solve,
        [XG_ROUTINE_ORGQR] = 4 * m * n * k - 2 * (m + n) * k * k + 4.0 / 3 * k * k * k,
        [XG_ROUTINE_ORMQR] = 4 * m * n * k - 2 * (r->right ? m : n) * k * k,
        [XG_ROUTINE_SYEVD] = 4.0 / 3 * n * n * n + (r->vectors ? 4 * n * n * values : 0),
        [XG_ROUTINE_SYGVD] = (r->vectors ? 22.0 : 10.0) / 3 * n * n * n,
        [XG_ROUTINE_GEEV] = (r->vectors ? 25.0 : 10.0) * n * n * n,
        [XG_ROUTINE_GESDD] = r->vectors
                                 ? 2 * most * least * least + 20 * least * least * least
                                 : 4 * most * least * least - 4.0 / 3 * least * least * least,
    };
    return flops[r->name] * (xg_type_is_complex(r->type) ? 4 : 1);
}

static double columns(const struct xg_routine *routine)
{
    return (double)xg_min_i64(routine->m, routine->n);
}

/* The CPU's time for the singular values of GELSD's and GELSS's R: GELSD computes them as GESDD
 * does, GELSS by rotations on one core. */
static double rest_seconds(const struct xg_model *model, const struct xg_routine *routine)
{
    static const double GELSS_CUBE_S = 5e-9;
    const struct row *row = &rows[XG_ROUTINE_GESDD];
    const double n = (double)routine->n, cube = n * n * n;
    const double complex = xg_type_is_complex(routine->type) ? 4 : 1;
    double rate = model->cpu_flops / (xg_type_is_double(routine->type) ? 2 : 1);
    const enum xg_finish finish = xg_routine_rows[routine->name].finish;
    if (finish == XG_FINISH_RANK_S)
        return cube * GELSS_CUBE_S * complex;
    return finish == XG_FINISH_RANK_D
               ? 10 * cube * complex / (row->cpu_share * rate) + n * n * row->cpu_element_s
               : 0;
}

static double memory_seconds(const struct xg_routine *routine, const struct row *row)
{
    const double elements = (double)routine->m * (double)routine->n, least = columns(routine);
    if (!row->by_r || routine->m == routine->n)
        return elements * row->cpu_element_s;
    return least * least * row->cpu_element_s + elements * rows[XG_ROUTINE_GEQRF].cpu_element_s;
}

static double cpu_seconds(const struct xg_model *model, const struct xg_routine *routine,
                          const struct row *row)
{
    double rate = model->cpu_flops / (xg_type_is_double(routine->type) ? 2 : 1);
    return xg_routine_flops(routine) / (row->cpu_share * rate) + memory_seconds(routine, row) +
           rest_seconds(model, routine);
}

static double rotation_seconds(const struct xg_routine *routine)
{
    const double least = columns(routine);
    if (!routine->rotates || !routine->vectors)
        return 0;
    return rows[routine->name].rotate_s * least * least *
           (double)(xg_max_i64(routine->m, routine->n) * xg_type_parts(routine->type));
}

/* The caller may want some of the values, as of SYEVD. */
static bool may_select(const struct xg_routine *routine)
{
    return xg_routine_use(routine->name, XG_SLOT_W)->lies == XG_LIES_ALL;
}

/* Without SYEVD's vectors the time is that of the tridiagonal form, which waits for memory; with
 * some vectors it lies between that and the time with all. */
double xg_routine_cpu_seconds(const struct xg_model *model, const struct xg_routine *routine)
{
    static const struct row tridiagonal = {.cpu_share = 0.22, .cpu_element_s = 20e-9};
    double rotations_s = rotation_seconds(routine);
    if (!may_select(routine))
        return cpu_seconds(model, routine, &rows[routine->name]) + rotations_s;
    struct xg_routine part = *routine;
    part.vectors = XG_VECTORS_NONE;
    double none_s = cpu_seconds(model, &part, &tridiagonal);
    part.vectors = XG_VECTORS_ALL;
    part.operand[XG_SLOT_W].rows = routine->n;
    double all_s = fmax(none_s, cpu_seconds(model, &part, &rows[routine->name]));
    double share =
        routine->vectors ? (double)routine->operand[XG_SLOT_W].rows / (double)routine->n : 0;
    return none_s + share * (all_s - none_s) + rotations_s;
}

/* The device's rate on large products of the type, in FLOPs a second. */
static double gpu_rate(const struct xg_model *model, enum xg_type type)
{
    const double side = XG_MODEL_LARGE;
    double flops = 2.0 * side * side * side * (xg_type_is_complex(type) ? 4 : 1);
    return flops * model->gpu_clock_hz / model->large_cycles[type];
}

double xg_routine_bytes(const struct xg_routine *routine, bool down)
{
    double bytes = 0;
    for (int slot = 0; slot < XG_SLOT_COUNT; slot++) {
        const struct xg_use *use = xg_routine_use(routine->name, (enum xg_slot)slot);
        const struct xg_matrix *host = &routine->operand[slot];
        if (host->at && (down ? use->out : use->in))
            bytes += (double)host->rows * (double)host->columns *
                     (double)xg_routine_slot_bytes(routine, (enum xg_slot)slot) *
                     (use->triangle ? 0.5 : 1);
    }
    return bytes;
}

/* Whether our kernels factorize the matrix (compute/panel.h), if cuBLAS has been loaded. */
static bool has_panels(const struct xg_model *model, const struct xg_routine *routine)
{
    return model->gpu_panels && !xg_type_is_complex(routine->type) &&
           routine->m <= XG_PANEL_ROWS_MOST && rows[routine->name].panels.share > 0;
}

static double gpu_seconds(const struct xg_model *model, const struct xg_routine *routine)
{
    const struct row *row = &rows[routine->name];
    const struct rate *gpu = has_panels(model, routine) ? &row->panels : &row->gpu;
    struct xg_routine whole = *routine; /* the device computes all eigenvectors */
    double rate = gpu_rate(model, routine->type);
    whole.operand[XG_SLOT_W].rows = routine->n;
    return GPU_CALL_S + xg_routine_bytes(routine, false) / model->up_bytes_per_s +
           xg_routine_flops(&whole) / (gpu->share * rate) + columns(routine) * gpu->column_s +
           xg_routine_bytes(routine, true) / model->down_bytes_per_s;
}

/* A core's time to multiply the right-hand sides by R's left and right vectors. */
static double solve_seconds(const struct xg_routine *routine)
{
    static const double CORE_FLOPS = 1e9;
    const double n = (double)routine->n;
    return (xg_type_is_complex(routine->type) ? 16 : 4) * n * n * (double)routine->k / CORE_FLOPS;
}

/* The same on the GPU: R goes up, its vectors come down, and a core solves with them. */
static double decomposition_seconds(const struct xg_model *model, const struct xg_routine *routine)
{
    struct xg_matrix square = {.at = routine->operand[XG_SLOT_A].at, routine->n, routine->n};
    const struct xg_routine decomposition = {
        .name = XG_ROUTINE_GESDD,
        .type = routine->type,
        .vectors = XG_VECTORS_THIN,
        .m = routine->n,
        .n = routine->n,
        .operand = {[XG_SLOT_A] = square, [XG_SLOT_U] = square, [XG_SLOT_V] = square}};
    return gpu_seconds(model, &decomposition) + solve_seconds(routine);
}

double xg_routine_gpu_seconds(const struct xg_model *model, const struct xg_routine *routine)
{
    double rest_s = rest_seconds(model, routine);
    return gpu_seconds(model, routine) +
           (rest_s > 0 ? fmin(rest_s, decomposition_seconds(model, routine)) : 0);
}

bool xg_routine_decomposes(const struct xg_model *model, const struct xg_routine *routine,
                           bool forced)
{
    return rest_seconds(model, routine) >
           (forced ? solve_seconds(routine) : decomposition_seconds(model, routine));
}

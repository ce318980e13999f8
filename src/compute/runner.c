/* SPDX-License-Identifier: MIT */
#include "compute/runner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/cublas.h"
#include "compute/launch.h"
#include "device/mem.h"

static CUdeviceptr address(const struct xg_runner *runner, CUdeviceptr base, size_t elems)
{
    return base + elems * (size_t)runner->plan->elem_bytes;
}

/* --- Pieces and residues ------------------------------------------------------------------- */

static bool has_residues(const struct xg_problem *call)
{
    return xg_type_is_double(call->type);
}

static int64_t parts(const struct xg_problem *call)
{
    return xg_type_parts(call->type);
}

/* The rows of a real operand (residue.h) for rows of op(A) or columns of op(B). */
static int64_t real_rows(const struct xg_problem *call, bool b, int64_t rows)
{
    return b ? rows * parts(call) : rows;
}

/* True if one operand serves as A and B. Complex operands are not shared: as real ones A and B
 * differ. */
static bool is_shared(const struct xg_plan *plan, const struct xg_problem *call)
{
    return plan->b_is_a && parts(call) == 1;
}

/* The extents of op(A) or op(B) of slice l as pieces or as residues: of the real operand. */
struct extents {
    int64_t rows, depth, panel_rows;
};

static struct extents extents_of(const struct xg_plan *plan, const struct xg_problem *call,
                                 int64_t l, bool b)
{
    return (struct extents){.rows = real_rows(call, b, b ? call->n : call->m),
                            .depth = xg_plan_depth(plan, call, l) * parts(call),
                            .panel_rows = real_rows(call, b, b ? plan->tn : plan->tm)};
}

static size_t operand_bytes(const struct xg_plan *plan, const struct xg_problem *call, int64_t l,
                            bool b)
{
    const struct extents x = extents_of(plan, call, l, b);
    if (!has_residues(call))
        return xg_split_operand_bytes(x.rows, x.depth, x.panel_rows);
    return xg_residue_operand_bytes(x.rows, x.depth, x.panel_rows) +
           (parts(call) > 1 ? xg_residue_expanded_bytes(x.rows, x.depth) : 0);
}

static size_t results_bytes(const struct xg_plan *plan, const struct xg_problem *call)
{
    size_t most = 0;
    for (int64_t i = 0; i < plan->tile_count; i++) {
        size_t bytes =
            xg_residue_results_bytes(plan->tiles[i].rows, plan->tiles[i].columns * parts(call));
        most = bytes > most ? bytes : most;
    }
    return most;
}

size_t xg_runner_split_bytes(const struct xg_plan *plan, const struct xg_problem *call)
{
    if (has_residues(call) && plan->tk * parts(call) > XG_RESIDUE_DEPTH_MAX)
        return SIZE_MAX;
    size_t bytes =
        xg_split_aligned(plan->device_bytes) + (has_residues(call) ? results_bytes(plan, call) : 0);
    for (int64_t l = 0; l < plan->kt; l++)
        for (int b = 0; b <= !is_shared(plan, call); b++)
            bytes += operand_bytes(plan, call, l, b);
    return bytes;
}

/* Where the operand of complex numbers is expanded to a real one: behind its residues. */
static CUdeviceptr expanded(const struct xg_split_operand *operand)
{
    return operand->end;
}

static enum xg_status place_operands(struct xg_runner *runner)
{
    const struct xg_plan *plan = runner->plan;
    const size_t count = 2 * (size_t)plan->kt;
    runner->operands = calloc(count, sizeof *runner->operands);
    if (!runner->operands)
        return XG_ERR_NOMEM;
    CUdeviceptr at = runner->base + xg_split_aligned(plan->device_bytes);
    for (int64_t i = 0; i < (int64_t)count; i++) {
        const struct extents x = extents_of(plan, runner->call, i / 2, i % 2);
        bool shared = i % 2 && is_shared(plan, runner->call); /* SYRK: B's are A's */
        size_t bytes = operand_bytes(plan, runner->call, i / 2, i % 2);
        (runner->residue ? xg_residue_operand_init : xg_split_operand_init)(
            &runner->operands[i], shared ? at - bytes : at, x.rows, x.depth, x.panel_rows);
        at += shared ? 0 : bytes;
    }
    runner->results = at;
    return XG_OK;
}

void xg_runner_want_all(struct xg_runner *runner)
{
    runner->all_kinds = true;
}

enum xg_status xg_runner_init(struct xg_runner *runner, bool splits)
{
    if (!splits)
        return XG_OK;
    if (has_residues(runner->call))
        runner->residue = runner->dev->residue;
    else
        runner->split = runner->dev->split;
    memset(runner->refusals, 0, XG_RUNNER_REFUSALS * sizeof *runner->refusals);
    if (runner->plan->tile_count > XG_RUNNER_TILES_MAX)
        xg_runner_want_all(runner);
    return place_operands(runner);
}

/* The device writes the refusals, so they are read as volatile. */
static bool refusal(const struct xg_runner *runner, int64_t word)
{
    const volatile uint32_t *refusals = runner->refusals;
    return runner->split && refusals[word];
}

bool xg_runner_refused(const struct xg_runner *runner, int64_t tile)
{
    return tile < XG_RUNNER_TILES_MAX && refusal(runner, XG_RUNNER_REFUSED_TILES + tile);
}

bool xg_runner_needed_all(const struct xg_runner *runner)
{
    return refusal(runner, XG_RUNNER_REFUSED_ANY);
}

void xg_runner_fini(struct xg_runner *runner)
{
    free(runner->operands);
}

bool xg_runner_splits(const struct xg_runner *runner)
{
    return runner->split || runner->residue;
}

static struct xg_split_source source_of(const struct xg_runner *runner, bool b, size_t offset_elems)
{
    const struct xg_plan *plan = runner->plan;
    return (struct xg_split_source){
        .data = address(runner, runner->place[b], offset_elems),
        .ld = b ? plan->ldb : plan->lda,
        .along_k = b ? runner->call->transb : !runner->call->transa,
    };
}

/* Returns rows of op(A) or columns of op(B) in slice l, of a complex operand as a real one. */
static struct xg_split_range range(const struct xg_runner *runner, bool b, int64_t l, int64_t row,
                                   int64_t rows, size_t offset_elems)
{
    const struct xg_split_operand *operand = &runner->operands[2 * l + b];
    const int64_t first = real_rows(runner->call, b, row);
    return (struct xg_split_range){
        .operand = operand,
        .source = parts(runner->call) > 1
                      ? xg_residue_expanded(expanded(operand), first, operand->k)
                      : source_of(runner, b, offset_elems),
        .row = first,
        .rows = real_rows(runner->call, b, rows),
    };
}

/* Splits rows that have arrived; complex ones are expanded first. */
static enum xg_status split_rows(struct xg_runner *runner, bool b, int64_t l, int64_t row,
                                 int64_t rows, size_t offset_elems, CUstream stream)
{
    const struct xg_problem *call = runner->call;
    const struct xg_split_range panel = range(runner, b, l, row, rows, offset_elems);
    const struct xg_residue_complex numbers = {
        .source = source_of(runner, b, offset_elems),
        .rows = rows,
        .k = panel.operand->k / parts(call),
        .b = b,
        .conjugate = (b ? call->transb : call->transa) == XG_CONJ_TRANS,
    };
    enum xg_status status = XG_OK;
    if (parts(call) > 1)
        status = xg_residue_expand(runner->residue, &numbers, expanded(panel.operand), panel.row,
                                   stream);
    if (status != XG_OK)
        return status;
    return runner->split ? xg_split_panels(runner->split, &panel, stream)
                         : xg_residue_panels(runner->residue, &panel, stream);
}

enum xg_status xg_runner_arrived(struct xg_runner *runner, const struct xg_plan_load *load,
                                 CUstream stream)
{
    const struct xg_plan *plan = runner->plan;
    int64_t row = load->index * (load->b ? plan->tn : plan->tm);
    int64_t rows = load->b ? xg_plan_columns(plan, runner->call, load->index)
                           : xg_plan_rows(plan, runner->call, load->index);
    enum xg_status status =
        split_rows(runner, load->b, load->l, row, rows, load->offset_elems, stream);
    if (status == XG_OK && plan->b_is_a && !is_shared(plan, runner->call))
        status = split_rows(runner, true, load->l, row, rows, load->offset_elems, stream);
    return status;
}

/* Returns the part of a tile to write if BLAS stores a triangle of C. */
static struct xg_triangle wanted_of(const struct xg_problem *call, const struct xg_plan_tile *tile)
{
    static const int kinds[] = {[XG_FULL] = XG_TRIANGLE_ALL,
                                [XG_UPPER] = XG_TRIANGLE_UPPER,
                                [XG_LOWER] = XG_TRIANGLE_LOWER};
    return (struct xg_triangle){.diagonal = tile->row - tile->column, .kind = kinds[call->uplo]};
}

static enum xg_status run_pieces(struct xg_runner *runner, const struct xg_plan_run *run,
                                 CUdeviceptr c, CUstream stream)
{
    const struct xg_plan_tile *tile = &runner->plan->tiles[run->tile];
    const struct xg_split_range a =
        range(runner, false, run->l, tile->row, tile->rows, run->a_offset_elems);
    const struct xg_split_range b =
        range(runner, true, run->l, tile->column, tile->columns, run->b_offset_elems);
    struct xg_split_result result = {.c = c,
                                     .ldc = tile->ld,
                                     .alpha = (float)runner->call->alpha,
                                     .beta = run->first ? 0.0f : 1.0f,
                                     .wanted = wanted_of(runner->call, tile)};
    int64_t word = runner->all_kinds ? XG_RUNNER_REFUSED_ANY : XG_RUNNER_REFUSED_TILES + run->tile;
    struct xg_split_kinds kinds = {.all = runner->all_kinds, .refused = runner->refusals + word};
    return xg_split_product(runner->split, &a, &b, &result, &kinds, stream);
}

static enum xg_status run_residues(struct xg_runner *runner, const struct xg_plan_run *run,
                                   CUdeviceptr c, CUstream stream)
{
    const struct xg_plan_tile *tile = &runner->plan->tiles[run->tile];
    const struct xg_split_range a =
        range(runner, false, run->l, tile->row, tile->rows, run->a_offset_elems);
    const struct xg_split_range b =
        range(runner, true, run->l, tile->column, tile->columns, run->b_offset_elems);
    struct xg_residue_result result = {.c = c,
                                       .ldc = tile->ld * parts(runner->call),
                                       .alpha = runner->call->alpha,
                                       .beta = run->first ? 0 : 1,
                                       .wanted = wanted_of(runner->call, tile),
                                       .results = runner->results,
                                       .padded = true};
    if (parts(runner->call) > 1) /* C's triangle is no triangle of the real C */
        result.wanted.kind = XG_TRIANGLE_ALL;
    enum xg_status status = xg_residue_product(runner->residue, &a, &b, &result, stream);
    return status == XG_DECLINED ? XG_ERR_NOTFOUND : status;
}

/* --- A kernel of the table ------------------------------------------------------------------ */

static struct xg_gemm_args args_of(const struct xg_runner *runner, const struct xg_plan_run *run,
                                   CUdeviceptr c)
{
    const struct xg_problem *call = runner->call;
    const struct xg_plan_tile *tile = &runner->plan->tiles[run->tile];
    return (struct xg_gemm_args){.type = call->type,
                                 .transa = call->transa,
                                 .transb = call->transb,
                                 .m = tile->rows,
                                 .n = tile->columns,
                                 .k = xg_plan_depth(runner->plan, call, run->l),
                                 .alpha = call->alpha,
                                 .alpha_im = call->alpha_im,
                                 .beta = run->first ? 0 : 1,
                                 .a = address(runner, runner->place[0], run->a_offset_elems),
                                 .lda = runner->plan->lda,
                                 .b = address(runner, runner->place[1], run->b_offset_elems),
                                 .ldb = runner->plan->ldb,
                                 .c = c,
                                 .ldc = tile->ld,
                                 .wanted = wanted_of(call, tile)};
}

/* Returns SYR2K's second product, which is added to the first. */
static struct xg_gemm_args exchanged_of(const struct xg_runner *runner,
                                        const struct xg_plan_run *run, CUdeviceptr c)
{
    const struct xg_problem exchanged = xg_problem_exchanged(runner->call);
    struct xg_gemm_args gemm = args_of(runner, run, c);
    gemm.a = address(runner, runner->place[1], run->b_other_offset_elems);
    gemm.b = address(runner, runner->place[0], run->a_other_offset_elems);
    gemm.lda = runner->plan->ldb;
    gemm.ldb = runner->plan->lda;
    gemm.alpha = exchanged.alpha;
    gemm.alpha_im = exchanged.alpha_im;
    gemm.beta = 1;
    return gemm;
}

void xg_runner_choose(struct xg_runner *runner)
{
    if (!xg_runner_splits(runner) && !xg_problem_is_in_place(runner->call))
        xg_route_choose(runner->route, runner->recent, runner->plan);
}

static enum xg_status launch(struct xg_runner *runner, const struct xg_plan_run *run,
                             const struct xg_gemm_args *gemm, CUstream stream)
{
    const struct xg_choice *choice = &runner->plan->choices[run->choice].choice;
    if (!runner->kernel)
        runner->kernel = choice->row;
    enum xg_status status = xg_launch_gemm(runner->dev, choice, gemm, stream);
    return status == XG_DECLINED ? XG_ERR_NOTFOUND : status;
}

/* Launches one kernel for each instance of the tile; the instances of other tiles run at the same
 * time on other streams. */
static enum xg_status run_instances(struct xg_runner *runner, const struct xg_plan_run *run,
                                    CUdeviceptr c, CUstream stream)
{
    const struct xg_problem *call = runner->call;
    struct xg_gemm_args gemm = args_of(runner, run, c);
    const int64_t m = xg_problem_instance_rows(call), count = gemm.m / m;
    const size_t a_elems = (size_t)(xg_problem_stored(call, false).rows * gemm.lda);
    const size_t b_elems = (size_t)(xg_problem_stored(call, true).rows * gemm.ldb);
    enum xg_status status = XG_OK;
    gemm.m = m;
    for (int64_t i = 0; i < count && status == XG_OK; i++) {
        status = launch(runner, run, &gemm, stream);
        gemm.a = address(runner, gemm.a, a_elems);
        gemm.b = address(runner, gemm.b, b_elems);
        gemm.c = address(runner, gemm.c, (size_t)(m * gemm.ldc));
    }
    return status;
}

/* Copies the panel into the tile, because TRSM is solved in place. */
static enum xg_status copy_panel(const struct xg_runner *runner, CUdeviceptr panel, int64_t ld,
                                 const struct xg_plan_tile *tile, CUdeviceptr c, CUstream stream)
{
    const size_t bytes = (size_t)runner->plan->elem_bytes;
    return xg_mem_dev_copy(runner->dev, c, (size_t)tile->ld * bytes, panel, (size_t)ld * bytes,
                           (size_t)tile->columns * bytes, (size_t)tile->rows, stream);
}

static enum xg_status run_triangular(struct xg_runner *runner, const struct xg_plan_run *run,
                                     CUdeviceptr c, CUstream stream)
{
    const struct xg_problem *call = runner->call;
    const struct xg_plan_tile *tile = &runner->plan->tiles[run->tile];
    const struct xg_gemm_args gemm = args_of(runner, run, c);
    bool a = call->structured == XG_OPERAND_A;
    const struct xg_cublas_triangular triangular = {
        .op = call->op,
        .type = call->type,
        .structured = call->structured,
        .stored = call->stored,
        .trans = a ? call->transa : call->transb,
        .unit = call->unit,
        .m = tile->rows,
        .n = tile->columns,
        .alpha = call->alpha,
        .alpha_im = call->alpha_im,
        .triangle = a ? gemm.a : gemm.b,
        .ld = a ? gemm.lda : gemm.ldb,
        .b = a ? gemm.b : gemm.a,
        .ldb = a ? gemm.ldb : gemm.lda,
        .c = c,
        .ldc = tile->ld,
    };
    runner->kernel = runner->route->whole.row;
    enum xg_status status = XG_OK;
    if (call->op == XG_OP_TRSM)
        status = copy_panel(runner, triangular.b, triangular.ldb, tile, c, stream);
    if (status == XG_OK)
        status = xg_cublas_triangular(runner->dev, &triangular, stream);
    return status == XG_DECLINED ? XG_ERR_NOTFOUND : status;
}

enum xg_status xg_runner_run(struct xg_runner *runner, const struct xg_plan_run *run, CUdeviceptr c,
                             CUstream stream)
{
    if (xg_runner_splits(runner)) {
        runner->kernel = runner->route->whole.row;
        return (runner->split ? run_pieces : run_residues)(runner, run, c, stream);
    }
    if (xg_problem_is_in_place(runner->call))
        return run_triangular(runner, run, c, stream);
    if (runner->call->batch)
        return run_instances(runner, run, c, stream);
    struct xg_gemm_args gemm = args_of(runner, run, c);
    enum xg_status status = launch(runner, run, &gemm, stream);
    if (status != XG_OK || !xg_problem_is_rank_2k(runner->call))
        return status;
    gemm = exchanged_of(runner, run, c);
    return launch(runner, run, &gemm, stream);
}

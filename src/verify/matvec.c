/* SPDX-License-Identifier: MIT */
/* Matrix-vector products that read each element once, for four vectors and a sum of magnitudes. */
#include "verify/matvec.h"

#include <string.h>

/*
 * Four numbers along a row of M are widened at once and multiply four numbers of each vector. Sums
 * along rows of M stay in ten registers, and two rows share each reading of the vectors. For sums
 * along columns, four rows share each reading of the sums. The vectors are read in tiles that stay
 * in a core's own cache. Tiles of 512 are too short for the prefetchers (11.5 ms for three matrices
 * of 2048 x 2048 on one core, and 7.5 with 2048: 0.6 ns a number).
 */
enum { LANES = 4, ROWS_SHARED = 2, GROUP = 4, TILE = 2048 };

/* Rows of op(M) that a worker takes at a time. */
enum { CHUNK_MIN = 16, CHUNK_ROWS = 64, CHUNK_COLUMNS = 512, CHUNKS_A_WORKER = 4 };
enum { VECTORS = XG_MATVEC_VECTORS, PLANES = XG_MATVEC_PLANES };

/* Operands may have any alignment, so the compiler must not assume their elements' natural one. */
typedef float float_lanes
    __attribute__((vector_size(LANES * sizeof(float)), aligned(1), may_alias));
typedef double double_lanes
    __attribute__((vector_size(LANES * sizeof(double)), aligned(1), may_alias));
typedef double wide __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));
typedef int64_t words __attribute__((vector_size(LANES * sizeof(int64_t))));

/* Without unrolling the sums would lie in memory. */
#define UNROLL _Pragma("GCC unroll 8")

#define INLINE static inline __attribute__((always_inline))

/* The part of a job that its inner loops need; matrix, in and out begin at the tile. */
struct tile {
    const char *matrix;
    int64_t ld, count; /* elements along a row of M */
    const double *in;
    double *out;
    int64_t in_stride, out_stride;
};

INLINE double magnitude(double a)
{
    return a < 0 ? -a : a; /* a NaN stays NaN */
}

INLINE double larger(double a, double b)
{
    return b > a ? b : a; /* a if b is NaN */
}

INLINE void keep_larger(wide *most, const wide *m)
{
    const words more = *m > *most;
    *most = (wide)(((words)*m & more) | ((words)*most & ~more));
}

/* Reads row r of M from element c on. */
INLINE void load(wide *to, const struct tile *tile, int64_t r, int64_t c, enum xg_type type)
{
    const char *at = tile->matrix + (r * tile->ld + c) * (int64_t)xg_type_bytes(type);
    if (type == XG_TYPE_D)
        *to = *(const double_lanes *)at;
    else
        *to = __builtin_convertvector(*(const float_lanes *)at, wide);
}

/* out[r] += M[r] . in, for `rows` neighbouring rows (1 or 2) of M. */
INLINE void sum_rows(const struct tile *tile, int rows, enum xg_type type, enum xg_matvec_form form)
{
    const words mask = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    wide sums[ROWS_SHARED][PLANES] = {{{0}}};
    int64_t c = 0;
    for (; c + LANES <= tile->count; c += LANES) {
        UNROLL
        for (int r = 0; r < rows; r++) {
            wide a;
            load(&a, tile, r, c, type);
            wide m = (wide)((words)a & mask);
            UNROLL
            for (int v = 0; v < VECTORS; v++)
                sums[r][v] += (form == XG_MATVEC_ABSOLUTE ? m : a) *
                              *(const wide *)(tile->in + v * tile->in_stride + c);
            if (form == XG_MATVEC_SQUARES)
                sums[r][VECTORS] += a * a;
            else if (form == XG_MATVEC_LARGEST)
                keep_larger(&sums[r][VECTORS], &m);
            else if (form == XG_MATVEC_WEIGHTED)
                sums[r][VECTORS] += m * *(const wide *)(tile->in + VECTORS * tile->in_stride + c);
        }
    }
    UNROLL
    for (int r = 0; r < rows; r++) {
        double last[PLANES] = {0};
        for (int64_t i = c; i < tile->count; i++) {
            double a = xg_matvec_element(tile->matrix, r * tile->ld + i, type), m = magnitude(a);
            UNROLL
            for (int v = 0; v < VECTORS; v++)
                last[v] += (form == XG_MATVEC_ABSOLUTE ? m : a) * tile->in[v * tile->in_stride + i];
            if (form == XG_MATVEC_LARGEST)
                last[VECTORS] = larger(last[VECTORS], m);
            else if (form != XG_MATVEC_ABSOLUTE)
                last[VECTORS] +=
                    form == XG_MATVEC_SQUARES ? a * a : m * tile->in[VECTORS * tile->in_stride + i];
        }
        UNROLL
        for (int p = 0; p < PLANES; p++) {
            wide sum = sums[r][p];
            double *out = &tile->out[p * tile->out_stride + r];
            if (p == VECTORS && form == XG_MATVEC_LARGEST)
                *out = larger(larger(larger(sum[0], sum[1]), larger(sum[2], sum[3])),
                              larger(*out, last[p]));
            else
                *out += sum[0] + sum[1] + (sum[2] + sum[3]) + last[p];
        }
    }
}

/* out[c] += M[0..rows][c] * in[0..rows], for `rows` (1 or 4) rows of M. */
INLINE void sum_columns(const struct tile *tile, int rows, enum xg_type type,
                        enum xg_matvec_form form)
{
    const words mask = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    const int64_t in_stride = tile->in_stride, out_stride = tile->out_stride;
    int64_t c = 0;
    for (; c + LANES <= tile->count; c += LANES) {
        wide sums[PLANES];
        UNROLL
        for (int p = 0; p < PLANES; p++)
            sums[p] = *(const wide *)(tile->out + p * out_stride + c);
        UNROLL
        for (int r = 0; r < rows; r++) {
            wide a;
            load(&a, tile, r, c, type);
            wide m = (wide)((words)a & mask);
            UNROLL
            for (int v = 0; v < VECTORS; v++)
                sums[v] += (form == XG_MATVEC_ABSOLUTE ? m : a) * tile->in[v * in_stride + r];
            if (form == XG_MATVEC_SQUARES)
                sums[VECTORS] += a * a;
            else if (form == XG_MATVEC_LARGEST)
                keep_larger(&sums[VECTORS], &m);
            else if (form == XG_MATVEC_WEIGHTED)
                sums[VECTORS] += m * tile->in[VECTORS * in_stride + r];
        }
        UNROLL
        for (int p = 0; p < PLANES; p++)
            *(wide *)(tile->out + p * out_stride + c) = sums[p];
    }
    for (; c < tile->count; c++) {
        UNROLL
        for (int r = 0; r < rows; r++) {
            double a = xg_matvec_element(tile->matrix, r * tile->ld + c, type), m = magnitude(a);
            UNROLL
            for (int v = 0; v < VECTORS; v++)
                tile->out[v * out_stride + c] +=
                    (form == XG_MATVEC_ABSOLUTE ? m : a) * tile->in[v * in_stride + r];
            double *out = &tile->out[VECTORS * out_stride + c];
            if (form == XG_MATVEC_LARGEST)
                *out = larger(*out, m);
            else if (form != XG_MATVEC_ABSOLUTE)
                *out += form == XG_MATVEC_SQUARES ? a * a : m * tile->in[VECTORS * in_stride + r];
        }
    }
}

INLINE const char *matrix_at(const struct xg_matvec *job, int64_t i, int64_t j, enum xg_type type)
{
    return (const char *)job->matrix + (i * job->ld + j) * (int64_t)xg_type_bytes(type);
}

/* Computes rows begin to end - 1 of op(M) if M is not transposed: each is a row of M. */
INLINE void chunk_of_rows(const struct xg_matvec *job, int64_t begin, int64_t end,
                          enum xg_type type, enum xg_matvec_form form)
{
    for (int64_t l = 0; l < job->columns; l += TILE) {
        struct tile tile = {.count = xg_min_i64(TILE, job->columns - l),
                            .ld = job->ld,
                            .in = job->in + l,
                            .in_stride = job->columns,
                            .out_stride = job->rows};
        int64_t i = begin;
        for (; i < end; i += ROWS_SHARED) {
            tile.matrix = matrix_at(job, i, l, type);
            tile.out = job->out + i;
            if (i + ROWS_SHARED <= end)
                sum_rows(&tile, ROWS_SHARED, type, form);
            else
                sum_rows(&tile, 1, type, form);
        }
    }
}

/* The same if M is stored transposed: each row is a column of M. */
INLINE void chunk_of_columns(const struct xg_matvec *job, int64_t begin, int64_t end,
                             enum xg_type type, enum xg_matvec_form form)
{
    struct tile tile = {.count = end - begin,
                        .ld = job->ld,
                        .out = job->out + begin,
                        .in_stride = job->columns,
                        .out_stride = job->rows};
    for (int64_t l = 0; l < job->columns;) {
        tile.matrix = matrix_at(job, l, begin, type);
        tile.in = job->in + l;
        if (l + GROUP <= job->columns) {
            sum_columns(&tile, GROUP, type, form);
            l += GROUP;
        } else {
            sum_columns(&tile, 1, type, form);
            l++;
        }
    }
}

INLINE void chunk_of(const struct xg_matvec *job, int64_t begin, int64_t end, enum xg_type type,
                     enum xg_matvec_form form)
{
    if (job->trans)
        chunk_of_columns(job, begin, end, type, form);
    else
        chunk_of_rows(job, begin, end, type, form);
}

INLINE void run_form(const struct xg_matvec *job, int64_t begin, int64_t end, enum xg_type type)
{
    if (job->form == XG_MATVEC_SQUARES)
        chunk_of(job, begin, end, type, XG_MATVEC_SQUARES);
    else if (job->form == XG_MATVEC_LARGEST)
        chunk_of(job, begin, end, type, XG_MATVEC_LARGEST);
    else if (job->form == XG_MATVEC_WEIGHTED)
        chunk_of(job, begin, end, type, XG_MATVEC_WEIGHTED);
    else
        chunk_of(job, begin, end, type, XG_MATVEC_ABSOLUTE);
}

INLINE void run_chunk(const struct xg_matvec *job, int64_t begin, int64_t end)
{
    if (job->type == XG_TYPE_D)
        run_form(job, begin, end, XG_TYPE_D);
    else
        run_form(job, begin, end, XG_TYPE_S);
}

static void run_chunk_plain(const struct xg_matvec *job, int64_t begin, int64_t end)
{
    run_chunk(job, begin, end);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void run_chunk_avx2(const struct xg_matvec *job,
                                                           int64_t begin, int64_t end)
{
    run_chunk(job, begin, end);
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}
#else
#define run_chunk_avx2 run_chunk_plain

static bool has_avx2(void)
{
    return false;
}
#endif

/* --- Shared out ---------------------------------------------------------------------------- */

static void copy_rows(const struct xg_matvec *job, int64_t begin, int64_t end)
{
    size_t bytes = (size_t)job->columns * xg_type_bytes(job->type);
    for (int64_t i = begin; i < end; i++)
        memcpy((char *)job->copy + (size_t)i * bytes, matrix_at(job, i, 0, job->type), bytes);
}

static void work(void *arg, int64_t begin, int64_t end)
{
    const struct xg_matvec *job = arg;
    for (int p = 0; p < PLANES; p++)
        memset(job->out + p * job->rows + begin, 0, (size_t)(end - begin) * sizeof(double));
    if (job->copy)
        copy_rows(job, begin, end);
    (has_avx2() ? run_chunk_avx2 : run_chunk_plain)(job, begin, end);
}

void xg_matvec_run(const struct xg_matvec *job, struct xg_team *team, int workers)
{
    struct xg_matvec own = *job;
    int size = team ? (int)xg_min_i64(workers, xg_team_size(team)) : 1;
    int64_t share = xg_ceil_div(job->rows, (int64_t)size * CHUNKS_A_WORKER);
    int64_t most = job->trans ? CHUNK_COLUMNS : CHUNK_ROWS;
    xg_team_share(team, size, job->rows, xg_min_i64(most, xg_round_up(share, CHUNK_MIN)), work,
                  &own);
}

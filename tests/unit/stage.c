/* SPDX-License-Identifier: MIT */
/* Staging: rows gathered, padded and committed exactly, and nothing beside them; and the team. */
#include "tests/support/xt.h"

#include <math.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "src/host/team.h"
#include "src/pipeline/copy.h"
#include "src/pipeline/stage.h"

/* Pages of a matrix with nothing of its triangle in them: out of bounds. */
static void protect_other(char *matrix, int64_t n, int64_t elem_bytes, enum xg_uplo stored)
{
    const int64_t page = sysconf(_SC_PAGESIZE), per_page = page / elem_bytes;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j + per_page <= n; j += per_page)
            if (stored == XG_UPPER ? j + per_page <= i : j > i)
                mprotect(matrix + (i * n + j) * elem_bytes, (size_t)page, PROT_NONE);
}

/* What an element's first number is; its imaginary part is that plus a half. */
static double triangle_value(int64_t row, int64_t column)
{
    return (double)(row * 5 + column * 3 % 1000);
}

/*
 * Rows of a structured operand are made whole from what is stored of it, and of the rest not even a
 * page that is out of bounds is touched.
 */
static void check_triangle(enum xg_op op, enum xg_type type, enum xg_uplo stored, int64_t row,
                           int64_t column)
{
    enum { N = 2048, ROWS = 9, WIDTH = 1001, LD = 1008 };
    const int64_t bytes = (int64_t)xg_type_bytes(type), parts = xg_type_parts(type);
    const bool wide = xg_type_is_double(type);
    const size_t all = (size_t)(N * N * bytes);
    char *matrix = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *dst = malloc((size_t)(ROWS * LD * bytes));
    if (matrix == MAP_FAILED || !dst)
        exit(XT_HARD);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = stored == XG_UPPER ? i : 0; j < (stored == XG_UPPER ? N : i + 1); j++)
            for (int64_t part = 0; part < parts; part++) {
                double value = triangle_value(i, j) + 0.5 * (double)part;
                if (wide)
                    ((double *)(void *)matrix)[(i * N + j) * parts + part] = value;
                else
                    ((float *)(void *)matrix)[(i * N + j) * parts + part] = (float)value;
            }
    protect_other(matrix, N, bytes, stored);
    const struct xg_problem p = {.op = op,
                                 .type = type,
                                 .structured = XG_OPERAND_B,
                                 .stored = stored,
                                 .b = matrix,
                                 .ldb = N};
    xg_stage_pack_triangle(&p, row, column, dst, &(struct xg_stage_rows){dst, LD, ROWS, WIDTH});
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < xg_round_up(WIDTH, 4); j++)
            for (int64_t part = 0; part < parts; part++) {
                int64_t at = (i * LD + j) * parts + part, r = row + i, c = column + j;
                double got =
                    wide ? ((double *)(void *)dst)[at] : (double)((float *)(void *)dst)[at];
                bool there = stored == XG_UPPER ? r <= c : r >= c;
                double value = there ? triangle_value(r, c) : triangle_value(c, r);
                double expected = part == 0 ? value : value + 0.5;
                if (part == 1 && op == XG_OP_HEMM)
                    expected = r == c ? 0 : there ? expected : -expected;
                XT_CHECK(got == (j < WIDTH ? expected : 0), "(%ld,%ld), part %ld: %g", (long)r,
                         (long)c, (long)part, got);
            }
    munmap(matrix, all);
    free(dst);
}

static void check_triangles(void)
{
    static const struct {
        enum xg_op op;
        enum xg_type type;
    } kinds[] = {{XG_OP_SYMM, XG_TYPE_S},
                 {XG_OP_SYMM, XG_TYPE_D},
                 {XG_OP_SYMM, XG_TYPE_Z},
                 {XG_OP_HEMM, XG_TYPE_C},
                 {XG_OP_HEMM, XG_TYPE_Z}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (int uplo = XG_UPPER; uplo <= XG_LOWER; uplo++) {
            check_triangle(kinds[i].op, kinds[i].type, (enum xg_uplo)uplo, 1500, 1000);
            check_triangle(kinds[i].op, kinds[i].type, (enum xg_uplo)uplo, 2000, 3);
            check_triangle(kinds[i].op, kinds[i].type, (enum xg_uplo)uplo, 7, 1047);
        }
}

static void fill(float *values, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        values[i] = xt_random(&seed);
}

static void check_pack(int64_t rows, int64_t width, int64_t src_ld, int64_t ld, bool cached)
{
    float *src = malloc((size_t)(rows * src_ld) * sizeof *src);
    float *dst = malloc((size_t)(rows * ld + 8) * sizeof *dst);
    fill(src, (size_t)(rows * src_ld), 1);
    fill(dst, (size_t)(rows * ld + 8), 2);
    float *before = malloc((size_t)(rows * ld + 8) * sizeof *before);
    memcpy(before, dst, (size_t)(rows * ld + 8) * sizeof *dst);
    xg_stage_pack(dst, ld, src, src_ld, rows, width, sizeof(float), cached);
    for (int64_t i = 0; i < rows * ld + 8; i++) {
        int64_t row = i / ld, column = i % ld;
        bool inside = row < rows && column < width;
        bool zero = row < rows && !inside && column < xg_round_up(width, 4);
        float expected = inside ? src[row * src_ld + column] : zero ? 0.0f : before[i];
        XT_CHECK(!memcmp(&dst[i], &expected, sizeof expected), "(%ld,%ld) of %ldx%ld", (long)row,
                 (long)column, (long)rows, (long)width);
    }
    free(src), free(dst), free(before);
}

static void check_commit(int64_t rows, int64_t width, int64_t ldc, int64_t ld, float beta)
{
    size_t c_elems = (size_t)(rows * ldc + 8);
    float *c = malloc(c_elems * sizeof *c), *before = malloc(c_elems * sizeof *c);
    float *src = malloc((size_t)(rows * ld) * sizeof *src);
    fill(c, c_elems, 3);
    fill(src, (size_t)(rows * ld), 4);
    memcpy(before, c, c_elems * sizeof *c);
    const struct xg_problem p = {.m = rows, .n = width, .beta = (double)beta, .c = c, .ldc = ldc};
    const struct xg_stage_rows from = {(char *)src, ld, rows, width};
    xg_stage_commit(&p, 0, 0, &from);
    for (size_t i = 0; i < c_elems; i++) {
        int64_t row = (int64_t)i / ldc, column = (int64_t)i % ldc;
        float expected = before[i];
        if (row < rows && column < width) {
            float product = src[row * ld + column];
            /* Two roundings, wherever C begins: the same call has the same bits. */
            volatile float old = beta * before[i];
            XT_CHECK(c[i] == product + old, "element %zu: %a, not %a", i, (double)c[i],
                     (double)(product + old));
            XT_CHECK(beta != 0 || c[i] == product);
        } else {
            XT_CHECK(!memcmp(&c[i], &expected, sizeof expected), "element %zu", i);
        }
    }
    free(c), free(before), free(src);
}

/* beta == 0 must not read C. */
static void check_commit_nan(void)
{
    float c[6] = {NAN, NAN, NAN, NAN, NAN, NAN}, src[8] = {1, 2, 0, 0, 3, 4, 0, 0};
    const struct xg_problem p = {.m = 2, .n = 2, .c = c, .ldc = 3};
    xg_stage_commit(&p, 0, 0, &(struct xg_stage_rows){(char *)src, 4, 2, 2});
    XT_CHECK(c[0] == 1 && c[1] == 2 && c[3] == 3 && c[4] == 4);
    XT_CHECK(c[2] != c[2] && c[5] != c[5]);
}

/* Wider elements: rows are moved as they are, and the padding behind them is zeros. */
static void check_pack_wide(int64_t elem_bytes)
{
    enum { ROWS = 3, WIDTH = 37, LD = 44, SRC_LD = 41 };
    unsigned char src[ROWS * SRC_LD * 16], dst[ROWS * LD * 16];
    for (size_t i = 0; i < sizeof src; i++)
        src[i] = (unsigned char)(i * 7 + i / 251);
    memset(dst, 0xa5, sizeof dst);
    xg_stage_pack(dst, LD, src, SRC_LD, ROWS, WIDTH, (size_t)elem_bytes, false);
    for (int64_t i = 0; i < ROWS * LD * elem_bytes; i++) {
        int64_t row = i / (LD * elem_bytes), at = i % (LD * elem_bytes);
        unsigned char expected = at < WIDTH * elem_bytes ? src[row * SRC_LD * elem_bytes + at]
                                 : at < 40 * elem_bytes  ? 0
                                                         : 0xa5;
        XT_CHECK(dst[i] == expected, "byte %ld of row %ld, elements of %ld", (long)at, (long)row,
                 (long)elem_bytes);
    }
}

/*
 * Every type and triangle: rows from (row, column) on are committed as the built-in loop computes
 * them (alpha A B are whole numbers, and so are the sums), and nothing else is touched.
 */
static void check_commit_problem(enum xg_type type, enum xg_uplo uplo, int64_t row, int64_t column,
                                 int scalar)
{
    enum { N = 23, LDC = 29, ROWS = 9, WIDTH = 11, LD = 12, PARTS = 2 };
    static const double betas[][2] = {{0, 0}, {1, 0}, {-2, 3}};
    double block[ROWS * LD * PARTS], c[N * LDC * PARTS], before[N * LDC * PARTS];
    const bool wide = xg_type_is_double(type), complex = xg_type_is_complex(type);
    const int parts = complex ? 2 : 1;
    const struct xg_problem p = {.type = type,
                                 .uplo = uplo,
                                 .m = N,
                                 .n = N,
                                 .beta = betas[scalar][0],
                                 .beta_im = complex ? betas[scalar][1] : 0,
                                 .c = c,
                                 .ldc = LDC};
    for (int i = 0; i < ROWS * LD * parts; i++)
        wide ? (block[i] = i % 17 - 8) : (((float *)(void *)block)[i] = (float)(i % 17 - 8));
    for (int i = 0; i < N * LDC * parts; i++)
        wide ? (c[i] = i % 13 - 6) : (((float *)(void *)c)[i] = (float)(i % 13 - 6));
    memcpy(before, c, sizeof c);
    xg_stage_commit(&p, row, column, &(struct xg_stage_rows){(const char *)block, LD, ROWS, WIDTH});
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < LDC; j++) {
            double got[2], old[2], add[2] = {0, 0};
            bool in = i >= row && i < row + ROWS && j >= column && j < column + WIDTH &&
                      (uplo == XG_FULL || (uplo == XG_UPPER ? j >= i : j <= i));
            for (int part = 0; part < parts; part++) {
                int64_t at = (i * LDC + j) * parts + part;
                int64_t from = ((i - row) * LD + j - column) * parts + part;
                got[part] = wide ? c[at] : (double)((float *)(void *)c)[at];
                old[part] = wide ? before[at] : (double)((float *)(void *)before)[at];
                if (in)
                    add[part] = wide ? block[from] : (double)((float *)(void *)block)[from];
            }
            double re = complex ? p.beta * old[0] - p.beta_im * old[1] : p.beta * old[0];
            double im = complex ? p.beta * old[1] + p.beta_im * old[0] : 0;
            XT_CHECK(got[0] == (in ? add[0] + re : old[0]), "(%ld,%ld) of type %d, triangle %d",
                     (long)i, (long)j, (int)type, (int)uplo);
            XT_CHECK(!complex || got[1] == (in ? add[1] + im : old[1]), "(%ld,%ld), imaginary",
                     (long)i, (long)j);
        }
}

/*
 * A Hermitian C: its diagonal's imaginary parts are written as 0 and not read, and the parts of the
 * others meet a real beta one by one.
 */
static void check_commit_hermitian(enum xg_uplo uplo, double beta)
{
    enum { N = 5, LDC = 6, LD = 8 };
    double block[N * LD * 2], c[N * LDC * 2];
    const struct xg_problem p = {.op = XG_OP_HERK,
                                 .type = XG_TYPE_Z,
                                 .uplo = uplo,
                                 .m = N,
                                 .n = N,
                                 .beta = beta,
                                 .c = c,
                                 .ldc = LDC};
    for (int i = 0; i < N * LD * 2; i++)
        block[i] = i % 7 - 3;
    for (int i = 0; i < N * LDC; i++) {
        c[2 * i] = i % 11;
        c[2 * i + 1] = i / LDC == i % LDC ? NAN : INFINITY;
    }
    xg_stage_commit(&p, 0, 0, &(struct xg_stage_rows){(const char *)block, LD, N, N});
    for (int i = 0; i < N; i++)
        for (int j = 0; j < LDC; j++) {
            const double *got = &c[2 * (i * LDC + j)], *from = &block[2 * (i * LD + j)];
            bool in = j < N && (uplo == XG_UPPER ? j >= i : j <= i);
            double old = (i * LDC + j) % 11;
            XT_CHECK(got[0] == (in ? from[0] + beta * old : old), "(%d,%d): %g", i, j, got[0]);
            if (in && i == j)
                XT_CHECK(got[1] == 0, "(%d,%d): the diagonal is not real", i, j);
            else
                XT_CHECK(in && beta == 0 ? got[1] == from[1] : isinf(got[1]), "(%d,%d)", i, j);
        }
}

static void check_commit_problems(void)
{
    static const int64_t places[][2] = {{0, 0}, {5, 3}, {3, 5}, {12, 0}, {0, 12}, {14, 12}};
    for (int type = 0; type < XG_TYPE_COUNT; type++)
        for (int uplo = XG_FULL; uplo <= XG_LOWER; uplo++)
            for (size_t at = 0; at < sizeof places / sizeof places[0]; at++)
                for (int scalar = 0; scalar < 3; scalar++)
                    check_commit_problem((enum xg_type)type, (enum xg_uplo)uplo, places[at][0],
                                         places[at][1], scalar);
}

/* A C that lies at no multiple of a float's size, which BLAS allows: UBSan looks on. */
static void check_combine_anywhere(void)
{
    enum { COUNT = 600 };
    static unsigned char bytes[COUNT * sizeof(float) + 8];
    static float block[COUNT], before[COUNT];
    fill(block, COUNT, 5);
    fill(before, COUNT, 6);
    for (size_t offset = 0; offset < 5; offset++) {
        memcpy(bytes + offset, before, sizeof before);
        xg_copy_combine((float *)(void *)(bytes + offset), block, COUNT, 0.5f);
        for (size_t i = 0; i < COUNT; i++) {
            float got;
            volatile float old = 0.5f * before[i];
            memcpy(&got, bytes + offset + i * sizeof got, sizeof got);
            XT_CHECK(got == block[i] + old, "element %zu at offset %zu", i, offset);
        }
    }
}

static void check_copy(xg_copy *copy)
{
    static unsigned char src[70000], dst[70000];
    for (size_t i = 0; i < sizeof src; i++)
        src[i] = (unsigned char)(i * 7 + i / 251);
    for (size_t bytes = 0; bytes < 66000; bytes = bytes * 5 / 4 + 1)
        for (size_t from = 0; from < 70; from += 23)
            for (size_t to = 0; to < 70; to += 9) {
                memset(dst, 0xee, sizeof dst);
                copy(dst + 100 + to, src + from, bytes);
                xg_copy_fence();
                XT_CHECK(!memcmp(dst + 100 + to, src + from, bytes), "%zu bytes", bytes);
                XT_CHECK(dst[99 + to] == 0xee && dst[100 + to + bytes] == 0xee);
            }
}

static void count_worker(void *arg, int worker)
{
    atomic_int *counts = arg;
    atomic_fetch_add(&counts[worker], 1);
}

static void check_team(int threads)
{
    enum { RUNS = 500 };
    atomic_int counts[8] = {0};
    struct xg_team *team;
    XT_CHECK(xg_team_create(threads, &team) == XG_OK);
    int size = xg_team_size(team);
    XT_CHECK(size >= 1 && size <= threads);
    int wanted[8] = {0};
    for (int run = 0; run < RUNS; run++) {
        /* All of them, or a few, while the others sleep; now and then the sleep is a long one. */
        int workers = run % 3 ? 1 + run * 5 % size : size;
        xg_team_run(team, workers, count_worker, counts);
        for (int worker = 0; worker < size; worker++) {
            wanted[worker] += worker < workers;
            XT_CHECK(counts[worker] == wanted[worker], "worker %d ran %d times of %d", worker,
                     counts[worker], wanted[worker]);
        }
        if (run % 50 == 0)
            nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
    }
    xg_team_destroy(team);
}

int main(void)
{
    for (int64_t bytes = 4; bytes <= 16; bytes *= 2)
        check_pack_wide(bytes);
    check_triangles();
    check_commit_problems();
    for (int beta = 0; beta < 3; beta++) {
        check_commit_hermitian(XG_UPPER, beta);
        check_commit_hermitian(XG_LOWER, beta);
    }
    static const int64_t widths[] = {1, 3, 4, 31, 255, 256, 257, 1030};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        int64_t width = widths[i];
        for (int64_t rows = 1; rows < 20; rows += 6)
            for (int64_t pad = 0; pad < 6; pad += 5) {
                int64_t ld = xg_round_up(width, 4);
                for (int cached = 0; cached < 2; cached++) {
                    check_pack(rows, width, width + pad, ld, cached);
                    check_pack(rows, width, width + pad, ld + 32, cached);
                }
                check_commit(rows, width, width + pad, ld, 0);
                check_commit(rows, width, width + pad, ld + 8, 1);
                check_commit(rows, width, width + pad, ld, -0.5f);
            }
    }
    check_commit_nan();
    check_combine_anywhere();
    check_copy(xg_copy_stream);
    check_copy(xg_copy_drain);
    check_copy(xg_copy_keep);
    for (int threads = 1; threads <= 8; threads += 7)
        check_team(threads);
    return xt_done();
}

/* SPDX-License-Identifier: MIT */
/* Staging gathers, pads and commits exactly the rows of a matrix and writes nothing else; a team
 * runs the workers that are asked for. */
#include <math.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "src/host/team.h"
#include "src/pipeline/copy.h"
#include "src/pipeline/stage.h"
#include "tests/support/typed.h"
#include "tests/support/xt.h"

/* Protects the pages of a matrix that hold nothing of its stored triangle. */
static void protect_other(char *matrix, int64_t n, int64_t elem_bytes, enum xg_uplo stored)
{
    const int64_t page = sysconf(_SC_PAGESIZE), per_page = page / elem_bytes;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j + per_page <= n; j += per_page)
            if (stored == XG_UPPER ? j + per_page <= i : j > i)
                mprotect(matrix + (i * n + j) * elem_bytes, (size_t)page, PROT_NONE);
}

/* A stored element. The imaginary part of a complex one is its real part and a half. */
static double complex triangle_value(int64_t row, int64_t column)
{
    const double value = (double)(row * 5 + column * 3 % 1000);
    return CMPLX(value, value + 0.5);
}

/* Rows of a structured operand are completed from its stored triangle; no protected page is
 * touched. */
static void check_triangle(enum xg_op op, enum xg_type type, enum xg_uplo stored, int64_t row,
                           int64_t column)
{
    enum { N = 2048, ROWS = 9, WIDTH = 1001, LD = 1008 };
    const int64_t bytes = (int64_t)xg_type_bytes(type);
    const size_t all = (size_t)(N * N * bytes);
    char *matrix = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *dst = malloc((size_t)(ROWS * LD * bytes));
    if (matrix == MAP_FAILED || !dst)
        exit(XT_HARD);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = stored == XG_UPPER ? i : 0; j < (stored == XG_UPPER ? N : i + 1); j++)
            xt_complex_set(type, matrix, i * N + j, triangle_value(i, j));
    protect_other(matrix, N, bytes, stored);
    const struct xg_problem p = {.op = op,
                                 .type = type,
                                 .structured = XG_OPERAND_B,
                                 .stored = stored,
                                 .b = matrix,
                                 .ldb = N};
    xg_stage_pack_triangle(&p, row, column, dst, &(struct xg_stage_rows){dst, LD, ROWS, WIDTH});
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < xg_round_up(WIDTH, 4); j++) {
            const int64_t r = row + i, c = column + j;
            const bool there = stored == XG_UPPER ? r <= c : r >= c;
            const double complex got = xt_complex_get(type, dst, i * LD + j);
            double complex expected = there ? triangle_value(r, c) : triangle_value(c, r);
            if (op == XG_OP_HEMM)
                expected = r == c ? creal(expected) : there ? expected : conj(expected);
            if (!xg_type_is_complex(type))
                expected = creal(expected);
            XT_CHECK(got == (j < WIDTH ? expected : 0), "(%ld,%ld): %g + %g i", (long)r, (long)c,
                     creal(got), cimag(got));
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

/* Packs rows of elements of 4, 8 or 16 bytes: zeros follow each row up to a multiple of four
 * elements, and other bytes stay. */
static void check_pack(int64_t elem_bytes, int64_t rows, int64_t width, int64_t src_ld, int64_t ld,
                       bool cached)
{
    const int64_t row_bytes = width * elem_bytes, end = xg_round_up(width, 4) * elem_bytes;
    const size_t dst_bytes = (size_t)(rows * ld * elem_bytes) + 8;
    unsigned char *src = malloc((size_t)(rows * src_ld * elem_bytes)), *dst = malloc(dst_bytes);
    for (int64_t i = 0; i < rows * src_ld * elem_bytes; i++)
        src[i] = (unsigned char)(i * 7 + i / 251);
    memset(dst, 0xa5, dst_bytes);
    xg_stage_pack(dst, ld, src, src_ld, rows, width, (size_t)elem_bytes, cached);
    for (size_t i = 0; i < dst_bytes; i++) {
        int64_t row = (int64_t)i / (ld * elem_bytes), at = (int64_t)i % (ld * elem_bytes);
        unsigned char expected = row >= rows || at >= end ? 0xa5
                                 : at >= row_bytes        ? 0
                                                          : src[row * src_ld * elem_bytes + at];
        XT_CHECK(dst[i] == expected, "byte %ld of row %ld of %ldx%ld, elements of %ld", (long)at,
                 (long)row, (long)rows, (long)width, (long)elem_bytes);
    }
    free(src), free(dst);
}

static void check_commit(int64_t rows, int64_t width, int64_t ldc, int64_t ld, float beta)
{
    size_t c_elems = (size_t)(rows * ldc + 8);
    float *c = malloc(c_elems * sizeof *c), *before = malloc(c_elems * sizeof *c);
    float *src = malloc((size_t)(rows * ld) * sizeof *src);
    fill(c, c_elems, 3);
    for (size_t i = 0; i < c_elems && beta == 0; i++) /* C is not read */
        c[i] = NAN;
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
            /* Two roundings at every address of C, so that the same call gives the same bits. */
            volatile float old = beta == 0 ? 0 : beta * before[i];
            XT_CHECK(c[i] == product + old, "element %zu: %a, not %a", i, (double)c[i],
                     (double)(product + old));
        } else {
            XT_CHECK(!memcmp(&c[i], &expected, sizeof expected), "element %zu", i);
        }
    }
    free(c), free(before), free(src);
}

/* Commits a block of rows at (row, column) for every type and triangle. All sums are whole numbers
 * and exact. Nothing else is written. */
static void check_commit_problem(enum xg_type type, enum xg_uplo uplo, int64_t row, int64_t column,
                                 int scalar)
{
    enum { N = 23, LDC = 29, ROWS = 9, WIDTH = 11, LD = 12, PARTS = 2 };
    static const double betas[][2] = {{0, 0}, {1, 0}, {-2, 3}};
    double block[ROWS * LD * PARTS], c[N * LDC * PARTS], before[N * LDC * PARTS];
    const bool two = xg_type_is_complex(type);
    const struct xg_problem p = {.type = type,
                                 .uplo = uplo,
                                 .m = N,
                                 .n = N,
                                 .beta = betas[scalar][0],
                                 .beta_im = two ? betas[scalar][1] : 0,
                                 .c = c,
                                 .ldc = LDC};
    for (int i = 0; i < ROWS * LD; i++)
        xt_complex_set(type, block, i, CMPLX(i % 17 - 8, i % 7 - 3));
    for (int i = 0; i < N * LDC; i++)
        xt_complex_set(type, c, i, CMPLX(i % 13 - 6, i % 11 - 5));
    memcpy(before, c, sizeof c);
    xg_stage_commit(&p, row, column, &(struct xg_stage_rows){(const char *)block, LD, ROWS, WIDTH});
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < LDC; j++) {
            bool in = i >= row && i < row + ROWS && j >= column && j < column + WIDTH &&
                      (uplo == XG_FULL || (uplo == XG_UPPER ? j >= i : j <= i));
            double complex expected = xt_complex_get(type, before, i * LDC + j);
            if (in)
                expected = xt_complex_get(type, block, (i - row) * LD + j - column) +
                           CMPLX(p.beta, p.beta_im) * expected;
            XT_CHECK(xt_complex_get(type, c, i * LDC + j) == expected,
                     "(%ld,%ld) of type %d, triangle %d", (long)i, (long)j, (int)type, (int)uplo);
        }
}

/* A Hermitian C: imaginary parts of the diagonal are not read, and become 0. A real beta scales the
 * parts of other elements one by one. */
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

/* BLAS allows a C whose address is not a multiple of a float's size. UBSan watches this. */
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
        /* All workers, or a few while the others sleep, sometimes for long. */
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
                for (int form = 0; form < 12; form++)
                    check_pack(4 << form / 4, rows, width, width + pad, ld + form / 2 % 2 * 32,
                               form % 2);
                check_commit(rows, width, width + pad, ld, 0);
                check_commit(rows, width, width + pad, ld + 8, 1);
                check_commit(rows, width, width + pad, ld, -0.5f);
            }
    }
    check_combine_anywhere();
    check_copy(xg_copy_stream);
    check_copy(xg_copy_drain);
    check_copy(xg_copy_keep);
    for (int threads = 1; threads <= 8; threads += 7)
        check_team(threads);
    return xt_done();
}

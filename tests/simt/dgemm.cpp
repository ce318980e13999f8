/* SPDX-License-Identifier: MIT */
/*
 * Every entry of the DGEMM kernels, compared with sums of whole numbers. Copies arrive at any time,
 * NaN fills all that a kernel must not read, and triangles end at the corners of tiles.
 */
#define __CUDA_ARCH__ 900
#include "simt.h"

#include "fp64/dgemm_dmma_sm80.cu"

extern "C" {
#include "table.h"
}

struct entry {
    const char *name;
    void (*function)(const struct xg_dgemm_args);
    int threads, bm, bn, bk, stages, split;
};
static const struct entry *launched;
static struct xg_dgemm_args parameter;

/* A matrix that suits XG_KERNEL_VEC4: zeros up to a multiple of 4 columns, NaN behind them. */
struct matrix {
    int rows, columns, ld;
    double *memory;
};

static int round_up4(int x)
{
    return (x + 3) / 4 * 4;
}

static struct matrix create(int rows, int columns, bool fill, bool zeros)
{
    struct matrix x = {rows, columns, round_up4(columns) + rand() % 2 * 4, NULL};
    size_t elems = (size_t)(rows * x.ld);
    x.memory = (double *)aligned_alloc(64, (elems * 8 + 127) / 64 * 64);
    if (!x.memory)
        simt_fail("out of memory");
    for (size_t i = 0; i < elems; i++) {
        int column = (int)(i % (size_t)x.ld);
        x.memory[i] = column < columns && fill               ? rand() % 2001 - 1000
                      : zeros && column < round_up4(columns) ? 0.0
                                                             : NAN;
    }
    return x;
}

static bool is_upper(void)
{
    return parameter.wanted.kind == XG_TRIANGLE_UPPER;
}

/* The diagonal of the first corner that a triangle meets in the tile at (row,col). */
static int64_t corner(int row, int col)
{
    return is_upper() ? col + launched->bn - 1 - row : col - row - launched->bm + 1;
}

/* A triangle that ends at a corner of a tile, or one diagonal beside it, where most mistakes show.
 */
static void draw_wanted(int m, int n)
{
    parameter.wanted.kind = rand() % 3;
    const int row = rand() % m / launched->bm * launched->bm;
    const int col = rand() % n / launched->bn * launched->bn;
    parameter.wanted.diagonal = corner(row, col) + rand() % 3 - 1;
}

/* Whether no element of the tile is wanted: then the kernel must leave it. */
static bool is_left(int i, int j)
{
    const int64_t first = corner(i / launched->bm * launched->bm, j / launched->bn * launched->bn);
    return parameter.wanted.kind != XG_TRIANGLE_ALL &&
           (is_upper() ? first < parameter.wanted.diagonal : first > parameter.wanted.diagonal);
}

/* Counts wrong elements. Sums of whole numbers are the same in any order. An element that is not
 * wanted may keep its value. */
static long check(const struct matrix *a, const struct matrix *b, const struct matrix *c,
                  const double *before)
{
    const struct xg_dgemm_args *p = &parameter;
    long wrong = 0;
    for (int i = 0; i < c->rows; i++)
        for (int j = 0; j < c->ld; j++) {
            const double result = c->memory[i * c->ld + j], old = before[i * c->ld + j];
            const bool left = !memcmp(&result, &old, sizeof old);
            long double magnitude;
            if (j >= c->columns)
                wrong += !std::isnan(result);
            else if (is_left(i, j))
                wrong += !left;
            else if (!left || xg_triangle_wants(&p->wanted, i, j))
                wrong += result !=
                         simt_exact((int)p->k, p->alpha, a->memory + (p->transa ? i : i * a->ld),
                                    p->transa ? a->ld : 1, b->memory + (p->transb ? j * b->ld : j),
                                    p->transb ? 1 : b->ld, p->beta, old, &magnitude);
        }
    return wrong;
}

/* False if a result is wrong. */
static bool run_product(int m, int n, int k, int trans)
{
    const bool transa = trans >> 1, transb = trans & 1;
    struct matrix a = transa ? create(k, m, true, true) : create(m, k, true, true);
    struct matrix b = transb ? create(n, k, true, true) : create(k, n, true, true);
    const double beta = rand() % 3 - 1;
    struct matrix c = create(m, n, beta != 0.0, false);
    std::vector<double> before(c.memory, c.memory + c.rows * c.ld);
    simt_sources.clear();
    for (const struct matrix *from : {&a, &b})
        simt_sources.push_back(
            {(const char *)from->memory, (const char *)(from->memory + from->rows * from->ld)});
    int split = launched->split ? 1 + rand() % 4 : 1;
    while (split > 1 && split > (k + launched->bk - 1) / launched->bk)
        split--;
    parameter.a = (uint64_t)a.memory;
    parameter.b = (uint64_t)b.memory;
    parameter.c = (uint64_t)c.memory;
    parameter.lda = a.ld;
    parameter.ldb = b.ld;
    parameter.ldc = c.ld;
    parameter.m = m;
    parameter.n = n;
    parameter.k = k;
    parameter.alpha = 2.0;
    parameter.beta = beta;
    parameter.transa = transa;
    parameter.transb = transb;
    parameter.split = split;
    draw_wanted(m, n);
    int tiles = (m + launched->bm - 1) / launched->bm * ((n + launched->bn - 1) / launched->bn);
    simt_launch((unsigned)(tiles * split), (unsigned)launched->threads,
                [] { launched->function(parameter); }, (unsigned)split);
    long wrong = check(&a, &b, &c, before.data());
    if (wrong)
        fprintf(stderr, "%s: %d,%d,%d in %d slices, arrival %d: %ld elements are wrong\n",
                launched->name, m, n, k, split, (int)simt_arrival, wrong);
    free(a.memory);
    free(b.memory);
    free(c.memory);
    return !wrong;
}

/* Whether the kernel table agrees with how the entry was compiled. */
static bool is_listed(const struct entry *entry)
{
    for (size_t i = 0; i < xg_kernel_count; i++) {
        const struct xg_kernel *row = &xg_kernel_table[i];
        size_t length = row->entry ? strlen(row->entry) : 0;
        if (length && !strncmp(row->entry, entry->name, length) && entry->name[length] == '_')
            return row->type == XG_KERNEL_TYPE_D && row->threads_x == entry->threads &&
                   row->bm == entry->bm && row->bn == entry->bn && row->bk == entry->bk &&
                   row->smem_bytes == entry->stages * entry->bk * (entry->bm + entry->bn) * 8 &&
                   !(row->flags & XG_KERNEL_SPLIT) == !entry->split;
    }
    return false;
}

#define ROW(method, tile, suffix, layout, split)                                                   \
    {                                                                                              \
        "xg_dgemm_" #method "_sm80_" #tile "_" #suffix,                                            \
            xg_dgemm_##method##_sm80_##tile##_##suffix, layout::THREADS, layout::BM, layout::BN,   \
            xg_tile_##method##_##tile::BK, xg_tile_##method##_##tile::STAGES, split                \
    }
#undef ENTRIES
#define ENTRIES(method, tile, layout, blocks, split)                                               \
    ROW(method, tile, nn, layout, split), ROW(method, tile, nt, layout, split),                    \
        ROW(method, tile, tn, layout, split), ROW(method, tile, tt, layout, split),

static const struct entry entries[] = {
#include "entries.h"
};

int main(void)
{
    simt_shared_bytes = 227 << 10;
    static const struct {
        int m, n, k;
        decltype(simt_arrival) arrival;
    } shapes[] = {{1, 1, 1, SIMT_ANY_TIME},
                  {65, 70, 0, SIMT_LATE},
                  {129, 65, 53, SIMT_LATE},
                  {70, 131, 133, SIMT_AT_ONCE}};
    const int count = sizeof entries / sizeof entries[0];
    for (int e = 0; e < count; e++) {
        launched = &entries[e];
        if (!is_listed(launched))
            simt_fail("the table has an entry otherwise");
        for (const auto &shape : shapes) {
            simt_arrival = shape.arrival;
            if (!run_product(shape.m, shape.n, shape.k, e % 4))
                return 1;
        }
    }
    printf("%d entries\n", count);
    return !count;
}

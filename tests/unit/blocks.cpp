// SPDX-License-Identifier: MIT
// The DGEMM kernels themselves, compiled for the CPU: blocks executed thread by thread.

// usage: blocks; tests/unit/blocks.sh compiles it, with the kernels' entries in entries.h.
//
// A thread is a fiber, which goes on until it waits: at a barrier for its block or its cluster,
// or at an instruction of the tensor cores for its warp. Warps go on in random order. What a copy
// brings is there at once, or as late as its thread's wait admits, or at random: a stage that is
// read too early or overwritten too early shows. Shared memory begins as NaN, as does all that a
// kernel must not read. The first wrong product ends it.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <vector>

extern "C" {
#include "kernels/table.h"
}

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(threads, blocks)
#define __CUDACC__
#define __CUDA_ARCH__ 900

enum wait { READY, MULTIPLIES, AT_BARRIER, AT_CLUSTER, ENDED };
struct index {
    unsigned x;
};
struct copy {
    unsigned to;
    const void *from;
    bool skip;
};
struct fiber {
    ucontext_t context;
    std::vector<char> stack;
    struct index thread, block;
    int rank; // of the block in its cluster
    enum wait wait;
    std::vector<std::vector<struct copy>> groups; // committed, the newest last
    std::vector<struct copy> open;
    double *c; // of the instruction that it waits for
    const double *a, *b;
};

enum { SHARED_BYTES = 227 << 10, STACK_BYTES = 64 << 10, LANES = 32 };
static std::vector<struct fiber> fibers;
static std::vector<std::vector<double>> shared; // by rank
static struct fiber *running;
static ucontext_t scheduler;
static enum arrival { AT_ONCE, LATE, ANY_TIME } arrival;
static struct {
    const char *begin, *end;
} operands[2];

static void fail(const char *what)
{
    fprintf(stderr, "blocks: %s\n", what);
    exit(1);
}

static void wait_for(enum wait what)
{
    running->wait = what;
    swapcontext(&running->context, &scheduler);
}

// What the kernels include of the device's own. ---------------------------------------------------

#define threadIdx (running->thread)
#define blockIdx (running->block)

struct double2 {
    double x, y;
};

static struct double2 make_double2(double x, double y)
{
    return {x, y};
}

static unsigned min(unsigned x, unsigned y)
{
    return x < y ? x : y;
}

static void __syncthreads(void)
{
    wait_for(AT_BARRIER);
}

#define XG_PTX_CUH
static int xg_ptx_thread_x(void)
{
    return (int)threadIdx.x;
}

static unsigned xg_ptx_block_x(void)
{
    return blockIdx.x;
}

#define XG_ASYNC_CUH
static void arrive(const struct copy &copy)
{
    const char *from = (const char *)copy.from;
    bool inside = false;
    for (int i = 0; i < 2; i++)
        inside |= from >= operands[i].begin && from + 16 <= operands[i].end;
    if (copy.to % 16 || copy.to + 16 > SHARED_BYTES)
        fail("a copy to beyond shared memory");
    double *to = &shared[running->rank][copy.to / 8];
    if (copy.skip)
        to[0] = to[1] = 0.0;
    else if ((uintptr_t)from % 16 || !inside)
        fail("a copy from beyond an operand");
    else
        memcpy(to, from, 16);
}

static void xg_async_copy16(unsigned to, const void *from, bool skip)
{
    struct copy copy = {to, from, skip};
    if (arrival == AT_ONCE || (arrival == ANY_TIME && rand() % 2))
        arrive(copy);
    else
        running->open.push_back(copy);
}

static void xg_async_commit(void)
{
    running->groups.push_back(running->open);
    running->open.clear();
}

template <int PENDING>
static void xg_async_wait(void)
{
    while ((int)running->groups.size() > PENDING) {
        for (const struct copy &copy : running->groups[0])
            arrive(copy);
        running->groups.erase(running->groups.begin());
    }
}

#define XG_CLUSTER_CUH
enum { RANK_SHIFT = 24 };

static void xg_cluster_sync(void)
{
    wait_for(AT_CLUSTER);
}

static unsigned xg_cluster_address(const void *own, unsigned rank)
{
    return rank << RANK_SHIFT |
           (unsigned)((const char *)own - (const char *)shared[running->rank].data());
}

static double xg_cluster_load_double(unsigned address)
{
    return shared[address >> RANK_SHIFT][address % (1u << RANK_SHIFT) / 8];
}

#define XG_DMMA_PTX_CUH
static double *xg_dmma_shared(void)
{
    return shared[running->rank].data();
}

static unsigned xg_dmma_shared_address(void)
{
    return 0;
}

static double xg_dmma_load(unsigned from)
{
    if (from % 8 || from + 8 > SHARED_BYTES)
        fail("a load from beyond shared memory");
    return shared[running->rank][from / 8];
}

static void xg_dmma_hide(int64_t &) {}

static void xg_dmma_hide(int &) {}

static unsigned xg_dmma_xor(unsigned x, int y)
{
    return x ^ (unsigned)y;
}

static const char *xg_dmma_add(const char *at, int64_t bytes)
{
    return (const char *)((uintptr_t)at + (uintptr_t)bytes);
}

static void xg_dmma_16x8x8(double *c, const double *a, const double *b)
{
    running->c = c;
    running->a = a;
    running->b = b;
    wait_for(MULTIPLIES);
}

#include "kernels/fp64/dgemm_dmma_sm80.cu"

// The device. -------------------------------------------------------------------------------------

// mma.sync m16n8k8 by the tables of PTX's manual: element i of a lane's registers.
static void multiply_warp(struct fiber *warp)
{
    double a[16][8], b[8][8];
    for (int lane = 0; lane < LANES; lane++) {
        for (int i = 0; i < 4; i++)
            a[lane / 4 + 8 * (i % 2)][lane % 4 + 4 * (i / 2)] = warp[lane].a[i];
        for (int i = 0; i < 2; i++)
            b[lane % 4 + 4 * i][lane / 4] = warp[lane].b[i];
    }
    for (int lane = 0; lane < LANES; lane++) {
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 8; k++)
                warp[lane].c[i] += a[lane / 4 + 8 * (i / 2)][k] * b[k][lane % 4 * 2 + i % 2];
        warp[lane].wait = READY;
    }
}

// Lets a warp go on for a while. Returns whether it did.
static bool run_warp(struct fiber *warp)
{
    bool ran = false;
    for (int turns = 1 + rand() % 300; turns > 0; turns--) {
        int multiplying = 0;
        for (int lane = 0; lane < LANES; lane++) {
            running = &warp[lane];
            if (running->wait == READY) {
                swapcontext(&scheduler, &running->context);
                ran = true;
            }
            multiplying += warp[lane].wait == MULTIPLIES;
        }
        if (multiplying == 0)
            return ran;
        if (multiplying != LANES)
            fail("an instruction without all of its warp");
        multiply_warp(warp);
        ran = true;
    }
    return ran;
}

// Whether all of these wait for that; if so they go on.
static bool release(struct fiber *first, size_t count, enum wait what)
{
    for (size_t i = 0; i < count; i++)
        if (first[i].wait != what)
            return false;
    for (size_t i = 0; i < count && what != ENDED; i++)
        first[i].wait = READY;
    return true;
}

struct entry {
    const char *name;
    void (*function)(const struct xg_dgemm_args);
    int threads, bm, bn, bk, stages, split;
};
static const struct entry *launched;
static struct xg_dgemm_args parameter;

static void run_thread(void)
{
    launched->function(parameter);
    wait_for(ENDED);
}

// The blocks of a cluster, from block `first` of the grid on.
static void run_cluster(unsigned first, int blocks)
{
    const int threads = launched->threads;
    fibers.resize((size_t)(threads * blocks));
    shared.assign((size_t)blocks, std::vector<double>(SHARED_BYTES / 8, NAN));
    for (int i = 0; i < threads * blocks; i++) {
        struct fiber *fiber = &fibers[(size_t)i];
        fiber->stack.resize(STACK_BYTES);
        fiber->thread.x = (unsigned)(i % threads);
        fiber->rank = i / threads;
        fiber->block.x = first + (unsigned)fiber->rank;
        fiber->wait = READY;
        fiber->groups.clear();
        fiber->open.clear();
        getcontext(&fiber->context);
        fiber->context.uc_stack.ss_sp = fiber->stack.data();
        fiber->context.uc_stack.ss_size = fiber->stack.size();
        makecontext(&fiber->context, run_thread, 0);
    }
    const int warps = threads * blocks / LANES;
    while (!release(fibers.data(), fibers.size(), ENDED)) {
        bool ran = false;
        for (int i = 0, from = rand() % warps; i < warps; i++)
            ran |= run_warp(&fibers[(size_t)((from + i * 7) % warps * LANES)]);
        for (int block = 0; block < blocks; block++)
            ran |= release(&fibers[(size_t)(block * threads)], (size_t)threads, AT_BARRIER);
        ran |= release(fibers.data(), fibers.size(), AT_CLUSTER);
        if (!ran)
            fail("threads wait for each other");
    }
}

// The products. -----------------------------------------------------------------------------------

// A matrix as XG_KERNEL_VEC4 wants it: zeros up to a multiple of 4 columns, NaN from there on.
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
        fail("out of memory");
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

// The diagonal on which the corner lies that a triangle meets first of the tile at (row,col).
static int64_t corner(int row, int col)
{
    return is_upper() ? col + launched->bn - 1 - row : col - row - launched->bm + 1;
}

// A triangle that ends at a corner of some tile, or one diagonal beside it, where most goes wrong.
static void draw_wanted(int m, int n)
{
    parameter.wanted.kind = rand() % 3;
    const int row = rand() % m / launched->bm * launched->bm;
    const int col = rand() % n / launched->bn * launched->bn;
    parameter.wanted.diagonal = corner(row, col) + rand() % 3 - 1;
}

// Whether the tile of an element holds nothing that is wanted: then it must be left as it is.
static bool is_left(int i, int j)
{
    const int64_t first = corner(i / launched->bm * launched->bm, j / launched->bn * launched->bn);
    return parameter.wanted.kind != XG_TRIANGLE_ALL &&
           (is_upper() ? first < parameter.wanted.diagonal : first > parameter.wanted.diagonal);
}

// Whole numbers, so that any order of additions gives the same. Returns wrong elements; one that is
// not wanted may be as it was.
static long check(const struct matrix *a, const struct matrix *b, const struct matrix *c,
                  const double *before)
{
    const struct xg_dgemm_args *p = &parameter;
    long wrong = 0;
    for (int i = 0; i < c->rows; i++)
        for (int j = 0; j < c->ld; j++) {
            double result = c->memory[i * c->ld + j], sum = 0.0;
            for (int l = 0; l < p->k && j < c->columns; l++)
                sum += (p->transa ? a->memory[l * a->ld + i] : a->memory[i * a->ld + l]) *
                       (p->transb ? b->memory[j * b->ld + l] : b->memory[l * b->ld + j]);
            const double old = before[i * c->ld + j];
            sum *= p->alpha;
            if (p->beta != 0.0 && j < c->columns)
                sum += p->beta * old;
            const bool left = !memcmp(&result, &old, sizeof old);
            if (j >= c->columns)
                wrong += !isnan(result);
            else if (is_left(i, j))
                wrong += !left;
            else
                wrong += !(result == sum) && !(left && !xg_triangle_wants(&p->wanted, i, j));
        }
    return wrong;
}

// False where a result is wrong.
static bool run_product(int m, int n, int k, int trans)
{
    const bool transa = trans >> 1, transb = trans & 1;
    struct matrix a = transa ? create(k, m, true, true) : create(m, k, true, true);
    struct matrix b = transb ? create(n, k, true, true) : create(k, n, true, true);
    const double beta = rand() % 3 - 1;
    struct matrix c = create(m, n, beta != 0.0, false);
    std::vector<double> before(c.memory, c.memory + c.rows * c.ld);
    const struct matrix *from[] = {&a, &b};
    for (int i = 0; i < 2; i++) {
        operands[i].begin = (const char *)from[i]->memory;
        operands[i].end = operands[i].begin + from[i]->rows * from[i]->ld * 8;
    }
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
    for (int tile = 0; tile < tiles; tile++)
        run_cluster((unsigned)(tile * split), split);
    long wrong = check(&a, &b, &c, before.data());
    if (wrong)
        fprintf(stderr, "%s: %d,%d,%d in %d slices, arrival %d: %ld elements are wrong\n",
                launched->name, m, n, k, split, (int)arrival, wrong);
    free(a.memory);
    free(b.memory);
    free(c.memory);
    return !wrong;
}

// What the table says of an entry is how it was compiled.
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
#define ROWS(method, tile, layout, blocks, split)                                                  \
    ROW(method, tile, nn, layout, split), ROW(method, tile, nt, layout, split),                    \
        ROW(method, tile, tn, layout, split), ROW(method, tile, tt, layout, split),

static const struct entry entries[] = {
#include "entries.h"
};

int main(void)
{
    static const struct {
        int m, n, k, arrival;
    } shapes[] = {
        {1, 1, 1, ANY_TIME}, {65, 70, 0, LATE}, {129, 65, 53, LATE}, {70, 131, 133, AT_ONCE}};
    const int count = sizeof entries / sizeof entries[0];
    for (int e = 0; e < count; e++) {
        launched = &entries[e];
        if (!is_listed(launched))
            fail("the table has an entry otherwise");
        for (const auto &shape : shapes) {
            arrival = (enum arrival)shape.arrival;
            if (!run_product(shape.m, shape.n, shape.k, e % 4))
                return 1;
        }
    }
    printf("%d entries\n", count);
    return !count;
}

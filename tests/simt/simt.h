/* SPDX-License-Identifier: MIT */
/* Runs the source of CUDA kernels on the CPU: a block's threads are fibers, which take turns. */
#ifndef XG_SIMT_H
#define XG_SIMT_H

#include <immintrin.h>
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

/*
 * host.py makes the source C++: `__shared__` is static, and each PTX statement is a macro
 * SIMT_<instruction>, defined below by the names of the function around it. Instructions follow the
 * PTX ISA, except that mma.sync rounds a sum once, where a tensor core truncates.
 */
#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __CUDACC__ 1

/* --- Blocks ---------------------------------------------------------------------------------- */

struct uint3 {
    unsigned x, y, z;
};
static uint3 threadIdx, blockIdx, gridDim;

enum { SIMT_WARP = 32, SIMT_STACK = 64 * 1024, SIMT_CLUSTER = 8 };

/* Shared memory of each block of a cluster, and of the block of the thread that runs. */
static size_t simt_shared_bytes = 96 * 1024;
static std::vector<uint8_t> simt_shared[SIMT_CLUSTER];
static uint8_t *shared;

struct simt_copy {
    uint32_t to;
    const void *from;
    bool skip;
};

/* A context starts a fiber; jumps, which make no system call, go on with it. */
struct simt_fiber {
    ucontext_t context;
    jmp_buf place;
    bool started;
    enum { READY, AT_BLOCK, AT_CLUSTER, AT_WARP, DONE } state;
    std::vector<char> stack;
    std::vector<std::vector<simt_copy>> groups; /* committed, the newest last */
    std::vector<simt_copy> open;
};
static std::vector<simt_fiber> simt_fibers; /* of a cluster */
static unsigned simt_threads, simt_self;    /* of a block; the fiber that runs */
static jmp_buf simt_scheduler;
static const std::function<void()> *simt_kernel;

static void simt_fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void simt_start(void)
{
    (*simt_kernel)();
    simt_fibers[simt_self].state = simt_fiber::DONE;
    _longjmp(simt_scheduler, 1);
}

static void simt_run(unsigned i, unsigned first_block)
{
    simt_fiber &fiber = simt_fibers[i];
    const unsigned rank = i / simt_threads;
    simt_self = i;
    threadIdx.x = i % simt_threads;
    blockIdx.x = first_block + rank;
    shared = simt_shared[rank].data();
    if (_setjmp(simt_scheduler))
        return;
    if (fiber.started)
        _longjmp(fiber.place, 1);
    fiber.started = true;
    setcontext(&fiber.context);
}

static void simt_wait(decltype(simt_fiber::state) state)
{
    simt_fiber &self = simt_fibers[simt_self];
    self.state = state;
    if (!_setjmp(self.place))
        _longjmp(simt_scheduler, 1);
}

/* Whether all of them wait for that; if so they go on. Threads that have ended count as waiting,
 * but for what a warp does together. */
static bool simt_release(size_t first, size_t count, decltype(simt_fiber::state) state)
{
    size_t waiting = 0, ended = 0;
    for (size_t i = first; i < first + count; i++) {
        waiting += simt_fibers[i].state == state;
        ended += simt_fibers[i].state == simt_fiber::DONE;
    }
    if (waiting == 0 || waiting + (state == simt_fiber::AT_WARP ? 0 : ended) < count)
        return false;
    for (size_t i = first; i < first + count; i++)
        if (simt_fibers[i].state == state)
            simt_fibers[i].state = simt_fiber::READY;
    return true;
}

/* Lets a warp go on for a while. Returns whether it did. */
static bool simt_run_warp(unsigned first, unsigned first_block)
{
    bool ran = false;
    for (int turns = 1 + rand() % 300; turns > 0; turns--) {
        for (unsigned i = first; i < first + SIMT_WARP; i++)
            if (simt_fibers[i].state == simt_fiber::READY) {
                simt_run(i, first_block);
                ran = true;
            }
        if (!simt_release(first, SIMT_WARP, simt_fiber::AT_WARP))
            return ran;
        ran = true;
    }
    return ran;
}

/* Warps go on in random order. Shared memory begins as NaNs of any type. */
static void simt_cluster(unsigned first_block, unsigned blocks)
{
    const unsigned threads = simt_threads * blocks, warps = threads / SIMT_WARP;
    simt_fibers.resize(threads);
    for (simt_fiber &fiber : simt_fibers) {
        fiber.state = simt_fiber::READY;
        fiber.started = false;
        fiber.stack.resize(SIMT_STACK);
        fiber.groups.clear();
        fiber.open.clear();
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        makecontext(&fiber.context, simt_start, 0);
    }
    for (unsigned rank = 0; rank < blocks; rank++)
        simt_shared[rank].assign(simt_shared_bytes, 0xff);
    for (bool ran = true; ran;) {
        ran = false;
        for (unsigned i = 0, from = (unsigned)rand() % warps; i < warps; i++)
            ran |= simt_run_warp((from + i * 7) % warps * SIMT_WARP, first_block);
        for (unsigned rank = 0; rank < blocks; rank++)
            ran |= simt_release(rank * simt_threads, simt_threads, simt_fiber::AT_BLOCK);
        ran |= simt_release(0, threads, simt_fiber::AT_CLUSTER);
    }
    for (const simt_fiber &fiber : simt_fibers)
        if (fiber.state != simt_fiber::DONE)
            simt_fail("a barrier that not all threads reach");
}

/* Each `cluster` blocks of the grid run together. */
static void simt_launch(unsigned blocks, unsigned threads, const std::function<void()> &kernel,
                        unsigned cluster = 1)
{
    simt_kernel = &kernel;
    simt_threads = threads;
    gridDim.x = blocks;
    for (unsigned block = 0; block < blocks; block += cluster)
        simt_cluster(block, cluster);
}

static inline void __syncthreads(void)
{
    simt_wait(simt_fiber::AT_BLOCK);
}

/* --- CUDA's words ---------------------------------------------------------------------------- */

using std::max;
using std::min;

struct float2 {
    float x, y;
};
struct char4 {
    int8_t x, y, z, w;
};
struct uchar4 {
    uint8_t x, y, z, w;
};

static inline float2 make_float2(float x, float y)
{
    return {x, y};
}

struct double2 {
    double x, y;
};

static inline double2 make_double2(double x, double y)
{
    return {x, y};
}

static inline float __uint_as_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline double __longlong_as_double(int64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline double __ull2double_rn(uint64_t x)
{
    return (double)x;
}

static inline int __clzll(long long x)
{
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}

static inline uint32_t __umulhi(uint32_t x, uint32_t y)
{
    return (uint32_t)((uint64_t)x * y >> 32);
}

static inline size_t __cvta_generic_to_shared(const void *at)
{
    return (size_t)((const uint8_t *)at - shared);
}

static inline uint32_t atomicMax(uint32_t *at, uint32_t x)
{
    const uint32_t old = *at;
    *at = max(old, x);
    return old;
}

static inline uint32_t atomicAdd(uint32_t *at, uint32_t x)
{
    const uint32_t old = *at;
    *at += x;
    return old;
}

/* --- PTX ------------------------------------------------------------------------------------- */

static uint8_t *simt_shared_at(uint32_t at, size_t bytes)
{
    if (at % bytes || at + bytes > simt_shared_bytes)
        simt_fail("an access beyond shared memory");
    return shared + at;
}

/*
 * In place of kernels/common/async.cuh. What a copy brings is there at once, or as late as its
 * thread's wait admits, or at random, so that a stage that is read or overwritten too early shows.
 */
#define XG_ASYNC_CUH

static enum { SIMT_AT_ONCE, SIMT_LATE, SIMT_ANY_TIME } simt_arrival;
/* Where copies may be from; none: from anywhere. */
static std::vector<std::pair<const char *, const char *>> simt_sources;

static void simt_arrive(const simt_copy &copy)
{
    const char *from = (const char *)copy.from;
    bool inside = simt_sources.empty();
    for (const auto &source : simt_sources)
        inside |= from >= source.first && from + 16 <= source.second;
    if (!copy.skip && ((uintptr_t)from % 16 || !inside))
        simt_fail("a copy from beyond an operand");
    uint8_t *to = simt_shared_at(copy.to, 16);
    if (copy.skip)
        memset(to, 0, 16);
    else
        memcpy(to, from, 16);
}

static inline void xg_async_copy16(unsigned to, const void *from, bool skip)
{
    const simt_copy copy = {to, from, skip};
    if (simt_arrival == SIMT_AT_ONCE || (simt_arrival == SIMT_ANY_TIME && rand() % 2))
        simt_arrive(copy);
    else
        simt_fibers[simt_self].open.push_back(copy);
}

static inline void xg_async_commit(void)
{
    simt_fiber &self = simt_fibers[simt_self];
    self.groups.push_back(self.open);
    self.open.clear();
}

template <int PENDING>
static inline void xg_async_wait(void)
{
    simt_fiber &self = simt_fibers[simt_self];
    while ((int)self.groups.size() > PENDING) {
        for (const simt_copy &copy : self.groups[0])
            simt_arrive(copy);
        self.groups.erase(self.groups.begin());
    }
}

/* In place of kernels/common/ptx.cuh. */
#define XG_PTX_CUH

static inline int xg_ptx_thread_x(void)
{
    return (int)threadIdx.x;
}

static inline unsigned xg_ptx_block_x(void)
{
    return blockIdx.x;
}

/* In place of kernels/common/cluster.cuh: a rank, and an address in that block's shared memory. */
#define XG_CLUSTER_CUH
enum { SIMT_RANK_SHIFT = 24 };

static inline void xg_cluster_sync(void)
{
    simt_wait(simt_fiber::AT_CLUSTER);
}

static inline unsigned xg_cluster_address(const void *own, unsigned rank)
{
    return rank << SIMT_RANK_SHIFT | (unsigned)((const uint8_t *)own - shared);
}

static inline double xg_cluster_load_double(unsigned address)
{
    double x;
    memcpy(&x, &simt_shared[address >> SIMT_RANK_SHIFT][address % (1u << SIMT_RANK_SHIFT)],
           sizeof x);
    return x;
}

/* What the lanes of a warp give to an instruction. */
struct simt_lanes {
    uint32_t address[SIMT_WARP], a[SIMT_WARP][4], b[SIMT_WARP][2];
    double double_a[SIMT_WARP][4], double_b[SIMT_WARP][2];
};
static simt_lanes simt_warps[32 * SIMT_CLUSTER];

static void simt_ldmatrix(uint32_t from, uint32_t &x0, uint32_t &x1, uint32_t &x2, uint32_t &x3)
{
    simt_lanes &warp = simt_warps[simt_self / SIMT_WARP];
    const unsigned lane = threadIdx.x % SIMT_WARP;
    uint32_t *const to[] = {&x0, &x1, &x2, &x3};
    warp.address[lane] = from;
    simt_wait(simt_fiber::AT_WARP);
    for (unsigned i = 0; i < 4; i++)
        memcpy(to[i], simt_shared_at(warp.address[8 * i + lane / 4], 16) + 4 * (lane % 4), 4);
    simt_wait(simt_fiber::AT_WARP);
}
#define SIMT_ldmatrix simt_ldmatrix(from, x0, x1, x2, x3)

static simt_lanes &simt_give(const uint32_t (&a)[4], const uint32_t (&b)[2])
{
    simt_lanes &warp = simt_warps[simt_self / SIMT_WARP];
    memcpy(warp.a[threadIdx.x % SIMT_WARP], a, sizeof a);
    memcpy(warp.b[threadIdx.x % SIMT_WARP], b, sizeof b);
    simt_wait(simt_fiber::AT_WARP);
    return warp;
}

/* Bits [SIZE * k, SIZE * (k + 1)) of row or column `at`: of four rows of registers, as the ISA has
 * the fragments of 16x8x(256 / SIZE). */
template <int SIZE>
static uint32_t simt_element(const uint32_t *lanes, unsigned registers, unsigned at, unsigned k)
{
    constexpr unsigned IN_WORD = 32 / SIZE, HALF = 4 * IN_WORD;
    const unsigned lane = at % 8 * 4 + k % HALF / IN_WORD;
    const unsigned reg = registers == 4 ? at / 8 + k / HALF * 2 : k / HALF;
    return lanes[lane * registers + reg] >> SIZE * (k % IN_WORD) & ((1ull << SIZE) - 1);
}

static double simt_half(bool bf16, uint32_t bits)
{
    return (double)(bf16 ? __uint_as_float(bits << 16) : _cvtsh_ss((uint16_t)bits));
}

static void simt_mma_halves(bool bf16, float *sums, const uint32_t (&a)[4], const uint32_t (&b)[2],
                            const float (&c)[4])
{
    const simt_lanes &warp = simt_give(a, b);
    const unsigned lane = threadIdx.x % SIMT_WARP;
    for (unsigned e = 0; e < 4; e++) {
        double sum = (double)c[e];
        for (unsigned k = 0; k < 16; k++)
            sum += simt_half(bf16, simt_element<16>(warp.a[0], 4, lane / 4 + e / 2 * 8, k)) *
                   simt_half(bf16, simt_element<16>(warp.b[0], 2, lane % 4 * 2 + e % 2, k));
        sums[e] = (float)sum;
    }
    simt_wait(simt_fiber::AT_WARP);
}
#define SIMT_mma_halves simt_mma_halves(BF16, sums, a, b, {c0, c1, c2, c3})

static void simt_mma_bytes(int32_t *sums, const uint32_t (&a)[4], const uint32_t (&b)[2])
{
    const simt_lanes &warp = simt_give(a, b);
    const unsigned lane = threadIdx.x % SIMT_WARP;
    for (unsigned e = 0; e < 4; e++) {
        int64_t sum = sums[e];
        for (unsigned k = 0; k < 32; k++)
            sum += (int8_t)simt_element<8>(warp.a[0], 4, lane / 4 + e / 2 * 8, k) *
                   (int8_t)simt_element<8>(warp.b[0], 2, lane % 4 * 2 + e % 2, k);
        if (sum != (int32_t)sum)
            simt_fail("a sum beyond 32 bits");
        sums[e] = (int32_t)sum;
    }
    simt_wait(simt_fiber::AT_WARP);
}
#define SIMT_mma_bytes simt_mma_bytes(sums, a, b)

/* The 16x8x8 product of doubles: elements of a lane's registers by the tables of the ISA. */
static void simt_mma_doubles(double *sums, const double *a, const double *b)
{
    simt_lanes &warp = simt_warps[simt_self / SIMT_WARP];
    const unsigned lane = threadIdx.x % SIMT_WARP;
    memcpy(warp.double_a[lane], a, sizeof warp.double_a[lane]);
    memcpy(warp.double_b[lane], b, sizeof warp.double_b[lane]);
    simt_wait(simt_fiber::AT_WARP);
    for (unsigned e = 0; e < 4; e++)
        for (unsigned k = 0; k < 8; k++)
            sums[e] += warp.double_a[lane / 4 * 4 + k % 4][e / 2 + k / 4 * 2] *
                       warp.double_b[(lane % 4 * 2 + e % 2) * 4 + k % 4][k / 4];
    simt_wait(simt_fiber::AT_WARP);
}

#define SIMT_mma_doubles simt_mma_doubles(c, a, b)
#define SIMT_load_double memcpy(&x, simt_shared_at(from, 8), 8)
#define SIMT_xor x ^= (unsigned)y
#define SIMT_add at = (const char *)((uintptr_t)at + (uintptr_t)bytes)
#define SIMT_hide (void)x

static int simt_dp4a(uint32_t x, uint32_t y, int to)
{
    for (int i = 0; i < 4; i++)
        to += (int)(x >> 8 * i & 255) * (int8_t)(y >> 8 * i);
    return to;
}
#define SIMT_dp4a sum = simt_dp4a(x, y, to)

/* --- Checks ---------------------------------------------------------------------------------- */

static long simt_failures;

#define SIMT_CHECK(condition, ...)                                                                 \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
            simt_failures++;                                                                       \
        }                                                                                          \
    } while (0)

/* beta old + alpha times a row by a column, and the sum of the terms' magnitudes. */
static long double simt_exact(int k, double alpha, const double *a, int a_stride, const double *b,
                              int b_stride, double beta, double old, long double *magnitude)
{
    long double sum = beta == 0 ? 0 : (long double)beta * old;
    *magnitude = fabsl(sum);
    for (int l = 0; l < k; l++) {
        const long double term = (long double)alpha * a[l * a_stride] * b[l * b_stride];
        sum += term;
        *magnitude += fabsl(term);
    }
    return sum;
}

static uint64_t simt_state = 1;

/* Uniform in [0, 1), all 53 bits. */
static double simt_uniform(void)
{
    simt_state = simt_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(simt_state >> 11) * 0x1p-53;
}

/* N(0,1), nearly. */
static double simt_normal(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += simt_uniform();
    return sum;
}

#endif

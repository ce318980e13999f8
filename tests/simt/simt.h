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

/* --- A block --------------------------------------------------------------------------------- */

struct uint3 {
    unsigned x, y, z;
};
static uint3 threadIdx, blockIdx, gridDim;
alignas(128) static uint8_t shared[96 * 1024];

enum { SIMT_WARP = 32, SIMT_STACK = 64 * 1024 };

/* A context starts a fiber; jumps, which make no system call, go on with it. */
struct simt_fiber {
    ucontext_t context;
    jmp_buf place;
    bool started;
    enum { READY, AT_BLOCK, AT_WARP, DONE } state;
    std::vector<char> stack;
};
static std::vector<simt_fiber> simt_fibers;
static jmp_buf simt_scheduler;
static const std::function<void()> *simt_kernel;

static void simt_start(void)
{
    (*simt_kernel)();
    simt_fibers[threadIdx.x].state = simt_fiber::DONE;
    _longjmp(simt_scheduler, 1);
}

static void simt_run(unsigned i)
{
    simt_fiber &fiber = simt_fibers[i];
    threadIdx.x = i;
    if (_setjmp(simt_scheduler))
        return;
    if (fiber.started)
        _longjmp(fiber.place, 1);
    fiber.started = true;
    setcontext(&fiber.context);
}

static void simt_wait(decltype(simt_fiber::state) state)
{
    const unsigned self = threadIdx.x;
    simt_fibers[self].state = state;
    if (!_setjmp(simt_fibers[self].place))
        _longjmp(simt_scheduler, 1);
}

/* Threads that have ended count as waiting. */
static void simt_release(size_t first, size_t count, decltype(simt_fiber::state) state)
{
    for (size_t i = first; i < first + count; i++)
        if (simt_fibers[i].state != state && simt_fibers[i].state != simt_fiber::DONE)
            return;
    for (size_t i = first; i < first + count; i++)
        if (simt_fibers[i].state == state)
            simt_fibers[i].state = simt_fiber::READY;
}

static void simt_block(unsigned threads)
{
    simt_fibers.resize(threads);
    for (simt_fiber &fiber : simt_fibers) {
        fiber.state = simt_fiber::READY;
        fiber.started = false;
        fiber.stack.resize(SIMT_STACK);
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        makecontext(&fiber.context, simt_start, 0);
    }
    memset(shared, 0xff, sizeof shared);
    for (bool ran = true; ran;) {
        ran = false;
        for (unsigned i = 0; i < threads; i++)
            if (simt_fibers[i].state == simt_fiber::READY) {
                simt_run(i);
                ran = true;
            }
        for (unsigned i = 0; i < threads; i += SIMT_WARP)
            simt_release(i, SIMT_WARP, simt_fiber::AT_WARP);
        simt_release(0, threads, simt_fiber::AT_BLOCK);
    }
    for (const simt_fiber &fiber : simt_fibers)
        if (fiber.state != simt_fiber::DONE) {
            fprintf(stderr, "a barrier that not all threads reach\n");
            exit(1);
        }
}

static void simt_launch(unsigned blocks, unsigned threads, const std::function<void()> &kernel)
{
    simt_kernel = &kernel;
    gridDim.x = blocks;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
        simt_block(threads);
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

/* In place of kernels/common/async.cuh: copies arrive at once. */
#define XG_ASYNC_CUH

static uint8_t *simt_shared_at(uint32_t at, size_t bytes)
{
    if (at % bytes || at + bytes > sizeof shared) {
        fprintf(stderr, "shared memory at %u\n", at);
        exit(1);
    }
    return shared + at;
}

static inline void xg_async_copy16(unsigned to, const void *from, bool skip)
{
    if (skip)
        memset(simt_shared_at(to, 16), 0, 16);
    else
        memcpy(simt_shared_at(to, 16), from, 16);
}

static inline void xg_async_commit(void) {}

template <int PENDING>
static inline void xg_async_wait(void)
{
}

/* What the lanes of a warp give to an instruction. */
struct simt_lanes {
    uint32_t address[SIMT_WARP], a[SIMT_WARP][4], b[SIMT_WARP][2];
};
static simt_lanes simt_warps[32];

static void simt_ldmatrix(uint32_t from, uint32_t &x0, uint32_t &x1, uint32_t &x2, uint32_t &x3)
{
    simt_lanes &warp = simt_warps[threadIdx.x / SIMT_WARP];
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
    simt_lanes &warp = simt_warps[threadIdx.x / SIMT_WARP];
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
        if (sum != (int32_t)sum) {
            fprintf(stderr, "a sum beyond 32 bits\n");
            exit(1);
        }
        sums[e] = (int32_t)sum;
    }
    simt_wait(simt_fiber::AT_WARP);
}
#define SIMT_mma_bytes simt_mma_bytes(sums, a, b)

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
            fprintf(stderr, "%s: ", #condition);                                                   \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
            simt_failures++;                                                                       \
        }                                                                                          \
    } while (0)

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

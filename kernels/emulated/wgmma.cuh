/* SPDX-License-Identifier: MIT */
/* Hopper's asynchronous units: tensor cores (wgmma) and tensor copies (TMA). */
#ifndef XG_WGMMA_CUH
#define XG_WGMMA_CUH

#include <stdint.h>

#include "../common/barrier.cuh"
#include "../common/cluster.cuh"

/* --- Tensor copies: a box of a matrix, (row, column) of its first element, to shared memory
 * ------- */

static __device__ __forceinline__ void xg_copy_box(uint32_t to, const void *map, uint32_t barrier,
                                                   int column, int row)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(column), "r"(row)
                 : "memory");
}

/* The same, to this address in every block of the cluster whose bit in `blocks` is set. */
static __device__ __forceinline__ void xg_copy_box_multicast(uint32_t to, const void *map,
                                                             uint32_t barrier, int column, int row,
                                                             uint16_t blocks)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(column), "r"(row), "h"(blocks)
                 : "memory");
}

/* The same of a stack of matrices. */
static __device__ __forceinline__ void xg_copy_box3(uint32_t to, const void *map, uint32_t barrier,
                                                    int column, int row, int matrix)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(column), "r"(row), "r"(matrix)
                 : "memory");
}

static __device__ __forceinline__ void xg_copy_box3_multicast(uint32_t to, const void *map,
                                                              uint32_t barrier, int column, int row,
                                                              int matrix, uint16_t blocks)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(column), "r"(row), "r"(matrix), "h"(blocks)
                 : "memory");
}

static __device__ __forceinline__ void xg_copy_prefetch_map(const void *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* --- Warpgroups ----------------------------------------------------------------------------------
 */

template <int REGISTERS>
static __device__ __forceinline__ void xg_registers_raise(void)
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

template <int REGISTERS>
static __device__ __forceinline__ void xg_registers_lower(void)
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

/* Named barriers of a block for `threads` threads, counting arriving and waiting ones. */
static __device__ __forceinline__ void xg_turn_wait(int barrier, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

static __device__ __forceinline__ void xg_turn_give(int barrier, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/* --- Tensor cores
 * ---------------------------------------------------------------------------------- */

/*
 * Returns the descriptor of a K-major operand in shared memory with rows of SWIZZLE (64 or 128)
 * bytes, swizzled like the tensor copies, in groups of 8 consecutive rows. `address`: its first
 * row, plus the offset along k in bytes.
 */
template <int SWIZZLE>
static __device__ __forceinline__ uint64_t xg_wgmma_operand(uint32_t address)
{
    constexpr uint64_t LAYOUT = SWIZZLE == 128 ? 1 : 2;
    return (uint64_t)((address & 0x3ffff) >> 4) | (uint64_t)1 << 16 |
           (uint64_t)(8 * SWIZZLE >> 4) << 32 | LAYOUT << 62;
}

static __device__ __forceinline__ void xg_wgmma_fence(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void xg_wgmma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Waits until at most PENDING of this warpgroup's groups of products are under way. Their sums must
 * not be used before none is. */
template <int PENDING>
static __device__ __forceinline__ void xg_wgmma_wait_until(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

/* Tells the compiler that the products have written a sum. */
static __device__ __forceinline__ void xg_wgmma_written(float &sum)
{
    asm volatile("" : "+f"(sum)::"memory");
}

static __device__ __forceinline__ void xg_wgmma_written(int32_t &sum)
{
    asm volatile("" : "+r"(sum)::"memory");
}

/* Waits for this warpgroup's products, which write sums. */
template <class NUMBER, int SUMS>
static __device__ __forceinline__ void xg_wgmma_wait(NUMBER (&sums)[SUMS])
{
    xg_wgmma_wait_until<0>();
#pragma unroll
    for (int i = 0; i < SUMS; i++)
        xg_wgmma_written(sums[i]);
}

/*
 * Computes sums (64,2 SUMS) of a warpgroup = A (64,16) B (16,2 SUMS), added to the previous sums if
 * `add`. There is one statement per width, because an asm statement must list its operands.
 */
/* clang-format off: columns */
#define XG_SUMS8(s, i)                                                                             \
    "+f"(s[i]), "+f"(s[i + 1]), "+f"(s[i + 2]), "+f"(s[i + 3]), "+f"(s[i + 4]), "+f"(s[i + 5]),    \
        "+f"(s[i + 6]), "+f"(s[i + 7])
#define XG_INTS8(s, i)                                                                             \
    "+r"(s[i]), "+r"(s[i + 1]), "+r"(s[i + 2]), "+r"(s[i + 3]), "+r"(s[i + 4]), "+r"(s[i + 5]),    \
        "+r"(s[i + 6]), "+r"(s[i + 7])
#define XG_INTS_256(s)                                                                             \
    XG_INTS8(s, 0), XG_INTS8(s, 8), XG_INTS8(s, 16), XG_INTS8(s, 24), XG_INTS8(s, 32),             \
        XG_INTS8(s, 40), XG_INTS8(s, 48), XG_INTS8(s, 56), XG_INTS8(s, 64), XG_INTS8(s, 72),       \
        XG_INTS8(s, 80), XG_INTS8(s, 88), XG_INTS8(s, 96), XG_INTS8(s, 104), XG_INTS8(s, 112),     \
        XG_INTS8(s, 120)
#define XG_SUMS_128(s)                                                                             \
    XG_SUMS8(s, 0), XG_SUMS8(s, 8), XG_SUMS8(s, 16), XG_SUMS8(s, 24), XG_SUMS8(s, 32),             \
        XG_SUMS8(s, 40), XG_SUMS8(s, 48), XG_SUMS8(s, 56)
#define XG_SUMS_176(s)                                                                             \
    XG_SUMS8(s, 0), XG_SUMS8(s, 8), XG_SUMS8(s, 16), XG_SUMS8(s, 24), XG_SUMS8(s, 32),             \
        XG_SUMS8(s, 40), XG_SUMS8(s, 48), XG_SUMS8(s, 56), XG_SUMS8(s, 64), XG_SUMS8(s, 72),       \
        XG_SUMS8(s, 80)
#define XG_SUMS_192(s)                                                                             \
    XG_SUMS8(s, 0), XG_SUMS8(s, 8), XG_SUMS8(s, 16), XG_SUMS8(s, 24), XG_SUMS8(s, 32),             \
        XG_SUMS8(s, 40), XG_SUMS8(s, 48), XG_SUMS8(s, 56), XG_SUMS8(s, 64), XG_SUMS8(s, 72),       \
        XG_SUMS8(s, 80), XG_SUMS8(s, 88)
#define XG_WGMMA_128(type)                                                                         \
    "{ .reg .pred add; setp.ne.b32 add, %66, 0;\n"                                                 \
    "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " {"                              \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                       \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "             \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "             \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "            \
    "%64, %65, add, 1, 1, 0, 0; }"
#define XG_WGMMA_176(type)                                                                         \
    "{ .reg .pred add; setp.ne.b32 add, %90, 0;\n"                                                 \
    "wgmma.mma_async.sync.aligned.m64n176k16.f32." type "." type " {"                              \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                       \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "             \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "             \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "             \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
    "%80, %81, %82, %83, %84, %85, %86, %87}, "                                                    \
    "%88, %89, add, 1, 1, 0, 0; }"
#define XG_WGMMA_192(type)                                                                         \
    "{ .reg .pred add; setp.ne.b32 add, %98, 0;\n"                                                 \
    "wgmma.mma_async.sync.aligned.m64n192k16.f32." type "." type " {"                              \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                       \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "             \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "             \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "             \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95}, "            \
    "%96, %97, add, 1, 1, 0, 0; }"
#define XG_WGMMA_256_S8                                                                            \
    "{ .reg .pred add; setp.ne.b32 add, %130, 0;\n"                                                \
    "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 {"                                          \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                       \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "             \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "             \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "             \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "   \
    "%127}, "                                                                                      \
    "%128, %129, add; }"

template <bool BF16, int SUMS>
static __device__ __forceinline__ void xg_wgmma(float (&s)[SUMS], uint64_t a, uint64_t b, int add)
{
    static_assert(SUMS == 64 || SUMS == 88 || SUMS == 96, "a width that has a statement");
    if constexpr (SUMS == 64 && !BF16)
        asm volatile(XG_WGMMA_128("f16") : XG_SUMS_128(s) : "l"(a), "l"(b), "r"(add));
    if constexpr (SUMS == 64 && BF16)
        asm volatile(XG_WGMMA_128("bf16") : XG_SUMS_128(s) : "l"(a), "l"(b), "r"(add));
    if constexpr (SUMS == 88 && !BF16)
        asm volatile(XG_WGMMA_176("f16") : XG_SUMS_176(s) : "l"(a), "l"(b), "r"(add));
    if constexpr (SUMS == 88 && BF16)
        asm volatile(XG_WGMMA_176("bf16") : XG_SUMS_176(s) : "l"(a), "l"(b), "r"(add));
    if constexpr (SUMS == 96 && !BF16)
        asm volatile(XG_WGMMA_192("f16") : XG_SUMS_192(s) : "l"(a), "l"(b), "r"(add));
    if constexpr (SUMS == 96 && BF16)
        asm volatile(XG_WGMMA_192("bf16") : XG_SUMS_192(s) : "l"(a), "l"(b), "r"(add));
}

/* The same with 8-bit integers: sums (64,256) = A (64,32) B (32,256). */
static __device__ __forceinline__ void xg_wgmma_bytes(int32_t (&s)[128], uint64_t a, uint64_t b,
                                                      int add)
{
    asm volatile(XG_WGMMA_256_S8 : XG_INTS_256(s) : "l"(a), "l"(b), "r"(add));
}
/* clang-format on */

#endif

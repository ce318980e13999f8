/* SPDX-License-Identifier: MIT */
/* PTX of sm_80: copies from global to shared memory that bypass the registers (cp.async). */
#ifndef XG_ASYNC_CUH
#define XG_ASYNC_CUH

/*
 * Code for older architectures ends the launch instead. It can run as PTX on a newer device: the
 * table requires sm_80, but selection checks only the device.
 *
 * `skip` writes zeros and reads nothing, so the source need not exist. Bytes that are not copied
 * are zeros too. A predicate and a size compile to different instructions around the copy; each
 * kernel uses the variant with which it was measured.
 */
#if __CUDA_ARCH__ >= 800
#define XG_ASYNC(...) asm volatile(__VA_ARGS__)
#else
#define XG_ASYNC(...) asm volatile("trap;")
#endif

/* 16 bytes, both sides 16-byte aligned. `to`: an address in shared memory. */
static __device__ __forceinline__ void xg_async_copy16(unsigned to, const void *from, bool skip)
{
    XG_ASYNC("{\n"
             "    .reg .pred skip;\n"
             "    setp.ne.b32 skip, %2, 0;\n"
             "    cp.async.cg.shared.global [%0], [%1], 16, skip;\n"
             "}" ::"r"(to),
             "l"(__cvta_generic_to_global(from)), "r"((int)skip)
             : "memory");
}

/* 4 bytes, both sides 4-byte aligned. */
static __device__ __forceinline__ void xg_async_copy4(unsigned to, const float *from, bool skip)
{
    XG_ASYNC("{\n"
             "    .reg .pred skip;\n"
             "    setp.ne.b32 skip, %2, 0;\n"
             "    cp.async.ca.shared.global [%0], [%1], 4, skip;\n"
             "}" ::"r"(to),
             "l"(__cvta_generic_to_global(from)), "r"((int)skip)
             : "memory");
}

/* The first `bytes` of 16, both sides 16-byte aligned. */
static __device__ __forceinline__ void xg_async_copy_part(unsigned to, const float *from, int bytes)
{
    XG_ASYNC("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
             "l"(__cvta_generic_to_global(from)), "r"(bytes)
             : "memory");
}

/* 4 bytes, or zeros unless `read`. */
static __device__ __forceinline__ void xg_async_copy4_if(unsigned to, const float *from, bool read)
{
    XG_ASYNC("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to),
             "l"(__cvta_generic_to_global(from)), "r"(read ? 4 : 0)
             : "memory");
}

/* Makes the copies since the last commit one group. */
static __device__ __forceinline__ void xg_async_commit(void)
{
    XG_ASYNC("cp.async.commit_group;" ::: "memory");
}

/* Waits until all of this thread's groups except the newest PENDING have arrived. */
template <int PENDING>
static __device__ __forceinline__ void xg_async_wait(void)
{
    XG_ASYNC("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

/* Reads 16 bytes of shared memory, 16-byte aligned. */
static __device__ __forceinline__ void xg_async_load4(float *to, unsigned from)
{
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
                 : "r"(from)
                 : "memory");
}

#endif

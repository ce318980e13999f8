/* SPDX-License-Identifier: MIT */
/* PTX of sm_80: copies from global to shared memory that go past the registers. */
#ifndef XG_ASYNC_CUH
#define XG_ASYNC_CUH

/* `skip` writes zeros and reads nothing: the source need not exist. */

/* 16 bytes, both sides 16-byte aligned. `to`: an address in shared memory. */
static __device__ __forceinline__ void xg_async_copy16(unsigned to, const float *from, bool skip)
{
    asm volatile("{\n"
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
    asm volatile("{\n"
                 "    .reg .pred skip;\n"
                 "    setp.ne.b32 skip, %2, 0;\n"
                 "    cp.async.ca.shared.global [%0], [%1], 4, skip;\n"
                 "}" ::"r"(to),
                 "l"(__cvta_generic_to_global(from)), "r"((int)skip)
                 : "memory");
}

/* The copies since the last commit are one group. */
static __device__ __forceinline__ void xg_async_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until all of this thread's groups but the newest PENDING have arrived. */
template <int PENDING>
static __device__ __forceinline__ void xg_async_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
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

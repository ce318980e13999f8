/* SPDX-License-Identifier: MIT */
/* PTX instructions whose position in the program matters: the compiler does not move them. */
#ifndef XG_PTX_CUH
#define XG_PTX_CUH

/*
 * nvcc 13.0 moves a plain C load that should run ahead of its use down to that use (global loads to
 * the end of the loop body, shared loads past its back edge), so its latency is not hidden. It does
 * not move a volatile asm statement.
 */

/* Reads 16 bytes of shared memory, 16-byte aligned. */
static __device__ __forceinline__ void xg_ptx_load_shared4(float *to, const float *from)
{
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
                 : "r"((unsigned)__cvta_generic_to_shared(from))
                 : "memory");
}

/* Reads 16 bytes of global memory, 16-byte aligned, or yields zeros without reading. */
static __device__ __forceinline__ void xg_ptx_load_global4(float *to, const float *from, bool read)
{
    asm volatile("{\n"
                 "    .reg .pred read;\n"
                 "    setp.ne.b32 read, %5, 0;\n"
                 "    mov.f32 %0, 0f00000000;\n"
                 "    mov.f32 %1, 0f00000000;\n"
                 "    mov.f32 %2, 0f00000000;\n"
                 "    mov.f32 %3, 0f00000000;\n"
                 "    @read ld.global.v4.f32 {%0, %1, %2, %3}, [%4];\n"
                 "}"
                 : "=&f"(to[0]), "=&f"(to[1]), "=&f"(to[2]), "=&f"(to[3])
                 : "l"(__cvta_generic_to_global(from)), "r"((int)read)
                 : "memory");
}

/* threadIdx.x and blockIdx.x, read from their registers at this point, so that the compiler keeps
 * no derived values. */
static __device__ __forceinline__ int xg_ptx_thread_x(void)
{
    int x;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
    return x;
}

static __device__ __forceinline__ unsigned xg_ptx_block_x(void)
{
    unsigned x;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(x));
    return x;
}

#endif

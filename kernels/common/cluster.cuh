/* SPDX-License-Identifier: MIT */
/* Blocks of one cluster: barriers, and reads of each other's shared memory (sm_90 and newer). */
#ifndef XG_CLUSTER_CUH
#define XG_CLUSTER_CUH

/*
 * The launcher makes clusters only on devices that support them. Code for older architectures (as
 * PTX on a newer device) ends the launch, because sums would be missing from C.
 */

/* This block's number in the cluster. */
static __device__ __forceinline__ unsigned xg_cluster_rank(void)
{
    unsigned rank = 0;
#if __CUDA_ARCH__ >= 900
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return rank;
}

/* A barrier of all blocks of the cluster. Afterwards all may read what each wrote to shared memory
 * before. */
static __device__ __forceinline__ void xg_cluster_sync(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;\n"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
#endif
}

/* The address, for loads of this block, of the same location in the shared memory of block
 * `rank`. */
static __device__ __forceinline__ unsigned xg_cluster_address(const void *own, unsigned rank)
{
    unsigned address = (unsigned)__cvta_generic_to_shared(own);
#if __CUDA_ARCH__ >= 900
    asm("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(address) : "r"(rank));
#endif
    return address;
}

static __device__ __forceinline__ float4 xg_cluster_load4(unsigned address)
{
    float4 value = {};
#if __CUDA_ARCH__ >= 900
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
                 : "r"(address));
#else
    asm volatile("trap;");
#endif
    return value;
}

static __device__ __forceinline__ float xg_cluster_load(unsigned address)
{
    float value = 0.0f;
#if __CUDA_ARCH__ >= 900
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(address));
#else
    asm volatile("trap;");
#endif
    return value;
}

static __device__ __forceinline__ unsigned xg_cluster_load_unsigned(unsigned address)
{
    unsigned value = 0;
#if __CUDA_ARCH__ >= 900
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(address));
#else
    asm volatile("trap;");
#endif
    return value;
}

static __device__ __forceinline__ double xg_cluster_load_double(unsigned address)
{
    double value = 0.0;
#if __CUDA_ARCH__ >= 900
    asm volatile("ld.shared::cluster.f64 %0, [%1];" : "=d"(value) : "r"(address));
#else
    asm volatile("trap;");
#endif
    return value;
}

/* Writes 16 bytes to another block's shared memory, and counts them at a barrier there. */
static __device__ __forceinline__ void xg_cluster_send(unsigned to, const uint4 &x,
                                                       unsigned barrier)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 "
                 "[%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
                 "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(barrier)
                 : "memory");
#else
    asm volatile("trap;");
#endif
}

#endif

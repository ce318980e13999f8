/* SPDX-License-Identifier: MIT */
/* Barriers in shared memory that count arrivals and bytes (mbarrier; sm_90 and newer). Addresses
 * are those of the shared window. */
#ifndef XG_BARRIER_CUH
#define XG_BARRIER_CUH

#include <stdint.h>

static __device__ __forceinline__ uint32_t xg_shared_address(const void *shared)
{
    return (uint32_t)__cvta_generic_to_shared(shared);
}

static __device__ __forceinline__ void xg_barrier_init(uint32_t barrier, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}

/* Makes initialised barriers visible to the tensor copies and to the cluster. */
static __device__ __forceinline__ void xg_barrier_init_fence(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

static __device__ __forceinline__ void xg_barrier_wait(uint32_t barrier, uint32_t parity)
{
    asm volatile("{\n"
                 "    .reg .pred done;\n"
                 "again:\n"
                 "    mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "    @done bra.uni over;\n"
                 "    bra.uni again;\n"
                 "over:\n"
                 "}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

static __device__ __forceinline__ void xg_barrier_expect(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

/*
 * Arrives at the barrier at this address in block `rank` of the cluster. It orders only within the
 * block: the tensor cores have finished reading the released memory. (With .release.cluster the
 * compiler inserts a MEMBAR.ALL.GPU, about 500 cycles.)
 */
static __device__ __forceinline__ void xg_barrier_arrive(uint32_t barrier, uint32_t rank)
{
    asm volatile("{\n"
                 "    .reg .b32 there;\n"
                 "    mapa.shared::cluster.u32 there, %0, %1;\n"
                 "    mbarrier.arrive.shared::cluster.b64 _, [there];\n"
                 "}" ::"r"(barrier),
                 "r"(rank)
                 : "memory");
}

#endif

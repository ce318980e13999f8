/* SPDX-License-Identifier: MIT */
/* Expands a complex operand of double precision to a real one. */

#include "residue.cuh"

/*
 * Why. The product of integers is real, and a complex product is one of real matrices: C as it lies
 * in memory, with a real and an imaginary part in turn, is op(A) as it lies in memory times a
 * matrix of twice the rows and columns of op(B) (residue_kabi.h). These are four multiplications
 * for a complex one, as in ZGEMM, and no sum that a real product does not have: errors are bounded
 * as DGEMM's. Three would subtract sums of larger numbers, and lose the bound for each part.
 *
 * Memory. A block reads 32x32 complex numbers along memory, turns them in shared memory, where rows
 * of 33 keep lanes off one bank, and writes rows along k: 16 bytes are read for each number, and 16
 * (A) or 32 (B) written, which is a third of what the split of the expanded operand moves.
 */

#ifdef XG_SPLIT_SM80
enum { SIDE = XG_RESIDUE_EXPAND_SIDE, THREADS = 256, APART = THREADS / SIDE };

extern "C" __global__ void __launch_bounds__(THREADS)
    xg_residue_expand_sm80(const __grid_constant__ struct xg_residue_expand_args args)
{
    __shared__ double2 tile[SIDE][SIDE + 1];
    const int64_t ld = XG_RESIDUE_EXPANDED_LD(2 * args.k) / 2; /* in pairs of doubles */
    const int64_t across = (ld + SIDE - 1) / SIDE;
    const int64_t row0 = blockIdx.x / across * SIDE, k0 = blockIdx.x % across * SIDE;
    const int fast = threadIdx.x % SIDE, slow = threadIdx.x / SIDE;
    const bool along_k = args.k_stride == 1;
#pragma unroll
    for (int i = slow; i < SIDE; i += APART) {
        const int row = along_k ? i : fast, k = along_k ? fast : i;
        double2 x = make_double2(0.0, 0.0);
        if (row0 + row < args.rows && k0 + k < args.k)
            x = ((const double2 *)
                     args.from)[(row0 + row) * args.row_stride + (k0 + k) * args.k_stride];
        tile[row][k] = make_double2(x.x, args.conjugate ? -x.y : x.y);
    }
    __syncthreads();
    if (k0 + fast >= ld)
        return;
#pragma unroll
    for (int i = slow; i < SIDE; i += APART) {
        const double2 x = tile[i][fast];
        if (row0 + i >= args.rows)
            break;
        double2 *to = (double2 *)args.to + (row0 + i) * (args.of_b ? 2 : 1) * ld + k0 + fast;
        to[0] = args.of_b ? make_double2(x.x, -x.y) : x;
        if (args.of_b)
            to[ld] = make_double2(x.y, x.x);
    }
}

#else
XG_SPLIT_ABSENT(residue_expand_sm80)
#endif

# SPDX-License-Identifier: MIT
# An unmodified program over the built library and the fake driver: right, on the GPU, and told so.
# Contract 9.3 (doc/contract.md).
. "$srcdir/tests/preload/fake_lib"

same "one thread" 1
[ ! -s "$tmp/err" ] || fail_with "one thread: messages" "$tmp/err"
same "four threads" 4 XGEMM_STATS=1
says "four threads" ' 96 products.* 96 on the GPU, 0 on the CPU'

for seed in 2 3 4; do
    same "seed $seed" 1 FAKECUDA_SEED=$seed XGEMM_STATS=1
    says "seed $seed" ' 24 on the GPU, 0 on the CPU'
done
same "a slow device" 4 FAKECUDA_DELAY_US=200
same "out of core" 1 XGEMM_MEM_LIMIT=1100K XGEMM_STATS=1
says "out of core" ' 24 on the GPU, 0 on the CPU'
same "small memory" 4 FAKECUDA_MEM=4000000
same "one staging thread" 1 XGEMM_STAGE_THREADS=1
same "five staging threads" 4 XGEMM_STAGE_THREADS=5

for kernel in uncoalesced coalesced single_block tiled corner_turn coarse_1d coarse_2d vectorized \
    cublas; do
    same "$kernel" 1 XGEMM_KERNEL=$kernel XGEMM_VERBOSE=1
    says "$kernel" " GPU $kernel,"
done

same "no device" 1 FAKECUDA_DEVICES=0 XGEMM_STATS=1
says "no device" ' 0 on the GPU, 24 on the CPU'
same "as it comes" 4 XGEMM_MODE=auto

same "compared" 1 XGEMM_MODE=compare XGEMM_STATS=1
says "compared" 'CPU and GPU compared'
says "compared" ' 24 products'

exit $status

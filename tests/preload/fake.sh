# SPDX-License-Identifier: MIT
# An unmodified program with the library on the fake driver: its answers are right, come from the
# GPU, and are reported so. Where driver calls fail its output is the same. XT_ONLY=right leaves out
# the faults. Contract 9.1, 9.2, 9.3, 9.6 (doc/contract.md).
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

[ "${XT_ONLY-}" != right ] || exit $status

# --- Faults -----------------------------------------------------------------------------------

same "without a fault" 1 FAKECUDA_REPORT="$tmp/report"
calls=$(sed -n 's/^calls=\([0-9]*\) .*/\1/p' "$tmp/report")
[ "${calls:-0}" -gt 100 ] || fail "only ${calls:-no} driver calls"

# struck WHAT THREADS FAULT [NAME=VALUE...]: the fault strikes; right answers, at most two messages.
struck() {
    struck_what=$1
    struck_threads=$2
    struck_fault=$3
    shift 3
    rm -f "$tmp/report"
    same "$struck_what" "$struck_threads" FAKECUDA_FAIL="$struck_fault" \
        FAKECUDA_REPORT="$tmp/report" "$@"
    grep -q ' faults=[1-9]' "$tmp/report" || fail "$struck_what: the fault did not strike"
    [ "$(wc -l <"$tmp/err")" -le 2 ] || fail_with "$struck_what: too many messages" "$tmp/err"
    grep -v '^xgemm: ' "$tmp/err" && fail "$struck_what: messages of others"
}

step=$((calls / 12))
nth=1
while [ $nth -le $((calls * 3 / 4)) ]; do
    for code in 2 999 719:sticky; do
        struck "call $nth, $code" 1 "any:$nth:$code"
    done
    nth=$((nth + step))
done
for name in cuMemAlloc cuMemHostAlloc cuLaunchKernel cuMemcpyHtoDAsync cuMemcpyDtoHAsync \
    cuEventRecord cuEventQuery cuModuleLoadData cuStreamCreate cuCtxPushCurrent; do
    struck "every $name" 4 "$name:1:2:always"
done
struck "a lost device" 4 exec:150:719
struck "a device lost late" 4 exec:1000:700
# A device that computes wrong results without an error.
struck "wrong results" 4 flip:1:30:always XGEMM_VERIFY=1
struck "a wrong result" 1 flip:5:29 XGEMM_VERIFY=1
# A device that completes nothing after some operation.
for nth in 1 20 150 700; do
    struck "a hang at $nth" 4 "exec:$nth:-1" XGEMM_TIMEOUT_MS=1000
done
exit $status

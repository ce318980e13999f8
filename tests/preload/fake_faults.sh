# SPDX-License-Identifier: MIT
# Driver calls that fail beneath an unmodified program: it prints what it always prints.
# Contract 9.1, 9.2, 9.6 (doc/contract.md).
. "$srcdir/tests/preload/fake_lib"

same "without a fault" 1 FAKECUDA_REPORT="$tmp/report"
calls=$(sed -n 's/^calls=\([0-9]*\) .*/\1/p' "$tmp/report")
[ "${calls:-0}" -gt 100 ] || fail "only ${calls:-no} driver calls"

# struck WHAT THREADS FAULT [NAME=VALUE...]: the fault strikes; the answers stay, and the user is told at most twice.
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
# A device that computes wrong results and says nothing.
struck "wrong results" 4 flip:1:30:always XGEMM_VERIFY=1
struck "a wrong result" 1 flip:5:29 XGEMM_VERIFY=1
# A device that gets nothing done from some operation on.
for nth in 1 20 150 700; do
    struck "a hang at $nth" 4 "exec:$nth:-1" XGEMM_TIMEOUT_MS=1000
done
exit $status

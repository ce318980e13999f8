# SPDX-License-Identifier: MIT
# XGEMM_TRACE over an unmodified program: JSON that can be read, and every product is in it.
. "$srcdir/tests/preload_fake_lib"
python=${PYTHON:-python3}
"$python" -c 'import json' 2>/dev/null || skip "no Python here"

# traced WHAT THREADS PLACES: $tmp/trace has 24 products a thread, only in those places.
traced() {
    "$python" "$srcdir/tests/preload_trace.py" "$tmp/trace" "$2" "$3" || fail "$1"
    rm -f "$tmp/trace"
}

same "one thread" 1 XGEMM_TRACE="$tmp/trace"
[ ! -s "$tmp/err" ] || {
    cat "$tmp/err"
    fail "one thread: messages"
}
traced "one thread" 1 GPU
same "four threads" 4 XGEMM_TRACE="$tmp/trace"
traced "four threads" 4 GPU

# Those below the floor of the policy, too.
same "on the CPU" 4 XGEMM_MODE=cpu XGEMM_TRACE="$tmp/trace"
traced "on the CPU" 4 CPU
same "as it comes" 1 XGEMM_MODE=auto XGEMM_TRACE="$tmp/trace"
traced "as it comes" 1 CPU,GPU
same "no device" 1 FAKECUDA_DEVICES=0 XGEMM_TRACE="$tmp/trace"
traced "no device" 1 CPU
same "compared" 1 XGEMM_MODE=compare XGEMM_TRACE="$tmp/trace"
traced "compared" 1 both

same "no folder" 4 XGEMM_TRACE="$tmp/none/trace"
says "no folder" '^xgemm: cannot append to XGEMM_TRACE='
[ "$(wc -l <"$tmp/err")" -eq 1 ] || fail "no folder: told more than once"
exit $status

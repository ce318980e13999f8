# SPDX-License-Identifier: MIT
# xgemm-run estimate: what it prints for programs that multiply in every way, and that it leaves nothing behind.
# tests/unit/forecast judges the predictions.
. "$srcdir/tests/preload/lib"
needs_plain_library
run=$builddir/tools/xgemm-run
[ -x "$run" ] && [ -x "$builddir/tools/xgemm-watch" ] || skip "$run has not been built"
forget_settings
unset LD_PRELOAD OPENBLAS_THREAD_TIMEOUT GOMP_SPINCOUNT
export XGEMM_SHIM_LIB="$XG_SO" TMPDIR="$tmp/folders"
mkdir "$TMPDIR"
quiet_stub "$tmp/libone.so"
compile -o "$tmp/tool" "$srcdir/tests/preload/tool.c" "$tmp/libone.so" -Wl,-rpath,"$tmp"

# estimates STATUS PROGRAM...: its table is in $tmp/err.
estimates() {
    wanted=$1
    shift
    "$run" estimate "$@" >"$tmp/err" 2>&1
    expect "estimate $*: exit status" $? "$wanted"
    expect "estimate $*: what is left" "$(ls "$TMPDIR")" ''
}

estimates 3 "$tmp/tool"
says "one product" 'of which [0-9.]* s are in 1 calls of BLAS' 'H100, H200 .* 1.00 .* 1.00 '
expect "GPUs" "$(grep -c ' 1.00 .* 1.00 ' "$tmp/err")" 14
grep -q processes "$tmp/err" && fail "one process is said to be several"

# A process that is killed, or calls _exit or exec, leaves its calls too.
estimates 3 --gpu 4090 "$tmp/tool" exit _exit kill exec
says "five processes" '^RTX 4090 ' '^5 processes made such calls'
grep -q H100 "$tmp/err" && fail "--gpu 4090 prints other GPUs"
estimates 3 --gpu=h10 "$tmp/tool" spin
says "many products" '^H100, H200 '
expect "one GPU of that name" "$(grep -c '^[A-Z].* [0-9]*$' "$tmp/err")" 1

# Without a program: H100 gains on doubles from a smaller size on than a GPU with few FP64 units, and T4 never.
estimates 0
gains() {
    sed -n "s/^$1  *[0-9]* *[0-9.]* *\([0-9]*\) .*/\1/p" "$tmp/err"
}
expect "a row for each GPU" "$(grep -c '^[A-Z0-9, ]* *[0-9]* *[0-9.]*  *[0-9. ]*$' "$tmp/err")" 14
[ "$(gains 'H100, H200')" -lt "$(gains 'RTX 4070')" ] || fail_with "doubles gain from the same size on everywhere" "$tmp/err"
estimates 0 --gpu 4070
expect "one GPU" "$(grep -c '^[A-Z].*[0-9]\.[0-9]' "$tmp/err")" 1
estimates 0 true
says "no product" 'no call that a GPU might compute was seen'
estimates 125 --gpu 4091 true
says "an unknown GPU" 'no GPU 4091; known are T4, '
estimates 127 "$tmp/nothing"
expect "the program's environment" \
    "$("$run" estimate printenv OPENBLAS_THREAD_TIMEOUT GOMP_SPINCOUNT XGEMM_MODE XGEMM_SPIN | head -2)" "$(printf 'cpu\nkeep')"
for wrong in 'ab --gpu 4090 true' 'estimate -n 3 true' 'estimate --gpu'; do
    "$run" $wrong >"$tmp/out" 2>"$tmp/err"
    expect "misuse: $wrong" "$?:$(grep -c help "$tmp/err"):$(cat "$tmp/out")" 125:1:
done

# Where no file can be written the program runs all the same.
"$run" estimate sh -c 'ulimit -f 100; exec "$0" exit' "$tmp/tool" >"$tmp/err" 2>&1
expect "no room: exit status" $? 3
says "no room" 'XGEMM_TAPE=.*: cannot write calls there' 'no call that a GPU might compute was seen'
exit $status

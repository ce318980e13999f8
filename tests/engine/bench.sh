#!/bin/sh
# SPDX-License-Identifier: MIT
# Benchmarks on the fake driver. bench/host reads the same lists as bench/kernels, and says which line it does not
# understand; bench/level3 calls each routine as a program would, finds the library behind, and judges results.
table=${TMPDIR:-/tmp}/xg_bench.$$
list=$table.list
trap 'rm -f "$table" "$table.err" "$table.out" "$list"' EXIT

# fails WHY: exits with a failure.
fails() {
    echo "$1:" >&2
    cat "$table" "$table.err" >&2
    exit 1
}

# built NAME: or the test is skipped.
built() {
    [ -x "$builddir/bench/$1" ] || { echo "skipped: bench/$1 has not been built"; exit 77; }
}

built host
# refuses MESSAGE: bench/host exits with a failure for $list, and says why.
refuses() {
    "$builddir/bench/host" --shapes "$list" 2>"$table.err" && fails "$1: accepted"
    grep -qF "$list$1" "$table.err" || fails "no '$1'"
}
refuses ': No such file'
"$builddir/bench/host" --turns 0 2>"$table.err" && fails "no turn: accepted"
grep -q usage "$table.err" || fails "no usage"
printf '# nothing\n' >"$list"
refuses ': no shapes'
printf '64 64 64 nt 1 0.5\n64 64 64 nm\n' >"$list"
refuses ':2: not m n k'

built level3
# level3 CALL...
level3() {
    XGEMM_MODE=gpu XGEMM_OPERATIONS=all LD_PRELOAD=$XG_SO \
        "$builddir/bench/level3" --turns 1 --budget 0 --csv "$table" "$@" 2>"$table.err"
}

calls='sgemm:200 dgemm:100x50x300:tn cgemm:40:cn zgemm:30 ssyrk:150 dsyrk:150x64:lt zherk:70
       ssymm:50x70 dsymm:50x70:ru dsyr2k:64x30 cher2k:40 strsm:100 dtrsm:100x60:rltu dtrmm:80'
level3 $calls >"$table.out" && ! grep -q WRONG "$table.out" || fails "it failed"
# A line a call with every figure of the CPU's and of ours, and results that agree.
awk -F, -v calls="$(echo $calls | wc -w)" '
    NR > 2 { lines++; good += $3 > 0 && $5 > 0 && $6 > 0 && $10 + 0 == $10 && $10 < 1e-5 }
    END { exit !(lines == calls && good == calls) }' "$table" || fails "not what was asked for"

# Without the others' times, but judged.
level3 --own ssyrk:150 dsyrk:100 >"$table.out" && ! grep -q WRONG "$table.out" || fails "--own"
awk -F, 'NR > 2 { good += $3 == "nan" && $4 == "nan" && $5 > 0 && $10 + 0 == $10 && $10 < 1e-5 }
    END { exit good != 2 }' "$table" || fails "--own has other columns"

for call in dgemm:0 dgemm:10x20 ssyrk:10x20x30 sherk:10 xgemm:10 dgemm:10:nx dtrsm:10:lun dgemm; do
    level3 $call >/dev/null && fails "$call is taken for a call"
    grep -q "^$call: no call" "$table.err" || fails "$call"
done
"$builddir/bench/level3" dgemm:10 2>"$table.err" && fails "without the preload"
grep -q '^preload the library' "$table.err" || fails "without the preload"

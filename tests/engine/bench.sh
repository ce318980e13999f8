#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/host on the fake driver reads the same lists as bench/kernels, and says which line it does not understand.
list=${TMPDIR:-/tmp}/xg_bench.$$
trap 'rm -f "$list.err" "$list"' EXIT

# fails WHY: exits with a failure.
fails() {
    echo "$1:" >&2
    cat "$list.err" >&2
    exit 1
}

[ -x "$builddir/bench/host" ] || { echo "skipped: bench/host has not been built"; exit 77; }
# refuses MESSAGE: bench/host exits with a failure for $list, and says why.
refuses() {
    "$builddir/bench/host" --shapes "$list" 2>"$list.err" && fails "$1: accepted"
    grep -qF "$list$1" "$list.err" || fails "no '$1'"
}
# A driver without a function that the benchmark needs: it says which.
LD_LIBRARY_PATH=$XG_FAKEDRV_DIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$builddir/bench/host" \
    >/dev/null 2>"$list.err" && fails "a driver that lacks a function: accepted"
grep -q '^cuMemcpyHtoD_v2: the driver lacks it$' "$list.err" || fails "a driver that lacks a function"
refuses ': No such file'
"$builddir/bench/host" --turns 0 2>"$list.err" && fails "no turn: accepted"
grep -q usage "$list.err" || fails "no usage"
printf '# nothing\n' >"$list"
refuses ': no shapes'
printf '64 64 64 nt 1 0.5\n64 64 64 nm\n' >"$list"
refuses ':2: not m n k'

#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/host reads the same lists as bench/kernels, and says which line it does not understand.
[ -x "$builddir/bench/host" ] || { echo "skipped: bench/host has not been built"; exit 77; }
list=${TMPDIR:-/tmp}/xg_host.$$
trap 'rm -f "$list" "$list.err"' EXIT

# refuses MESSAGE: exits with a failure for $list, and says why.
refuses() {
    "$builddir/bench/host" --shapes "$list" 2>"$list.err" && { echo "accepted" >&2; exit 1; }
    grep -qF "$list$1" "$list.err" || { echo "no '$1':" >&2; cat "$list.err" >&2; exit 1; }
}
refuses ': No such file'
"$builddir/bench/host" --turns 0 2>"$list.err" && { echo "no turn: accepted" >&2; exit 1; }
grep -q usage "$list.err" || { cat "$list.err" >&2; exit 1; }
printf '# nothing\n' >"$list"
refuses ': no shapes'
printf '64 64 64 nt 1 0.5\n64 64 64 nm\n' >"$list"
refuses ':2: not m n k'

#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/runs computes what cuBLAS's routine does, of both triangles, transposes and types.
[ -x "$builddir/bench/runs" ] || { echo "skipped: bench/runs has not been built"; exit 77; }
table=${TMPDIR:-/tmp}/xg_runs.$$
trap 'rm -f "$table" "$table.out"' EXIT
calls='ssyrk:200 ssyrk:150x70:lt ssyrk:130:ut ssyrk:90:ln dsyrk:120 dsyrk:100x60:lt dgemm:64 sgemm:90x70x50:tn
       dgemm:50x70x90:nt'
for whole in '' --whole; do
    if ! "$builddir/bench/runs" $whole --turns 1 --math strict --csv "$table" $calls >"$table.out" ||
        grep -q WRONG "$table.out"; then
        cat "$table.out" >&2
        exit 1
    fi
    awk -F, -v calls="$(echo $calls | wc -w)" -v whole=$whole '
        NR > 2 { lines++; good += $5 > 0 && $7 > 0 && $10 + 0 == $10 && $10 < 1e-5 }
        NR > 2 && whole { good -= $4 != 1 }
        END { exit !(lines == calls && good == calls) }' "$table" || { cat "$table" >&2; exit 1; }
done
for call in dgemm:0 zgemm:10 strsm:10 dgemm; do
    "$builddir/bench/runs" $call >/dev/null 2>&1 && { echo "$call is taken for a call" >&2; exit 1; }
done
exit 0

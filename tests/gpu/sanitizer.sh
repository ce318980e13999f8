#!/bin/sh
# SPDX-License-Identifier: MIT
# Every kernel that multiplies under compute-sanitizer, on few shapes: memcheck (no access outside an allocation)
# and racecheck (no two threads at one place of shared memory without a barrier between).
builddir=${builddir:-.}

# As xt.h's xt_skip: a test without what it needs fails when it was said to be there.
skip() {
    echo "skipped: $1" >&2
    [ "$XGEMM_TEST_REQUIRE_GPU" = 1 ] && exit 1
    exit 77
}

tool=$(command -v compute-sanitizer) || tool=
for folder in "${CUDA_HOME:-/usr/local/cuda}/bin" /usr/local/cuda/bin; do
    [ -z "$tool" ] && [ -x "$folder/compute-sanitizer" ] && tool=$folder/compute-sanitizer
done
# The tool is part of the toolkit, not of the driver: a machine with a GPU may well lack it.
[ -n "$tool" ] || { echo "skipped: no compute-sanitizer" >&2; exit 77; }

# libtool's wrapper is a shell script; the sanitizer wants the program.
program_of() {
    program=$builddir/tests/gpu/$1
    [ -x "$builddir/tests/gpu/.libs/$1" ] && program=$builddir/tests/gpu/.libs/$1
}

program_of kernels
"$program" --short --row coalesced >/dev/null 2>&1
status=$?
[ $status -eq 77 ] && skip "no GPU"
[ $status -eq 0 ] || { echo "kernels fails without the sanitizer already" >&2; exit 1; }

failed=0
log=sanitizer.$$
trap 'rm -f "$log"' EXIT
for name in kernels panels emulated; do
    program_of "$name"
    for check in memcheck racecheck; do
        if "$tool" --tool "$check" --error-exitcode 9 "$program" --short >"$log" 2>&1; then
            echo "$name, $check: clean"
        else
            echo "$name, $check: FAILED" >&2
            head -60 "$log" >&2
            failed=1
        fi
    done
done
exit $failed

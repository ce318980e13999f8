#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs tests and a benchmark of a device on the fake driver, for their own layouts, guards, operands, references and
# tables, and for the lists that they read.
out=${TMPDIR:-/tmp}/xg_device.$$
trap 'rm -f "$out" "$out.list"' EXIT

fail() {
    echo "$*" >&2
    exit 1
}

# has PATTERN...: each is a line of the output.
has() {
    for line; do
        grep -q "$line" "$out" || fail "no line $line in the table"
    done
}

XGEMM_TEST_ALLOW_FAKE=1
export XGEMM_TEST_ALLOW_FAKE
"$builddir/tests/gpu/kernels" --short >"$out" || fail "kernels"
has '^vectorized '
"$builddir/tests/gpu/accuracy" --side 32 --k-max 17 >"$out" || fail "accuracy"
has '^N(0,1) ' '^circulant ' '^diagonal by dense ' '^blocks, 1 in 8 ' '^permutation ' '^infinities ' ', 0 failed$'

# Kernels that are chosen by name, and doubles.
pieces=$XG_FAKEDRV_DIR/pieces:$LD_LIBRARY_PATH
LD_LIBRARY_PATH=$pieces "$builddir/tests/gpu/accuracy" --side 32 --k-max 128 >"$out" || fail "accuracy by pieces"
has '^fp16x3_mma: 0 elements changed' '^NaN .* | fp16x3_mma 0$' '^U(0,1)  *64 .*e[+-][0-9]*$' \
    '^cancellation 2^-48 ' '^2^1023, B identity ' '^overflow \(.* 0 wrong\)\{3\}$'
LD_LIBRARY_PATH=$pieces "$builddir/tests/gpu/emulated" --short || fail "emulated"

# Without this variable the same programs skip, because the fake driver has no arithmetic to test.
unset XGEMM_TEST_ALLOW_FAKE
for test in 'kernels --short' 'accuracy --side 32 --k-max 17' 'emulated --short'; do
    XGEMM_TEST_REQUIRE_GPU=0 "$builddir/tests/gpu/"$test
    [ $? -eq 77 ] || fail "$test: the fake passes for a device"
done
XGEMM_TEST_REQUIRE_GPU=1 "$builddir/tests/gpu/kernels" --short
[ $? -eq 1 ] || fail "a device that must be there is not, and nothing fails"

# bench/host reads the same lists as bench/kernels, and says which line it does not understand.
[ -x "$builddir/bench/host" ] || exit 0
# refuses MESSAGE ARGUMENT...: bench/host exits with a failure, and says why.
refuses() {
    message=$1
    shift
    "$builddir/bench/host" "$@" >/dev/null 2>"$out" && fail "bench/host $*: accepted"
    grep -qF -e "$message" "$out" || fail "bench/host $*: no '$message': $(cat "$out")"
}
refuses 'usage' --turns 0
refuses "$out.list: No such file" --shapes "$out.list"
printf '# nothing\n' >"$out.list"
refuses "$out.list: no shapes" --shapes "$out.list"
printf '64 64 64 nt 1 0.5\n64 64 64 nm\n' >"$out.list"
refuses "$out.list:2: not m n k" --shapes "$out.list"
# A driver without a function that the benchmark needs: it says which.
refuses 'cuMemcpyHtoD_v2: the driver lacks it'

#!/bin/sh
# SPDX-License-Identifier: MIT
# Kernels run on the CPU: indices, edges, copies, summation, the guard. Needs a C++ compiler and F16C.
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
cxx=${CXX:-c++}
command -v "$cxx" >/dev/null && command -v python3 >/dev/null || { echo "no $cxx or no python3"; exit 77; }
grep -q f16c /proc/cpuinfo 2>/dev/null || { echo "this CPU has no F16C"; exit 77; }
python3 "$srcdir/tests/simt/host.py" "$srcdir/kernels" "$tmp" || exit 99
[ "$XG_WITH_CUDA" = yes ] && dgemm=dgemm # whose table is in the library
${CC:-cc} -O2 -iquote "$srcdir" -iquote "$srcdir/src" -c -o "$tmp/distribution.o" \
    "$srcdir/tests/support/distribution.c" || exit 99
for program in pieces residues ${dgemm-}; do
    "$cxx" -std=c++17 -O2 -mf16c -w -I"$tmp" -I"$srcdir/tests/simt" -I"$srcdir/tests/support" -o "$tmp/$program" "$srcdir/tests/simt/$program.cpp" \
        "$tmp/distribution.o" "$builddir/.libs/libxgcore.a" || exit 99
    "$tmp/$program" || exit 1
done

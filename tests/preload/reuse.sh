# SPDX-License-Identifier: MIT
# Products again and again in the same memory, with other contents, from one thread and from many.
. "$srcdir/tests/preload/lib"
library=$(real libblas.so.3)
[ -n "$library" ] || library=$(real libopenblas.so.0)
[ -n "$library" ] || skip "no BLAS is installed"
export OPENBLAS_NUM_THREADS=1
compile -o "$tmp/reuse" "$srcdir/tests/preload/reuse.c" "$library" -pthread
everywhere "one thread" "$tmp/reuse" 1
everywhere "twelve threads" "$tmp/reuse" 12
exit $status

# SPDX-License-Identifier: MIT
# Products in the same memory again and again, with new contents, from one thread and from many.
. "$srcdir/tests/preload/lib"
blas_program fake
export OPENBLAS_NUM_THREADS=1
for threads in 1 12; do
    same_as_alone "$threads threads" "$tmp/fake" 0 $threads 150
    ! has_engine || same_on_engine "$threads threads" "$tmp/alone" "$tmp/fake" 0 $threads 150
done
exit $status

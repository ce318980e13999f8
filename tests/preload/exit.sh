# SPDX-License-Identifier: MIT
# A program that exits while its threads multiply on the GPU ends with its own status, silently.
# Contract 8.4 (doc/contract.md).
. "$srcdir/tests/preload/lib"
needs_plain_library
has_engine || skip "built without CUDA"
blas_program exit
export OPENBLAS_NUM_THREADS=1

# ends WHAT ARGUMENT...: ten times, after different times.
ends() {
    what=$1
    shift
    for delay in 0 200 500 1000 2000 3000 5000 7000 10000 20000; do
        on_engine timeout -s KILL 30 "$tmp/exit" $1 $2 $delay $3 >"$tmp/out" 2>&1
        result=$?
        [ $result -eq 3 ] || fail "$what, after $delay us: exit status $result"
        [ -s "$tmp/out" ] || continue
        cat "$tmp/out"
        fail "$what, after $delay us: messages"
    done
}

ends "one thread" 200 1 ""
ends "two threads" 200 2 ""
ends "four threads, which wait for each other" 200 4 ""
ends "larger products" 600 2 ""
ends "an exit handler that joins" 200 2 join
OPENBLAS_NUM_THREADS=4
ends "threads of a forked child" 200 1 fork
exit $status

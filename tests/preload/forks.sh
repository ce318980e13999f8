# SPDX-License-Identifier: MIT
# XGEMM_STATS=1: the process in which the library was loaded adds up the forks that print nothing themselves, and says so
# if no call was seen. Ranks say which they are. Contract 8.1 (doc/contract.md).
. "$srcdir/tests/preload/lib"
needs_plain_library
blas_program forks
forget_settings
export OPENBLAS_NUM_THREADS=1

# prints LINES ARGUMENT...: the lines that begin with "xgemm: ", without times, are LINES.
prints() {
    wanted=$1
    shift
    preloaded XGEMM_MODE=cpu XGEMM_STATS=1 "$tmp/forks" "$@" >"$tmp/out" 2>&1 || fail "$*: exit status $?"
    got=$(sed -n 's/\(product[s]*\),.*/\1/; s/process [0-9][0-9]*/process N/; s/^xgemm: //p' "$tmp/out" | tr '\n' ';')
    [ "$got" = "$wanted" ] || fail_with "$*: prints $got" "$tmp/out"
}
none='no product: forks (process N) called no function of BLAS or LAPACK that this library sees; xgemm-run doctor says why;'

prints "$none"
prints "$none" spawn spawn
prints "1 product;" multiply
prints "1 product;" exit
prints "1 product;" spawn multiply
prints "1 forked process ended by a signal or _exit:;1 product;" kill
prints "1 product;3 forked processes ended by a signal or _exit:;3 products;" multiply leave kill leave
prints "1 product;1 forked process ended by a signal or _exit:;1 product;" exit leave
many=$(seq 66 | sed 's/.*/leave/')
prints "64 forked processes ended by a signal or _exit:;64 products;products of 2 more forked processes were not counted;" \
    $many
# Where a fork has printed its own account, its memory is free again.
prints "$(seq 66 | sed 's/.*/1 product;/' | tr -d '\n')1 forked process ended by a signal or _exit:;1 product;" \
    $(echo $many | sed 's/leave/exit/g') leave
export OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_RANK=3
prints "rank 3, process N:;1 product;" multiply
preloaded XGEMM_MODE=cpu "$tmp/forks" leave multiply >"$tmp/out" 2>&1
[ ! -s "$tmp/out" ] || fail_with "without XGEMM_STATS" "$tmp/out"
exit $status

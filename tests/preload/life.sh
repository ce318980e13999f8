# SPDX-License-Identifier: MIT
# Calls from constructors, threads, forked children, exit handlers and destructors are right.
# Contract 7.1, 8.2, 8.4, 8.5, 8.8, 10.2 (doc/contract.md).
. "$srcdir/tests/preload/lib"

lp64='-DSTUB_INT=int32_t -DSTUB_CBLAS=cblas_sgemm -DSTUB_FORTRAN=sgemm_'
stub "$tmp/libplt.so" plt $lp64 -DSTUB_VIA_PLT
# The thread sanitizer cannot follow threads of a child that was forked beside other threads.
alone=
[ "$XG_SANITIZER" != thread ] || alone=-DLIFE_CHILD_ALONE
compile $alone -o "$tmp/life" "$srcdir/tests/preload/life.c" "$tmp/libplt.so" \
    -Wl,-rpath,"$tmp" -lm -pthread

# alive WHAT COMMAND...: the program prints that all was right, and the library prints nothing.
alive() {
    what=$1
    shift
    right "$what" "$@"
    grep -v '^plt: ' "$tmp/err" && fail "$what: messages"
}

alive "alone" "$tmp/life"
alive "on the CPU" preloaded XGEMM_MODE=cpu "$tmp/life"
alive "as it comes" preloaded "$tmp/life"
has_engine && alive "on the engine" on_engine "$tmp/life"
exit $status

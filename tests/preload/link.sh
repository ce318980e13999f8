# SPDX-License-Identifier: MIT
# A program that is linked with the library, without a preload, computes, and the library finds a
# BLAS after itself. Contract 11.1 (doc/contract.md).
. "$srcdir/tests/preload/lib"
here="-L${XG_SO%/*} -Wl,-rpath,${XG_SO%/*} -Wl,--no-as-needed -lxgemm_shim"
stub "$tmp/libone.so" one -DSTUB_INT=int32_t -DSTUB_CBLAS=cblas_sgemm -DSTUB_FORTRAN=sgemm_
stub "$tmp/libtwo.so" two -DSTUB_INT=int32_t -DSTUB_CBLAS=cblas_sgemm -DSTUB_FORTRAN=sgemm_
one="$tmp/libone.so -Wl,-rpath,$tmp"

# uses NAME COMMAND...: the answers are right, and come from the stand-in NAME ("-": from none).
uses() {
    name=$1
    shift
    env XGEMM_MODE=cpu "$@" >"$tmp/out" 2>"$tmp/err" || fail "$*: exit status $?"
    grep -q right "$tmp/out" || fail "$*: answers"
    sed -n 's/: .*//p' "$tmp/err" | sort -u >"$tmp/names"
    if [ "$name" = - ]; then
        [ ! -s "$tmp/names" ] || fail "$*: $(cat "$tmp/err")"
    else
        [ "$(cat "$tmp/names")" = "$name" ] || fail "$*: uses $(cat "$tmp/names") and not $name"
    fi
    if has_engine; then
        env XGEMM_MODE=gpu LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" "$@" >"$tmp/out" 2>"$tmp/err" ||
            fail "$* on the engine: exit status $?"
        grep -q right "$tmp/out" || fail "$* on the engine: answers"
        [ ! -s "$tmp/err" ] || fail "$* on the engine: $(cat "$tmp/err")"
    fi
}

for call in CBLAS=cblas_sgemm FORTRAN=sgemm_; do
    # The library precedes a BLAS, as with pkg-config's flags.
    program "$tmp/front" -DCALL_INT=int32_t -DCALL_$call $here $one
    uses one "$tmp/front" own 5

    # A plug-in that is linked to both, in a program that is linked to neither.
    compile -o "$tmp/main" "$srcdir/tests/preload/main.c" -ldl -pthread
    plugin "$tmp/front.so" -DCALL_INT=int32_t -DCALL_$call $here $one
    uses one "$tmp/main" plugin "$tmp/front.so" 5

    # One copy is linked and another one preloaded: neither takes the other for a BLAS.
    mkdir -p "$tmp/copy"
    cp "$XG_SO" "$tmp/copy/libxgemm_shim.so"
    uses one env LD_PRELOAD="$before$tmp/copy/libxgemm_shim.so" "$tmp/front" own 5

    # Two preloaded copies, of which one has another name.
    cp "$XG_SO" "$tmp/copy/librenamed.so"
    program "$tmp/behind" -DCALL_INT=int32_t -DCALL_$call $one
    uses one env LD_PRELOAD="$before$XG_SO:$tmp/copy/librenamed.so" "$tmp/behind" own 5
    uses one env LD_PRELOAD="$before$tmp/copy/librenamed.so:$XG_SO" "$tmp/behind" own 5
    # Two preloaded copies with other names, where only a plug-in has a BLAS.
    cp "$XG_SO" "$tmp/copy/libanother.so"
    plugin "$tmp/brings.so" -DCALL_INT=int32_t -DCALL_$call $one
    uses one env LD_PRELOAD="$before$tmp/copy/libanother.so:$tmp/copy/librenamed.so" \
        "$tmp/main" plugin "$tmp/brings.so" 5

    # Alone, the library uses the configured BLAS, if it is installed.
    program "$tmp/alone" -DCALL_INT=int32_t -DCALL_$call $here
    $READELF -d "$tmp/alone" | grep NEEDED | grep -q blas && fail "the test links a BLAS"
    if [ -n "$XG_BLAS_LIBS" ]; then
        uses - "$tmp/alone" own 5
        LD_DEBUG=files XGEMM_MODE=cpu "$tmp/alone" own 5 2>&1 |
            grep -q "calling init: .*$XG_CPU_BLAS" || fail "$call alone does not use $XG_CPU_BLAS"
    fi

    # Alone, in a program that has loaded a BLAS by dlopen.
    uses two "$tmp/alone" load "$tmp/libtwo.so" own 5
done
exit $status

# SPDX-License-Identifier: MIT
# Least squares by LAPACK's Fortran names: right on the machine's library alone, passed on, and on the fake
# GPU, which leaves a part to the machine's library.
. "$srcdir/tests/preload/lib"
needs_plain_library

$CC $test_flags -iquote "$srcdir" -iquote "$srcdir/src" $XG_BLAS_CFLAGS -Wno-cast-function-type -o "$tmp/squares" \
    "$srcdir/tests/preload/squares.c" "$srcdir/tests/support/judge.c" "$srcdir/tests/support/dense.c" \
    .libs/libxgcore.a $XG_BLAS_LIBS -lpthread -lm 2>"$tmp/err" || {
    grep -q 'undefined reference' "$tmp/err" && skip "$XG_BLAS_LIBS has no LAPACK"
    cat "$tmp/err"
    exit 99
}

# solves WHAT [VARIABLE=VALUE...]: the program passes with them.
solves() {
    what=$1
    shift
    env "$@" "$tmp/squares" >"$tmp/out" 2>"$tmp/err" || fail "$what: $(cat "$tmp/out" "$tmp/err")"
}
solves "without the library"
solves "passed on" XGEMM_LAPACK=0 LD_PRELOAD="$preload"

if has_engine; then
    gpu="XGEMM_MODE=gpu XGEMM_STATS=1 LD_LIBRARY_PATH=$XG_FAKEDRV_DIR"
    solves "on the GPU" LD_PRELOAD="$preload" $gpu
    for name in gels gelsd gelss; do
        for type in s d c z; do
            grep -q "^  GPU  *XGEMM_MODE  *$type${name}_ " "$tmp/err" || fail "$type${name}_ has not run on the GPU"
        done
    done

    # What the machine's library does not solve behind the GPU, it solves alone: a matrix of lower rank, one of
    # which a singular value is the bound, and one with so many right-hand sides that it solves them faster.
    # With the others it has nothing to do behind the GPU.
    compile -shared -fPIC -o "$tmp/stub.so" "$srcdir/tests/preload/squares_stub.c" -ldl
    solves "half" LD_PRELOAD="$preload:$tmp/stub.so" $gpu
    calls=$(awk '/ dgelsd_ / { for (i = 1; i < NF; i++) if ($i == "dgelsd") print $1, $(i + 1) }' "$tmp/err" | sort |
        tr '\n' ' ')
    [ "$calls" = "CPU 5 GPU 6 " ] || fail "calls of dgelsd_ where the machine's fails behind the GPU: $calls"

    for fault in cusolverDnXgeqrf:3:719:sticky cusolverDnXgesvdp:2:719:sticky cusolverDnXgesvdp:1:999:always \
        cusolverDnDormqr:1:999:once cuMemcpy2DAsync:20:999:always; do
        solves "$fault" LD_PRELOAD="$preload" $gpu FAKECUDA_FAIL=$fault
    done
fi
exit $status

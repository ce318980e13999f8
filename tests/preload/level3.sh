# SPDX-License-Identifier: MIT
# Every operation and type: legal calls are right, and illegal ones go to the caller's own BLAS, for
# each installed BLAS, or for XT_ONLY alone ("spelled": other spellings). Contract 1.1, 3.1, 5.1,
# 6.3 (doc/contract.md).
. "$srcdir/tests/preload/lib"
test_flags="$test_flags -O2" # much of the time goes into the reference
export OPENBLAS_NUM_THREADS=1

# build FILE INT LIBRARY [OPTION...]: a program that calls a library; its source is compiled once for all libraries
# with such integers.
build() {
    built=$1
    built_int=$2
    built_library=$3
    shift 3
    object=$tmp/$(echo "$built_int$*" | tr -dc A-Za-z0-9_=-).o
    [ -f "$object" ] || compile "-DCALL_INT=$built_int" "$@" -c -o "$object" "$srcdir/tests/preload/level3.c"
    compile "$@" -o "$built" "$object" "$built_library" -lm -Wl,-rpath,"${built_library%/*}" \
        -Wl,--disable-new-dtags $linked
}
linked=

# judge_gemmt WHAT LIBRARY INT NAME: judges GEMMT or GEMMTR. A library that has the routine decides
# what is illegal; without it the caller's GEMM computes all but the diagonal.
judge_gemmt() {
    gemmt=$tmp/$4
    if $NM -D --defined-only "$2" | grep -q " cblas_s$4\$"; then
        build "$gemmt" "$3" "$2" "-DWITH_GEMMT=$4"
        build "$gemmt-reports" "$3" "$2" "-DWITH_GEMMT=$4" -rdynamic -DOWN_XERBLA
        same_as_alone "$1, GEMMT" "$gemmt" legal
        same_as_alone "$1, GEMMT, the program's xerbla_" "$gemmt-reports" illegal
        same_as_alone "$1, GEMMT, illegal" "$gemmt" illegal
        having_gemmt="$having_gemmt $1:$4"
    else
        linked="$XG_SO -Wl,-rpath,${XG_SO%/*}"
        build "$gemmt" "$3" "$2" "-DWITH_GEMMT=$4"
        linked=
        XGEMM_MODE=cpu "$gemmt" legal >"$tmp/preloaded" 2>&1 || fail "$1, GEMMT: no BLAS has it"
        grep 'no BLAS found' "$tmp/preloaded" && fail "$1, GEMMT: its GEMM was not found"
        # The rest is this library's own, and the same for each BLAS of this integer width.
        case $without_gemmt in *$3*) return 0 ;; esac
        without_gemmt="$without_gemmt $3"
        ended "$tmp/alone" env XGEMM_MODE=cpu "$gemmt" illegal
    fi
    grep -q untouched "$tmp/alone" || fail "$1, GEMMT: no illegal call was seen"
    $engine || return 0
    mv "$tmp/alone" "$gemmt-illegal"
    on_engine XGEMM_STATS=1 "$gemmt" legal >"$tmp/engine" 2>&1 || fail_with "$1: GEMMT on the engine" "$tmp/engine"
    for name in s$4_ d$4_ c$4_ z$4_; do
        grep -q "GPU *XGEMM_MODE *$name " "$tmp/engine" || fail "$1: $name was elsewhere"
    done
    on_engine XGEMM_MODE=compare XGEMM_STATS=1 "$gemmt" legal >"$tmp/engine" 2>&1 ||
        fail "$1: GEMMT, compared"
    grep -q "both *XGEMM_MODE *z$4_ " "$tmp/engine" || fail "$1: GEMMT is not compared"
    same_on_engine "$1, GEMMT, illegal" "$gemmt-illegal" "$gemmt" illegal
}

# judge WHAT LIBRARY INT [OPTION]: gslcblas has only the C interface; its GEMM and SYRK are judged.
judge() {
    blas=$1
    library=$2
    [ "${XT_ONLY:-$blas}" = "$blas" ] || return 0
    # The engine computes the same whatever library is behind it: with one of each width of integers.
    engine=false
    case $computed in *$3*) ;; *) ! has_engine || engine=: ;; esac
    build "$tmp/level3" "$3" "$library" -DWITH_PRODUCTS ${4-}
    build "$tmp/reports" "$3" "$library" -DWITH_PRODUCTS ${4-} -rdynamic -DOWN_XERBLA
    same_as_alone "$blas, legal" "$tmp/level3" legal
    grep -q '[1-9][0-9]* checks, 0 failed' "$tmp/preloaded" || fail "$blas: answers are wrong"
    same_as_alone "$blas, the program's xerbla_" "$tmp/reports" illegal
    same_as_alone "$blas, illegal" "$tmp/level3" illegal
    grep -q untouched "$tmp/preloaded" || fail "$blas: no illegal call was seen"
    mv "$tmp/alone" "$tmp/illegal"
    # The user names a library with integers of another width.
    other=int32_t
    [ "$3" != int32_t ] || other=int64_t
    stub "$tmp/other.so" other -DSTUB_INT=$other -DSTUB_CBLAS=cblas_sgemm -DSTUB_ISAMAX -DSTUB_QUIET
    for program in "$tmp/level3" "$tmp/reports"; do
        same_as_alone "$blas, illegal, computed by a library of other integers" \
            env XGEMM_CPU_BLAS="$tmp/other.so" "$program" illegal-sgemm
    done
    if $engine; then
        on_engine "$tmp/level3" legal >"$tmp/engine" 2>&1 ||
            fail_with "$blas: answers are wrong on the engine" "$tmp/engine"
        same_on_engine "$blas, illegal" "$tmp/illegal" "$tmp/level3" illegal
    fi
    judged="$judged $blas"
    [ "${XT_SHORT-}" != 1 ] || exit $status # a deliberate defect of GEMM shows in this already
    [ $blas != gslcblas ] || return 0
    structured=$tmp/structured
    build "$structured" "$3" "$library"
    build "$structured-reports" "$3" "$library" -rdynamic -DOWN_XERBLA
    same_as_alone "$blas, structured" "$structured" legal
    grep -q '[1-9][0-9]* checks, 0 failed' "$tmp/preloaded" || fail "$blas: structured operands"
    for program in "$structured-reports" "$structured"; do
        same_as_alone "$blas, structured, illegal" "$program" illegal
        mv "$tmp/alone" "$program-illegal"
        grep -q untouched "$program-illegal" || fail "$blas: no illegal call was seen"
    done
    grep -q "the program's xerbla_" "$structured-reports-illegal" ||
        [ $blas = blis ] || fail "$blas: no handler was called"
    if $engine; then
        on_engine XGEMM_STATS=1 "$structured" legal >"$tmp/engine" 2>&1 ||
            fail_with "$blas: structured operands on the engine" "$tmp/engine"
        for name in herk symm hemm syr2k her2k trmm trsm; do
            grep -q "GPU *XGEMM_MODE *z${name}_" "$tmp/engine" || fail "$blas: z$name was elsewhere"
        done
        # An operation in place cannot be computed twice.
        on_engine XGEMM_MODE=compare XGEMM_STATS=1 "$structured" legal \
            >"$tmp/engine" 2>&1 || fail "$blas: structured operands, compared"
        for row in both:XGEMM_MODE:symm both:XGEMM_MODE:her2k 'CPU:computed in place:trmm' \
            'CPU:computed in place:trsm'; do
            name=z${row##*:}_ reason=${row#*:}
            grep -q "${row%%:*} *${reason%:*} *$name" "$tmp/engine" || {
                grep "$name" "$tmp/engine"
                fail "$blas, compared: not $row"
            }
        done
        for program in "$structured-reports" "$structured"; do
            same_on_engine "$blas, structured, illegal" "$program-illegal" "$program" illegal
        done
    fi
    computed="$computed $3"
    judge_gemmt "$@" gemmt
    ! $NM -D --defined-only "$library" | grep -q ' cblas_sgemmtr$' || judge_gemmt "$@" gemmtr
}

# spelled FILE INT CBLAS FORTRAN: illegal calls in spellings that are the only ones of a library.
spelled() {
    library=$(real "$1")
    [ -n "$library" ] && [ "$(uname -m)" = x86_64 ] && [ "${XT_ONLY:-spelled}" = spelled ] || return 0
    spelling=$3
    set -- "-DCALL_INT=$2" "-DCBLAS_NAME(name)=$3" "-DFORTRAN_NAME(name)=$4"
    $CC -O1 -Wall -Werror "$@" -DSPELLED_OF="\"$library\"" -shared -fPIC -o "$tmp/libspelled.so" \
        "$srcdir/tests/preload/spelled.c" -ldl || exit 99
    compile "$@" -o "$tmp/spelled" "$srcdir/tests/preload/level3.c" "$tmp/libspelled.so" -lm \
        -Wl,-rpath,"$tmp"
    same_as_alone "$spelling, illegal" "$tmp/spelled" illegal
    grep -qi 'dtrsm.*incorrect' "$tmp/alone" || fail "$spelling: no illegal call was seen"
    has_engine || return 0
    same_on_engine "$spelling, illegal" "$tmp/alone" "$tmp/spelled" illegal
    judged="$judged $spelling"
}

judged=
computed=
having_gemmt=
without_gemmt=
library=$(real libgslcblas.so.0)
[ -z "$library" ] || judge gslcblas "$library" int32_t -DWITH_FORTRAN=0
each_blas judge
spelled blas/libblas.so.3 int32_t 'scipy_cblas_##name' 'scipy_##name##_'
spelled blas64/libblas64.so.3 int64_t 'cblas_##name##64_' 'name##_64_'
spelled blas64/libblas64.so.3 int64_t 'cblas_##name##_64' 'name##_64_'
spelled blas64/libblas64.so.3 int64_t 'scipy_cblas_##name##64_' 'scipy_##name##_64_'
[ -n "$judged" ] || skip "no BLAS is installed"

# The GPU computes all that XGEMM_OPERATIONS names, and nothing else.
if has_engine && [ -x "$tmp/level3" ]; then
    for operations in all ssyrk,zgemm; do
        on_engine XGEMM_OPERATIONS=$operations XGEMM_STATS=1 "$tmp/level3" legal >"$tmp/out" 2>&1
        for name in ssyrk zgemm csyrk dgemm; do
            grep -q "GPU *XGEMM_MODE *cblas_$name" "$tmp/out"
            found=$?
            case $operations,$name in
            all,*|*,ssyrk|*,zgemm) expected=0 ;;
            *) expected=1 ;;
            esac
            [ $found -eq $expected ] || {
                grep '^xgemm\|^ ' "$tmp/out" | head -20
                fail "XGEMM_OPERATIONS=$operations: $name"
            }
        done
        grep 'GPU failed' "$tmp/out" && fail "a call failed on the engine"
    done
    # Double precision has kernels of this library, and the one that is named computes.
    on_engine XGEMM_KERNEL=dmma_128x128x16 XGEMM_VERBOSE=3 "$tmp/level3" legal \
        >"$tmp/out" 2>&1 || fail "answers of dmma_128x128x16 are wrong"
    grep -q 'kernel xg_dgemm_dmma_sm80_128x128x16_.. loaded' "$tmp/out" ||
        fail "no product by dmma_128x128x16"
fi
# Without cuBLAS the GPU computes exactly the operations that the help of XGEMM_OPERATIONS names.
if has_engine && [ -x "$tmp/structured" ]; then
    : >"$tmp/out"
    for program in "$tmp/level3 legal" "$tmp/gemmt legal" "$tmp/structured legal"; do
        on_engine XGEMM_STATS=1 FAKECUDA_FAIL=cublasCreate:1:999:always $program >>"$tmp/out" 2>&1 ||
            fail "without cuBLAS: $program"
    done
    found=$(sed -n 's/^ *GPU *XGEMM_MODE *\(cblas_\)\{0,1\}\([a-z0-9]*\).*/\2/p' "$tmp/out" | sort -u | tr '\n' ' ')
    [ "$found" = "dgemm dgemmt dsymm dsyr2k dsyrk sgemm sgemmt ssymm ssyr2k ssyrk " ] || fail "without cuBLAS on the GPU: $found"
fi
echo "judged:$judged; with a GEMMT of their own:$having_gemmt"
exit $status

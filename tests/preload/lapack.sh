# SPDX-License-Identifier: MIT
# LAPACK's routines, least squares among them, by their Fortran names: right on the machine's
# library alone, passed on, and on the fake GPU, where each name must have run. Contract 1.3, 1.4.
. "$srcdir/tests/preload/lib"
needs_plain_library

# program NAME SOURCE...: builds a program of LAPACK, with the engine's library for its checks.
program() {
    name=$1
    shift
    $CC $test_flags -iquote "$srcdir" -iquote "$srcdir/src" $XG_BLAS_CFLAGS -Wno-cast-function-type -o "$tmp/$name" \
        "$srcdir/tests/preload/$name.c" "$@" "$srcdir/tests/support/dense.c" \
        .libs/libxgcore.a $XG_BLAS_LIBS -lpthread -lm 2>"$tmp/err" && return
    grep -q 'undefined reference' "$tmp/err" && skip "$XG_BLAS_LIBS has no LAPACK"
    cat "$tmp/err"
    exit 99
}
program lapack "$srcdir/tests/support/routines.c" "$srcdir/tests/support/spectra.c"
program squares
program workspace
# OpenBLAS's waiting threads would take most of the time, so only some runs have them.
threads=OPENBLAS_NUM_THREADS=2
export OPENBLAS_NUM_THREADS=1

# solves WHAT [VARIABLE=VALUE...] COMMAND...: it passes; its output is in $tmp/out and $tmp/err.
solves() {
    solves_what=$1
    shift
    env "$@" >"$tmp/out" 2>"$tmp/err" || fail_with "$solves_what" "$tmp/out" "$tmp/err"
}

# on_gpu WHAT [VARIABLE=VALUE...] COMMAND...: solves on the fake GPU; of products it gets SGEMM.
on_gpu() {
    gpu_what=$1
    shift
    solves "$gpu_what" XGEMM_MODE=gpu XGEMM_STATS=1 XGEMM_OPERATIONS=sgemm LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" \
        LD_PRELOAD="$preload" "$@"
}

# has WHAT PATTERN: a line of $tmp/err matches.
has() {
    grep -q "$2" "$tmp/err" || fail_with "$1" "$tmp/err"
}

solves "without the library" "$tmp/lapack" 70
solves "passed on" $threads LD_PRELOAD="$preload" XGEMM_LAPACK=0 "$tmp/lapack" 70
[ ! -s "$tmp/err" ] || fail_with "passed on" "$tmp/err"
solves "without a GPU" LD_PRELOAD="$preload" FAKECUDA_DEVICES=0 LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" "$tmp/lapack" 70
solves "squares, without the library" "$tmp/squares"
solves "squares, passed on" LD_PRELOAD="$preload" XGEMM_LAPACK=0 "$tmp/squares"

# Calls inside a routine on the CPU are part of it; calls after a jump out of a routine are not.
compile -o "$tmp/left" -x c - $XG_BLAS_LIBS <<'END' || exit 99
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
void dgemm_(const char *, const char *, int *, int *, int *, double *, double *, int *, double *, int *, double *, double *, int *);
void dsyev_(const char *, const char *, int *, double *, int *, double *, double *, int *, int *);
static sigjmp_buf out;
static void leave(int number)
{
    siglongjmp(out, number);
}
int main(int argc, char **argv)
{
    int n = 700, lwork = 40 * n, info = 0, side = argc > 1 ? n : 300, count = argc > 1 ? atoi(argv[1]) : 3;
    double *a = calloc((size_t)(n * n), sizeof *a), *w = malloc((size_t)(n + lwork + n * n) * sizeof *w), one = 1;
    struct itimerval timer = {.it_value.tv_usec = 20000};
    for (int i = 0; i < n * n; i++)
        a[i] = (i / n * 7 + i % n * 7) % 13;
    signal(SIGALRM, leave);
    setitimer(ITIMER_REAL, &timer, NULL);
    if (!sigsetjmp(out, 1))
        for (;;)
            dsyev_("V", "L", &n, a, &n, w, w + n, &lwork, &info);
    for (int i = 0; i < count; i++)
        dgemm_("N", "N", &side, &side, &side, &one, a, &n, a, &n, &one, w, &side);
    return 0;
}
END
solves "left by a jump" XGEMM_MODE=cpu XGEMM_STATS=1 LD_PRELOAD="$preload" "$tmp/left"
has "left by a jump" '^  CPU  *XGEMM_MODE  *dgemm_  *dgemm  *3 '

if has_engine; then
    # Products after the jump start the GPU, whatever the routine's time was counted toward.
    solves "products after a jump" XGEMM_STATS=1 LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" \
        LD_PRELOAD="$preload" "$tmp/left" 40
    has "products after a jump" '^  [CG]PU  *\(GPU starting\|cost model\)  *dgemm_  *dgemm '

    on_gpu "on the GPU" $threads "$tmp/lapack" 70
    # All names of shim/routines.h, except those of least squares, which squares.c calls.
    names=$(awk -F '[(, ]+' '$2 ~ /^SHIM_[A-Z]*_KINDS$/ && $5 !~ /^(gels.*|name)$/ {
        count = split($2 ~ /BOTH/ ? "s d c z" : $2 ~ /REAL/ ? "s d" : "c z", letter, " ")
        for (i = 1; i <= count; i++)
            print letter[i] $5
    }' "$srcdir/shim/routines.h")
    [ -n "$names" ] || fail "no names in shim/routines.h"
    for name in $names; do
        has "${name}_ has not run on the GPU" "^  GPU  *XGEMM_MODE  *${name}_ "
    done

    # Without cuSOLVER routines stay on the CPU. If there are device files, the GPU does not start either, not even for
    # a call that would wait for it.
    interposer
    no_cusolver='0 /dev/dxg 2 *cusolver*'
    compile -o "$tmp/one" -x c - $XG_BLAS_LIBS -lm <<'END'
#include <stdlib.h>
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
int main(void)
{
    int n = 1000, info = 1;
    double *a = calloc((size_t)(n * n), sizeof *a);
    for (int i = 0; i < n; i++)
        a[i * n + i] = 4;
    dpotrf_("L", &n, a, &n, &info);
    return info || a[n * n - 1] != 2;
}
END
    refused() {
        solves "$*" XGEMM_STATS=1 XGEMM_VERBOSE=2 XGEMM_OPERATIONS=sgemm_batch LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" \
            XT_FILES='0 /dev/dxg' LD_PRELOAD="$tmp/interpose.so:$preload" "$@"
    }
    refused "XT_FILES=$no_cusolver" XGEMM_MODE=gpu "$tmp/lapack" 70
    has "no cuSOLVER" '^  CPU  *no cuSOLVER here  *dgesv_ '
    has "no cuSOLVER, how to install it" "pip install 'xgemm-shim\[lapack\]' or nvidia-cusolver"
    ! grep '^  GPU ' "$tmp/err" || fail "no cuSOLVER: a routine on the GPU"
    # A cuSOLVER that cannot be opened fails three times, then counts as absent; it declines
    # nothing.
    refused FAKECUDA_FAIL=cusolverDnCreate:1:1:always XGEMM_MODE=gpu "$tmp/lapack" 70
    [ "$(awk '/^  CPU  *GPU failed  *[sdcz]potr/ { for (i = 1; i < NF; i++) if ($i ~ /^[sdcz]potr[fsi]$/) calls += $(i + 1) }
        END { print calls + 0 }' "$tmp/err")" = 3 ] || fail_with "a closed cuSOLVER: not 3 failures" "$tmp/err"
    has "a closed cuSOLVER" '^  CPU  *no cuSOLVER here  *dgesv_ '
    ! grep 'cuSOLVER declines' "$tmp/err" || fail "a closed cuSOLVER declines"
    refused "XT_FILES=$no_cusolver" XGEMM_REPRODUCIBLE=1 "$tmp/one"
    has "no cuSOLVER, one call" 'no cuSOLVER'
    ! grep 'compute capability' "$tmp/err" || fail "no cuSOLVER, one call: the GPU has started"
    refused XGEMM_REPRODUCIBLE=1 "$tmp/one"
    has "one call" '^  GPU  *cost model  *dpotrf_ '
    [ "$(grep -n -m 1 'cuSOLVER: ' "$tmp/err" | sed 's/:.*//')" -lt \
        "$(grep -n -m 1 'compute capability' "$tmp/err" | sed 's/:.*//')" ] || fail "the GPU started first"

    # A routine whose matrix holds an infinity goes to its own library, with all that it calls, so
    # that it finds the same pivots as alone. Products around it, also after a jump out, stay on the
    # GPU.
    compile -shared -fPIC -o "$tmp/libinner.so" -x c - $XG_BLAS_LIBS <<'END'
#include <stdlib.h>
void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
            const int *, const double *, const int *, const double *, double *, const int *);
void dgetrf_(const int *, const int *, double *, const int *, int *, int *);
void dgesv_(const int *, const int *, double *, const int *, int *, double *, const int *, int *);
void leave(void);
void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *pivots, int *info)
{
    double one = 1, *c = calloc((size_t)(*n * *n), sizeof *c);
    dgemm_("N", "N", m, n, n, &one, a, lda, a, lda, &one, c, n);
    for (int i = 0; i < *n; i++)
        pivots[i] = i + 1;
    *info = c[0] == 12345;
    free(c);
    leave();
}
void dgesv_(const int *n, const int *columns, double *a, const int *lda, int *pivots, double *b, const int *ldb, int *info)
{
    dgetrf_(n, n, a, lda, pivots, info);
    b[0] = *columns + *ldb;
}
END
    compile -rdynamic -o "$tmp/inner" -x c - -L"$tmp" -linner -Wl,-rpath,"$tmp" $XG_BLAS_LIBS -lm <<'END'
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
            const int *, const double *, const int *, const double *, double *, const int *);
void dgetrf_(const int *, const int *, double *, const int *, int *, int *);
void dgesv_(const int *, const int *, double *, const int *, int *, double *, const int *, int *);
static jmp_buf out;
static int leaves;
void leave(void);
void leave(void)
{
    if (leaves)
        longjmp(out, 1);
}
int main(int argc, char **argv)
{
    int n = 300, pivots[300], info;
    double one = 1, *a = calloc(270000, sizeof *a);
    for (int i = 0; i < n; i++)
        a[i * n + i] = 4;
    a[7] = argc > 2 && strchr("fi", *argv[2]) ? (*argv[2] == 'i' ? INFINITY : 1) : (double)NAN;
    leaves = argc > 3;
    if (!setjmp(out)) {
        if (!strcmp(argv[1], "solve"))
            dgesv_(&n, &n, a, &n, pivots, a + 90000, &n, &info);
        else
            dgetrf_(&n, &n, a, &n, pivots, &info);
    }
    dgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &one, a + 180000, &n);
    return 0;
}
END
    for way in "factor infinity" "factor nan" "solve infinity" "factor infinity jump" "solve nan jump"; do
        solves "$way" XGEMM_MODE=gpu XGEMM_STATS=1 LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" LD_PRELOAD="$preload" "$tmp/inner" $way
        has "$way: the product behind it" '^  GPU  *XGEMM_MODE  *dgemm_  *dgemm  *1 '
        ! grep '^  GPU .* dgetrf_ ' "$tmp/err" || fail "$way: the routine inside"
    done
    # A routine of finite numbers that stays on the CPU has its products on the GPU.
    solves "inner products" XGEMM_MODE=gpu XGEMM_STATS=1 FAKECUDA_FAIL=cusolverDnCreate:1:1:always \
        LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" LD_PRELOAD="$preload" "$tmp/inner" factor finite
    has "inner products" '^  GPU  *XGEMM_MODE  *dgemm_  *dgemm  *2 '

    # Verified: each call that can be verified is right, and a flipped bit is found. Contract 9.6.
    on_gpu "verified" XGEMM_VERIFY=1 "$tmp/lapack" 40
    has "verified" 'verified: [1-9][0-9]* calls; wrong, and computed again by the CPU: 0;'
    on_gpu "a flipped bit" XGEMM_VERIFY=1 FAKECUDA_FAIL=flip:1:30 "$tmp/lapack" 40
    has "a flipped bit" 'the GPU computed a wrong [a-z]* (40x40'
    has "a flipped bit: no row" "^  CPU  *GPU's result was wrong  *[a-z]*_ "

    # Compared: the program gets its own library's results, and each name has two residuals.
    on_gpu "compared" XGEMM_MODE=compare "$tmp/lapack" 40
    for name in $names; do
        case $name in
        ?*gvd) continue ;; # without vectors they have no residual
        ?trtri | ?geev)
            has "${name}_ has no residual and was compared" "^  CPU  *XGEMM_MODE  *${name}_ "
            continue
            ;;
        esac
        awk -v name="${name}_" '$1 == name && $11 <= 9 && $12 <= 9 && $13 ~ /^(cuSOLVER|lu_panel|qr_panel)$/ { found = 1 }
            $1 == name && NF == 13 && !($11 <= 9 && $12 <= 9) { wrong = 1 }
            END { exit !found || wrong }' "$tmp/err" || fail "${name}_ was not compared: $(grep "${name}_" "$tmp/err")"
    done

    # A process that ends while a thread computes ends with its own status, silently. Contract 8.4.
    for delay in 0 500 1000 2000 3000 5000 7000 10000; do
        result=0
        preloaded XGEMM_MODE=gpu LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" \
            timeout -s KILL 30 "$tmp/lapack" exit $delay >"$tmp/out" 2>&1 || result=$?
        [ $result -eq 3 ] || fail "exit after $delay us: status $result: $(cat "$tmp/out")"
        [ ! -s "$tmp/out" ] || fail "exit after $delay us: $(cat "$tmp/out")"
    done

    # A device that fails after some calls: the CPU computes on the untouched operands.
    for fault in cusolverDnXgetrf:3:719:sticky cuMemcpy2DAsync:40:999:always cuMemHostAlloc:2:2:always; do
        on_gpu "$fault" FAKECUDA_FAIL=$fault "$tmp/lapack" 40
    done

    # A device hangs in a copy or in the computation (operation 18 on two cores). Contract 9.2.
    for nth in 1 9 17 18 19 20; do
        on_gpu "hang $nth" XGEMM_TIMEOUT_MS=300 FAKECUDA_FAIL=exec:$nth:-1 timeout 60 "$tmp/one"
        has "hang $nth" 'the GPU failed (device does not answer)'
    done

    # Ranks that may share the device share its speed, so the limit grows: 60 ranks, 0.3 s, and
    # 0.033 s for the operations. Contract 9.2.
    for sharing in FAKECUDA_DEVICES=2:1.3 CUDA_VISIBLE_DEVICES=0:2.3 XGEMM_DEVICES=0:2.3; do
        on_gpu "hang, ${sharing%:*}" OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=60 XGEMM_VERBOSE=2 \
            XGEMM_STAGE_THREADS=1 XGEMM_TIMEOUT_MS=300 FAKECUDA_FAIL=exec:18:-1 "${sharing%:*}" timeout 60 "$tmp/one"
        has "hang, ${sharing%:*}" "made no progress for ${sharing#*:} s"
    done

    # Least squares; the GPU leaves a part of some to the machine's library.
    on_gpu "squares" $threads "$tmp/squares"
    for name in gels gelsd gelss; do
        for type in s d c z; do
            has "$type${name}_ has not run on the GPU" "^  GPU  *XGEMM_MODE  *$type${name}_ "
        done
    done

    on_gpu "squares, verified" XGEMM_VERIFY=1 "$tmp/squares"
    has "squares, verified" 'verified: [1-9][0-9]* calls; wrong, and computed again by the CPU: 0;'

    # The workspaces of every routine after a call; the floating-point state. Contract 1.4, 7.2.
    solves "workspaces, without the library" "$tmp/workspace"
    mv "$tmp/out" "$tmp/left"
    on_gpu "workspaces" "$tmp/workspace" "$tmp/left"
    diff "$tmp/left" "$tmp/out" >"$tmp/err" || fail_with "workspaces" "$tmp/err"
    reference=$(real lapack/liblapack.so.3)
    if [ -n "$reference" ]; then
        ln -s "$reference" "$tmp/liblapack.so.3"
        ln -s "$(real blas/libblas.so.3)" "$tmp/libblas.so.3"
        XG_BLAS_LIBS="$tmp/liblapack.so.3 $tmp/libblas.so.3 -Wl,-rpath,$tmp" program workspace
        solves "workspaces of the reference" "$tmp/workspace"
        mv "$tmp/out" "$tmp/left"
        on_gpu "workspaces of the reference" "$tmp/workspace" "$tmp/left"
        diff "$tmp/left" "$tmp/out" >"$tmp/err" || fail_with "workspaces of the reference" "$tmp/err"
    fi

    # If the machine's library fails on the part that the GPU left, it solves the problem alone: a
    # matrix of lower rank, one with a singular value at the bound, and one with so many right-hand
    # sides that the CPU is faster. For the others the GPU leaves it nothing.
    compile -shared -fPIC -DSQUARES_STUB -o "$tmp/stub.so" "$srcdir/tests/preload/squares.c" -ldl
    on_gpu "squares, half" LD_PRELOAD="$preload:$tmp/stub.so" "$tmp/squares"
    calls=$(awk '/ dgelsd_ / { for (i = 1; i < NF; i++) if ($i == "dgelsd") print $1, $(i + 1) }' "$tmp/err" | sort |
        tr '\n' ' ')
    [ "$calls" = "CPU 5 GPU 6 " ] || fail "calls of dgelsd_ where the machine's fails behind the GPU: $calls"

    for fault in cusolverDnXgeqrf:3:719:sticky cusolverDnXgesvdp:2:719:sticky cusolverDnXgesvdp:1:999:always \
        cusolverDnDormqr:1:999:once cuMemcpy2DAsync:20:999:always; do
        on_gpu "squares, $fault" FAKECUDA_FAIL=$fault "$tmp/squares"
    done
fi
exit $status

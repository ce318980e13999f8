# SPDX-License-Identifier: MIT
# Routines of LAPACK by their Fortran names: right on the machine's library alone, passed on, and on the
# fake GPU, where each name must have run. Contract 1.3.
. "$srcdir/tests/preload/lib"
needs_plain_library

$CC $test_flags -iquote "$srcdir" -iquote "$srcdir/src" $XG_BLAS_CFLAGS -Wno-cast-function-type -o "$tmp/lapack" \
    "$srcdir/tests/preload/lapack.c" "$srcdir/tests/support/routines.c" "$srcdir/tests/support/spectra.c" \
    "$srcdir/tests/support/judge.c" "$srcdir/tests/support/dense.c" .libs/libxgcore.a $XG_BLAS_LIBS -lpthread -lm 2>"$tmp/err" || {
    grep -q 'undefined reference' "$tmp/err" && skip "$XG_BLAS_LIBS has no LAPACK"
    cat "$tmp/err"
    exit 99
}
"$tmp/lapack" 70 >"$tmp/out" 2>"$tmp/err" || fail "without the library: $(cat "$tmp/out" "$tmp/err")"
preloaded XGEMM_LAPACK=0 "$tmp/lapack" 70 >"$tmp/out" 2>"$tmp/err" || fail "passed on: $(cat "$tmp/out" "$tmp/err")"
[ ! -s "$tmp/err" ] || fail "passed on: $(cat "$tmp/err")"
preloaded FAKECUDA_DEVICES=0 LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" "$tmp/lapack" 70 >"$tmp/out" 2>"$tmp/err" ||
    fail "without a GPU: $(cat "$tmp/out" "$tmp/err")"

# Calls inside a routine on the CPU are part of it. Calls after a handler has left a routine by a jump are not.
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
int main(void)
{
    int n = 700, lwork = 40 * n, info = 0, three = 300;
    double *a = calloc((size_t)(n * n), sizeof *a), *w = malloc((size_t)(n + lwork + 90000) * sizeof *w), one = 1;
    struct itimerval timer = {.it_value.tv_usec = 20000};
    for (int i = 0; i < n * n; i++)
        a[i] = (i / n * 7 + i % n * 7) % 13;
    signal(SIGALRM, leave);
    setitimer(ITIMER_REAL, &timer, NULL);
    if (!sigsetjmp(out, 1))
        for (;;)
            dsyev_("V", "L", &n, a, &n, w, w + n, &lwork, &info);
    for (int i = 0; i < 3; i++)
        dgemm_("N", "N", &three, &three, &three, &one, a, &n, a, &n, &one, w, &three);
    return 0;
}
END
env OPENBLAS_NUM_THREADS=1 XGEMM_MODE=cpu XGEMM_STATS=1 LD_PRELOAD="$preload" "$tmp/left" >"$tmp/out" 2>&1 ||
    fail "left by a jump: $(cat "$tmp/out")"
grep -q '^  CPU  *XGEMM_MODE  *dgemm_  *dgemm  *3 ' "$tmp/out" || fail "left by a jump: $(cat "$tmp/out")"

if has_engine; then
    preloaded XGEMM_MODE=gpu XGEMM_STATS=1 XGEMM_OPERATIONS=sgemm \
        LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" "$tmp/lapack" 70 >"$tmp/out" 2>"$tmp/err" ||
        fail "on the GPU: $(cat "$tmp/out" "$tmp/err")"
    for name in potrf potrs posv potri getrf getrs gesv getri trtri geqrf geev gesdd gesvd; do
        names="${names-} s$name d$name c$name z$name"
    done
    for name in orgqr ormqr syev syevd syevr sygvd; do
        names="$names s$name d$name"
    done
    for name in ungqr unmqr heev heevd heevr hegvd; do
        names="$names c$name z$name"
    done
    for name in $names; do
        grep -q "^  GPU  *XGEMM_MODE  *${name}_ " "$tmp/err" || fail "${name}_ has not run on the GPU"
    done

    # Without cuSOLVER routines stay on the CPU. If there are device files, the GPU does not start either, not even for
    # a call that would wait for it.
    cat >"$tmp/refuse.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
void *dlopen(const char *name, int flags)
{
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    return getenv("REFUSED") && name && strstr(name, getenv("REFUSED")) ? NULL : next(name, flags);
}
int access(const char *name, int mode)
{
    int (*next)(const char *, int) = (int (*)(const char *, int))dlsym(RTLD_NEXT, "access");
    return strcmp(name, "/dev/dxg") == 0 ? 0 : next(name, mode);
}
END
    compile -shared -fPIC -o "$tmp/refuse.so" "$tmp/refuse.c" -ldl
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
        env XGEMM_STATS=1 XGEMM_VERBOSE=2 XGEMM_OPERATIONS=sgemm_batch LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" \
            LD_PRELOAD="$tmp/refuse.so:$preload" "$@" >"$tmp/out" 2>"$tmp/err" || fail "$*: $(cat "$tmp/out" "$tmp/err")"
    }
    refused REFUSED=cusolver XGEMM_MODE=gpu "$tmp/lapack" 70
    grep -q '^  CPU  *no kernel for it  *dgesv_ ' "$tmp/err" || fail "no cuSOLVER: $(grep dgesv_ "$tmp/err")"
    ! grep '^  GPU ' "$tmp/err" || fail "no cuSOLVER: a routine on the GPU"
    refused REFUSED=cusolver XGEMM_REPRODUCIBLE=1 "$tmp/one"
    grep -q 'no cuSOLVER' "$tmp/err" || fail "no cuSOLVER, one call: $(cat "$tmp/err")"
    ! grep 'compute capability' "$tmp/err" || fail "no cuSOLVER, one call: the GPU has started"
    refused XGEMM_REPRODUCIBLE=1 "$tmp/one"
    grep -q '^  GPU  *cost model  *dpotrf_ ' "$tmp/err" || fail "one call: $(grep dpotrf "$tmp/err")"
    [ "$(grep -n -m 1 'cuSOLVER: ' "$tmp/err" | sed 's/:.*//')" -lt \
        "$(grep -n -m 1 'compute capability' "$tmp/err" | sed 's/:.*//')" ] || fail "the GPU started first"

    # Verified: each call that can be is right, and one with a flipped bit is found. Contract 9.6.
    preloaded XGEMM_MODE=gpu XGEMM_VERIFY=1 XGEMM_STATS=1 XGEMM_OPERATIONS=sgemm \
        LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" "$tmp/lapack" 40 >"$tmp/out" 2>"$tmp/err" ||
        fail "verified: $(cat "$tmp/out" "$tmp/err")"
    grep -q 'verified: [1-9][0-9]* calls; wrong, and computed again by the CPU: 0;' "$tmp/err" ||
        fail "verified: $(grep -m 1 verified: "$tmp/err")"
    preloaded XGEMM_MODE=gpu XGEMM_VERIFY=1 XGEMM_STATS=1 XGEMM_OPERATIONS=sgemm \
        FAKECUDA_FAIL=flip:1:30 LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" "$tmp/lapack" 40 >"$tmp/out" 2>"$tmp/err" ||
        fail "a flipped bit: $(cat "$tmp/out" "$tmp/err")"
    grep -q 'the GPU computed a wrong [a-z]* (40x40' "$tmp/err" || fail "a flipped bit: $(cat "$tmp/err")"
    grep -q "^  CPU  *GPU's result was wrong  *[a-z]*_ " "$tmp/err" || fail "a flipped bit: no row"

    # Compared: the program gets its own library's results, and each name has a residual on both sides.
    preloaded XGEMM_MODE=compare XGEMM_STATS=1 XGEMM_OPERATIONS=sgemm \
        LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" "$tmp/lapack" 40 >"$tmp/out" 2>"$tmp/err" ||
        fail "compared: $(cat "$tmp/out" "$tmp/err")"
    for name in $names; do
        case $name in
        ?*gvd) continue ;; # without vectors they have no residual
        ?trtri | ?geev)
            grep -q "^  CPU  *XGEMM_MODE  *${name}_ " "$tmp/err" || fail "${name}_ has no residual and was compared"
            continue
            ;;
        esac
        awk -v name="${name}_" '$1 == name && $11 <= 9 && $12 <= 9 && $13 ~ /^(cuSOLVER|lu_panel)$/ { found = 1 }
            $1 == name && !($11 <= 9 && $12 <= 9) { wrong = 1 }
            END { exit !found || wrong }' "$tmp/err" || fail "${name}_ was not compared: $(grep "${name}_" "$tmp/err")"
    done

    # A process that ends while a thread computes ends with its own status, silently. Contract 8.4.
    for delay in 0 500 1000 2000 3000 5000 7000 10000; do
        result=0
        OPENBLAS_NUM_THREADS=1 preloaded XGEMM_MODE=gpu LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" \
            timeout -s KILL 30 "$tmp/lapack" exit $delay >"$tmp/out" 2>&1 || result=$?
        [ $result -eq 3 ] || fail "exit after $delay us: status $result: $(cat "$tmp/out")"
        [ ! -s "$tmp/out" ] || fail "exit after $delay us: $(cat "$tmp/out")"
    done

    # A device that fails after some calls: the CPU computes on the untouched operands.
    for fault in cusolverDnXgetrf:3:719:sticky cuMemcpy2DAsync:40:999:always cuMemHostAlloc:2:2:always; do
        preloaded XGEMM_MODE=gpu FAKECUDA_FAIL=$fault XGEMM_OPERATIONS=sgemm \
            LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" "$tmp/lapack" 40 >"$tmp/out" 2>"$tmp/err" ||
            fail "$fault: $(cat "$tmp/out" "$tmp/err")"
    done
fi
exit $status

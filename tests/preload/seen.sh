# SPDX-License-Identifier: MIT
# What the library sees of the packages in the table of doc/reference/calls.md, on the fake driver: each name that the
# table gives has a row of the account, and what it calls unseen has none. A package that is not here is skipped;
# `CPATH`, `LIBRARY_PATH`, `LD_LIBRARY_PATH` and `PYTHON` name places of others.
. "$srcdir/tests/preload/lib"
needs_plain_library
has_engine || skip "built without CUDA"
forget_settings
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 HOME="$tmp"
met= missing=

# sees PACKAGE NAMES COMMAND...: all of these names run on the GPU. NAMES empty: the library sees no call.
sees() {
    seen_package=$1
    seen_names=$2
    shift 2
    met="$met
$seen_package"
    rm -f "$tmp/log"
    on_engine XGEMM_STATS=1 XGEMM_LOG="$tmp/log" "$@" >"$tmp/out" 2>&1 || fail_with "$seen_package: exit status $?" "$tmp/out"
    for name in $seen_names; do
        grep -q "^  [CG]PU  .* $name " "$tmp/log" || fail_with "$seen_package: $name is not seen" "$tmp/log"
    done
    [ -n "$seen_names" ] || ! grep '^  GPU\|^  CPU' "$tmp/log" || fail "$seen_package: something is seen"
}
lacks() {
    missing="$missing, $1"
}

cat >"$tmp/calls.c" <<'END'
#include <stdlib.h>
void cblas_dgemm(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
            const int *, const double *, const int *, const double *, double *, const int *);
void dgesv_(const int *, const int *, double *, const int *, int *, double *, const int *, int *);
int main(void)
{
    enum { N = 96 };
    static double a[N * N], b[N * N], c[N * N];
    static int pivots[N];
    const int n = N, one = 1;
    const double alpha = 1, beta = 0;
    int info = 0;
    for (int i = 0; i < N; i++)
        a[i * N + i] = b[i] = 2;
    cblas_dgemm(101, 111, 111, N, N, N, 1, a, N, a, N, 0, c, N);
    dgemm_("N", "N", &n, &n, &n, &alpha, a, &n, a, &n, &beta, c, &n);
    dgesv_(&n, &one, a, &n, pivots, b, &n, &info);
    return info || c[0] != 4 || b[0] != 1;
}
END
# calls PACKAGE LIBRARY...: the C program with these libraries.
calls() {
    calls_package=$1
    shift
    compile -o "$tmp/calls" "$tmp/calls.c" "$@"
    sees "$calls_package" "cblas_dgemm dgemm_ dgesv_" "$tmp/calls"
}

# --- Libraries of BLAS and LAPACK --------------------------------------------------------------------

lapack=$(real lapack/liblapack.so.3)
alternative() {
    [ "$3" = int64_t ] || [ -z "$lapack" ] || calls "Debian's alternatives" "$2" "$lapack"
}
each_blas alternative
case $met in *Debian*) ;; *) lacks "Debian's alternatives" ;; esac

flexiblas=$(real libflexiblas.so.3)
openblas=$(real libopenblas.so.0)
if [ -n "$flexiblas" ]; then
    # A FlexiBLAS without LAPACK takes the second library.
    calls "FlexiBLAS" "$flexiblas" $lapack -Wl,-rpath,"${flexiblas%/*}"
    # Each library behind it, on the GPU and on the CPU; then the same as the CPU library of another program.
    for behind in NETLIB ${openblas:+"$openblas"}; do
        for mode in gpu cpu; do
            sees "FlexiBLAS" "cblas_dgemm dgemm_" env XGEMM_MODE=$mode FLEXIBLAS="$behind" "$tmp/calls"
        done
        [ -n "$openblas" ] || continue
        compile -o "$tmp/under" "$tmp/calls.c" "$openblas" $lapack
        for mode in gpu cpu; do
            sees "FlexiBLAS" "cblas_dgemm dgemm_" env XGEMM_MODE=$mode FLEXIBLAS="$behind" XGEMM_VERBOSE=2 \
                XGEMM_CPU_BLAS="$flexiblas" "$tmp/under"
            grep -q "dgemm_ of .*libflexiblas.so.3," "$tmp/log" || fail_with "FlexiBLAS is not the CPU library" "$tmp/log"
        done
    done
else
    lacks "FlexiBLAS"
fi

mkl=$(real libmkl_rt.so.3)
mkl=${mkl:-$(real libmkl_rt.so.2)}
if [ -n "$mkl" ]; then
    calls "MKL" "$mkl" -Wl,-rpath,"${mkl%/*}"
    # Its layers, as Intel's link line advisor names them.
    calls "MKL" "${mkl%/*}/libmkl_intel_lp64.so.${mkl##*.}" "${mkl%/*}/libmkl_sequential.so.${mkl##*.}" \
        "${mkl%/*}/libmkl_core.so.${mkl##*.}" -Wl,-rpath,"${mkl%/*}" -lm
    # The names without an underscore, which mkl.h declares too, are MKL's alone.
    sed 's/\(dge[ms][mv]\)_/\1/g; /^ *cblas_/d' "$tmp/calls.c" >"$tmp/mkl.c"
    compile -o "$tmp/mkl" "$tmp/mkl.c" "$mkl" -Wl,-rpath,"${mkl%/*}"
    sees "MKL" "" "$tmp/mkl"
else
    lacks "MKL"
fi

# --- Programs ----------------------------------------------------------------------------------------

if find_python 'import numpy, scipy.linalg'; then
    cat >"$tmp/arrays.py" <<'END'
import numpy, scipy.linalg
a = numpy.eye(96) * 2
assert (a @ a)[0, 0] == 4 and scipy.linalg.solve(a, a)[0, 0] == 1
END
    sees "NumPy and SciPy" "[a-z_]*dgemm[0-9_]*" "$python" "$tmp/arrays.py"
else
    lacks "NumPy and SciPy"
fi

if find_python 'import torch'; then
    cat >"$tmp/tensors.py" <<'END'
import sys, torch
a = torch.eye(96) * 2
if sys.argv[1] == "seen":
    assert (a @ a)[0, 0] == 4
    assert torch.bmm(torch.stack([a, a]), torch.stack([a, a]))[1, 0, 0] == 4
    assert torch.linalg.inv(a)[0, 0] == 0.5
else:
    torch.nn.functional.conv2d(torch.rand(2, 3, 32, 32), torch.rand(4, 3, 3, 3))
    torch.mm(a.bfloat16(), a.bfloat16())
END
    sees "PyTorch" "sgemm_ cblas_sgemm_batch sgetrf_" "$python" "$tmp/tensors.py" seen
    sees "PyTorch" "" "$python" "$tmp/tensors.py" unseen
else
    lacks "PyTorch"
fi

if command -v Rscript >/dev/null; then
    sees "R" "dgemm_ dsyrk_ dgesv_ dpotrf_" Rscript -e \
        'a <- diag(96) * 2; stopifnot((a %*% a)[1, 1] == 4, crossprod(a)[1, 1] == 4, solve(a)[1, 1] == 0.5, chol(a)[2, 2] > 1)'
    # lm() and qr() factorize by LINPACK, which calls no Level 3.
    sees "R" "" Rscript -e 'x <- matrix(rnorm(96 * 40), 96); y <- rnorm(96); stopifnot(length(coef(lm(y ~ x))) == 41); q <- qr(x)'
else
    lacks "R"
fi

octave=$(command -v octave-cli || command -v octave)
if [ -n "$octave" ]; then
    sees "Octave" "dgemm_ dgetrf_" "$octave" --no-gui --norc --quiet --eval \
        'a = rand(96) + 96 * eye(96); assert(size(a * (a + 1)), [96 96]); b = inv(a);'
else
    lacks "Octave"
fi

# --- Libraries of C++ --------------------------------------------------------------------------------

cxx=$(command -v "${CXX:-g++}")
blas=$(real libblas.so.3)
# compiles FILE OPTION...: of C++, from standard input.
compiles() {
    compiled=$1
    shift
    [ -n "$cxx" ] && [ -n "$blas" ] && [ -n "$lapack" ] &&
        "$cxx" -O1 -w -x c++ -I/usr/include/eigen3 "$@" -o "$tmp/$compiled" - -x none "$lapack" "$blas" 2>/dev/null
}
eigen() {
    compiles "$@" <<'END'
#include <Eigen/Dense>
int main()
{
    Eigen::MatrixXd a = Eigen::MatrixXd::Identity(96, 96) * 2, c(96, 96);
    c.noalias() = a * a;
    return c(0, 0) != 4;
}
END
}
if eigen eigen && eigen eigen_blas -DEIGEN_USE_BLAS; then
    sees "Eigen" "dgemm_" "$tmp/eigen_blas"
    sees "Eigen" "" "$tmp/eigen"
else
    lacks "Eigen"
fi
if compiles armadillo -DARMA_DONT_USE_WRAPPER -DARMA_DONT_USE_HDF5 -DARMA_DONT_USE_SUPERLU -DARMA_DONT_USE_ARPACK <<'END'
#include <armadillo>
int main()
{
    arma::mat a = arma::randu<arma::mat>(96, 96) + 96 * arma::eye<arma::mat>(96, 96), b = a * (a + 1);
    arma::mat x = arma::solve(a, b);
    return x.n_rows != 96;
}
END
then
    sees "Armadillo" "dgemm_ dgetrf_" "$tmp/armadillo"
else
    lacks "Armadillo"
fi

# The table has these packages, and no others.
known=$(printf '%s\n' "$met" | sort -u | sed '/^$/d')
[ -z "$missing" ] || echo "not here: ${missing#, }"
listed=$(sed -n '/^### Packages/,/^### /s/^| \([^|]*[^ |]\)  *|.*/\1/p' "$srcdir/doc/reference/calls.md" | sed '/^package$\|^---/d' | sort)
all=$(printf '%s\n%s\n' "$known" "$(echo "${missing#, }" | sed 's/, /\n/g')" | sed '/^$/d' | sort -u)
[ "$listed" = "$all" ] || fail "the table of packages lists: $listed; the test runs: $all"
exit $status

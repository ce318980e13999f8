# SPDX-License-Identifier: MIT
# Which threads a CPU library has and how many, found for stand-ins and for the installed libraries.
. "$srcdir/tests/preload/lib"
needs_plain_library
unset OPENBLAS_NUM_THREADS OMP_NUM_THREADS OMP_DYNAMIC BLIS_NUM_THREADS
lp64='-DSTUB_INT=int32_t -DSTUB_CBLAS=cblas_sgemm'

sources="$srcdir/tests/preload/threads.c $srcdir/shim/threads.c $srcdir/shim/scope.c $srcdir/shim/tables.c
    $srcdir/shim/loaded.c $srcdir/shim/module.c $srcdir/shim/symbols.c .libs/libxgcore.a -lm"
paths="-iquote $srcdir -iquote $srcdir/src"
compile $paths -o "$tmp/threads" $sources -ldl -pthread
openmp=
$CC $test_flags $paths -fopenmp -o "$tmp/threads_openmp" $sources -ldl -pthread \
    2>"$tmp/err" && openmp=yes
asked=0

# asks FILE POOL [SETTER]: finds this pool of threads, and their number.
asks() {
    "$tmp/threads" "$@" >"$tmp/out" 2>&1 || fail_with "$*" "$tmp/out"
    asked=$((asked + 1))
}

# Each name that tells the pool of a library; a library with none of them has an unknown one.
while read -r pool name parallel built; do
    stub "$tmp/lib$name.so" "$name" $lp64 -DSTUB_COUNT="$name" \
        ${parallel:+-DSTUB_PARALLEL=$parallel -DSTUB_BUILT=$built}
    asks "$tmp/lib$name.so" "$pool" stub_set_threads
done <<'LIST'
openblas openblas_get_num_threads
openblas openblas_get_num_threads openblas_get_parallel 1
openblas openblas_get_num_threads64_ openblas_get_parallel64_ 1
openblas openblas_get_num_threads_64 openblas_get_parallel_64 1
openblas scipy_openblas_get_num_threads scipy_openblas_get_parallel 1
openblas scipy_openblas_get_num_threads64_ scipy_openblas_get_parallel64_ 1
none openblas_get_num_threads openblas_get_parallel 0
mkl MKL_Get_Max_Threads
mkl mkl_get_max_threads
none bli_thread_get_num_threads
unknown flexiblas_get_num_threads
unknown lbt_get_num_threads
LIST
stub "$tmp/libnameless.so" nameless $lp64
asks "$tmp/libnameless.so" unknown

# A library that passes its calls to the one that computes, as Debian's libblas.so.3 to OpenBLAS.
stub "$tmp/libentries.so" entries $lp64 -Wl,--no-as-needed -L"$tmp" -Wl,-rpath,"$tmp" \
    -lscipy_openblas_get_num_threads
asks "$tmp/libentries.so" openblas stub_set_threads

# An OpenMP build has OpenMP's number of threads, and one inside a parallel region. The program's
# own OpenMP comes before the library's, and does not count if the library has none.
if [ "$openmp" = yes ]; then
    stub "$tmp/libomp2.so" omp2 $lp64 -DSTUB_COUNT=openblas_get_num_threads \
        -DSTUB_PARALLEL=openblas_get_parallel -DSTUB_BUILT=2 -fopenmp -Wl,--no-as-needed
    asks "$tmp/libomp2.so" gomp omp_set_num_threads
    mv "$tmp/threads" "$tmp/threads_plain"
    mv "$tmp/threads_openmp" "$tmp/threads"
    asks "$tmp/libomp2.so" gomp omp_set_num_threads
    asks "$tmp/libscipy_openblas_get_num_threads.so" openblas stub_set_threads
    asks "$tmp/libbli_thread_get_num_threads.so" none stub_set_threads
    stub "$tmp/libomp1.so" omp1 $lp64 -DSTUB_COUNT=openblas_get_num_threads \
        -DSTUB_PARALLEL=openblas_get_parallel -DSTUB_BUILT=1 -fopenmp -Wl,--no-as-needed
    asks "$tmp/libomp1.so" openblas stub_set_threads
    mv "$tmp/threads_plain" "$tmp/threads"
    # MKL that is linked to libgomp, as inside PyTorch, computes with libgomp's threads.
    stub "$tmp/libmklgnu.so" mklgnu $lp64 -DSTUB_COUNT=MKL_Get_Max_Threads -fopenmp -Wl,--no-as-needed
    asks "$tmp/libmklgnu.so" gomp stub_set_threads
    intel=$(real libiomp5.so)
    [ -z "$intel" ] || LD_PRELOAD=$intel asks "$tmp/libomp2.so" kmp omp_set_num_threads
fi

# Installed libraries.
installed() {
    [ -z "$1" ] || asks "$@"
}
installed "$(real libopenblas.so.0)" openblas openblas_set_num_threads
installed "$(real libopenblas64.so.0)" openblas openblas_set_num_threads
installed "$(real libblis.so.4)" none bli_thread_set_num_threads
for python in ${PYTHON:-python3} /usr/bin/python3; do
    libs=$("$python" -c 'import numpy, os; print(os.path.dirname(numpy.__path__[0]))' 2>/dev/null)
    for file in ${libs:+"$libs"/numpy.libs/*openblas* "$libs"/scipy.libs/*openblas*}; do
        suffix=
        case $file in
        *64_*) suffix=64_ ;;
        esac
        [ ! -f "$file" ] || installed "$file" openblas "scipy_openblas_set_num_threads$suffix"
    done
done

# The preloaded library asks the BLAS that it found.
program "$tmp/main" -DCALL_INT=int32_t -DCALL_CBLAS=cblas_sgemm -L"$tmp" -Wl,-rpath,"$tmp" \
    -lopenblas_get_num_threads
preloaded XGEMM_VERBOSE=2 XGEMM_MODE=cpu "$tmp/main" own 5 >"$tmp/out" 2>&1
grep -q 'openblas_get_num_threads.so, 32-bit integers, threads 4 ' "$tmp/out" ||
    fail_with "the library does not report the number of threads" "$tmp/out"

# Threads that call a name for the first time together, here two names, search for the library once.
stub "$tmp/libslow.so" slow $lp64 -DSTUB_FORTRAN=sgemm_ -DSTUB_COUNT=openblas_get_num_threads \
    -DSTUB_PARALLEL=openblas_get_parallel -DSTUB_BUILT=1 -DSTUB_ASKED_MS=10
compile -pthread $XG_BLAS_CFLAGS -o "$tmp/fake" "$srcdir/tests/preload/fake.c" -L"$tmp" -Wl,-rpath,"$tmp" -lslow
"$tmp/fake" 0 12 8 >"$tmp/alone" 2>/dev/null || exit 99
preloaded XGEMM_MODE=cpu "$tmp/fake" 0 12 8 >"$tmp/out" 2>"$tmp/err" && cmp "$tmp/alone" "$tmp/out" ||
    fail "a product of threads that start together is wrong"
count=$(grep -c 'slow: asked' "$tmp/err")
[ "$count" = 2 ] || fail "threads that start together asked $count times"
[ "$(grep -c 'slow: [CF]' "$tmp/err")" = 288 ] || fail "a product of threads that start together missed the library"

# The number of threads stays: another thread reads it unchanged while the engine starts, and after.
openblas=$(real libopenblas.so.0)
if [ -n "$openblas" ] && has_engine; then
    compile -pthread -o "$tmp/count" "$srcdir/tests/preload/count.c" "$openblas"
    for threads in 4 8; do
        right "the count of $threads threads while the engine starts" \
            env LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" LD_PRELOAD="$preload" XGEMM_MODE=auto XGEMM_OPERATIONS=sgemm \
            FAKECUDA_INIT_MS=500 "$tmp/count" $threads
    done
fi
echo "$asked libraries asked"
exit $status

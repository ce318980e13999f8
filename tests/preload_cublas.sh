# SPDX-License-Identifier: MIT
# Which cuBLAS is taken: what the linker finds, then pip's packages beside the wheel and where the process has
# packages from; no other user's, and nothing that is no file. Contract 10.7 (doc/contract.md).
. "$srcdir/tests/preload_lib"
needs_plain_library
has_engine || skip "built without CUDA"
XGEMM_STATS=0
unset XGEMM_DEVICES XGEMM_SHIM_LIB
stub "$tmp/libone.so" one -DSTUB_INT=int32_t -DSTUB_CBLAS=cblas_sgemm -DSTUB_QUIET
program "$tmp/c" -DCALL_INT=int32_t -DCALL_CBLAS=cblas_sgemm -L"$tmp" -Wl,-rpath,"$tmp" -lone

# The machine's own cuBLAS is not there, but for what $XT_SEEN names, a folder.
cat >"$tmp/hide.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void *dlopen(const char *name, int flags)
{
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    const char *seen = getenv("XT_SEEN");
    char path[4096];
    if (name && !strncmp(name, "/usr/local/cuda/", 16))
        return next("/nonexistent", flags);
    if (!name || strncmp(name, "libcublas.so", 12))
        return next(name, flags);
    snprintf(path, sizeof path, "%s/%s", seen ? seen : "/nonexistent", name);
    return next(path, flags);
}
C
$CC -shared -fPIC -o "$tmp/hide.so" "$tmp/hide.c" -ldl || exit 99
echo 'int xt_module;' >"$tmp/module.c"
$CC -shared -fPIC -o "$tmp/module.so" "$tmp/module.c" || exit 99
# libcublas.so.12 on a half of its own, as NVIDIA's is, which the linker does not find.
echo 'int cublasLtCreate(void); int cublasLtCreate(void) { return 0; }' >"$tmp/half.c"
$CC -shared -fPIC -Wl,-soname,libcublasLt.so.12 -o "$tmp/libcublasLt.so.12" "$tmp/half.c" || exit 99
mkdir "$tmp/driver"
cp "$XG_FAKEDRV_DIR/libcuda.so.1" "$tmp/driver"
fake=$XG_FAKEDRV_DIR/libcublas.so.13
real_tmp=$(readlink -f "$tmp")
umask 022

# package ROOT VERSION: what pip installs.
package() {
    case $2 in
    13) package_folder=$1/nvidia/cu13/lib ;;
    *) package_folder=$1/nvidia/cublas/lib ;;
    esac
    mkdir -p "$package_folder"
    cp "$fake" "$package_folder/libcublas.so.$2"
}

# A wheel's layout, in an environment and by pip install --target; and packages in another environment.
environment=$tmp/env/lib/python3.11/site-packages
target=$tmp/target
other=$tmp/other/lib/python3/dist-packages
for root in "$environment" "$target"; do
    mkdir -p "$root/xgemm_shim/lib" "$root/xgemm_shim/libexec"
    cp "$XG_SO" "$root/xgemm_shim/lib/libxgemm_shim.so"
    cp "$builddir/tools/xgemm-doctor" "$root/xgemm_shim/libexec"
done
mkdir -p "$other/numpy"
cp "$tmp/module.so" "$other/numpy/module.so"

# takes WHAT FILE LIBRARIES [NAME=VALUE...]: with the libraries preloaded; an empty FILE: none, and the CPU computes.
takes() {
    what=$1
    wanted=$2
    libraries=$3
    shift 3
    env XGEMM_MODE=gpu XGEMM_KERNEL=cublas XGEMM_VERBOSE=2 LD_LIBRARY_PATH="$tmp/driver" \
        LD_PRELOAD="$tmp/hide.so:$libraries" "$@" timeout -s KILL 60 "$tmp/c" own 5 >"$tmp/out" 2>"$tmp/err" ||
        fail "$what: exit status $?"
    grep -q right "$tmp/out" || fail "$what: a wrong answer"
    taken=$(sed -n 's/^xgemm: cuBLAS: \(.*libcublas\.so\.[0-9]*\)$/\1/p' "$tmp/err" | sort -u)
    place=CPU
    [ -z "$wanted" ] || place=GPU
    [ "$taken" = "$wanted" ] && grep -q "^xgemm: cblas_sgemm .*$place" "$tmp/err" &&
        { [ -n "$wanted" ] || grep -q '^xgemm: no cuBLAS' "$tmp/err"; } || {
        cat "$tmp/err"
        fail "$what: '$taken' instead of '$wanted' on the $place"
    }
}
# refuses WHAT: what lies in the wheel's environment is not taken, and told.
refuses() {
    takes "$1" "" "$wheel"
    grep -q 'cuBLAS: .* is not used: ' "$tmp/err" || fail "$1: not told"
}
wheel=$environment/xgemm_shim/lib/libxgemm_shim.so
beside=$real_tmp/env/lib/python3.11/site-packages/nvidia

takes "no package" "" "$wheel"
grep 'is not used' "$tmp/err" && fail "no package: something is not used"
package "$environment" 11
takes "CUDA 11's" "$beside/cublas/lib/libcublas.so.11" "$wheel"
package "$environment" 12
takes "CUDA 12's" "$beside/cublas/lib/libcublas.so.12" "$wheel"
package "$environment" 13
takes "CUDA 13's before others" "$beside/cu13/lib/libcublas.so.13" "$wheel"
exit $status

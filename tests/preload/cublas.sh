# SPDX-License-Identifier: MIT
# Which cuBLAS is loaded: the linker's, then pip's beside the wheel, then that of the process's
# packages; no other user's, and only regular files. Contract 10.7 (doc/contract.md).
. "$srcdir/tests/preload/lib"
needs_plain_library
has_engine || skip "built without CUDA"
unset XGEMM_DEVICES XGEMM_SHIM_LIB
quiet_stub "$tmp/libone.so"
program "$tmp/c" -DCALL_INT=int32_t -DCALL_CBLAS=cblas_sgemm -L"$tmp" -Wl,-rpath,"$tmp" -lone

# The machine's own cuBLAS is hidden from the search and from the dynamic linker.
interposer
export XT_FILES='2 libcublas.so* 2 /usr/*/libcublas*'
echo 'int xt_module;' >"$tmp/module.c"
$CC -shared -fPIC -o "$tmp/module.so" "$tmp/module.c" || exit 99
# libcublas.so.12 needs a second library, as NVIDIA's does, which the linker does not find.
echo 'int cublasLtCreate(void); int cublasLtCreate(void) { return 0; }' >"$tmp/half.c"
$CC -shared -fPIC -Wl,-soname,libcublasLt.so.12 -o "$tmp/libcublasLt.so.12" "$tmp/half.c" || exit 99
mkdir "$tmp/driver"
cp "$XG_FAKEDRV_DIR/libcuda.so.1" "$tmp/driver"
fake=$XG_FAKEDRV_DIR/libcublas.so.13
real_tmp=$(readlink -f "$tmp")
umask 022

# package ROOT VERSION: creates what pip installs.
package() {
    case $2 in
    13) package_folder=$1/nvidia/cu13/lib ;;
    *) package_folder=$1/nvidia/cublas/lib ;;
    esac
    mkdir -p "$package_folder"
    cp "$fake" "$package_folder/libcublas.so.$2"
}

# A wheel's layout, in an environment and by pip install --target; packages in another environment.
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

# takes WHAT FILE LIBRARIES [NAME=VALUE...]: with LIBRARIES preloaded FILE is loaded ('': none).
takes() {
    what=$1
    wanted=$2
    libraries=$3
    shift 3
    env XGEMM_MODE=gpu XGEMM_KERNEL=cublas XGEMM_VERBOSE=2 LD_LIBRARY_PATH="$tmp/driver${XT_SEEN:+:$XT_SEEN}" \
        LD_PRELOAD="$tmp/interpose.so:$libraries" "$@" timeout -s KILL 60 "$tmp/c" own 5 >"$tmp/out" 2>"$tmp/err" ||
        fail "$what: exit status $?"
    grep -q right "$tmp/out" || fail "$what: a wrong answer"
    taken=$(sed -n 's/^xgemm: cuBLAS: \(.*libcublas\.so\.[0-9]*\)$/\1/p' "$tmp/err" | sort -u)
    place=CPU
    [ -z "$wanted" ] || place=GPU
    [ "$taken" = "$wanted" ] && grep -q "^xgemm: cblas_sgemm .*$place" "$tmp/err" &&
        { [ -n "$wanted" ] || grep -q '^xgemm: no cuBLAS' "$tmp/err"; } ||
        fail_with "$what: '$taken' instead of '$wanted' on the $place" "$tmp/err"
}
# refuses WHAT: cuBLAS in the wheel's environment is ignored, with a message.
refuses() {
    takes "$1" "" "$wheel"
    grep -q 'ignoring cuBLAS in ' "$tmp/err" || fail "$1: not told"
}
wheel=$environment/xgemm_shim/lib/libxgemm_shim.so
beside=$real_tmp/env/lib/python3.11/site-packages/nvidia

takes "no package" "" "$wheel"
grep 'ignoring' "$tmp/err" && fail "no package: something is ignored"
package "$environment" 11
takes "CUDA 11's" "$beside/cublas/lib/libcublas.so.11" "$wheel"
package "$environment" 12
takes "CUDA 12's" "$beside/cublas/lib/libcublas.so.12" "$wheel"
package "$environment" 13
takes "CUDA 13's before others" "$beside/cu13/lib/libcublas.so.13" "$wheel"

# The linker's library comes before the packages, and a loaded one before both.
mkdir "$tmp/seen"
cp "$fake" "$tmp/seen/libcublas.so.12"
XT_SEEN=$tmp/seen
takes "the linker's" "$tmp/seen/libcublas.so.12" "$wheel"
cp "$fake" "$tmp/seen/libcublas.so.13"
takes "the linker's newest" "$tmp/seen/libcublas.so.13" "$wheel"
LC_ALL=C sed 's/libcublas\.so\.13/libcublas.so.12/g' "$fake" >"$tmp/libcublas.so.12" || exit 99
takes "the one that is loaded" "$tmp/libcublas.so.12" "$tmp/libcublas.so.12:$wheel"
XT_SEEN=

# pip install --target, also by a link; the library elsewhere, in a process that has packages.
package "$target" 13
ln -s target "$tmp/named"
takes "--target" "$real_tmp/target/nvidia/cu13/lib/libcublas.so.13" "$target/xgemm_shim/lib/libxgemm_shim.so"
takes "a link to the environment" "$real_tmp/target/nvidia/cu13/lib/libcublas.so.13" \
    "$tmp/named/xgemm_shim/lib/libxgemm_shim.so"
takes "a library elsewhere" "" "$preload"
takes "a library elsewhere, no package" "" "$other/numpy/module.so:$preload"
package "$other" 12
takes "the process's packages" "$real_tmp/other/lib/python3/dist-packages/nvidia/cublas/lib/libcublas.so.12" \
    "$other/numpy/module.so:$preload"
takes "the wheel's before the process's" "$beside/cu13/lib/libcublas.so.13" "$other/numpy/module.so:$wheel"
cd "$other" || exit 99
takes "a name from the folder that the program is in" "" "./numpy/module.so:$preload"
cd "$OLDPWD" || exit 99

# A cuBLAS in two halves.
$CC -shared -fPIC -Wl,-soname,libcublas.so.12 -Wl,--no-as-needed -o "$tmp/halves.so" "$fake" "$tmp/libcublasLt.so.12" \
    -Wl,-rpath,"${fake%/*}" || exit 99
rm -r "$environment/nvidia/cu13"
cp "$tmp/halves.so" "$beside/cublas/lib/libcublas.so.12"
cp "$tmp/libcublasLt.so.12" "$beside/cublas/lib"
rm "$beside/cublas/lib/libcublas.so.11"
takes "two halves" "$beside/cublas/lib/libcublas.so.12" "$wheel"
rm "$beside/cublas/lib/libcublasLt.so.12"
takes "half of it" "" "$wheel"
grep -q 'cuBLAS: libcublasLt.so.12: ' "$tmp/err" || fail "half of it: not told"
mkfifo "$beside/cublas/lib/libcublasLt.so.12"
refuses "a FIFO for a half"
rm "$beside/cublas/lib/libcublasLt.so.12"

# What is no regular file, and files that others can change or replace.
lib=$beside/cublas/lib
file=$lib/libcublas.so.12
rm "$file"
mkfifo "$file"
refuses "a FIFO"
rm "$file"
mkdir "$file"
refuses "a folder"
rmdir "$file"
ln -s "$fake" "$file"
refuses "a link"
rm "$file"
echo text >"$file"
takes "no library" "" "$wheel"
cp "$fake" "$file"
takes "a library again" "$file" "$wheel"
ln "$file" "$tmp/second"
takes "a file of two names, as uv installs" "$file" "$wheel"
chmod o+w "$file"
refuses "a file that all may write"
chmod o-w "$file"
for folder in "$lib" "$beside" "$real_tmp/env"; do
    chmod o+w "$folder"
    refuses "$folder, which all may write"
    chmod o-w "$folder"
done
chmod 1777 "$lib"
refuses "a folder with the sticky bit"
chmod 755 "$lib"
chmod 1777 "$real_tmp/env"
takes "below a folder with the sticky bit" "$file" "$wheel"
chmod 755 "$real_tmp/env"
mv "$beside" "$tmp/elsewhere"
ln -s "$tmp/elsewhere" "$beside"
refuses "a link to a package"
rm "$beside"
mv "$tmp/elsewhere" "$beside"
# The rest needs a second user, and a group with several users.
if [ "$(id -u)" = 0 ] && chown 65534 "$file" 2>/dev/null; then
    refuses "another user's file"
    chown 0 "$file"
    for folder in "$lib" "$beside" "$real_tmp/env"; do
        chown 65534 "$folder"
        refuses "another user's $folder"
        chown 0:65534 "$folder"
        chmod g+w "$folder"
        refuses "$folder, which a group may write"
        chown 0:0 "$folder"
        takes "$folder, which the user's own group may write" "$file" "$wheel"
        chmod g-w "$folder"
    done
fi

# Doctor finds the same, in the wheel's environment and for a program with packages of its own.
# tells WHAT WORDS ARGUMENT...
tells() {
    what=$1
    wanted=$2
    shift 2
    env XGEMM_KERNEL=cublas XGEMM_MODE=gpu HOME="$tmp" XDG_CACHE_HOME="$tmp" LD_LIBRARY_PATH="$tmp/driver" \
        LD_PRELOAD="$tmp/interpose.so" "$@" >"$tmp/out" 2>&1
    grep -q -e "$wanted" "$tmp/out" || fail_with "doctor, $what: not '$wanted'" "$tmp/out"
}
tells "beside the wheel" "^  cuBLAS  *$file" "$environment/xgemm_shim/libexec/xgemm-doctor"
tells "in JSON" "\"cublas_file\":\"$file\"" "$environment/xgemm_shim/libexec/xgemm-doctor" --json
tells "a folder of --target" "^  cuBLAS  *$real_tmp/target/nvidia/cu13/lib/libcublas.so.13" \
    "$target/xgemm_shim/libexec/xgemm-doctor"
doctor=$builddir/tools/xgemm-doctor
tells "elsewhere" '^  cuBLAS  *none' "$doctor"
grep -q '(cublas.missing)' "$tmp/out" || fail "doctor, elsewhere: nothing is missing"
compile -DMAIN_OWN -o "$tmp/packaged" "$srcdir/tests/preload/main.c" "$srcdir/tests/preload/caller.c" -DCALL_INT=int32_t \
    -DCALL_CBLAS=cblas_sgemm -L"$tmp" -Wl,-rpath,"$tmp" -lone -Wl,--no-as-needed "$other/numpy/module.so" -lm -ldl -pthread
taken=$real_tmp/other/lib/python3/dist-packages/nvidia/cublas/lib/libcublas.so.12
tells "a program" "^  cuBLAS  *$taken" "$doctor" "$tmp/packaged" own 5
grep '(cublas.missing)' "$tmp/out" && fail "doctor, a program: cuBLAS is missing"
tells "a program, in JSON" "\"preloaded\":true,\"cublas_file\":\"$taken\"" "$doctor" --json "$tmp/packaged" own 5
exit $status

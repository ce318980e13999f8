# SPDX-License-Identifier: MIT
# Files in the place of libcuda.so.1, cuBLAS and cuSOLVER that cannot be loaded, or are read slowly:
# none ends or blocks the program, and the library logs the reason. Contract 9.7 (doc/contract.md).
. "$srcdir/tests/preload/lib"
needs_plain_library
has_engine || skip "built without CUDA"
blas_program library

# A disk that does not answer for files whose name is in $XT_SLOW, and is slow at each step for
# those in $XT_PAUSE. The library waits 30 s for a step; with $XT_HURRY waits of more than 20 s take
# a hundredth of their time.
cat >"$tmp/disk.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock, const struct timespec *until)
{
    typedef int wait_function(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    wait_function *next = (wait_function *)dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    struct timespec time;
    if (!next)
        next = (wait_function *)dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    clock_gettime(CLOCK_MONOTONIC, &time);
    long left_ms = (until->tv_sec - time.tv_sec) * 1000;
    if (!getenv("XT_HURRY") || left_ms < 20000 || left_ms > 40000)
        return next(condition, lock, until);
    long ns = time.tv_nsec + left_ms * 10000;
    time.tv_sec += ns / 1000000000;
    time.tv_nsec = ns % 1000000000;
    return next(condition, lock, &time);
}
static int names(const char *variable, const char *path)
{
    return getenv(variable) && strstr(path, getenv(variable));
}
ssize_t pread(int file, void *to, size_t bytes, off_t offset)
{
    ssize_t (*next)(int, void *, size_t, off_t) =
        (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    char link[64], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    if (readlink(link, path, sizeof path - 1) > 0 && names("XT_SLOW", path))
        sleep(30);
    if (names("XT_PAUSE", path))
        usleep(60000);
    return next(file, to, bytes, offset);
}
C
$CC -shared -fPIC -o "$tmp/disk.so" "$tmp/disk.c" -ldl || exit 99
interposer
export XT_FILES='2 /usr/local/cuda*' # hides the machine's own toolkit
preloads=$tmp/disk.so:$tmp/interpose.so:$preload
echo 'int xt_module;' >"$tmp/module.c"
$CC -shared -fPIC -o "$tmp/module.so" "$tmp/module.c" || exit 99

# fresh: fills $tmp/cuda with sound libraries.
fresh() {
    rm -rf "$tmp/cuda"
    mkdir "$tmp/cuda"
    cp "$XG_FAKEDRV_DIR/libcuda.so.1" "$XG_FAKEDRV_DIR/libcublas.so.13" "$XG_FAKEDRV_DIR/libcusolver.so.12" "$tmp/cuda"
    strip "$tmp/cuda"/* || exit 99 # so that the segments reach to the end of the file
}

# runs WHAT [NAME=VALUE...] COMMAND...: the command ends with status 0.
runs() {
    runs_what=$1
    shift
    env XGEMM_MODE=gpu XGEMM_STATS=1 XGEMM_VERBOSE=2 OPENBLAS_NUM_THREADS=1 LD_LIBRARY_PATH="$tmp/cuda" \
        LD_PRELOAD="$preloads" timeout -s KILL 20 env "$@" >"$tmp/out" 2>"$tmp/err" ||
        fail_with "$runs_what: exit status $?" "$tmp/out" "$tmp/err"
}

# end_of FILE: prints where its last segment ends.
end_of() {
    end=0
    for part in $($READELF -lW "$1" | awk '$1 == "LOAD" { print $2 "+" $5 }'); do
        [ $((part)) -le $end ] || end=$((part))
    done
    echo $end
}

# made KIND FILE: replaces the file by one of that kind.
made() {
    size=$(stat -c %s "$2")
    cp "$2" "$tmp/sound"
    rm "$2"
    case $1 in
    empty) : >"$2" ;;
    short) head -c $((size / 2)) "$tmp/sound" >"$2" ;;
    "a byte short") head -c $(($(end_of "$tmp/sound") - 1)) "$tmp/sound" >"$2" ;;
    header) head -c 64 "$tmp/sound" >"$2" ;;
    "zeros behind its header") { head -c 4096 "$tmp/sound"; head -c $((size - 4096)) /dev/zero; } >"$2" ;;
    fifo) mkfifo "$2" ;;
    "link to a fifo") mkfifo "$2.fifo" && ln -s "$2.fifo" "$2" ;;
    folder) mkdir "$2" ;;
    text) echo text >"$2" ;;
    object) $CC -c -o "$2" "$tmp/module.c" ;;
    device) ln -s /dev/zero "$2" ;;
    # Bytes 4 and 18 of an ELF file: its class, its machine.
    class) cp "$tmp/sound" "$2" && printf '\001' | dd of="$2" bs=1 seek=4 conv=notrunc 2>/dev/null ;;
    machine) cp "$tmp/sound" "$2" && printf '\050' | dd of="$2" bs=1 seek=18 conv=notrunc 2>/dev/null ;;
    dangling) ln -s /nonexistent/library "$2" ;;
    esac
}

why_of() {
    case $1 in
    empty | text) echo "not an ELF file" ;;
    short | "a byte short" | header) echo "the file is cut short" ;;
    zeros*) echo "the file is damaged\|not a shared library" ;;
    fifo | "link to a fifo" | folder | device) echo "not a regular file" ;;
    object) echo "not a shared library" ;;
    esac
}

# A file, the argument of `library` that needs it, how the GPU then computes, and a setting.
cat >"$tmp/libraries" <<'END'
libcuda.so.1 a kernel XT=
libcublas.so.13 a cublas XGEMM_KERNEL=cublas
libcusolver.so.12 b cuSOLVER XT=
END
while read -r file what uses setting; do
    [ $uses != kernel ] || uses=
    fresh
    runs "$file, sound" $setting "$tmp/library" $what
    grep -q right "$tmp/out" && grep -q "^xgemm: [a-z_]* .*: GPU $uses" "$tmp/err" ||
        fail_with "$file, sound: not on the GPU" "$tmp/out" "$tmp/err"
    for kind in empty short "a byte short" header "zeros behind its header" fifo "link to a fifo" folder text object \
        device class machine dangling; do
        fresh
        made "$kind" "$tmp/cuda/$file"
        runs "$file, $kind" $setting "$tmp/library" $what
        [ "$(cat "$tmp/out")" = right ] || fail_with "$file, $kind: answer" "$tmp/out" "$tmp/err"
        ! grep "^xgemm: [a-z_]* .*: GPU $uses" "$tmp/err" || fail "$file, $kind: on the GPU"
        why=$(why_of "$kind")
        [ -z "$why" ] || says "$file, $kind" "$file: \($why\)"
    done
done <"$tmp/libraries"

# half FOLDER [NEEDS]: puts both halves of cuBLAS 12 into it.
echo 'int cublasLtCreate(void); int cublasLtCreate(void) { return 0; }' >"$tmp/half.c"
$CC -shared -fPIC -s -Wl,-soname,libcublasLt.so.12 -o "$tmp/libcublasLt.so.12" "$tmp/half.c" || exit 99
half() {
    mkdir -p "$1"
    cp "$tmp/libcublasLt.so.12" "$1"
    $CC -shared -fPIC -Wl,-soname,libcublas.so.12 -Wl,--no-as-needed -o "$1/libcublas.so.12" \
        "$XG_FAKEDRV_DIR/libcublas.so.13" "${2-$tmp/libcublasLt.so.12}" -Wl,--enable-new-dtags -Wl,-rpath,"\$ORIGIN:$XG_FAKEDRV_DIR" || exit 99
}

# The first half needs the second one, or is a filter of it.
for needs in "$tmp/libcublasLt.so.12" -Wl,-f,libcublasLt.so.12 -Wl,-F,libcublasLt.so.12; do
    for kind in sound short fifo folder text; do
        fresh
        rm "$tmp/cuda/libcublas.so.13"
        half "$tmp/cuda" "$needs"
        [ $kind = sound ] || made "$kind" "$tmp/cuda/libcublasLt.so.12"
        runs "half, $kind" XGEMM_KERNEL=cublas "$tmp/library" a
        [ "$(cat "$tmp/out")" = right ] || fail_with "half, $needs, $kind: answer" "$tmp/out" "$tmp/err"
        if [ $kind = sound ]; then
            says "half" 'xgemm: cblas_sgemm .*: GPU cublas'
        else
            says "half, $kind" "libcublasLt.so.12: $(why_of $kind)"
        fi
    done
done

# A damaged copy of a needed library does not exclude the copies in other folders. pip's are sound.
fresh
rm "$tmp/cuda/libcublas.so.13"
half "$tmp/cuda"
: >"$tmp/cuda/libcublasLt.so.12"
half "$tmp/site-packages/nvidia/cublas/lib"
cp "$tmp/module.so" "$tmp/site-packages"
chmod -R go-w "$tmp/site-packages"
preloads=$preloads:$tmp/site-packages/module.so
runs "two copies" XGEMM_KERNEL=cublas "$tmp/library" a
says "two copies" "libcublasLt.so.12: not an ELF file"
says "two copies" "cuBLAS: $tmp/site-packages/nvidia/cublas/lib/libcublas.so.12"
says "two copies" 'xgemm: cblas_sgemm .*: GPU cublas'
half "$tmp/cuda"
runs "two copies, given up" XGEMM_KERNEL=cublas XT_SLOW=cuda/libcublasLt.so.12 XT_HURRY=1 "$tmp/library" a
says "two copies, given up" "ignoring $tmp/cuda/libcublasLt.so.12: it did not answer in 30000 ms"
says "two copies, given up" 'xgemm: cblas_sgemm .*: GPU cublas'
preloads=${preloads%:*}

# The dynamic linker does not read the file where the stack's program header says.
fresh
number=$($READELF -lW "$tmp/cuda/libcuda.so.1" | awk '/0x.*0x.*0x/ { if ($1 == "GNU_STACK") print n + 0; n++ }')
printf '\377\377\377\377' |
    dd of="$tmp/cuda/libcuda.so.1" bs=1 seek=$((64 + 56 * number + 8)) conv=notrunc 2>/dev/null
runs "stack's entry" "$tmp/library" a
says "stack's entry" '^xgemm: cblas_sgemm .*: GPU'

# A file that is read slowly, or is a FIFO, is given up; the program's dlopen and exit do not wait.
meanwhile() {
    meanwhile_what=$1
    shift
    begin=$(date +%s%N)
    runs "$meanwhile_what" "$@" "$tmp/library" $what "$tmp/module.so"
    ms=$((($(date +%s%N) - begin) / 1000000))
    ! grep WRONG "$tmp/out" || fail "$meanwhile_what: dlopen waits"
    [ $ms -lt 2000 ] || fail "$meanwhile_what: exit takes $ms ms"
}
while read -r file what uses setting; do
    fresh
    meanwhile "$file, slow" XT_SLOW="$file" $setting
    runs "$file, given up" XT_SLOW="$file" XT_HURRY=1 $setting "$tmp/library" $what stay
    [ "$(cat "$tmp/out")" = right ] || fail_with "$file, given up: answer" "$tmp/out" "$tmp/err"
    says "$file, given up" "$file: it did not answer in 30000 ms"
    # A file whose steps take 60 ms each is not given up: some steps end within each 300 ms.
    [ $uses != kernel ] || uses=
    runs "$file, steps" XT_PAUSE="$file" XT_HURRY=1 $setting "$tmp/library" $what
    ! grep "did not answer" "$tmp/err" || fail "$file, steps: it is given up"
    grep -q "^xgemm: [a-z_]* .*: GPU $uses" "$tmp/err" || fail_with "$file, steps: not on the GPU" "$tmp/out" "$tmp/err"
    made fifo "$tmp/cuda/$file"
    meanwhile "$file, a FIFO" $setting
done <"$tmp/libraries"
exit $status

# SPDX-License-Identifier: MIT
# The library does nothing in a program that never multiplies, and starts nothing for small
# products. If no GPU is used it leaves no thread. Contract 8.1, 8.11 (doc/contract.md).
. "$srcdir/tests/preload/lib"
needs_plain_library

# Settings that would make it print, write a file and search for a GPU, if it did anything.
export XGEMM_MODE=gpu XGEMM_VERBOSE=3 XGEMM_LOG="$tmp/log"
preloaded true >"$tmp/out" 2>&1 || fail "true: exit status $?"
[ ! -s "$tmp/out" ] || fail "true prints something"
[ ! -e "$tmp/log" ] || fail "true writes a log"
preloaded sh -c 'exit 7'
[ $? -eq 7 ] || fail "the exit status is not the program's"

if strace -o /dev/null true 2>/dev/null; then
    strace -f -o "$tmp/alone" true
    strace -f -E LD_PRELOAD="$XG_SO" -o "$tmp/preloaded" true
    grep -q libxgemm_shim "$tmp/preloaded" || fail "the library is not preloaded"
    # The library's path may contain any word.
    sed -i '/libxgemm_shim/d' "$tmp/preloaded"
    # getenv's answer (contract 7.7) depends on whether there is a device, which these names show.
    sed -i '/access("\/\(dev\/\(nvidiactl\|dxg\|nvmap\)\|proc\/driver\/nvidia\/version\)", F_OK)/d' "$tmp/preloaded"
    grep -E 'clone|fork|write\(|libcuda|/dev/|/proc|pthread|libcublas' "$tmp/preloaded" &&
        fail "the library does something when it is loaded"
    # It may only be mapped and find out what standard error is: the other calls after the last
    # mapping are the same.
    [ "$(grep -cE 'fstat(at)?\(2,' "$tmp/preloaded")" -le 1 ] ||
        fail "the library looks at standard error more than once"
    for run in alone preloaded; do
        sed '/fstat\(at\)*(2,/d; s/^[0-9]* *//; s/(.*//' "$tmp/$run" | awk '/munmap/ { last = NR } { line[NR] = $0 }
            END { for (i = last; i <= NR; i++) print line[i] }' >"$tmp/$run.end"
    done
    diff "$tmp/alone.end" "$tmp/preloaded.end" || fail "the library does something at start or exit"
fi

# Small products under the automatic policy: no driver, no thread, no output.
unset XGEMM_MODE XGEMM_VERBOSE XGEMM_LOG
stub "$tmp/libone.so" one -DSTUB_INT=int32_t -DSTUB_CBLAS=cblas_sgemm
program "$tmp/small" -DCALL_INT=int32_t -DCALL_CBLAS=cblas_sgemm "$tmp/libone.so" -Wl,-rpath,"$tmp"
LD_DEBUG=files preloaded "$tmp/small" own 9 >"$tmp/out" 2>"$tmp/files" ||
    fail "small: exit status $?"
grep -q 'own right' "$tmp/out" || fail "small: answers"
grep -q libxgemm_shim "$tmp/files" || fail "small: the library is not preloaded"
grep -E '(file|library)=([^;]*/)?lib(cu|nv)[^/;]* \[' "$tmp/files" && fail "small: a driver is searched for"

# Threads: the library has none without a driver, a device or a product that is worth a start. With
# them there are the team that copies for the GPU, and the driver's own.
compile -o "$tmp/threads" "$srcdir/tests/preload/idle.c" "$tmp/libone.so" -Wl,-rpath,"$tmp"
# alone WHAT COMMAND...: the program's own thread is the only one.
alone() {
    alone_what=$1
    shift
    "$@" >"$tmp/out" 2>/dev/null || fail "threads, $alone_what: exit status $?"
    [ "$(cat "$tmp/out")" = threads ] || fail "threads, $alone_what: $(cat "$tmp/out")"
}
alone "without the library" "$tmp/threads" 500
alone "on the CPU" preloaded XGEMM_MODE=cpu "$tmp/threads" 500
alone "as it comes" preloaded "$tmp/threads" 200
if [ -z "$(ldconfig -p 2>/dev/null | grep libcuda.so.1)" ]; then
    alone "no driver" preloaded XGEMM_MODE=gpu "$tmp/threads" 500
fi
if has_engine; then
    alone "no device" on_engine FAKECUDA_DEVICES=0 "$tmp/threads" 500
    alone "small, a driver" on_engine XGEMM_MODE=auto "$tmp/threads" 200
    on_engine XGEMM_STAGE_THREADS=3 "$tmp/threads" 500 >"$tmp/out" 2>&1 || fail "threads: exit status $?"
    # The fake driver's thread has the program's name.
    [ "$(sort "$tmp/out" | uniq -c | tr -s ' \n' ' ')" = \
        ' 1 no user namespace of its own 2 threads 2 xgemm-stage ' ] ||
        fail "threads with the GPU: $(cat "$tmp/out")"
fi

# The thread that asks the dynamic linker (contract 7.8) is gone when the product has ended, however
# long the kernel takes to end it: here the kernel must close a thousand descriptors.
cat >"$tmp/gone.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>
static void *(*start)(void *);
static int made;
static void *slowly(void *arg)
{
    void *result = start(arg);
    if (unshare(CLONE_FILES) == 0)
        for (int i = 0; i < 1000; i++)
            (void)!dup(2);
    made++;
    return result;
}
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *arg)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    start = function;
    return next(thread, attributes, slowly, arg);
}
int main(int argc, char **argv)
{
    void *one = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL, *two = one ? dlopen(argv[2], RTLD_NOW) : NULL;
    int (*run)(int) = NULL;
    if (two)
        *(void **)&run = dlsym(one, "caller_run");
    if (!run || !run(5))
        return 99;
    errno = 0;
    if (unshare(CLONE_NEWUSER) && errno == EINVAL)
        return 1;
    return getenv("XGEMM_MODE") && !made ? 98 : 0;
}
END
compile -rdynamic -o "$tmp/gone" "$tmp/gone.c" -ldl -pthread
stub "$tmp/libtwo.so" two -DSTUB_QUIET -DSTUB_INT=int32_t -DSTUB_CBLAS=cblas_sgemm
for name in one two; do
    plugin "$tmp/$name.so" -DCALL_INT=int32_t -DCALL_CBLAS=cblas_sgemm "$tmp/lib$name.so" -Wl,-rpath,"$tmp"
done
env -u XGEMM_MODE "$tmp/gone" "$tmp/one.so" "$tmp/two.so" || fail "a thread that is gone, without the library: $?"
for run in 1 2 3 4 5; do
    preloaded XGEMM_MODE=cpu "$tmp/gone" "$tmp/one.so" "$tmp/two.so" >"$tmp/out" 2>&1 ||
        fail "the process has two threads after its first product: exit status $?"
done

# Printed, not checked: the difference is far below the scatter of a shared machine.
milliseconds() {
    begin=$(date +%s%N)
    count=0
    while [ $count -lt 200 ]; do
        env LD_PRELOAD="$1" /bin/true
        count=$((count + 1))
    done
    awk -v ns=$(($(date +%s%N) - begin)) 'BEGIN { printf "%.3f ms", ns / 200 / 1e6 }'
}
echo "/bin/true: $(milliseconds '') alone, $(milliseconds "$XG_SO") with the library preloaded"
exit $status

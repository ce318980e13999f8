# SPDX-License-Identifier: MIT
# A process that filters its system calls, or forbids the clock, goes on, and its products are
# right. Contract 7.9 (doc/contract.md).
. "$srcdir/tests/preload/lib"
needs_plain_library

program="$tmp/sandbox"
blas=$(real libopenblas.so.0)
plain_blas "$tmp/libplain.so" int
compile -o "$program-plain" "$srcdir/tests/preload/sandbox.c" "$tmp/libplain.so" -Wl,-rpath,"$tmp" -pthread
[ -z "$blas" ] || compile -o "$program" "$srcdir/tests/preload/sandbox.c" "$blas" -pthread

# lives WHAT COMMAND...
lives() {
    what=$1
    shift
    said=$("$@" 2>"$tmp/err")
    code=$?
    [ $code = 0 ] && [ "$said" = right ] || fail "$what: exit status $code, says $said $(cat "$tmp/err")"
}

# each_mode WHAT PROGRAM HOW PRODUCTS SECONDS: a process lives with the library if it does without.
each_mode() {
    "$2" "$3" "$4" 0.1 >"$tmp/out" 2>&1 || { echo "$1 $3 does not live without the library here: not tried"; return; }
    for setting in XGEMM_MODE=auto XGEMM_MODE=cpu XGEMM_STATS=1; do
        lives "$1 $3 after $4 products, $setting" preloaded $setting "$2" "$3" "$4" "$5"
    done
    # Strict mode allows no call that ends all threads, so a driver's threads would live on.
    has_engine && [ "$3" != strict ] || return
    lives "$1 $3 after $4 products, forced" on_engine SANDBOX_EXIT=1 "$2" "$3" "$4" "$5"
    lives "$1 $3 after $4 products, automatic with a device" on_engine SANDBOX_EXIT=1 XGEMM_MODE=auto "$2" "$3" "$4" "$5"
}

counts="0 8" # and 1 in a short run, which quickstart check --all has too
[ -z "${XG_SHORT-}" ] || counts=1
for count in $counts; do
    for how in strict tsc dispatch; do
        each_mode "plain loops," "$program-plain" $how $count 0
    done
    [ -n "$blas" ] || continue
    for how in prctl syscall both query none; do
        each_mode OpenBLAS, "$program" $how $count 0.2
    done
    # A child creates OpenBLAS's threads anew, by calls that the filter forbids: so one thread.
    (export OPENBLAS_NUM_THREADS=1; each_mode "OpenBLAS of one thread," "$program" fork $count 0.2; exit $status)
    status=$?
done
# The library controls neither a driver's threads nor a start that has begun: so no device.
if [ -n "$blas" ] && "$program" all 1 0.1 >"$tmp/out" 2>&1; then
    for mode in auto cpu; do
        lives "a filter for all threads, $mode" preloaded XGEMM_MODE=$mode "$program" all 1 0.2
    done
fi

# Queries, and a filter that the kernel refuses, change nothing: the device goes on computing.
if [ -n "$blas" ] && has_engine; then
    for how in query none; do
        on_engine XGEMM_STATS=1 "$program" $how 1 0.5 >"$tmp/out" 2>"$tmp/err"
        grep -q "^xgemm.*GPU" "$tmp/err" || fail "$how: the device computes nothing any more"
    done
fi

# A call that passes keeps its result, its errno and all six arguments.
cat >"$tmp/passes.c" <<'END'
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
    char name[16] = "", text[6] = "";
    int file = (int)syscall(SYS_memfd_create, "passes", 0);
    if (file < 0 || write(file, "0123456789", 10) != 10)
        return 1;
    char *at = (char *)syscall(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE, file, 0);
    if (at == MAP_FAILED || memcmp(at, "0123456789", 10))
        return 2;
    if (syscall(SYS_pread64, file, text, 5, 3) != 5 || strcmp(text, "34567"))
        return 3;
    errno = 0;
    if (syscall(SYS_close, -1) != -1 || errno != EBADF)
        return 4;
    errno = 0;
    if (prctl(-1, 0, 0, 0, 0) != -1 || errno != EINVAL)
        return 5;
    if (prctl(PR_SET_NAME, "passes") || prctl(PR_GET_NAME, name) || strcmp(name, "passes"))
        return 6;
    return syscall(SYS_getpid) != getpid();
}
END
compile -o "$tmp/passes" "$tmp/passes.c"
preloaded "$tmp/passes" || fail "what passes: $?"

# `syscall` must not write where a seventh argument would lie: that memory is the caller's.
cat >"$tmp/word.c" <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { COUNT = 2000000 };
static long *where;
static int done;
static void *add(void *unused)
{
    long *word;
    while (!(word = __atomic_load_n(&where, __ATOMIC_ACQUIRE)))
        ;
    for (long i = 0; i < COUNT; i++)
        __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    return unused;
}
/* Only these words are in its frame, so that the first one lies where the call begins. */
__attribute__((noinline)) static long ask(long number)
{
    long words[2] = {0, 0};
    __atomic_store_n(&where, words, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
        syscall(number);
    return __atomic_load_n(&words[0], __ATOMIC_RELAXED);
}
int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, add, NULL))
        return 77;
    long count = ask(SYS_getppid);
    pthread_join(thread, NULL);
    return count != COUNT;
}
END
compile -O2 -o "$tmp/word" "$tmp/word.c" -pthread
for run in 1 2 3 4 5; do
    preloaded "$tmp/word" || fail "syscall writes to its caller's stack"
done
exit $status

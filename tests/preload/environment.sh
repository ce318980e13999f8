# SPDX-License-Identifier: MIT
# getenv returns what the environment holds. For OpenBLAS alone it adds how long its threads should
# spin, if the user has not set that. Contract 7.6, 7.7 (doc/contract.md).
. "$srcdir/tests/preload/lib"
unset LD_PRELOAD OPENBLAS_THREAD_TIMEOUT XGEMM_SPIN XGEMM_MODE CUDA_VISIBLE_DEVICES
export HOME="${HOME:-/}"
compile -shared -fPIC -DENVIRONMENT_LIBRARY -Wl,-soname,libasks.so -o "$tmp/libasks.so" \
    "$srcdir/tests/preload/environment.c"
compile -o "$tmp/environment" "$srcdir/tests/preload/environment.c" "$tmp/libasks.so" \
    -Wl,-rpath,"$tmp" -pthread -lm

# told WANTED WHAT NAME=VALUE...
told() {
    told_wanted=$1
    told_what=$2
    shift 2
    right "$told_what" preloaded "$@" "$tmp/environment" $told_wanted
}

# Without a measured cost of waking threads getenv adds no answer.
export XDG_CACHE_HOME="$tmp/cache"
told - "auto, unmeasured"
told - "an unknown word, unmeasured" XGEMM_SPIN=long
told 20 "short" XGEMM_SPIN=short
told 20 "short, on the CPU" XGEMM_SPIN=short XGEMM_MODE=cpu
told - "keep" XGEMM_SPIN=keep
told "26 set" "the user's" XGEMM_SPIN=short OPENBLAS_THREAD_TIMEOUT=26
for setting in short keep; do
    said=$(preloaded XGEMM_SPIN=$setting OPENBLAS_THREAD_TIMEOUT= "$tmp/environment" 2>&1)
    [ "$said" = "$(env OPENBLAS_THREAD_TIMEOUT= "$tmp/environment" 2>&1)" ] ||
        fail "an empty setting, $setting: $said"
done

# With a measured cost and a device the spin follows from it. A preloaded library claims a device.
if [ "$XG_SANITIZER" = no ] && [ "$XG_WITH_CUDA" = yes ] && [ "$(nproc)" -gt 1 ]; then
    cat >"$tmp/device.c" <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
int access(const char *path, int mode) { return strcmp(path, "/dev/nvidiactl") ? faccessat(AT_FDCWD, path, mode, 0) : 0; }
END
    compile -shared -fPIC -o "$tmp/libdevice.so" "$tmp/device.c"
    device() { env LD_PRELOAD="$XG_SO:$tmp/libdevice.so" "$@"; }
    spins() { LD_PRELOAD="$tmp/libdevice.so" "$builddir/tools/xgemm-settings" | sed -n "s/^spins='\(.*\) '/\1/p"; }
    # measured NS: keeps a figure as xgemm-run does, and not as one of a virtual machine.
    cat >"$tmp/keep.c" <<'END'
#include <stdlib.h>
#include "tools/wake.h"
int main(int argc, char **argv)
{
    const struct xg_wake wake = {(uint64_t)atol(argv[argc - 1]), 2400000, 20000, false};
    return !wake_keep(&wake);
}
END
    compile -iquote "$srcdir" -iquote "$srcdir/src" -o "$tmp/keep" "$tmp/keep.c" "$srcdir/tools/wake.c" \
        .libs/libxgcore.a -lpthread -lm
    measured() { "$tmp/keep" "$1" || fail "no figure is kept"; }
    said=$(device "$tmp/environment" - 2>&1) && [ "$said" = right ] || fail "a device, unmeasured: $said"
    measured 300000
    ls "$tmp/cache/xgemm" | grep -qx 'wake-[0-9a-f][0-9a-f]' || fail "the name of a kept figure"
    [ "$(spins)" = OPENBLAS_THREAD_TIMEOUT=25 ] || fail "waking takes 300 us: $(spins)"
    right "a device, measured" device "$tmp/environment" 25
    for how in XGEMM_SPIN=keep XGEMM_MODE=cpu CUDA_VISIBLE_DEVICES= CUDA_VISIBLE_DEVICES=-1; do
        right "a device, measured, $how" device "$how" "$tmp/environment" -
        [ -z "$(export "$how"; spins)" ] || fail "xgemm-run sets a spin, $how"
    done
    right "a device, measured, short" device XGEMM_SPIN=short "$tmp/environment" 20
    right "no home" device XDG_CACHE_HOME= HOME=x "$tmp/environment" -
    for file in "$tmp"/cache/xgemm/wake-*; do
        sed -i 's/^boot=./boot=x/' "$file"
    done
    right "measured before the machine's start" device "$tmp/environment" -
    rm -r "$tmp/cache"
    measured 4000000
    [ -z "$(spins)" ] || fail "waking takes 4 ms"
    right "a device, waking takes 4 ms" device "$tmp/environment" -
    [ -z "$(XDG_CACHE_HOME=/proc spins)" ] || fail "measured although it cannot be kept"
fi

# Another library's getenv behind ours is asked first, and ours adds its answer.
if [ "$XG_SANITIZER" = no ]; then
    compile -shared -fPIC -DENVIRONMENT_BEHIND -o "$tmp/libbehind.so" "$srcdir/tests/preload/environment.c"
    cat >"$tmp/chain.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
static const char *said(const char *name) { const char *value = getenv(name); return value ? value : "-"; }
int main(void) { return printf("%s %s %s\n", said("ONLY_BEHIND"), said("HOME"), said("OPENBLAS_THREAD_TIMEOUT")) < 0; }
END
    compile -o "$tmp/chain" "$tmp/chain.c"
    said=$(XGEMM_SPIN=short LD_PRELOAD="$XG_SO:$tmp/libbehind.so" "$tmp/chain")
    [ "$said" = "behind - 20" ] || fail "another getenv behind: $said"
fi

# A resolver calls getenv while names are bound, lazily or at once: it chooses as without the library.
# It takes each path through getenv, and the program takes its function's address.
if [ "$XG_SANITIZER" = no ]; then
    cat >"$tmp/linked.c" <<'END'
#include <stdio.h>
extern int (*const environment_table[])(void);
int main(void) { return printf("chosen %d\n", environment_table[0]()) < 0; }
END
    for link in -Wl,-z,lazy -Wl,-z,now; do
        compile -shared -fPIC $link -DENVIRONMENT_CHOSEN -Wl,-soname,libchosen.so -o "$tmp/libchosen.so" \
            "$srcdir/tests/preload/environment.c"
        compile -shared -fPIC -DENVIRONMENT_TABLE -Wl,-soname,libtable.so -o "$tmp/libtable.so" \
            "$srcdir/tests/preload/environment.c" "$tmp/libchosen.so" -Wl,-rpath,"$tmp"
        compile -o "$tmp/linked" "$tmp/linked.c" "$tmp/libtable.so" "$tmp/libchosen.so" -Wl,-rpath,"$tmp"
        for how in LD_BIND_NOW= LD_BIND_NOW=1; do
            for spin in keep short; do
                alone=$(env $how "$tmp/linked" 2>&1)
                said=$(preloaded $how XGEMM_SPIN=$spin "$tmp/linked" 2>&1)
                [ "$alone" = "chosen 1" ] && [ "$said" = "$alone" ] ||
                    fail "a resolver in a library linked with $link, $how, $spin: $alone; preloaded $said"
            done
        done
    done
fi

# Functions of the process that call getenv while getenv runs. If getenv called more than the next
# getenv, each would recurse, wait for ever, or be called before its name is bound.
if [ "$XG_SANITIZER" = no ]; then
    # A program's string functions that call getenv once, as in profilers and debug allocators.
    cat >"$tmp/strings.c" <<'END'
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
static int on = -1;
static void look(void) { if (on < 0) on = getenv("XT_TRACE_STRINGS") != NULL; }
int strcmp(const char *a, const char *b) { look(); while (*a && *a == *b) a++, b++; return (unsigned char)*a - (unsigned char)*b; }
int strncmp(const char *a, const char *b, size_t n) { look(); for (; n; n--, a++, b++) if (*a != *b || !*a) return (unsigned char)*a - (unsigned char)*b; return 0; }
size_t strlen(const char *a) { look(); size_t n = 0; while (a[n]) n++; return n; }
void *memset(void *to, int c, size_t n) { look(); for (size_t i = 0; i < n; i++) ((volatile char *)to)[i] = (char)c; return to; }
int access(const char *path, int mode) { look(); return path && mode < 0; }
char *getauxval_name(void) { return getenv("OPENBLAS_THREAD_TIMEOUT"); }
int main(void) { return printf("%s\n", getauxval_name() ? getauxval_name() : "-") < 0; }
END
    openblas=$(real libopenblas.so.0)
    compile -fno-builtin -rdynamic -o "$tmp/strings" "$tmp/strings.c"
    [ -z "$openblas" ] || compile -fno-builtin -rdynamic -o "$tmp/strings_blas" "$tmp/strings.c" -Wl,--no-as-needed "$openblas"
    sed 's/^int main.*//' "$tmp/strings.c" >"$tmp/strings_library.c"
    compile -fno-builtin -shared -fPIC -o "$tmp/libstrings.so" "$tmp/strings_library.c"
    for program in "$tmp/strings" "$tmp/strings_blas"; do
        [ -x "$program" ] || continue
        said=$(preloaded XGEMM_SPIN=short "$program" 2>&1) && [ "$said" = 20 ] || fail "string functions that ask, ${program##*/}: $said"
    done
    for order in "$tmp/libstrings.so:$XG_SO" "$XG_SO:$tmp/libstrings.so"; do
        env LD_PRELOAD="$order" /bin/ls / >"$tmp/out" 2>&1 || fail "ls with string functions that ask, $order: $(cat "$tmp/out")"
    done

    # Resolvers as above, but of functions that this library is bound to, while the dynamic linker
    # binds them. The resolvers also make system calls that fail.
    cat >"$tmp/resolvers.c" <<'END'
#define _GNU_SOURCE
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static int compare(const char *a, const char *b) { while (*a && *a == *b) a++, b++; return (unsigned char)*a - (unsigned char)*b; }
static size_t length(const char *a) { size_t n = 0; while (a[n]) n++; return n; }
static void *fill(void *to, int c, size_t n) { for (size_t i = 0; i < n; i++) ((volatile char *)to)[i] = (char)c; return to; }
static int slowly(void) { return getenv("OPENBLAS_THREAD_TIMEOUT") || getenv("XT_NONE") || getenv("") || !syscall(SYS_close, -1) || !prctl(-1, 0, 0, 0, 0); }
static int (*choose_compare(void))(const char *, const char *) { return slowly() ? NULL : compare; }
static size_t (*choose_length(void))(const char *) { return slowly() ? NULL : length; }
static void *(*choose_fill(void))(void *, int, size_t) { return slowly() ? NULL : fill; }
int strcmp(const char *, const char *) __attribute__((ifunc("choose_compare")));
size_t strlen(const char *) __attribute__((ifunc("choose_length")));
void *memset(void *, int, size_t) __attribute__((ifunc("choose_fill")));
END
    # Orders in which any library calls the resolvers before they are relocated are left out.
    printf '#include <string.h>\nint any(char *a) { return strcmp(memset(a, 1, strlen(a)), a); }\n' >"$tmp/any.c"
    compile -fno-builtin -shared -fPIC -o "$tmp/libany.so" "$tmp/any.c"
    for link in -Wl,-z,lazy -Wl,-z,now; do
        compile -fno-builtin -shared -fPIC $link -o "$tmp/libresolvers.so" "$tmp/resolvers.c"
        for order in "$tmp/libresolvers.so:@" "@:$tmp/libresolvers.so"; do
            for how in LD_BIND_NOW= LD_BIND_NOW=1; do
                env LD_PRELOAD="${order%@*}$tmp/libany.so${order#*@}" $how "$tmp/chain" >"$tmp/alone" 2>/dev/null || continue
                env LD_PRELOAD="${order%@*}$XG_SO${order#*@}" $how XGEMM_SPIN=keep "$tmp/chain" >"$tmp/out" 2>&1 &&
                    cmp "$tmp/alone" "$tmp/out" ||
                    fail "resolvers of string functions that ask, $link, $how, $order: $(cat "$tmp/out")"
            done
        done
    done

    # Another preload in front, whose getenv and secure_getenv hold one lock around the next one's.
    cat >"$tmp/locks.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *ask(const char *function, const char *name)
{
    char *(*next)(const char *);
    *(void **)&next = dlsym(RTLD_NEXT, function);
    pthread_mutex_lock(&lock);
    char *value = next(name);
    pthread_mutex_unlock(&lock);
    return value;
}
char *getenv(const char *name) { return ask("getenv", name); }
char *secure_getenv(const char *name) { return ask("secure_getenv", name); }
END
    compile -shared -fPIC -o "$tmp/liblocks.so" "$tmp/locks.c" -ldl -pthread
    [ -e "$tmp/libdevice.so" ] || cp "$tmp/liblocks.so" "$tmp/libdevice.so"
    for how in XGEMM_MODE=auto XGEMM_MODE=cpu XGEMM_SPIN=short; do
        env $how LD_PRELOAD="$tmp/liblocks.so:$XG_SO:$tmp/libdevice.so" timeout -s KILL 20 "$tmp/chain" >"$tmp/out" 2>&1 ||
            fail "a getenv in front that holds a lock, $how: exit status $?"
    done

    # A process that may make no system calls but write and exit_group.
    cat >"$tmp/filtered.c" <<'END'
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "tests/support/filter.h"
int main(void)
{
    struct sock_filter code[] = {FILTER_NUMBER, FILTER_ALLOW(SYS_write), FILTER_ALLOW(SYS_exit_group),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    struct sock_fprog filter = {sizeof code / sizeof code[0], code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        return 77;
    char said[] = "-\n";
    const char *told = getenv("OPENBLAS_THREAD_TIMEOUT");
    said[0] = told ? told[0] : '-';
    (void)!write(1, said, 2);
    _exit(0);
}
END
    if $CC -iquote "$srcdir" -o "$tmp/filtered" "$tmp/filtered.c" 2>"$tmp/err"; then
        for how in XGEMM_SPIN=short:2 XGEMM_SPIN=keep:- XGEMM_MODE=cpu:- XGEMM_MODE=auto:-; do
            said=$(preloaded "${how%:*}" "$tmp/filtered" 2>&1)
            [ $? = 77 ] || [ "$said" = "${how#*:}" ] || fail "a process that filtered itself asks, $how: $said"
        done
    fi
fi

# OpenBLAS itself. 30 ms after a product its thread sleeps if the spin is short; otherwise it is
# awake at least 30 ms more (2^28 ticks of a clock of 4.4 GHz). On busy cores the thread may get no
# core to fall asleep on, and the check may come late: the best of several products counts.
openblas=$(real libopenblas.so.0)
[ -n "$openblas" ] || { echo "no OpenBLAS here: not tested"; exit $status; }
[ "$(nproc)" -gt 1 ] || { echo "one core: OpenBLAS has one thread"; exit $status; }
cat >"$tmp/spins.c" <<'END'
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);

/* Counts the other threads of the process that run or wait for a core. */
static int awake(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; (task = readdir(tasks));) {
        char name[300], state = 'S';
        snprintf(name, sizeof name, "/proc/self/task/%s/stat", task->d_name);
        FILE *file = atoi(task->d_name) && atoi(task->d_name) != getpid() ? fopen(name, "r") : NULL;
        if (file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1)
            count += state == 'R';
        if (file)
            fclose(file);
    }
    closedir(tasks);
    return count;
}

int main(void)
{
    enum { N = 400, TRIES = 20 };
    static float a[N * N], c[N * N];
    int asleep = 0;
    for (int i = 0; i < TRIES; i++) {
        cblas_sgemm(101, 111, 111, N, N, N, 1, a, N, a, N, 0, c, N);
        nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
        asleep += awake() == 0;
    }
    return printf("%d %d\n", asleep, TRIES - asleep) < 0;
}
END
compile -o "$tmp/spins" "$tmp/spins.c" "$openblas"
short=$(preloaded OPENBLAS_NUM_THREADS=2 XGEMM_SPIN=short "$tmp/spins")
keep=$(preloaded OPENBLAS_NUM_THREADS=2 XGEMM_SPIN=keep "$tmp/spins")
echo "after so many products OpenBLAS's thread was asleep, awake: $short; where it is kept: $keep"
[ "${short% *}" -gt 0 ] || fail "the thread does not fall asleep where the spin is short"
[ "${keep#* }" -gt 0 ] || fail "the thread falls asleep where its spin is kept: this test sees nothing"
[ "${short% *}" -gt "${keep% *}" ] || fail "no difference"
exit $status

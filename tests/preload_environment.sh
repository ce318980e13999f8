# SPDX-License-Identifier: MIT
# getenv answers what the environment holds; OpenBLAS alone is told to let its threads sleep soon,
# where the user has not said how long they spin.
# Contract 7.6, 7.7 (doc/contract.md).
. "$srcdir/tests/preload_lib"
unset LD_PRELOAD OPENBLAS_THREAD_TIMEOUT XGEMM_SPIN XGEMM_MODE CUDA_VISIBLE_DEVICES
export HOME="${HOME:-/}"
compile -shared -fPIC -DENVIRONMENT_LIBRARY -Wl,-soname,libasks.so -o "$tmp/libasks.so" \
    "$srcdir/tests/preload_environment.c"
compile -o "$tmp/environment" "$srcdir/tests/preload_environment.c" "$tmp/libasks.so" \
    -Wl,-rpath,"$tmp" -pthread

# told WANTED WHAT NAME=VALUE...
told() {
    told_wanted=$1
    told_what=$2
    shift 2
    right "$told_what" preloaded "$@" "$tmp/environment" $told_wanted
}

# By itself it depends on the machine; a device that is hidden from the program is none.
auto=-
for file in /dev/nvidiactl /proc/driver/nvidia/version /dev/dxg /dev/nvmap; do
    [ "$XG_WITH_CUDA" != yes ] || [ ! -e $file ] || auto=20
done
told $auto "auto"
told $auto "a word that is none" XGEMM_SPIN=long
told - "auto, on the CPU" XGEMM_MODE=cpu
told - "auto, devices hidden" CUDA_VISIBLE_DEVICES=
told - "auto, devices hidden by a number" CUDA_VISIBLE_DEVICES=-1
told 20 "short" XGEMM_SPIN=short
told 20 "short, on the CPU" XGEMM_SPIN=short XGEMM_MODE=cpu
told - "keep" XGEMM_SPIN=keep
told "26 set" "the user's" XGEMM_SPIN=short OPENBLAS_THREAD_TIMEOUT=26
for setting in short keep; do
    said=$(preloaded XGEMM_SPIN=$setting OPENBLAS_THREAD_TIMEOUT= "$tmp/environment" 2>&1)
    [ "$said" = "$(env OPENBLAS_THREAD_TIMEOUT= "$tmp/environment" 2>&1)" ] ||
        fail "an empty setting, $setting: $said"
done

# Another library's getenv behind ours is asked first, and ours adds its answer.
if [ "$XG_SANITIZER" = no ]; then
    compile -shared -fPIC -DENVIRONMENT_BEHIND -o "$tmp/libbehind.so" "$srcdir/tests/preload_environment.c"
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

# A function that is chosen while the program is linked, by a resolver that asks: as without the library.
if [ "$XG_SANITIZER" = no ]; then
    compile -shared -fPIC -DENVIRONMENT_CHOSEN -Wl,-soname,libchosen.so -o "$tmp/libchosen.so" \
        "$srcdir/tests/preload_environment.c"
    compile -shared -fPIC -DENVIRONMENT_TABLE -Wl,-soname,libtable.so -o "$tmp/libtable.so" \
        "$srcdir/tests/preload_environment.c" "$tmp/libchosen.so" -Wl,-rpath,"$tmp"
    cat >"$tmp/linked.c" <<'END'
#include <stdio.h>
extern int (*const environment_table[])(void);
int main(void) { return printf("chosen %d\n", environment_table[0]()) < 0; }
END
    compile -o "$tmp/linked" "$tmp/linked.c" "$tmp/libtable.so" "$tmp/libchosen.so" -Wl,-rpath,"$tmp"
    for how in LD_BIND_NOW=1 XGEMM_SPIN=keep XGEMM_SPIN=short; do
        alone=$(env $how "$tmp/linked" 2>&1)
        said=$(preloaded $how "$tmp/linked" 2>&1)
        [ "$alone" = "chosen 1" ] && [ "$said" = "$alone" ] || fail "a resolver, $how: $alone; preloaded $said"
    done
fi

# OpenBLAS itself. 30 ms after a product its thread sleeps where the spin is short, and else is awake for 30 ms
# more at least (2^28 ticks of a clock of 4.4 GHz). Where all cores are busy a thread may have had no core to fall
# asleep on, and the look may come late, so the best of several products counts.
openblas=$(real libopenblas.so.0)
[ -n "$openblas" ] || { echo "no OpenBLAS here: what it does was not seen"; exit $status; }
[ "$(nproc)" -gt 1 ] || { echo "one core: OpenBLAS has one thread"; exit $status; }
cat >"$tmp/spins.c" <<'END'
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);

/* Threads of the process but this one that run, or wait for a core. */
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

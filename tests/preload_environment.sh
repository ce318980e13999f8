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
for node in /dev/nvidiactl /dev/dxg /dev/nvmap; do
    [ ! -e $node ] || auto=20
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

# OpenBLAS itself: the time of the cores that its threads take once a product is over.
openblas=$(real libopenblas.so.0)
[ -n "$openblas" ] || { echo "no OpenBLAS here: what it does was not seen"; exit $status; }
cat >"$tmp/spins.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
static double used_s(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}
int main(void)
{
    enum { N = 400, TRIES = 5 };
    static float a[N * N], c[N * N];
    double least = 1;
    for (int i = 0; i < TRIES; i++) {
        cblas_sgemm(101, 111, 111, N, N, N, 1, a, N, a, N, 0, c, N);
        double begin_s = used_s();
        nanosleep(&(struct timespec){.tv_nsec = 250000000}, NULL);
        double spun_s = used_s() - begin_s;
        least = spun_s < least ? spun_s : least;
    }
    return printf("%.0f\n", 1e6 * least) < 0;
}
END
compile -o "$tmp/spins" "$tmp/spins.c" "$openblas"
# After 2^28 ticks of some clock in GHz they have taken 0.06 s at least of an idle core, after 2^20 0.5 ms.
short_us=$(preloaded OPENBLAS_NUM_THREADS=2 XGEMM_SPIN=short "$tmp/spins")
keep_us=$(preloaded OPENBLAS_NUM_THREADS=2 XGEMM_SPIN=keep "$tmp/spins")
echo "after a product OpenBLAS's thread took $short_us us, and $keep_us us where it is kept"
[ "$short_us" -lt 10000 ] || fail "the spin is not short: $short_us us"
[ "$(nproc)" -lt 2 ] || [ "$keep_us" -gt "$short_us" ] || fail "no difference: $keep_us us and $short_us us"
exit $status

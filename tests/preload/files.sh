# SPDX-License-Identifier: MIT
# Files that the environment names: none of them can block a program, and no other user chooses the
# file that is written. Contract 9.7, 10.6 (doc/contract.md).
. "$srcdir/tests/preload/lib"

quiet_stub "$tmp/libone.so"
stub "$tmp/libtwo.so" two -DSTUB_INT=int32_t -DSTUB_CBLAS=cblas_sgemm
program "$tmp/c" -DCALL_INT=int32_t -DCALL_CBLAS=cblas_sgemm -L"$tmp" -Wl,-rpath,"$tmp" -lone
"$tmp/c" own 64 >"$tmp/alone" || fail "alone: exit status $?"
mkfifo "$tmp/fifo"
mkdir "$tmp/folder"
ln -s fifo "$tmp/link"

# computes WHAT COMMAND...: the program's own library computes; messages are in $tmp/err.
computes() {
    what=$1
    shift
    "$@" timeout -s KILL 20 "$tmp/c" own 64 >"$tmp/out" 2>"$tmp/err" || fail "$what: exit status $?"
    diff "$tmp/alone" "$tmp/out" || fail "$what: another answer"
}

# refused WHAT NAME: NAME is ignored as XGEMM_CPU_BLAS, with one message.
refused() {
    computes "XGEMM_CPU_BLAS names $1" preloaded XGEMM_MODE=cpu XGEMM_STATS=1 XGEMM_CPU_BLAS="$2"
    grep -c "ignoring XGEMM_CPU_BLAS=$2: not a regular file" "$tmp/err" | grep -qx 1 ||
        fail_with "XGEMM_CPU_BLAS names $1: no message" "$tmp/err"
}

refused "a FIFO" "$tmp/fifo"
refused "a link to a FIFO" "$tmp/link"
refused "a folder" "$tmp/folder"
refused "a device" /dev/zero
refused "a terminal, or what is like one" /dev/null
refused "a pipe" /dev/stdin <>"$tmp/fifo"
refused "a pipe by its number" /proc/self/fd/0 <>"$tmp/fifo"
here=$PWD
cd "$tmp" && refused "a FIFO in this folder" ./fifo
cd "$here"
# Regular files are loaded as before, by any name.
ln -s libtwo.so "$tmp/named"
for name in "$tmp/libtwo.so" "$tmp/named" libtwo.so; do
    computes "$name" env LD_LIBRARY_PATH="$tmp" LD_PRELOAD="$preload" XGEMM_MODE=cpu XGEMM_STATS=1 XGEMM_CPU_BLAS="$name"
    grep -q '^two: ' "$tmp/err" || fail "$name: not used"
done
head -c 5000 "$tmp/libtwo.so" >"$tmp/short.so"
computes "a file that is cut short" preloaded XGEMM_MODE=cpu XGEMM_CPU_BLAS="$tmp/short.so"
grep -q "ignoring XGEMM_CPU_BLAS=$tmp/short.so: the file is cut short" "$tmp/err" || fail "a file that is cut short: no message"
computes "no such file" preloaded XGEMM_MODE=cpu XGEMM_STATS=1 XGEMM_CPU_BLAS="$tmp/none"
grep -q "ignoring XGEMM_CPU_BLAS=$tmp/none: .*No such file" "$tmp/err" || fail "no such file: no message"

# The file to write is a FIFO without a reader, a folder or a device.
for name in "$tmp/fifo" "$tmp/folder" /dev/full /dev/null; do
    computes "XGEMM_LOG=$name" preloaded XGEMM_MODE=cpu XGEMM_STATS=1 XGEMM_LOG="$name"
    computes "XGEMM_TRACE=$name" preloaded XGEMM_MODE=cpu XGEMM_TRACE="$name"
    grep -q "cannot append to XGEMM_TRACE=$name" "$tmp/err" || fail "XGEMM_TRACE=$name: no message"
done
for name in "$tmp/fifo" /dev/null; do
    computes "XGEMM_ACCOUNT=$name" preloaded XGEMM_MODE=cpu XGEMM_ACCOUNT="$name"
    grep -q "XGEMM_ACCOUNT=$name" "$tmp/err" || fail "XGEMM_ACCOUNT=$name: no message"
    computes "XGEMM_TAPE=$name" preloaded XGEMM_MODE=cpu XGEMM_TAPE="$name"
    grep -q "XGEMM_TAPE=$name" "$tmp/err" || fail "XGEMM_TAPE=$name: no message"
done
# The cache: the calibration, whose name doctor knows; what is remembered; and the cost of waking
# threads, for which the library looks when OpenBLAS asks for its variable, if there is a device.
interposer
cat >"$tmp/asks.c" <<'END'
#include <stdlib.h>
__attribute__((constructor)) static void ask(void)
{
    (void)getenv("OPENBLAS_THREAD_TIMEOUT");
}
END
$CC -shared -fPIC -o "$tmp/asks.so" "$tmp/asks.c" || exit 99
cache=$tmp/cache/xgemm
XDG_CACHE_HOME="$tmp/cache" "$builddir/tools/xgemm-doctor" --json="$tmp/json" "$tmp/c" own 5 >"$tmp/out" 2>&1
calibration=$(sed -n 's/.*"cpu_file":"\([^"]*\)".*/\1/p' "$tmp/json")
mkdir -p "$cache/history"
mkfifo "$calibration" "$cache/history/key" $(printf "$cache/wake-%02x\n" $(seq 0 255)) || exit 99
computes "a cache of FIFOs" timeout -s KILL 20 env -u XGEMM_HISTORY -u OPENBLAS_THREAD_TIMEOUT XT_FILES='0 /dev/dxg' \
    LD_PRELOAD="$preload:$tmp/interpose.so:$tmp/asks.so" XGEMM_STATS=1 XDG_CACHE_HOME="$tmp/cache"
grep -q "ignoring $calibration: " "$tmp/err" || fail_with "a cache of FIFOs: the calibration is none" "$tmp/err"

# A library that takes for ever to load, as on a dead file system: signals end the program.
cat >"$tmp/slow.c" <<'END'
#include <unistd.h>
__attribute__((constructor)) static void begin(void)
{
    write(1, "loading\n", 8);
    for (;;)
        pause();
}
END
$CC -shared -fPIC -o "$tmp/slow.so" "$tmp/slow.c" || exit 99
# A run by nohup ignores SIGHUP, and so do its children.
case $(sed -n 's/^SigIgn:.*\(.\)$/\1/p' /proc/self/status) in
[13579bdf]) signals=TERM ;;
*) signals='TERM HUP' ;;
esac
for signal in $signals; do
    # No function: the signal must reach the program, not a shell that would run this script's trap.
    env LD_PRELOAD="$preload" XGEMM_MODE=cpu XGEMM_STATS=1 XGEMM_CPU_BLAS="$tmp/slow.so" "$tmp/c" own 64 \
        >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    for turn in $(seq 200); do
        grep -q loading "$tmp/out" && break
        sleep 0.1
    done
    kill -$signal $pid
    for turn in $(seq 100); do
        kill -0 $pid 2>/dev/null || break
        sleep 0.1
    done
    kill -KILL $pid 2>/dev/null && fail "SIG$signal does not end a program that loads XGEMM_CPU_BLAS"
    wait $pid 2>/dev/null
done

# Standard error by its names, which are links of the system.
for name in /dev/stderr /proc/self/fd/2 /dev/fd/2; do
    computes "XGEMM_LOG=$name" preloaded XGEMM_MODE=cpu XGEMM_STATS=1 XGEMM_LOG="$name"
    grep -q 'products' "$tmp/err" || fail "XGEMM_LOG=$name: nothing there"
done

# writes WHAT NAME FILE: what is written to NAME is in FILE.
writes() {
    for variable in XGEMM_LOG XGEMM_TRACE; do
        rm -f "$3"
        computes "$variable: $1" preloaded XGEMM_MODE=cpu XGEMM_STATS=1 $variable="$2"
        [ -s "$3" ] || fail "$variable: $1: nothing in the file"
    done
}

# keeps WHAT NAME: a file that another user made is not written to, and a message says so.
keeps() {
    for variable in XGEMM_LOG XGEMM_TRACE; do
        computes "$variable: $1" preloaded XGEMM_MODE=cpu XGEMM_STATS=1 $variable="$2"
        grep -q "cannot append to $variable=$2" "$tmp/err" || fail "$variable: $1: no message"
    done
    find "$shared" "$tmp/private" -type f -size +0 | grep . && fail "$1: written to"
}

# A folder without the sticky bit that others may write to: with it kernels have their own rules.
shared=$tmp/shared
mkdir "$shared" "$tmp/private"
chmod 777 "$shared"
chmod 700 "$tmp/private"
target=$tmp/private/target
writes "a plain file" "$shared/plain" "$shared/plain"
ln -s "$target" "$shared/own"
writes "a link of the user's own" "$shared/own" "$target"
ln -s ../shared/own "$shared/owns"
writes "a link to a link" "$shared/owns" "$target"
ln -s "$tmp/private" "$shared/folder"
writes "a folder's link" "$shared/folder/target" "$target"
ln -s "$shared/own" "$tmp/private/link"
writes "a link in a folder of the user's own" "$tmp/private/link" "$target"
ln -s round "$shared/round"
rm -f "$shared/plain" "$target"
keeps "a link to itself" "$shared/round"
: >"$tmp/private/first"
ln "$tmp/private/first" "$shared/second"
keeps "a second name" "$shared/second"
rm -f "$shared"/* "$tmp/private"/*

# The rest needs a second user.
if [ "$(id -u)" = 0 ] && : >"$tmp/whose" && chown 65534 "$tmp/whose" 2>/dev/null; then
    : >"$target"
    ln -s "$target" "$shared/link"
    ln -s "$tmp/private" "$shared/folder"
    : >"$shared/file"
    mkdir "$shared/theirs"
    ln -s "$target" "$shared/theirs/link"
    ln -s "$shared/link" "$shared/mine"
    chown -h 65534 "$shared/link" "$shared/folder" "$shared/file" "$shared/theirs" "$shared/theirs/link"
    for name in link folder/target folder/new file theirs/link mine; do
        keeps "another user's $name" "$shared/$name"
    done
    computes "another user's link to a folder" preloaded XGEMM_MODE=cpu XGEMM_ACCOUNT="$shared/folder"
    grep -q "XGEMM_ACCOUNT=$shared/folder" "$tmp/err" || fail "another user's link to a folder: no message"
    computes "a tape, another user's link to a folder" preloaded XGEMM_MODE=cpu XGEMM_TAPE="$shared/folder"
    [ "$(ls "$tmp/private")" = target ] || fail "an account or a tape where another user's link leads"
    XGEMM_SPIN=short XGEMM_VERBOSE=1 XGEMM_LOG="$shared/link" "$builddir/tools/xgemm-run" true 2>&1 |
        grep -q '^xgemm-run: set for the program: ' || fail "xgemm-run: XGEMM_LOG is another user's link"
    "$builddir/tools/xgemm-doctor" --json="$shared/link" true >"$tmp/out" 2>&1 && fail "xgemm-doctor writes"
    report=$builddir/tools/xgemm-report
    if [ -x "$report" ] && "$report" --version >"$tmp/out" 2>&1; then
        preloaded XGEMM_MODE=cpu XGEMM_TRACE="$tmp/trace.json" "$tmp/c" own 64 >"$tmp/out" 2>&1
        "$report" -o "$tmp/page" "$tmp/trace.json" 2>"$tmp/err" || fail "xgemm-report"
        "$report" -o "$shared/link" "$tmp/trace.json" 2>"$tmp/err" && fail "xgemm-report writes"
    fi
    keeps "another user's link, once more" "$shared/link"
fi
exit $status

# SPDX-License-Identifier: MIT
# Configuration files: which one counts, how a wrong one is reported, that none blocks a program,
# and that a program without products opens none. The launcher and doctor read them as the library
# does. Contract 10.8 (doc/contract.md).
. "$srcdir/tests/preload/lib"
needs_plain_library
run=$builddir/tools/xgemm-run
[ -x "$run" ] || skip "$run has not been built"
forget_settings
unset OPENBLAS_THREAD_TIMEOUT GOMP_SPINCOUNT OMP_WAIT_POLICY LD_PRELOAD XDG_CONFIG_HOME
export HOME="$tmp/home" XGEMM_SHIM_LIB="$XG_SO"
user=$HOME/.config/xgemm/xgemm.conf
system=$("$run" --help | sed -n "s/.*goes before the system's, \(.*\)\.\$/\1/p")
mkdir -p "${user%/*}"
[ ! -e "$system" ] || skip "this machine has $system"

quiet_stub "$tmp/libone.so"
program "$tmp/c" -DCALL_INT=int32_t -DCALL_CBLAS=cblas_sgemm -L"$tmp" -Wl,-rpath,"$tmp" -lone

# config FILE LINE...
config() {
    config_file=$1
    shift
    printf '%s\n' "$@" >"$config_file"
}

# gives WHAT WORDS COMMAND...: the answer is right, and a line has WORDS ('': there is no line).
gives() {
    what=$1
    words=$2
    shift 2
    "$@" timeout -s KILL 20 "$tmp/c" own 5 >"$tmp/out" 2>"$tmp/err" || fail "$what: exit status $?"
    [ "$(cat "$tmp/out")" = 'own right' ] || fail "$what: another answer"
    if [ -n "$words" ]; then
        says "$what" "$words"
    elif [ -s "$tmp/err" ]; then
        fail_with "$what: messages" "$tmp/err"
    fi
}

# --- What counts ----------------------------------------------------------------------------------

on_cpu='CPU   XGEMM_MODE '
gives "no file" '' preloaded
config "$user" '# of this test' 'XGEMM_MODE = cpu' 'XGEMM_STATS=1 # told at exit'
gives "the user's" "$on_cpu" preloaded
gives "the environment wins" '' preloaded XGEMM_STATS=0
gives "the environment wins, empty" '' preloaded XGEMM_STATS=

# with_system COMMAND...: runs it in a mount namespace where $tmp/system is the system's file.
with_system() {
    unshare $map -m sh -c 'mount -t tmpfs -o mode=755 tmpfs "${1%/*}" && cp -p "$2" "$1" && shift 2 && exec "$@"' \
        sh "$system" "$tmp/system" "$@"
}
map=
[ "$(id -u)" = 0 ] || map=-r
config "$tmp/system" 'XGEMM_MODE = cpu' 'XGEMM_STATS = 1'
namespace=no
if [ -d "${system%/*}" ] && with_system true 2>"$tmp/err"; then
    namespace=yes
    rm "$user"
    gives "the system's" "$on_cpu" with_system env LD_PRELOAD="$preload"
    config "$user" 'XGEMM_STATS = 0'
    gives "the user's before the system's" '' with_system env LD_PRELOAD="$preload"
else
    echo "not tried: the system's file, which takes a mount namespace"
fi

# With another group's rights: no file of the caller, and the system's only if root alone writes it.
compile -DMAIN_OWN -DCALL_INT=int32_t -DCALL_CBLAS=cblas_sgemm -o "$tmp/secure" "$srcdir/tests/preload/main.c" \
    "$srcdir/tests/preload/caller.c" -Wl,--no-as-needed "$XG_SO" -L"$tmp" -lone -Wl,-rpath,"${XG_SO%/*}:$tmp" -lm \
    -ldl -pthread
config "$user" "XGEMM_LOG = $tmp/log" 'XGEMM_STATS = 1'
cp "$tmp/c" "$tmp/kept" && cp "$tmp/secure" "$tmp/c"
gives "linked" '' env
[ -s "$tmp/log" ] || fail "linked: no log"
rm -f "$tmp/log"
printf '#include <sys/auxv.h>\nint main(void) { return !getauxval(AT_SECURE); }\n' >"$tmp/is_secure.c"
compile -o "$tmp/is_secure" "$tmp/is_secure.c"
if chgrp 65534 "$tmp/c" "$tmp/is_secure" 2>"$tmp/err" && chmod 2755 "$tmp/c" "$tmp/is_secure" && "$tmp/is_secure"; then
    gives "set-group-ID" '' env
    gives "set-group-ID, XGEMM_CONFIG" '' env XGEMM_CONFIG="$user" XGEMM_VERBOSE=1
    [ ! -e "$tmp/log" ] || fail "set-group-ID: a log of the caller's choice"
    if [ $namespace = yes ]; then
        gives "set-group-ID, the system's" "$on_cpu" with_system env
        chmod 666 "$tmp/system"
        gives "set-group-ID, writable by all" '' with_system env
        chmod 644 "$tmp/system"
    fi
else
    echo "not tried: a program with the rights of another group"
fi
mv "$tmp/kept" "$tmp/c"

# --- Messages -------------------------------------------------------------------------------------

# wrong WHAT WORDS: $tmp/wrong is reported with WORDS. The library does so once if messages are on;
# the launcher always does, once.
wrong() {
    gives "$1" '' preloaded XGEMM_CONFIG="$tmp/wrong"
    gives "$1" "$2" preloaded XGEMM_CONFIG="$tmp/wrong" XGEMM_VERBOSE=1
    expect "$1: how often" "$(grep -c -e "$2" "$tmp/err")" 1
    XGEMM_CONFIG="$tmp/wrong" timeout -s KILL 20 "$run" true >"$tmp/out" 2>"$tmp/err" ||
        fail "$1: xgemm-run: exit status $?"
    expect "$1: xgemm-run" "$(grep -c -e "$2" "$tmp/err")" 1
}

config "$tmp/wrong" '' 'XGEMM_MOED = gpu'
wrong "a name" "^xgemm: $tmp/wrong:2: XGEMM_MOED is not a setting; did you mean XGEMM_MODE?\$"
config "$tmp/wrong" 'XGEMM_MODE = fast'
wrong "a value" "^xgemm: $tmp/wrong:1: XGEMM_MODE=fast is not understood (accepted: auto|cpu"
{ printf 'XGEMM_MODE = '; head -c 30000 /dev/zero | tr '\0' x; } >"$tmp/wrong"
wrong "a long value" "$tmp/wrong:1: XGEMM_MODE=xxx"
head -c 65537 /dev/zero | tr '\0' '\n' >"$tmp/wrong"
wrong "a huge file" "$tmp/wrong is larger than 64 KiB"
rm "$tmp/wrong"
mkfifo "$tmp/wrong"
wrong "a FIFO" "$tmp/wrong is no regular file"
rm "$tmp/wrong"
ln -s /dev/zero "$tmp/wrong"
wrong "a device" "$tmp/wrong is no regular file"
rm "$tmp/wrong"
ln -s wrong "$tmp/wrong"
wrong "a link to itself" "$tmp/wrong is not there"
rm "$tmp/wrong"
config "$tmp/wrong" 'XGEMM_STATS = 1'
chmod 000 "$tmp/wrong"
[ -r "$tmp/wrong" ] || wrong "a closed file" "$tmp/wrong cannot be opened"
rm "$tmp/wrong"
config "$tmp/another" 'XGEMM_MODE = cpu' 'XGEMM_STATS = 1'
ln -s "$tmp/another" "$tmp/wrong"
gives "a link to a file" "$on_cpu" preloaded XGEMM_CONFIG="$tmp/wrong"
rm "$tmp/wrong"

# In a home folder that other users may write to, the files of other users do not count.
mkdir -m 1777 "$tmp/shared"
mkdir -p "$tmp/shared/.config/xgemm"
config "$tmp/shared/.config/xgemm/xgemm.conf" 'XGEMM_MODE = cpu' 'XGEMM_STATS = 1'
chmod 1777 "$tmp/shared"
gives "the user's file in a shared home" "$on_cpu" preloaded HOME="$tmp/shared"
if [ "$(id -u)" = 0 ] && chown -R 65534 "$tmp/shared/.config" 2>"$tmp/err"; then
    gives "another user's file" '' preloaded HOME="$tmp/shared"
    gives "another user's file" "shared/.config/xgemm/xgemm.conf cannot be opened" preloaded HOME="$tmp/shared" \
        XGEMM_VERBOSE=1
    mv "$tmp/shared/.config/xgemm/xgemm.conf" "$tmp/shared/file"
    chown -R "$(id -u)" "$tmp/shared/.config"
    ln -s ../../file "$tmp/shared/.config/xgemm/xgemm.conf"
    chmod 1777 "$tmp/shared/.config/xgemm"
    gives "a link to another user's file" '' preloaded HOME="$tmp/shared"
fi

# Variables.
export XGEMM_CONFIG=
meant='^xgemm: XGEMM_MOED is not a setting; did you mean XGEMM_MODE?$'
gives "a variable" '' preloaded XGEMM_MOED=gpu
gives "a variable" "$meant" preloaded XGEMM_MOED=gpu XGEMM_VERBOSE=1
expect "a variable: how often" "$(grep -c MOED "$tmp/err")" 1
XGEMM_MOED=gpu "$run" true 2>"$tmp/err"
grep -q "$meant" "$tmp/err" || fail "xgemm-run does not say what is misspelt"
gives "variables of tests and tools" '' preloaded XGEMM_TEST_ANYTHING=1 XGEMM_DOCTOR_FOLDER="$tmp/none"
gives "variables of others" 'cblas_sgemm 5x6x7' preloaded XGEM_MODE=1 XGEMM_TEST_ANYTHING=1 XGEMM_VERBOSE=1
grep -q 'not a setting' "$tmp/err" && fail "known variables are reported"
unset XGEMM_CONFIG
gives "a HOME that is no folder" '' preloaded HOME=/dev/null
config "$user" "XGEMM_LOG = $tmp/log" 'XGEMM_VERBOSE = 1' 'XGEMM_MOED = gpu'
gives "told where XGEMM_LOG says" '' preloaded
grep -q 'xgemm.conf:3: XGEMM_MOED' "$tmp/log" || fail "the log lacks what is misspelt"

# --- When it is read ------------------------------------------------------------------------------

# A program without products opens no file; one with products opens it once.
if strace -o /dev/null true 2>/dev/null; then
    strace -f -E LD_PRELOAD="$XG_SO" -o "$tmp/calls" true
    grep -q libxgemm_shim "$tmp/calls" || fail "the library is not preloaded"
    grep -v libxgemm_shim "$tmp/calls" | grep 'xgemm\.conf' && fail "a program that multiplies nothing looks for the file"
    strace -f -E LD_PRELOAD="$XG_SO" -o "$tmp/calls" "$tmp/c" own 5 own 6 >"$tmp/out"
    expect "how often it is opened" "$(grep -c 'open.*"xgemm\.conf"' "$tmp/calls")" 1
fi

# A process that has filtered its system calls opens no file, because that would end it; one that
# filters them later keeps what it has read.
compile -o "$tmp/sandbox" "$srcdir/tests/preload/sandbox.c" "$tmp/libone.so" -Wl,-rpath,"$tmp" -pthread
for count in 0 1; do
    for how in strict prctl syscall; do
        "$tmp/sandbox" $how $count 0.1 >"$tmp/out" 2>&1 || continue
        preloaded "$tmp/sandbox" $how $count 0.1 >"$tmp/out" 2>&1 ||
            fail "$how after $count products: $(cat "$tmp/out")"
    done
done

# --- The tools ------------------------------------------------------------------------------------

config "$user" 'XGEMM_MATH = tf32' "XGEMM_LOG = $tmp/it's \$(touch BAD);*" 'XGEMM_SPIN = keep'
expect "run" "$("$run" printenv XGEMM_MATH XGEMM_LOG XGEMM_SPIN)" \
    "$(printf 'tf32\n%s\nkeep' "$tmp/it's \$(touch BAD);*")"
expect "run, the environment" "$(XGEMM_MATH=strict "$run" printenv XGEMM_MATH)" strict
expect "run, the environment, empty" "$(XGEMM_MATH= "$run" printenv XGEMM_MATH)" ''
expect "XGEMM_SPIN=keep" "$("$run" printenv OPENBLAS_THREAD_TIMEOUT GOMP_SPINCOUNT)" ''
for form in 'eval $("$1" env)' 'eval "$("$1" env)"'; do
    expect "$form" "$(cd "$tmp" && sh -c "$form"'; printenv XGEMM_MATH XGEMM_LOG' sh "$run")" \
        "$(printf 'tf32\n%s' "$tmp/it's \$(touch BAD);*")"
done
[ ! -e BAD ] && [ ! -e "$tmp/BAD" ] || fail "a value is executed"
config "$user" 'XGEMM_SPIN = short'
expect "XGEMM_SPIN=short" "$("$run" printenv OPENBLAS_THREAD_TIMEOUT GOMP_SPINCOUNT)" "$(printf '20\n10000')"
expect "--keep-env" "$("$run" --keep-env printenv XGEMM_SPIN)" keep
config "$user" 'XGEMM_MODE = cpu' 'XGEMM_SPIN = short' "XGEMM_LOG = $tmp/told" 'XGEMM_VERBOSE = 1'
"$run" "$tmp/c" own 5 >"$tmp/out" 2>"$tmp/err" || fail "run: exit status $?"
[ ! -s "$tmp/err" ] && grep -q '^xgemm-run: set for the program' "$tmp/told" && grep -q ': XGEMM_MODE$' "$tmp/told" ||
    fail "messages go elsewhere than to the file's XGEMM_LOG"

if [ -x "$builddir/tools/xgemm-doctor" ]; then
    config "$user" 'XGEMM_MODE = cpu' 'XGEMM_TRAEC = x' "XGEMM_CPU_BLAS = libm.so.6"
    XGEMM_MOED=gpu "$run" doctor --json >"$tmp/json" 2>"$tmp/err"
    expect "doctor: exit status" $? 1
    [ ! -s "$tmp/err" ] || fail "doctor prints messages beside its report"
    for words in '"settings_of_files":\[{"name":"XGEMM_MODE","value":"cpu","file":"'"$user"'","line":1}' \
        '"id":"setting.mode-cpu"' '"id":"setting.cpu-blas"' \
        "$user:2: XGEMM_TRAEC is not a setting; did you mean XGEMM_TRACE?" \
        'XGEMM_MOED is not a setting; did you mean XGEMM_MODE?'; do
        grep -q -e "$words" "$tmp/json" || fail_with "doctor: does not say $words" "$tmp/json"
    done
    "$run" doctor >"$tmp/out" 2>&1
    grep -q "file *XGEMM_MODE=cpu, line 1 of" "$tmp/out" || fail "doctor, in words"
fi
exit $status

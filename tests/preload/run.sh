# SPDX-License-Identifier: MIT
# xgemm-run: preloads, passes on arguments, input and exit status, compares, and explains itself.
. "$srcdir/tests/preload/lib"
needs_plain_library
run=$builddir/tools/xgemm-run
[ -x "$run" ] || skip "$run has not been built"
unset LD_PRELOAD OPENBLAS_THREAD_TIMEOUT XGEMM_VERBOSE XGEMM_LOG XGEMM_SPIN GOMP_SPINCOUNT OMP_WAIT_POLICY
export XGEMM_SHIM_LIB="$XG_SO"

expect "arguments" "$("$run" sh -c 'echo "$#:$2"' sh 'a  b' '*')" '2:*'
expect "options of the program" "$("$run" -- echo --ab --help)" '--ab --help'
expect "LD_PRELOAD" "$("$run" printenv LD_PRELOAD)" "$(readlink -f "$XG_SO")"
expect "an older LD_PRELOAD" "$(LD_PRELOAD=libm.so.6 "$run" printenv LD_PRELOAD)" \
    "$(readlink -f "$XG_SO"):libm.so.6"
expect "standard input" "$(echo text | "$run" cat)" text
"$run" sh -c 'exit 9'
expect "exit status" $? 9
"$run" "$tmp/no such program" 2>/dev/null
expect "no such program" $? 127
# The message about a program that cannot be run contains no line of the launcher's script.
echo text >"$tmp/text"
for wrong in 'nonexist:127:not found' "$tmp/no such file:127:not found" "$tmp/text:126:Permission denied" "$tmp:126:Permission denied"; do
    "$run" "${wrong%%:*}" 2>"$tmp/err"
    expect "what is no program" "$?:$(cat "$tmp/err")" "$(echo "$wrong" | cut -d: -f2):xgemm-run: exec: ${wrong%%:*}: ${wrong##*:}"
done
for wrong in '' --no-such-option; do
    "$run" $wrong >/dev/null 2>"$tmp/err"
    expect "misuse" "$?:$(grep -c help "$tmp/err")" 125:1
done
XGEMM_SHIM_LIB=$tmp/nowhere.so "$run" true 2>/dev/null
expect "no library" $? 125

# The variables for the CPU library's threads. Which values follow from the machine is tested by
# preload/environment; XGEMM_SPIN=short sets them on every machine. The user's own values stay.
timeout=OPENBLAS_THREAD_TIMEOUT
expect "a spin that is kept" "$(XGEMM_SPIN=keep "$run" printenv $timeout GOMP_SPINCOUNT; echo $?)" 1
expect "a spin on the CPU" "$(XGEMM_MODE=cpu "$run" printenv $timeout GOMP_SPINCOUNT; echo $?)" 1
export XGEMM_SPIN=short
expect "a short spin" "$("$run" printenv $timeout)" 20
expect "the user's spin" "$(env $timeout=26 "$run" printenv $timeout)" 26
expect "an empty setting" "$(env $timeout= "$run" printenv $timeout; echo $?)" "$(printf '\n0')"
expect "--keep-env" "$("$run" --keep-env -- printenv $timeout; echo $?)" 1
expect "--keep-env, a value" "$(env $timeout=26 "$run" --keep-env printenv $timeout)" 26
expect "--keep-env, the library's answer" "$(unset XGEMM_SPIN; "$run" --keep-env printenv XGEMM_SPIN)" keep
expect "--keep-env, the user's answer" "$("$run" --keep-env printenv XGEMM_SPIN)" short
expect "no word on the library's answer" "$(unset XGEMM_SPIN; "$run" printenv XGEMM_SPIN)" ''
rounds=GOMP_SPINCOUNT
expect "libgomp's short spin" "$("$run" printenv $rounds)" 10000
expect "the user's rounds" "$(env $rounds=7 "$run" printenv $rounds)" 7
expect "the user's policy" "$(OMP_WAIT_POLICY=active "$run" printenv $rounds; echo $?)" 1
expect "an empty policy" "$(OMP_WAIT_POLICY= "$run" printenv $rounds; echo $?)" 1
expect "the user's policy, OpenBLAS" "$(OMP_WAIT_POLICY=active "$run" printenv $timeout)" 20
expect "--keep-env, libgomp" "$("$run" --keep-env printenv $rounds; echo $?)" 1
expect "silence" "$("$run" true 2>&1)" ''
expect "XGEMM_VERBOSE=0" "$(XGEMM_VERBOSE=0 "$run" true 2>&1)" ''
said="xgemm-run: set for the program: $timeout=20 $rounds=10000"
expect "XGEMM_VERBOSE=1" "$(XGEMM_VERBOSE=1 "$run" sh -c : 2>&1 | grep -c "^$said")" 1
expect "XGEMM_VERBOSE=1, kept" "$(XGEMM_VERBOSE=1 "$run" --keep-env true 2>&1)" ''
expect "XGEMM_VERBOSE=1, the user's" "$(env $timeout=26 $rounds=7 XGEMM_VERBOSE=1 "$run" true 2>&1)" ''
expect "XGEMM_LOG" "$(XGEMM_VERBOSE=3 XGEMM_LOG=$tmp/said "$run" true 2>&1)" ''
expect "XGEMM_LOG's text" "$(grep -c "^$said" "$tmp/said")" 1
expect "an XGEMM_LOG that cannot be" \
    "$(XGEMM_VERBOSE=1 XGEMM_LOG=$tmp/no/said "$run" true 2>&1 | grep -c "^$said")" 1
mkfifo "$tmp/fifo" && expect "a FIFO without a reader" \
    "$(XGEMM_VERBOSE=1 XGEMM_LOG=$tmp/fifo timeout 10 "$run" echo ran 2>/dev/null)" ran

# Every variable that the library reads is explained, and no placeholder of the template is left.
"$run" --help >"$tmp/help" || fail "--help: exit status $?"
"$builddir/tools/xgemm-settings" --all >"$tmp/settings" || fail "--all: exit status $?"
for name in $(sed -n 's/.*; *\/\* \(XGEMM_[A-Z_]*\)[=: ].*/\1/p' "$srcdir/src/base/conf.h"); do
    grep -q "^ *$name=" "$tmp/settings" || fail "nothing explains $name"
    explained=yes
done
[ "${explained-}" = yes ] || fail "no variable found in src/base/conf.h"
grep -q "^ *$timeout, $rounds$" "$tmp/help" || fail "--help does not say what is set"
grep '@' "$run" | grep -v '"\$@"' && fail "something is left of the template"

# An installed launcher finds the library relative to itself, wherever the tree has been moved.
unset XGEMM_SHIM_LIB
libdir=$(sed -n "s/^libdir='\(.*\)'/\1/p" "$run") prefix=$(sed -n "s/^prefix='\(.*\)'/\1/p" "$run")
mkdir -p "$tmp/moved/bin" "$tmp/moved/${libdir#"$prefix"/}" "$tmp/elsewhere"
cp "$run" "$tmp/moved/bin/xgemm-run"
cp "$XG_SO" "$tmp/moved/${libdir#"$prefix"/}/libxgemm_shim.so"
ln -s "$tmp/moved/bin/xgemm-run" "$tmp/elsewhere/run"
expect "a moved tree" "$("$tmp/elsewhere/run" printenv LD_PRELOAD)" \
    "$(readlink -f "$tmp/moved")/${libdir#"$prefix"/}/libxgemm_shim.so"

# In a build tree it finds the library that was built with it.
expect "a build tree" "$("$run" printenv LD_PRELOAD)" "$(readlink -f "$XG_SO")"

# ab: both runs read the input from its start, and the account says what was multiplied.
export XGEMM_SHIM_LIB="$XG_SO"
stub "$tmp/libone.so" one -DSTUB_INT=int32_t -DSTUB_CBLAS=cblas_sgemm
program "$tmp/main" -DCALL_INT=int32_t -DCALL_CBLAS=cblas_sgemm "$tmp/libone.so" -Wl,-rpath,"$tmp"
echo 'one line' >"$tmp/input"
"$run" --ab sh -c 'cat; "$0" own 9; exit 3' "$tmp/main" <"$tmp/input" >"$tmp/out" 2>"$tmp/err"
expect "--ab: exit status" $? 3
expect "--ab: output" "$(cat "$tmp/out")" "$(printf 'one line\nown right\none line\nown right')"
says "--ab" 'xgemm-run: CPU library .* s, exit status 3' 'xgemm-run: preloaded .* s, exit status 3' 'xgemm: 2 products'
"$run" --ab true 2>"$tmp/err" </dev/null
grep -q 'no call of Level 3 BLAS or LAPACK was intercepted' "$tmp/err" || fail "--ab true: $(cat "$tmp/err")"

# ab runs the plain program first, then the program as xgemm-run runs it, and says so.
show='echo "${OPENBLAS_THREAD_TIMEOUT-unset}"'
said="the preloaded runs had $rounds=10000 $timeout=20"
expect "--ab: what is set" "$("$run" --ab sh -c "$show" 2>"$tmp/err")" "$(printf 'unset\n20')"
grep -q "$said" "$tmp/err" || fail "--ab does not say what it set: $(cat "$tmp/err")"
expect "--ab: the user's" "$(env $timeout=26 $rounds=7 "$run" --ab sh -c "$show" 2>"$tmp/err")" \
    "$(printf '26\n26')"
grep -q "the preloaded runs had" "$tmp/err" && fail "--ab says that it set what it did not"
expect "--ab --keep-env" "$("$run" --ab --keep-env sh -c "$show" 2>"$tmp/err")" \
    "$(printf 'unset\nunset')"
grep -q "the preloaded runs had" "$tmp/err" && fail "--ab --keep-env says that it set something"
exit $status

# SPDX-License-Identifier: MIT
# xgemm-run and its subcommands: which program runs, with which arguments, settings and input, how often; what they
# print; how they end.
. "$srcdir/tests/preload/lib"
needs_plain_library
run=$builddir/tools/xgemm-run
[ -x "$run" ] && [ -x "$builddir/tools/xgemm-watch" ] || skip "$run has not been built"
unset LD_PRELOAD OPENBLAS_THREAD_TIMEOUT GOMP_SPINCOUNT OMP_WAIT_POLICY XGEMM_SPIN XGEMM_VERBOSE XGEMM_LOG XGEMM_STATS XGEMM_MODE XGEMM_ACCOUNT
export XGEMM_SHIM_LIB="$XG_SO" TMPDIR="$tmp/folders"
mkdir "$TMPDIR" "$tmp/bin"
library=$(readlink -f "$XG_SO")
quiet_stub "$tmp/libone.so"
compile -o "$tmp/tool" "$srcdir/tests/preload/tool.c" "$tmp/libone.so" -Wl,-rpath,"$tmp"

# --- One run --------------------------------------------------------------------------------------

expect "arguments" "$("$run" sh -c 'echo "$#:$2"' sh 'a  b' '*')" '2:*'
expect "options of the program" "$("$run" -- echo --ab --help)" '--ab --help'
expect "LD_PRELOAD" "$("$run" printenv LD_PRELOAD)" "$(readlink -f "$XG_SO")"
expect "an older LD_PRELOAD" "$(LD_PRELOAD=libm.so.6 "$run" printenv LD_PRELOAD)" \
    "$(readlink -f "$XG_SO"):libm.so.6"
expect "standard input" "$(echo text | "$run" cat)" text
"$run" sh -c 'exit 9'
expect "exit status" $? 9
# The message about a program that cannot be run contains no line of the launcher's script.
echo text >"$tmp/text"
for wrong in 'nonexist:127:not found' "$tmp/no such file:127:not found" "$tmp/text:126:Permission denied" "$tmp:126:Permission denied"; do
    "$run" "${wrong%%:*}" 2>"$tmp/err"
    expect "what is no program" "$?:$(cat "$tmp/err")" "$(echo "$wrong" | cut -d: -f2):xgemm-run: exec: ${wrong%%:*}: ${wrong##*:}"
done
XGEMM_SHIM_LIB=$tmp/nowhere.so "$run" true 2>/dev/null
expect "no library" $? 125


# --- Which subcommand, which options --------------------------------------------------------------

for name in doctor top; do
    printf '#!/bin/sh\necho "the program %s: $*"\n' $name >"$tmp/bin/$name"
    chmod 755 "$tmp/bin/$name"
done
PATH=$tmp/bin:$PATH
expect "-- doctor" "$("$run" -- doctor a)" 'the program doctor: a'
expect "run doctor" "$("$run" run doctor a)" 'the program doctor: a'
expect "run --keep-env --" "$("$run" run --keep-env -- doctor --json)" 'the program doctor: --json'
expect "--keep-env run" "$("$run" --keep-env run top -n 3)" 'the program top: -n 3'
expect "env, the program" "$("$run" env A=7 printenv A LD_PRELOAD)" "$(printf '7\n%s' "$library")"
"$run" --ab top x >"$tmp/out" 2>"$tmp/err"
expect "--ab top" "$(sort -u "$tmp/out")" 'the program top: x'
expect "--version" "$("$run" --version | grep -c '^xgemm-run (libxgemm_shim) [0-9.]*$')" 1
expect "-h" "$("$run" -h)" "$("$run" --help)"
for name in run ab top report doctor calibrate env; do
    expect "$name -h" "$("$run" $name -h | sed -n 1p | grep -c "usage: xgemm-run \[*$name")" 1
done
while read -r wrong; do # the first is no word at all
    "$run" $wrong >"$tmp/out" 2>"$tmp/err"
    expect "misuse: $wrong" "$?:$(grep -c help "$tmp/err"):$(cat "$tmp/out")" 125:1:
done <<'END'

--no-such-option
run
ab
top
report
--ab
ab -n 0 true
ab -n 101 true
ab -n true
ab -n
run -n 3 true
ab -o x true
top --json true
--json=file true
doctor --json=
report --list true
doctor --keep-env
--ab --top true
--report
calibrate true
calibrate -n 3
env --keep-env true
END

# --- Settings for the CPU library's threads -------------------------------------------------------

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

unset XGEMM_SPIN

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

# --- env ------------------------------------------------------------------------------------------

export XGEMM_SPIN=short
expect "env" "$("$run" env)" "$(printf "export LD_PRELOAD='%s';\nexport OPENBLAS_THREAD_TIMEOUT='20';\nexport GOMP_SPINCOUNT='10000';" "$library")"
expect "env --keep-env" "$(unset XGEMM_SPIN; "$run" env --keep-env)" \
    "$(printf "export LD_PRELOAD='%s';\nexport XGEMM_SPIN='keep';" "$library")"
show='eval $("$1" env); eval $("$1" env); printenv LD_PRELOAD OPENBLAS_THREAD_TIMEOUT'
expect "eval, twice" "$(sh -c "$show" sh "$run")" "$(printf '%s\n20' "$library")"
expect "eval, quoted" "$(sh -c 'eval "$("$1" env)"; printenv LD_PRELOAD' sh "$run")" "$library"
expect "eval, an older LD_PRELOAD" "$(LD_PRELOAD='libm.so.6 libdl.so.2' sh -c "$show" sh "$run")" \
    "$(printf '%s:libm.so.6 libdl.so.2\n20' "$library")"
unset XGEMM_SPIN

# No value is run as a command, in either form of eval, and each stays unchanged, also beside files
# that match its words as patterns. Values that eval would change are refused; nothing is set then.
mkdir "$tmp/hostile" && cd "$tmp/hostile" || exit 99
touch "XGEMM_SPIN='a*b';" "XGEMM_SPIN='a'\\*'b';" "XGEMM_SPIN=a*b;" "XGEMM_SPIN='axb';" "XGEMM_SPIN=axb;"
set -- short 'a b' 'a  b' ' a ' 'x; touch BAD' 'keep touch=BAD A$(touch${IFS}BAD)=1' '$(touch BAD)' \
    '`touch BAD`' "'; touch BAD; '" "it's" 'a*b' '*' '?' '[a-z]*' 'a\b' '\' 'a"b' '#a' '~' '$HOME' '{a,b}' \
    '!a' '-n' '%s' '&' '|' '>BAD'
for shell in sh dash bash busybox\ sh zsh; do
    command -v "${shell% *}" >/dev/null || continue
    for form in 'eval $("$1" env --keep-env)' 'eval "$("$1" env --keep-env)"'; do
        for value; do
            expect "$shell, $form" "$(XGEMM_SPIN=$value LD_PRELOAD="libm.so.6 libdl.so.2" \
                $shell -c "$form"'; printf "%s\n" "$XGEMM_SPIN." "$LD_PRELOAD"; env' sh "$run" |
                grep -v '^\(PWD\|OLDPWD\|SHLVL\|_\)=' >"$tmp/evaluated"; sed -n 1,2p "$tmp/evaluated")" \
                "$(printf '%s\n' "$value." "$library:libm.so.6 libdl.so.2")"
            grep -q '^\(touch\|A\)=' "$tmp/evaluated" && fail "$shell, $form: a name of '$value' is set"
        done
    done
done
[ ! -e BAD ] || fail "env: a word of XGEMM_SPIN was run"
for value in "$(printf 'a\nb')" "$(printf 'a\tb')"; do
    XGEMM_SPIN=$value "$run" env --keep-env >"$tmp/out" 2>"$tmp/err"
    expect "env, a control character" "$?:$(cat "$tmp/out")" 125:
    says "env, a control character" 'XGEMM_SPIN contains a control character'
done
mkdir "it's" && cp "$XG_SO" "it's/lib\$(x)*.so"
expect "env, a library with a strange name" "$(XGEMM_SHIM_LIB="$PWD/it's/lib\$(x)*.so" \
    sh -c 'eval $("$1" env); printenv LD_PRELOAD' sh "$run")" "$(pwd -P)/it's/lib\$(x)*.so"
expect "env, nowhere to print" "$("$run" env >/dev/full 2>/dev/null; echo $?)" 125
cd "$OLDPWD" || exit 99

# --- ab -------------------------------------------------------------------------------------------

# ab alternates the runs and which one comes first, and counts every process.
"$run" ab -n 5 sh -c 'echo "${XGEMM_MODE-gpu}" >>"$1"; [ -n "${XGEMM_ACCOUNT-}" ] || sleep 0.5
    exec "$2" exit _exit kill exec' sh "$tmp/turns" "$tmp/tool" >"$tmp/out" 2>"$tmp/err"
expect "ab: exit status" $? 3
expect "ab: turns" "$(tr '\n' ' ' <"$tmp/turns")" 'cpu gpu gpu cpu cpu gpu gpu cpu cpu gpu '
says "ab" 'CPU library .* s (median of 5 runs, .* to .*), exit status 3$' \
    'preloaded .* s (median of 5 runs, .* to .*), exit status 3$' 'times as fast$' \
    'the difference is real: p = 0.0' 'in order: CPU .*, preloaded .*, preloaded .*, CPU ' \
    '5 processes multiplied in preloaded run [1-5], the run with the median time' '^xgemm: 5 products, '
sed 1q "$tmp/err" | grep -q '^xgemm-run: verdict: [0-9.]* times as slow with the library, and .* GPU.*\.$' ||
    sed 1q "$tmp/err" | grep -q '^xgemm-run: verdict: [0-9.]* times as fast with the library, and .* GPU.*\.$' ||
    fail "ab: the first line is no verdict: $(sed 1q "$tmp/err")"
"$run" ab --keep-env "$tmp/tool" exit 2>"$tmp/err"
says "ab: the default" 'preloaded .* s (median of 5 runs' ': p = [01]'
grep -q 'runs had' "$tmp/err" && fail "ab --keep-env says that it set something"

# ab claims nothing for too few runs, or for a program without products.
"$run" ab -n3 true 2>"$tmp/err" || fail "ab true: exit status $?"
expect "ab true: verdict" "$(sed 1q "$tmp/err")" \
    'xgemm-run: verdict: too few runs to say whether the library makes a difference, and no product was counted.'
says "ab true" 'a test for chance needs 4 runs of each' 'no process left an account: no call of Level 3 BLAS or LAPACK' doctor
grep -q 'is real\|p = ' "$tmp/err" && fail "ab -n 3 claims what it cannot know"

# An account of another release is refused with one message, and does not count as no account.
for command in 'ab -n 2' top; do
    "$run" $command sh -c '[ -z "${XGEMM_ACCOUNT-}" ] ||
        printf "xgacct\n\000\001\000\000\000" | tee "$XGEMM_ACCOUNT/7" >"$XGEMM_ACCOUNT/8"
        sleep 1.5' 2>"$tmp/err"
    expect "$command: a foreign account" "$?:$(grep -c 'ignoring an account of version 1' "$tmp/err")" 0:1
    grep -q 'left an account' "$tmp/err" && fail "$command: a foreign account is taken for none"
done

# An account that the program's limits forbid is not reported as no calls either.
"$run" top sh -c 'ulimit -f 100; exec "$0" exit' "$tmp/tool" >"$tmp/out" 2>"$tmp/err"
says "top: no account" 'cannot write an account there' 'or its account could not be written'

# A process that one run leaves behind does not run beside the next run.
"$run" --ab sh -c 'echo "${XGEMM_MODE-gpu}" >>"$0"; { sleep 0.5; echo late >>"$0"; } &' "$tmp/late" 2>"$tmp/err"
expect "ab: what is left behind" "$(sed -n 1,3p "$tmp/late" | tr '\n' ' ')" 'cpu late gpu '

# Runs that end differently, one of them by a signal.
: >"$tmp/count"
"$run" ab -n 2 sh -c 'echo >>"$0"; [ "$(wc -l <"$0")" != 3 ] || kill -USR2 $$' "$tmp/count" 2>"$tmp/err"
expect "ab: the status of one run" $? $((128 + $(kill -l USR2 2>/dev/null || echo 12)))
says "ab: a run that differs" 'preloaded .*exit status 0 (1 of 2 runs), 140 (1 of 2 runs)$' \
    'ended with different statuses'
grep -q 'times as fast' "$tmp/err" && fail "ab compares the time of a run that a signal ended"

# XGEMM_LOG stays the user's.
XGEMM_STATS=1 XGEMM_LOG=$tmp/log "$run" ab -n 2 "$tmp/tool" exit exit 2>"$tmp/err"
expect "ab: XGEMM_LOG" "$(grep -c '^xgemm: 1 product' "$tmp/log")" 4
expect "ab: not XGEMM_LOG" "$(grep -c '^xgemm: ' "$tmp/err")" 1
expect "ab: not XGEMM_LOG, the sum" "$(grep -c '^xgemm: 2 products' "$tmp/err")" 1

export XGEMM_SPIN=short
# ab: both runs read the input from its start, and the account says what was multiplied.
program "$tmp/main" -DCALL_INT=int32_t -DCALL_CBLAS=cblas_sgemm "$tmp/libone.so" -Wl,-rpath,"$tmp"
echo 'one line' >"$tmp/input"
"$run" --ab sh -c 'cat; "$0" own 9; exit 3' "$tmp/main" <"$tmp/input" >"$tmp/out" 2>"$tmp/err"
expect "--ab: exit status" $? 3
expect "--ab: output" "$(cat "$tmp/out")" "$(printf 'one line\nown right\none line\nown right')"
says "--ab" 'xgemm-run: CPU library .* s, exit status 3' 'xgemm-run: preloaded .* s, exit status 3' 'xgemm: 2 products'
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
unset XGEMM_SPIN

# --- Signals, and files that are no programs ------------------------------------------------------

for command in ab top; do
    "$run" $command sh -c 'kill -TERM $PPID; exec sleep 20' >"$tmp/out" 2>"$tmp/err"
    expect "$command: a signal is passed on" $? 143
    "$run" $command "$tmp/nowhere" 2>"$tmp/err"
    expect "$command: no program" "$?:$(grep -c 'nowhere: No such file' "$tmp/err")" 127:1
    "$run" $command "$tmp/turns" 2>"$tmp/err"
    expect "$command: no program that runs" $? 126
done
# A shell starts background commands with SIGINT ignored, and this test may be one.
heeds='env --default-signal=INT'
$heeds true 2>/dev/null || heeds=
$heeds "$run" ab -n 3 sh -c 'kill -INT $PPID; exec sleep 20' 2>"$tmp/err"
says "ab, interrupted" 'interrupted in run 1 of 6, which is not counted'
"$run" top sh -c 'trap "exit 9" USR1; kill -USR1 $PPID; while :; do sleep 0.1; done' 2>"$tmp/err"
expect "top: a signal that the program handles" $? 9
"$run" top sh -c 'kill -SEGV $$' 2>"$tmp/err"
expect "top: the program's signal" $? 139

# --- top ------------------------------------------------------------------------------------------

expect "top: input and output" "$(echo text | "$run" top cat 2>"$tmp/err")" text
"$run" --top "$tmp/tool" spin kill exit 2>"$tmp/err"
expect "top: exit status" $? 3
says "top" '^xgemm-run: [1-9][0-9]* products/s, GPU [0-9]* % ([0-9]* % of FLOP), .* GB/s, 3 processes$' \
    '^xgemm-run: [1-9][0-9]* products in 3 processes; '

# When the reader of top's output is gone, the program still runs to its end.
expect "top: a closed pipe" "$({ "$run" top sh -c 'sleep 1.5; kill -PIPE $$' 2>&1; echo $? >"$tmp/out"; } | :
    cat "$tmp/out")" 141
expect "top: a closed pipe, and a program that ends well" \
    "$({ "$run" top sh -c 'sleep 1.5; exit 7' 2>&1; echo $? >"$tmp/out"; } | :; cat "$tmp/out")" 7

# --- doctor, report: their programs are found and get what they need ------------------------------

prefix=$(sed -n "s/^prefix='\(.*\)'/\1/p" "$run") libdir=$(sed -n "s/^libdir='\(.*\)'/\1/p" "$run")
libexec=$(sed -n "s/^pkglibexecdir='\(.*\)'/\1/p" "$run")
moved=$tmp/moved/${libexec#"$prefix"/}
mkdir -p "$tmp/moved/bin" "$moved" "$tmp/moved/${libdir#"$prefix"/}"
cp "$run" "$tmp/moved/bin/xgemm-run"
cp "$builddir/tools/xgemm-watch" "$moved"
cp "$XG_SO" "$tmp/moved/${libdir#"$prefix"/}/libxgemm_shim.so"
cat >"$moved/xgemm-doctor" <<'END'
#!/bin/sh
echo "$XGEMM_SHIM_LIB" "$@"
exit 4
END
cat >"$moved/xgemm-report" <<'END'
#!/bin/sh
for word; do
    folder=$word
done
{
    echo "$@" | sed 's/[^ ]*$//'
    grep -l '"cat":' "$folder"/*.json | wc -l
    ls "$folder/account" | wc -l
} >"$2"
END
chmod 755 "$moved/xgemm-doctor" "$moved/xgemm-report"
run=$tmp/moved/bin/xgemm-run
unset XGEMM_SHIM_LIB
library=$(readlink -f "$tmp/moved")/${libdir#"$prefix"/}/libxgemm_shim.so
mkdir "$tmp/elsewhere"
ln -s "$run" "$tmp/elsewhere/run"
expect "a moved tree" "$("$tmp/elsewhere/run" printenv LD_PRELOAD)" "$library"
expect "a build tree" "$("$builddir/tools/xgemm-run" printenv LD_PRELOAD)" "$(readlink -f "$XG_SO")"
expect "doctor" "$("$run" doctor --json ./a 'b c'; echo $?)" "$(printf '%s\n4' "$library --json -- ./a b c")"
expect "doctor, alone" "$("$run" doctor)" "$library --"
expect "doctor, a file" "$("$run" doctor --json='a  b' -- -c)" "$library --json=a  b -- -c"
expect "doctor, the list" "$("$run" doctor --list)" "$library --list --"
(cd "$tmp" && "$run" --report page "$tmp/tool" exit _exit 'kill it' kill 2>"$tmp/err")
expect "report: exit status" $? 3
sed 's/--seconds [0-9.]*/--seconds S/' "$tmp/page" >"$tmp/said"
expect "report" "$(tr -d ' ' <"$tmp/said" | tr '\n' ' ')" \
    "-opage--command${tmp}/toolexit_exit'killit'kill--status3--secondsS--products4 4 4 "
says "report" 'the report is page'
mkdir "$tmp/few"
for tool in sh cat dirname readlink sed; do
    ln -s "$(command -v $tool)" "$tmp/few"
done
PATH=$tmp/few "$run" report -o "$tmp/page" sh -c 'echo ran' >"$tmp/out" 2>"$tmp/err"
expect "report: no Python" "$?:$(cat "$tmp/out")" 125:
"$run" report -o "$tmp/no/page" sh -c 'echo ran' >"$tmp/out" 2>"$tmp/err"
expect "report: no such folder" "$?:$(cat "$tmp/out")" 125:
"$run" report -o "$tmp" sh -c 'echo ran' >"$tmp/out" 2>"$tmp/err"
expect "report: a folder" "$?:$(cat "$tmp/out")" 125:
# An error that prevents the page or the accounts is reported before the program runs.
ln -s "$tmp/no/page" "$tmp/nowhere-page"
for page in "$tmp/none-yet/" "$tmp/few/sh/page" "$tmp/nowhere-page" "$tmp/$(printf %0300d 0)"; do
    "$run" report -o "$page" sh -c 'echo ran' >"$tmp/out" 2>"$tmp/err"
    expect "report: $page" "$?:$(cat "$tmp/out"):$(grep -c '^xgemm-run: ' "$tmp/err")" 125::1
done
expect "report: what is tried is not left" "$(ls "$tmp" | grep -c '^none-yet\|^0000')" 0
mkdir "$tmp/a%pb"
while read -r command folder; do
    TMPDIR=$tmp/$folder "$run" $command sh -c 'echo ran' >"$tmp/out" 2>"$tmp/err"
    expect "$command: TMPDIR=$folder" "$?:$(cat "$tmp/out"):$(grep -c '^xgemm-run: ' "$tmp/err")" 125::1
done <<'END'
ab nowhere
ab turns
top nowhere
top turns
report nowhere
report turns
report a%pb
END
expect "report: a folder that was tried is not left" "$(ls "$tmp/a%pb")" ''
mkdir "$tmp/old-python" && printf '#!/bin/sh\nexit 1\n' >"$tmp/old-python/python3"
chmod 755 "$tmp/old-python/python3"
PATH=$tmp/old-python:$PATH "$run" report -o "$tmp/page" sh -c 'echo ran' >"$tmp/out" 2>"$tmp/err"
expect "report: an older Python" "$?:$(cat "$tmp/out"):$(grep -c 'Python 3.8' "$tmp/err")" 125::1

# Names that begin as an option does, and a folder relative to where the launcher started.
printf '#!/bin/sh\nexec "%s" exit\n' "$tmp/tool" >"$tmp/bin/-odd"
chmod 755 "$tmp/bin/-odd"
for page in -x.html --help -o; do
    (cd "$tmp" && rm -f ./"$page" && "$run" report -o "$page" -- -odd 2>"$tmp/err")
    expect "report -o $page" "$?:$(grep -c "the report is $page\$" "$tmp/err")" 3:1
    expect "report -o $page: its words" "$(sed -n 1p "$tmp/$page" | sed 's/ --status.*//')" \
        "-o ./$page --command '-odd'"
done
mkdir "$tmp/relative"
(cd "$tmp" && TMPDIR=relative "$run" report -o page sh -c 'cd / && exec "$0" exit' "$tmp/tool" 2>"$tmp/err")
expect "report: TMPDIR from where it was" "$?:$(tail -n 2 "$tmp/page" | tr -d ' ' | tr '\n' ' ')" '3:1 1 '
(cd "$tmp" && TMPDIR=relative "$run" top sh -c 'cd / && exec "$0" exit' "$tmp/tool" 2>"$tmp/err")
expect "top: TMPDIR from where it was" "$?:$(grep -c '1 product in 1 process' "$tmp/err")" 3:1
expect "folders named from where it was" "$(ls "$tmp/relative")" ''
printf '#!/bin/sh\nexit 1\n' >"$moved/xgemm-report"
"$run" report -o "$tmp/page" sh -c 'exit 0' 2>"$tmp/err"
expect "report: not written" $? 125
rm "$moved/xgemm-report"
[ -x "$libexec/xgemm-report" ] || {
    "$run" report sh -c 'echo ran' >"$tmp/out" 2>"$tmp/err"
    expect "report: no program that writes it" "$?:$(cat "$tmp/out")" 125:
}

# Nothing is left behind, however the runs ended.
expect "folders" "$(ls "$TMPDIR")" ''

# --- Set-user-ID ----------------------------------------------------------------------------------

# A set-user-ID program keeps no account, because its caller would choose where it writes. It is
# linked with the library, since the loader preloads nothing there; only root can try it.
if [ "$(id -u)" = 0 ] && mkdir -m 777 "$tmp/open" "$tmp/open/accounts" && chmod 777 "$tmp/open/accounts"; then
    chmod 755 "$tmp"
    cp "$XG_SO" "$tmp/open/libxgemm_shim.so.0"
    cp "$tmp/libone.so" "$tmp/open"
    compile -o "$tmp/open/tool" "$srcdir/tests/preload/tool.c" "$tmp/open/libxgemm_shim.so.0" \
        -Wl,--no-as-needed "$tmp/open/libone.so" -Wl,-rpath,"$tmp/open"
    accounts() {
        XGEMM_ACCOUNT=$tmp/open/accounts "$tmp/open/tool" >"$tmp/out" 2>"$tmp/err"
        echo "$?:$(ls "$tmp/open/accounts" | wc -l)"
    }
    expect "an account" "$(accounts)" 3:1
    rm "$tmp/open/accounts"/*
    chown nobody "$tmp/open/tool" && chmod 4755 "$tmp/open/tool" &&
        expect "no account of a set-user-ID program" "$(accounts)" 3:0
fi

# --- Completion -----------------------------------------------------------------------------------

# completes WORD...: prints what bash proposes for the last word.
completes() {
    bash --norc -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _xgemm_run
        printf "%s\n" "${COMPREPLY[@]}" | sort -u | tr "\n" " "' \
        "$srcdir/tools/completion/xgemm-run" "$@"
}
if bash --version >/dev/null 2>&1; then
    expect "completion: options" "$(completes xgemm-run --re)" '--report '
    expect "completion: of ab" "$(completes xgemm-run ab -)" '--help --keep-env -h -n '
    expect "completion: of an option" "$(completes xgemm-run --top --)" '--help --keep-env '
    expect "completion: subcommands" "$(completes xgemm-run cali | grep -c 'calibrate ')" 1
    expect "completion: a file" "$(completes xgemm-run report -o "$tmp/turn")" "$tmp/turns "
    expect "completion: the program" "$(completes xgemm-run ab -n 3 -- "$tmp/too")" "$tmp/tool "
    expect "completion: the program's" "$(completes xgemm-run "$tmp/tool" "$tmp/turn")" "$tmp/turns "
fi
if zsh --version >/dev/null 2>&1; then
    zsh -n "$srcdir/tools/completion/_xgemm-run" || fail "completion: zsh does not understand it"
fi
# --- Terminals ------------------------------------------------------------------------------------

# on_terminal NAME=VALUE: runs ab on a terminal with that setting.
on_terminal() {
    env TERM=xterm "$1" script -qec "'$run' ${2-ab -n 2 true}" /dev/null >"$tmp/err" </dev/null
}
# fits WHAT: no line of $tmp/err has more columns than a terminal; control sequences take none.
fits() {
    longest=$(sed 's/\x1b\[[0-9;]*[mK]//g; s/\r$//; s/.*\r//' "$tmp/err" | awk '{ if (length > most) { most = length; line = $0 } }
        END { if (most > 80) print line }')
    [ -z "$longest" ] || fail "$1: a line of ${#longest} columns: $longest"
}
escape=$(printf '\033')
if command -v script >/dev/null; then
    on_terminal NO_COLOR=
    says "a terminal" 'run 1 of 4, CPU library' 'run 4 of 4, CPU library, about 1 s left' "verdict: $escape"
    fits "ab"
    on_terminal NO_COLOR= "ab -n 2 '$tmp/tool' exit kill exit"
    says "ab on a terminal" '^  where why  *name  *\(operation  *\)*calls  *' '^  name  *m  *n  *k '
    fits "ab with products"
    on_terminal NO_COLOR= "top '$tmp/tool' spin kill exit"
    says "top on a terminal" '[1-9][0-9]* products/s, GPU '
    fits "top"
    on_terminal NO_COLOR=1
    says "NO_COLOR" 'run 4 of 4'
    grep -q "$escape" "$tmp/err" && fail "NO_COLOR: there are colours"
    on_terminal TERM=dumb
    says "a dumb terminal" 'verdict: '
    grep -q "$escape\|run 1 of" "$tmp/err" && fail "a dumb terminal: more than messages"
fi
"$run" ab -n 1 true 2>"$tmp/err"
grep -q "$escape\|run 1 of" "$tmp/err" && fail "a file: more than messages"

exit $status

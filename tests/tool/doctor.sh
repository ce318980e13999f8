# SPDX-License-Identifier: MIT
# xgemm-doctor finds each problem that is provoked, one or a few in a run, and nothing else. Rules
# that need another machine are in tests/unit/doctor.c.
. "$srcdir/tests/preload/lib"
needs_plain_library
doctor=$builddir/tools/xgemm-doctor
[ -x "$doctor" ] || skip "$doctor has not been built"
forget_settings
unset LD_PRELOAD CUDA_VISIBLE_DEVICES container OMP_WAIT_POLICY OPENBLAS_THREAD_TIMEOUT OPENBLAS_NUM_THREADS
export TMPDIR="$tmp" HOME="$tmp" XDG_CACHE_HOME="$tmp/cache" XGEMM_SHIM_LIB="$XG_SO" XGEMM_CONFIG=
mkdir "$tmp/cache"
fake=LD_LIBRARY_PATH=$tmp
if has_engine; then
    fake=LD_LIBRARY_PATH=$XG_FAKEDRV_DIR:$tmp
fi

# doctor STATUS [NAME=VALUE...] ARGUMENT...: ends with STATUS; its report is in $tmp/json.
doctor() {
    doctor_status=$1
    shift
    rm -f "$tmp/json"
    settings=
    while :; do
        case ${1-} in
        *=*)
            settings="$settings $1"
            shift
            ;;
        *) break ;;
        esac
    done
    what="$settings $*"
    # No setting has a blank, so they may be split.
    env "$fake" $settings "$doctor" --json="$tmp/json" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    got=$?
    [ "$got" = "$doctor_status" ] || [ "$doctor_status" = any ] ||
        fail_with "$what: exit status $got instead of $doctor_status" "$tmp/json" "$tmp/err"
}

# finds ID [WORDS], silent ID: whether the last report has this finding.
finds() {
    grep -o '{"id":"[^}]*}' "$tmp/json" | grep "\"id\":\"$1\"" | grep -q -e "${2-}" || {
        grep -o '"findings".*' "$tmp/json"
        fail "$what: does not find $1 ${2-}"
    }
}
silent() {
    if grep -q "\"id\":\"$1\"" "$tmp/json"; then
        fail "$what: finds $1"
    fi
}
# diagnoses: of each line "STATUS ID WORDS [NAME=VALUE...] ARGUMENT...", doctor ends with STATUS and
# finds ID with WORDS, a pattern without blanks ("-": any).
diagnoses() {
    while read -r row_status row_id row_words row_arguments; do
        doctor "$row_status" $row_arguments
        [ "$row_words" != - ] || row_words=
        finds "$row_id" "$row_words"
    done
}
says() {
    grep -q -e "$1" "$tmp/json" || fail_with "$what: does not say $1" "$tmp/json"
}

# build FILE [OPTION...]
build() {
    build_file=$1
    shift
    $CC -O1 -Wall -Werror -fno-semantic-interposition -o "$tmp/$build_file" "$@" \
        "$srcdir/tests/tool/doctor.c" -L"$tmp" -Wl,-rpath,"$tmp" -ldl || exit 99
}
shared="-shared -fPIC"
build libkitblas.so $shared '-DDOCTOR_BLAS="default"' -DDOCTOR_KIT
build libspin.so $shared '-DDOCTOR_BLAS="default"' -DDOCTOR_KIT -DDOCTOR_OPENMP
[ -f "$tmp/libkitblas.so" ] || exit 99
# The library follows the source, as linkers require.
build_linked() {
    linked_file=$1
    linked_library=$2
    shift 2
    $CC -O1 -Wall -Werror -o "$tmp/$linked_file" "$@" "$srcdir/tests/tool/doctor.c" \
        "$tmp/$linked_library" -Wl,-rpath,"$tmp" -ldl || exit 99
}
build main -DDOCTOR_MAIN
build_linked linked libkitblas.so -DDOCTOR_MAIN -DDOCTOR_RUN
build_linked spinning libspin.so -DDOCTOR_MAIN -DDOCTOR_RUN
build_linked plugin.so libkitblas.so $shared -DDOCTOR_RUN
build symbolic.so $shared -DDOCTOR_RUN '-DDOCTOR_BLAS="default"' -Wl,-Bsymbolic
build protected.so $shared -DDOCTOR_RUN '-DDOCTOR_BLAS="protected"'
build hidden.so $shared -DDOCTOR_RUN '-DDOCTOR_BLAS="hidden"'
build mkl.so $shared -DDOCTOR_RUN '-DDOCTOR_BLAS="hidden"' -DDOCTOR_MKL
build partly.so $shared -fsemantic-interposition -DDOCTOR_RUN '-DDOCTOR_BLAS="default"' -DDOCTOR_MKL
build inside -DDOCTOR_MAIN -DDOCTOR_RUN '-DDOCTOR_BLAS="default"'
build stripped -s -DDOCTOR_MAIN -DDOCTOR_RUN '-DDOCTOR_BLAS="hidden"' -DDOCTOR_XERBLA
build stripped.so -s $shared -DDOCTOR_RUN '-DDOCTOR_BLAS="hidden"' -DDOCTOR_XERBLA

# --- No findings, and doctor's own errors ---------------------------------------------------------

"$doctor" --nonsense >"$tmp/out" 2>&1
[ $? -eq 125 ] || fail "an unknown option: exit status"
# A report that cannot be written is an error before the program runs.
"$doctor" --json=/nonexistent/file sh -c 'echo ran' >"$tmp/out" 2>"$tmp/err"
[ "$?:$(cat "$tmp/out")" = 125: ] && grep -q '/nonexistent/file: No such' "$tmp/err" ||
    fail "a report that cannot be written: the program is run"
"$doctor" --json=/nonexistent/file >"$tmp/out" 2>&1
[ $? -eq 125 ] || fail "a report that cannot be written: exit status"
"$doctor" --help | grep -q '^usage: xgemm-run doctor' || fail "--help"

if has_engine; then
    wrong=0
else
    wrong=1
fi
doctor $wrong
says '"to_mend":'$wrong
env "$fake" "$doctor" >"$tmp/words"
[ $? -eq $wrong ] || fail "in words: exit status"
grep -q '^GPU$' "$tmp/words" && grep -q '^Findings$' "$tmp/words" || fail "in words: no sections"
grep -q 'Remedy: ' "$tmp/words" || fail "in words: no remedy"

# The program keeps its streams, the report follows its output, and its status is reported.
printf '#!/bin/sh\ncat\necho err >&2\nexit 5\n' >"$tmp/script" && chmod +x "$tmp/script"
echo in | env "$fake" "$doctor" "$tmp/script" >"$tmp/out" 2>"$tmp/err"
[ $? -eq $wrong ] || fail "a script: exit status"
[ "$(cat "$tmp/err")" = err ] || fail "a script: standard error"
[ "$(sed 1q "$tmp/out")" = in ] || fail "a script: the report is not behind its output"
grep -q 'ended with exit status 5' "$tmp/out" || fail "a script: its status is not told"

# --- The program ----------------------------------------------------------------------------------

doctor $wrong "$tmp/linked" own
says '"imports":\["cblas_sgemm"\],"defines":\[\],"inside":\[\],"bound_to_library":\["cblas_sgemm"\]'
says '"name":"cblas_sgemm","where":"CPU"'
finds blas.slow libkitblas
for lost in static inside deepbind dlmopen dlsym symbolic mkl-inside; do
    silent blas.$lost
done
# The user's own log is read from its old end, and stays. A FIFO is left alone, at no loss.
echo kept >"$tmp/log"
doctor $wrong XGEMM_LOG="$tmp/log" XGEMM_STATS=1 "$tmp/linked" own
says '"name":"cblas_sgemm","where":"CPU"'
[ "$(sed 1q "$tmp/log")" = kept ] && grep -q '1 product' "$tmp/log" || fail "the user's log"
doctor $wrong XGEMM_VERBOSE=1 "$tmp/linked" own
grep -q '^xgemm: cblas_sgemm 200x200x200' "$tmp/err" || fail "what the user asked for is not shown"
silent run.message
mkfifo "$tmp/fifo"
doctor $wrong XGEMM_LOG="$tmp/fifo" "$tmp/linked" own
says '"name":"cblas_sgemm","where":"CPU"'
doctor $wrong "$tmp/main" open "$tmp/plugin.so"
silent blas.deepbind
says '"name":"cblas_sgemm","where":"CPU"'
diagnoses <<END
$wrong run.no-calls - $tmp/linked
$wrong run.no-blas - $tmp/main
1 blas.deepbind plugin.so.calls.cblas_sgemm.of.*libkitblas.so $tmp/main deep $tmp/plugin.so
1 blas.dlmopen plugin.so $tmp/main apart $tmp/plugin.so
1 blas.dlsym libkitblas.so $tmp/main handle $tmp/libkitblas.so
1 blas.symbolic symbolic.so $tmp/main open $tmp/symbolic.so
1 blas.symbolic protected.so $tmp/main open $tmp/protected.so
1 blas.inside hidden.so $tmp/main open $tmp/hidden.so
1 blas.in-program $tmp/inside.(cblas_sgemm) $tmp/inside own
1 blas.in-program $tmp/stripped.(names.stripped) $tmp/stripped own
1 blas.inside stripped.so $tmp/main open $tmp/stripped.so
1 blas.mkl-inside mkl.so $tmp/main open $tmp/mkl.so
END
silent blas.inside
doctor $wrong "$tmp/main" open "$tmp/partly.so"
finds blas.mkl-partly partly.so
says '"name":"cblas_sgemm","where":"CPU"'
# The same for functions other than SGEMM: an operation in doubles and a routine of LAPACK.
for name in cblas_dgemm dpotrf_; do
    as="-DDOCTOR_NAME=$name -DDOCTOR_REAL=double"
    [ $name = dpotrf_ ] && as="$as -DDOCTOR_LAPACK"
    build libotherblas.so $shared '-DDOCTOR_BLAS="default"' -DDOCTOR_KIT $as
    build other -DDOCTOR_MAIN $as
    build_linked linked_other libotherblas.so -DDOCTOR_MAIN -DDOCTOR_RUN $as
    build_linked plugin_other.so libotherblas.so $shared -DDOCTOR_RUN $as
    build symbolic_other.so $shared -DDOCTOR_RUN '-DDOCTOR_BLAS="default"' -Wl,-Bsymbolic $as
    build hidden_other.so $shared -DDOCTOR_RUN '-DDOCTOR_BLAS="hidden"' $as
    build inside_other -DDOCTOR_MAIN -DDOCTOR_RUN '-DDOCTOR_BLAS="default"' $as
    doctor $wrong "$tmp/linked_other" own
    says "\"imports\":\\[\"$name\"\\],\"defines\":\\[\\],\"inside\":\\[\\],\"bound_to_library\":\\[\"$name\"\\]"
    says "\"name\":\"$name\",\"where\":\"CPU\""
    diagnoses <<END
$wrong run.no-calls - $tmp/linked_other
1 blas.deepbind plugin_other.so.calls.$name.of.*libotherblas.so $tmp/other deep $tmp/plugin_other.so
1 blas.dlmopen plugin_other.so $tmp/other apart $tmp/plugin_other.so
1 blas.dlsym libotherblas.so $tmp/other handle $tmp/libotherblas.so
$wrong blas.dlsym-beside libotherblas.so $tmp/linked own open $tmp/libotherblas.so
1 blas.symbolic symbolic_other.so $tmp/other open $tmp/symbolic_other.so
1 blas.in-program $tmp/inside_other.($name) $tmp/inside_other own
1 blas.inside hidden_other.so $tmp/other open $tmp/hidden_other.so
END
    silent run.no-blas
    if $CC -static -O1 -DDOCTOR_MAIN -DDOCTOR_RUN '-DDOCTOR_BLAS="default"' $as -o "$tmp/static_other" \
        "$srcdir/tests/tool/doctor.c" 2>/dev/null; then
        doctor 1 "$tmp/static_other" own
        finds program.static
        doctor 1 sh -c '"$0" multiply 130; :' "$tmp/static_other"
        finds program.static '/static_other (started by sh'
        silent run.no-blas
    fi
done
# MKL's other spellings; a library of other functions may have the same names.
for name in sgemm SGEMM sgemm_64; do
    build libmkl_rt.so $shared '-DDOCTOR_BLAS="default"' -DDOCTOR_KIT -DDOCTOR_NAME=$name
    build_linked spelled libmkl_rt.so -DDOCTOR_MAIN -DDOCTOR_RUN -DDOCTOR_NAME=$name
    doctor 1 "$tmp/spelled" own
    finds blas.spelling "/spelled calls sgemm_[64_]* in capitals"
    says '"file":"[^"]*/spelled"[^}]*"lost":true'
    silent run.no-blas
done
build libmine.so $shared '-DDOCTOR_BLAS="default"' -DDOCTOR_NAME=sgemm
build_linked spelled libmine.so -DDOCTOR_MAIN -DDOCTOR_RUN -DDOCTOR_NAME=sgemm
doctor $wrong "$tmp/spelled" own
finds run.no-blas
# Julia calls through libblastrampoline, whose functions its libraries import too, with XGEMM.jl and without it.
openblas=$(real libopenblas.so.0)
case ${openblas:+$(uname -m)} in
x86_64 | aarch64)
    lbt=libblastrampoline.so.5
    $CC -O1 -Wall -Werror $shared -iquote "$srcdir" -Wl,-soname,$lbt -o "$tmp/$lbt" "$srcdir/tests/preload/lbt.c" -ldl || exit 99
    $CC -O1 -Wall -Werror $shared -iquote "$srcdir" -o "$tmp/libjulia.so.1" "$srcdir/tests/preload/trampoline.c" \
        "$tmp/$lbt" -Wl,-rpath,"$tmp" -ldl || exit 99
    build_linked libspqr.so $lbt $shared -DDOCTOR_RUN
    for loads in "" "-L$tmp -l:libspqr.so"; do
        build_linked julia libjulia.so.1 -Wl,--no-as-needed $loads -Wl,--allow-shlib-undefined -DDOCTOR_MAIN
        doctor 1 XT_BEHIND="$openblas" "$tmp/julia" handle "$tmp/$lbt"
        finds blas.trampoline "/$lbt .*using XGEMM"
        silent blas.dlsym
        silent run.no-calls
        doctor $wrong XT_BEHIND="$openblas" XT_SHIM="$XG_SO" XT_LEAD=all "$tmp/julia" handle "$tmp/$lbt"
        silent blas.trampoline
        silent blas.dlsym-beside
        says '"name":"cblas_sgemm","where":"CPU"'
    done
    ;;
esac
doctor 1 XGEMM_CPU_BLAS="$tmp/libotherblas.so"
finds setting.cpu-blas libotherblas.so
# A LAPACK that is linked statically, beside a shared BLAS.
build_linked partly_inside libkitblas.so -DDOCTOR_MAIN -DDOCTOR_RUN -DDOCTOR_NAME=dpotrf_ -DDOCTOR_LAPACK \
    -DDOCTOR_REAL=double '-DDOCTOR_BLAS="default"' -Wl,-u,cblas_sgemm
doctor 1 "$tmp/partly_inside" own
finds blas.in-program "$tmp/partly_inside (dpotrf_)"
doctor $wrong "$tmp/main" abort
finds run.untold 'signal 9'
says '"exit_status":null,"signal":9'
# The products until then are counted.
doctor $wrong "$tmp/linked" own abort
finds run.untold 'signal 9'
says '"name":"cblas_sgemm","where":"CPU"'
doctor $wrong "$tmp/linked" own leave
finds run.untold _exit
says '"name":"cblas_sgemm","where":"CPU"'
# If no account could be written, doctor does not report that there were no calls.
doctor $wrong sh -c 'ulimit -f 100; exec "$0" own' "$tmp/linked"
finds run.message 'cannot write an account'
silent run.no-calls
# A signal to doctor is passed on to the program, and nothing is left behind.
mkdir "$tmp/folders"
doctor any TMPDIR="$tmp/folders" sh -c 'kill -TERM $PPID; exec sleep 20'
says '"exit_status":null,"signal":15'
cd "$tmp" || exit 99
doctor any TMPDIR=folders sh -c 'cd / && exec "$0" own' "$tmp/linked"
says '"preloaded":true'
says '"calls":[1-9]'
cd "$OLDPWD" || exit 99
[ -z "$(ls "$tmp/folders")" ] || fail "doctor leaves $(ls "$tmp/folders")"
# Once the program has ended, signals end doctor again. Here it waits for a reader of the report.
mkfifo "$tmp/report"
masks="grep -E ^Sig(Blk|Ign):"
env $masks /proc/self/status >"$tmp/before" & # it ignores the signals that doctor ignores there
wait $!
env "$fake" TMPDIR="$tmp/folders" "$doctor" --json="$tmp/report" sh -c 'echo >"$0"' "$tmp/ended" \
    >"$tmp/out" 2>"$tmp/err" </dev/null &
pid=$!
for turn in $(seq 600); do
    [ -e "$tmp/ended" ] && $masks /proc/$pid/status >"$tmp/after" && cmp -s "$tmp/before" "$tmp/after" && break
    sleep 0.1
done
if diff "$tmp/before" "$tmp/after"; then
    kill -TERM $pid
else
    fail "doctor holds signals back after the program's end"
    cat "$tmp/report" >"$tmp/json"
fi
wait $pid
[ $? -eq 143 ] || fail "doctor is not ended by a signal after the program's end"
[ -z "$(ls "$tmp/folders")" ] || fail "doctor leaves $(ls "$tmp/folders")"
doctor 125 TMPDIR=/nonexistent true
grep -q '/nonexistent' "$tmp/err" || fail "doctor, TMPDIR=/nonexistent: $(cat "$tmp/err")"
# If the folder inside its folder cannot be made, doctor removes its folder.
build refusing.so $shared '-DDOCTOR_REFUSE="account"'
doctor 125 TMPDIR="$tmp/folders" LD_PRELOAD="$tmp/refusing.so" true
grep -q 'could not be run: No space left' "$tmp/err" || fail "doctor, a disk that is full: $(cat "$tmp/err")"
[ -z "$(ls "$tmp/folders")" ] || fail "doctor leaves $(ls "$tmp/folders")"
doctor $wrong "$tmp/main" leave
finds run.untold _exit
says '"exit_status":4'
# A program that filters its system calls goes on.
if "$tmp/main" filter; then
    doctor $wrong "$tmp/main" filter
    says '"exit_status":0'
    doctor $wrong "$tmp/main" filter leave
    says '"exit_status":4'
fi

if $CC -static -O1 -DDOCTOR_MAIN -DDOCTOR_RUN '-DDOCTOR_BLAS="default"' -o "$tmp/static" \
    "$srcdir/tests/tool/doctor.c" 2>/dev/null; then
    doctor 1 "$tmp/static" own
    finds program.static
    silent run.untold
fi

# Programs that the program starts are found, whatever way it takes. Those that the library reaches,
# and tools that take little time, are no findings.
children() {
    doctor $wrong "$@"
    silent program.static
    silent program.environment
}
children bash -c '"$0" own' "$tmp/linked"
says '"name":"cblas_sgemm","where":"CPU"'
children "$tmp/main" vfork "$tmp/linked"
says '"calls":1'
if [ -x "$tmp/static" ]; then
    starts() {
        starter=$1
        shift
        doctor 1 "$@"
        finds program.static "/static (started by $starter"
        silent run.untold
        silent run.no-blas
    }
    starts bash bash -c '"$0" own' "$tmp/static"
    starts sh sh -c '"$0" own; exit 0' "$tmp/static"
    starts env env -i "$tmp/static" own
    starts timeout env PATH="$tmp:$PATH" timeout 60 static own
    for way in spawn vfork list env; do
        starts main "$tmp/main" $way "$tmp/static"
    done
    starts python3 python3 -c 'import subprocess, sys; subprocess.run(sys.argv[1:], check=True)' \
        "$tmp/static" multiply 400
    printf '#!%s own\n' "$tmp/static" >"$tmp/script" && chmod +x "$tmp/script"
    starts bash bash -c '"$0"; :' "$tmp/script"
    cp "$tmp/static" "$tmp/again"
    starts sh sh -c '"$1" own; "$2" own; "$1" own' sh "$tmp/static" "$tmp/again"
    finds program.static 'static (started by sh; likewise again) is'
    [ "$(grep -o '"id":"program.static"' "$tmp/json" | wc -l)" = 1 ] || fail "$what: not one finding"
    $CC -static -O1 -DDOCTOR_MAIN -o "$tmp/tool" "$srcdir/tests/tool/doctor.c" 2>/dev/null || exit 99
    children sh -c '"$0"; "$1"; "$2" own' "$tmp/tool" /nonexistent "$tmp/linked"
    children sh -c '"$0"; exec "$1" multiply 400' "$tmp/tool" "$tmp/linked"
fi
for way in "env -i" "$tmp/main env"; do
    doctor 1 $way "$tmp/linked" own
    finds program.environment '/linked (started by '
    silent run.untold
done
# A program that is not there fails as without doctor, with the same errno and message.
sh -c 'exec "$0"' /nonexistent 2>"$tmp/without"
doctor $wrong sh -c 'exec "$0"' /nonexistent
cmp -s "$tmp/err" "$tmp/without" || fail "a child that is not there: $(cat "$tmp/err")"
says '"exit_status":127'
musl=$(command -v musl-gcc)
printf '#include <time.h>\nint main(void) { while (clock() < CLOCKS_PER_SEC / 20) ; return 0; }\n' >"$tmp/musl.c"
if [ -n "$musl" ] && "$musl" -O1 -o "$tmp/of_musl" "$tmp/musl.c" && "$tmp/of_musl" 2>/dev/null; then
    doctor 1 bash -c "$tmp/of_musl"
    finds program.musl '/of_musl (started by bash)'
    silent run.no-blas
fi

cp "$tmp/main" "$tmp/privileged" && chmod u+s "$tmp/privileged"
loader=$($READELF -l "$tmp/main" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
cp "$loader" "$tmp/ld-musl-here.so.1"
build musl -DDOCTOR_MAIN -Wl,--dynamic-linker="$tmp/ld-musl-here.so.1"
cp "$tmp/main" "$tmp/foreign"
printf '\001' | dd of="$tmp/foreign" bs=1 seek=4 conv=notrunc 2>/dev/null
echo text >"$tmp/text"
echo text >"$tmp/closed"
echo '#!/nonexistent/shell' >"$tmp/shell"
chmod +x "$tmp/text" "$tmp/shell"
diagnoses <<END
1 program.set-user-id - $tmp/privileged
1 program.musl - $tmp/musl
1 program.missing $tmp/nowhere $tmp/nowhere
1 program.closed - $tmp/closed
1 program.unknown - $tmp/text
1 program.interpreter /nonexistent/shell $tmp/shell
1 program.foreign - $tmp/foreign
END
says '"ran":false'
$CC -shared -o "$tmp/libgone.so" -Wl,-soname,libgone.so -x c /dev/null || exit 99
$CC -O1 -DDOCTOR_MAIN -o "$tmp/gone" "$srcdir/tests/tool/doctor.c" -Wl,--no-as-needed \
    "$tmp/libgone.so" -ldl || exit 99
rm "$tmp/libgone.so"
doctor 1 "$tmp/gone"
finds program.library-missing libgone.so

# --- Settings and what is preloaded ---------------------------------------------------------------

doctor 1 XGEMM_MODE=fast XGEMM_MOD=gpu XGEMM_KERNEL=none XGEMM_CPU_BLAS=libm.so.6 \
    XGEMM_LOG=/nonexistent/log XGEMM_TRACE="$tmp" "$tmp/linked" own
finds setting.refused XGEMM_MODE=fast
finds setting.unknown 'XGEMM_MOD is not a setting; did you mean XGEMM_MODE?'
finds setting.kernel none
finds setting.cpu-blas libm.so.6
finds setting.log /nonexistent/log
finds setting.trace
silent run.message
# Under a filter of system calls, as Docker's, no operand is proved unchanged.
cat >"$tmp/refuse.c" <<'END'
#include <sys/prctl.h>
#include <unistd.h>
#include "tests/support/filter.h"
int main(int argc, char **argv)
{
    struct sock_filter rule = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {1, &rule};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return argc > 1 && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) ? execv(argv[1], argv + 1) : 77;
}
END
compile -o "$tmp/refuse" "$tmp/refuse.c"
for given in off auto; do
    XGEMM_RESIDENT=$given "$tmp/refuse" "$doctor" --json="$tmp/json" 2>"$tmp/err" >/dev/null
    case $?:$given in
    77:*) break ;;
    *:off) silent setting.resident ;;
    *) finds setting.resident 'seccomp\|kernel\|permitted' ;;
    esac
done
doctor 1 XGEMM_MODE=cpu "$tmp/linked" own
finds setting.mode-cpu
finds run.mode
doctor 1 LD_PRELOAD=/nonexistent/lib.so:"$tmp/libkitblas.so":"$XG_SO"
finds preload.missing /nonexistent/lib.so
finds preload.rival libkitblas.so
finds preload.twice
cp "$tmp/libkitblas.so" "$tmp/libnvblas.so.13"
doctor 1 LD_PRELOAD="$tmp/libnvblas.so.13"
finds preload.nvblas libnvblas
silent preload.rival
doctor 1 XGEMM_SHIM_LIB=/nonexistent/libxgemm_shim.so
finds preload.library /nonexistent
mkdir "$tmp/a:b" && cp "$XG_SO" "$tmp/a:b/libxgemm_shim.so"
doctor 1 XGEMM_SHIM_LIB="$tmp/a:b/libxgemm_shim.so" "$tmp/main"
finds preload.path

if $CC -fsanitize=address -o "$tmp/sanitized" -DDOCTOR_MAIN "$srcdir/tests/tool/doctor.c" -ldl 2>/dev/null; then
    doctor any "$tmp/sanitized"
    finds program.sanitizer "$tmp/sanitized is built with AddressSanitizer"
    doctor any sh -c '"$0"; :' "$tmp/sanitized"
    finds program.sanitizer 'sanitized (started by sh)'
fi

# --- The CPU library's threads --------------------------------------------------------------------

# spins ID [WORDS]: there is such a finding, if there is a GPU for which operands are copied.
spins() {
    if has_engine; then
        finds "$@"
    else
        silent "$1"
    fi
}
doctor 1 OMP_WAIT_POLICY=active "$tmp/spinning" own
spins spin.endless 'libspin.so spin for .* because of OMP_WAIT_POLICY=active, on cores'
says '"vendor":"BLAS of unknown origin.*"threads":4,"pool":"libgomp"'
doctor $wrong GOMP_SPINCOUNT=20000000 "$tmp/spinning" own
spins spin.long 'because of GOMP_SPINCOUNT=20000000, on cores'
doctor $wrong OMP_WAIT_POLICY=passive "$tmp/spinning" own
silent spin.long
# OpenBLAS gets a short spin in the program, and doctor sees it, also if the shell preloads.
if [ -n "$openblas" ] && [ "$(nproc)" -gt 1 ]; then
    $CC -o "$tmp/openblas" -DDOCTOR_MAIN -DDOCTOR_RUN "$srcdir/tests/tool/doctor.c" "$openblas" -ldl || exit 99
    for preloads in XGEMM_SPIN= LD_PRELOAD="$XG_SO"; do
        doctor any $preloads XGEMM_SPIN=keep OPENBLAS_NUM_THREADS=2 "$tmp/openblas" own
        spins spin.long 'openblas.* because of XGEMM_SPIN=keep, on'
        for spin in short auto; do
            doctor any $preloads XGEMM_SPIN=$spin OPENBLAS_NUM_THREADS=2 "$tmp/openblas" own
            silent spin.long
        done
        doctor any $preloads XGEMM_SPIN=short OPENBLAS_THREAD_TIMEOUT=26 OPENBLAS_NUM_THREADS=2 "$tmp/openblas" own
        spins spin.long 'openblas.* because of OPENBLAS_THREAD_TIMEOUT=26, on'
    done
fi

# --- Calibration ----------------------------------------------------------------------------------

doctor $wrong
finds calibration.none
kept=$(sed 's/.*"cpu_file":"\([^"]*\)".*/\1/' "$tmp/json")
mkdir -p "$tmp/cache/xgemm" && echo damaged >"$tmp/cache/xgemm/cpu-0000000000000000"
doctor $wrong
finds calibration.other CPU
echo damaged >"$kept"
doctor 1
finds calibration.damaged "$kept"
rm -r "$tmp/cache/xgemm"
doctor $wrong XDG_CACHE_HOME= HOME=
finds calibration.homeless
if command -v taskset >/dev/null && taskset -c 0 true 2>/dev/null; then
    env "$fake" taskset -c 0 "$doctor" --json="$tmp/json" >"$tmp/out" 2>&1
    what="one core"
    finds cores.one
fi

# --- The GPU --------------------------------------------------------------------------------------

if ! has_engine; then
    [ "$XG_WITH_CUDA" = yes ] || finds build.no-cuda
    exit $status
fi
doctor 0
says '"driver":"open"'
says '"compute_capability":90,"multiprocessors":132'
grep -q '"up_mb_per_s":0,' "$tmp/json" && fail "the link was not measured"
says '"kernels":[1-9]'
# The kernels are read from the library's file, which may be anything.
$READELF -SW "$doctor" | grep -q xg_images && fail "the kernels are in the program too"
reads_none() {
    doctor 1 XGEMM_SHIM_LIB="$tmp/libxgemm_shim.so"
    says '"driver":"open"'
    says '"kernels":0,'
}
for bytes in 10 1000 100000 $(($(wc -c <"$XG_SO") - 1)); do
    head -c "$bytes" "$XG_SO" >"$tmp/libxgemm_shim.so"
    reads_none
done
LC_ALL=C sed 's/xg_images/xg_imagez/g' "$XG_SO" >"$tmp/libxgemm_shim.so"
reads_none
diagnoses <<'END'
1 device.none - FAKECUDA_DEVICES=0
1 driver.failed nvidia-smi FAKECUDA_FAIL=cuInit:1:999:always
1 driver.failed stub FAKECUDA_FAIL=cuInit:1:34:always
1 device.ordinal - XGEMM_DEVICES=5
1 device.context out.of.memory FAKECUDA_FAIL=cuDevicePrimaryCtxRetain:1:2:always
0 device.exclusive - FAKECUDA_COMPUTE_MODE=3
1 device.taken - FAKECUDA_COMPUTE_MODE=3 FAKECUDA_FAIL=cuDevicePrimaryCtxRetain:1:46:always
1 device.prohibited - FAKECUDA_COMPUTE_MODE=2
1 device.memory 0.40.GB FAKECUDA_MEM=400000000
1 kernels.architecture 9.0 FAKECUDA_FAIL=cuModuleLoadData:1:209:always
0 device.cublas-only 7.0 FAKECUDA_SM=70
0 link.unmeasured - FAKECUDA_FAIL=cuMemHostAlloc:1:2:always
0 link.slow - FAKECUDA_DELAY_US=20000
1 device.hidden (empty) CUDA_VISIBLE_DEVICES= FAKECUDA_DEVICES=0
END
silent device.none
echo 'void dgesv_(void); void solve(int n); void solve(int n) { if (n) dgesv_(); }' |
    $CC $shared -o "$tmp/libsolve.so" -Wl,-z,lazy -x c - || exit 99
echo 'void solve(int n); int main(void) { solve(0); }' |
    $CC -o "$tmp/solver" -Wl,--allow-shlib-undefined -Wl,-rpath,"$tmp" -x c - -x none "$tmp/libsolve.so" || exit 99
doctor 0 XGEMM_LAPACK=0 "$tmp/solver"
finds lapack.off XGEMM_LAPACK
says '"cusolver_file":"[^"]*libcusolver.so.1'
doctor 0 "$tmp/solver"
says '"file":"[^"]*libsolve.so"[^}]*"lapack":true'
silent lapack.off
silent cusolver.missing

# Products: where they ran, and why.
doctor 0 XGEMM_MODE=gpu "$tmp/linked" own
says '"where":"GPU"'
diagnoses <<END
0 run.earning 1.product.( $tmp/linked own
0 run.small - $tmp/linked multiply 8
1 run.no-gpu - XGEMM_MODE=gpu FAKECUDA_DEVICES=0 $tmp/linked own
1 run.memory - XGEMM_MODE=gpu XGEMM_MEM_LIMIT=1K $tmp/linked own
1 run.failures - XGEMM_MODE=gpu FAKECUDA_FAIL=exec:1:700 $tmp/linked own
END
finds run.message

# Files that are no drivers: one crashes the process that loads it, one is empty; and no file.
mkdir "$tmp/crash" "$tmp/empty"
echo '__attribute__((constructor)) static void start(void) { __builtin_trap(); }' |
    $CC -shared -fPIC -o "$tmp/crash/libcuda.so.1" -x c - || exit 99
$CC -shared -fPIC -o "$tmp/empty/libcuda.so.1" -x c /dev/null || exit 99
fake=LD_LIBRARY_PATH=$tmp/crash
doctor 1
finds driver.crashed
fake=LD_LIBRARY_PATH=$tmp/empty
doctor 1
finds driver.lacks cuInit
fake=LD_LIBRARY_PATH=$tmp
doctor any CUDA_VISIBLE_DEVICES= container=podman
if grep -q '"driver":"absent"' "$tmp/json"; then
    finds driver.container libcuda.so.1
    finds device.hidden
fi
# A doctor that was moved without its witness.
cp "$doctor" "$tmp/alone"
XGEMM_SHIM_LIB="$XG_SO" "$tmp/alone" --json="$tmp/json" "$tmp/linked" own >"$tmp/out" 2>&1
what="without its witness"
finds run.no-witness
says '"name":"cblas_sgemm"'
for left in "$tmp"/xgemm-run.*; do
    [ ! -e "$left" ] || fail "$left is left"
done
exit $status

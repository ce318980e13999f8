# SPDX-License-Identifier: MIT
# A program of another C library that inherits LD_PRELOAD, here from a shell, runs as without the
# library. Contract 8.13 (doc/contract.md).
. "$srcdir/tests/preload/lib"
needs_plain_library
musl=$(command -v musl-gcc) || skip "no musl-gcc here"
"$musl" -O1 -Wall -Werror -o "$tmp/program" "$srcdir/tests/preload/musl.c" || exit 99
libc=$($READELF -l "$tmp/program" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
case $libc in
*/ld-musl-*) [ -x "$libc" ] || skip "no $libc here" ;;
*) skip "musl-gcc makes no programs of a shared musl" ;;
esac
export MUSL_SET=7

# runs WHAT COMMAND...: the program runs, also from a shell, and prints what it prints alone.
runs() {
    what=$1
    shift
    for way in '"$@"' '"$@"; exit $?' '("$@") && exec "$@" >/dev/null'; do
        "$@" sh -c "$way" sh "$tmp/program" here >"$tmp/out" 2>"$tmp/err" || fail "$what, $way: exit status $?"
        [ ! -s "$tmp/err" ] && [ "$(cat "$tmp/out")" = "$said" ] || fail_with "$what, $way" "$tmp/out" "$tmp/err"
    done
}

words="thread 1, child 5, set 7, unset not there
ended"
said="here: alone, $words"
runs "alone" env
said="here: loaded, $words"
runs "preloaded" preloaded
runs "with all reports" preloaded XGEMM_VERBOSE=3 XGEMM_STATS=1 XGEMM_MODE=cpu XGEMM_TRACE="$tmp/trace"
runs "with a short spin" preloaded XGEMM_SPIN=short
has_engine && runs "beside a device" on_engine
preloaded "$tmp/program" here >"$tmp/out" || fail "by itself: exit status $?"
if [ "${XG_WITH_WHEEL-}" = yes ]; then
    preload=$builddir/python/.libs/libxgemm_shim.so
    runs "the wheel's library" preloaded
fi

# lacks LIBRARY: prints the names it needs that musl lacks; musl binds all names at the start.
lacks() {
    $NM -D --undefined-only "$1" | sed -n 's/^ *U \([^@]*\).*/\1/p' | sort -u >"$tmp/needed"
    [ -s "$tmp/needed" ] || fail "$1 needs nothing"
    comm -23 "$tmp/needed" "$tmp/there"
}
$NM -D --defined-only "$libc" | sed 's/.* //' | sort -u >"$tmp/there"
for library in "$XG_SO" "$builddir/tools/.libs/xgemm-witness.so" "$builddir/python/.libs/libxgemm_shim.so"; do
    [ ! -f "$library" ] || [ -z "$(lacks "$library")" ] ||
        fail "$library: musl has no $(lacks "$library" | tr '\n' ' ')"
done
echo 'int gnu_get_libc_version(void); int need(void); int need(void) { return gnu_get_libc_version(); }' >"$tmp/need.c"
$CC -shared -fPIC -o "$tmp/need.so" "$tmp/need.c" || exit 99
[ "$(lacks "$tmp/need.so")" = gnu_get_libc_version ] || fail "a name that musl lacks is not found"
exit $status

# SPDX-License-Identifier: MIT
# Children made while other threads multiply compute, whichever way they were made. Contract 8.2.
. "$srcdir/tests/preload/lib"
needs_plain_library

quiet_stub "$tmp/libquiet.so"
compile -o "$tmp/child" "$srcdir/tests/preload/child.c" "$tmp/libquiet.so" -Wl,-rpath,"$tmp" \
    -pthread
mkdir "$tmp/accounts"

# Where threads allocate memory, as they do on the engine, a child that was made without handlers must
# not call fork: the C library's own locks may be taken in it.
for way in fork _Fork clone; do
    right "$way, alone" "$tmp/child" $way 20 fork
    for settings in XGEMM_MODE=cpu "XGEMM_MODE=cpu XGEMM_STATS=1" \
        "XGEMM_MODE=cpu XGEMM_TRACE=$tmp/trace" "XGEMM_MODE=cpu XGEMM_ACCOUNT=$tmp/accounts"; do
        right "$way, $settings" env $settings LD_PRELOAD="$preload" "$tmp/child" $way 40 fork
    done
    right "$way, as it comes" preloaded "$tmp/child" $way 40 $way
    has_engine && right "$way, on the engine" on_engine "$tmp/child" $way 40 $way
done
[ "$(ls "$tmp/accounts" | wc -l)" -gt 40 ] || fail "children of fork keep no accounts"
exit $status

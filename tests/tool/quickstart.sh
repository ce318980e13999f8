# SPDX-License-Identifier: MIT
# The commands of quickstart build in folders of their own: none cleans or builds what another has built, and the wheel
# is where the pages say.
. "$srcdir/tests/preload/lib"
needs_plain_library
cp "$srcdir/quickstart" "$tmp" || exit 99
mkdir -p "$tmp/bin" "$tmp/build/wheel-venv/bin"
touch "$tmp/build/wheel-venv/complete"
printf '#!/bin/sh\ntouch Makefile\n' >"$tmp/configure"
printf '#!/bin/sh\necho make "$@" >>"%s"\n' "$tmp/log" >"$tmp/bin/make"
printf '#!/bin/sh\n' >"$tmp/bin/dpkg-query"
for tool in gcc g++ autoreconf automake libtoolize pkg-config apt-cache; do
    cp "$tmp/bin/dpkg-query" "$tmp/bin/$tool"
done
chmod +x "$tmp/configure" "$tmp"/bin/*
quickstart() {
    : >"$tmp/log"
    PATH=$tmp/bin:$PATH "$tmp/quickstart" "$@" --without-cuda >"$tmp/out" 2>&1
}
for turn in 1 2; do
    quickstart || fail_with "quickstart" "$tmp/out"
    grep -q "^make -C $tmp/build --no-print-directory main-job$" "$tmp/log" || fail_with "quickstart" "$tmp/log"
    ! grep ' clean$\|wheel' "$tmp/log" || fail "quickstart touches another's folder"
    quickstart wheel || fail_with "quickstart wheel" "$tmp/out"
    grep -q "^make -C $tmp/build/wheel .* wheel .* xg_wheel_dir=$tmp/build/python/dist$" "$tmp/log" ||
        fail_with "quickstart wheel" "$tmp/log"
    ! grep " clean$\|-C $tmp/build " "$tmp/log" || fail "quickstart wheel touches another's folder"
    quickstart check --all
    grep -q "^make -C $tmp/build/all .* check VERBOSE=1$" "$tmp/log" || fail_with "quickstart check --all" "$tmp/log"
    ! grep " clean$\|-C $tmp/build \|-C $tmp/build/wheel" "$tmp/log" || fail "check --all touches another's folder"
done

# The table of the example fits a terminal, and has no speed-up where no GPU was used.
if [ -x "$builddir/examples/products" ]; then
    table() {
        env XGEMM_SHIM_LIB="$XG_SO" "$@" sh "$srcdir/examples/run_main_job" "$builddir/examples/products" --rounds 1 \
            --max-gflop 0.1 >"$tmp/out" 2>&1 || fail_with "the example" "$tmp/out"
        sed -n '/^product /,/^2^/p' "$tmp/out" | grep '.\{81\}' && fail "the example's table is too wide"
        grep -q '^square 64  *[CG]PU.*[0-9]$' "$tmp/out" || fail_with "the example has no table" "$tmp/out"
    }
    forget_settings
    table XGEMM_MODE=cpu LD_LIBRARY_PATH="$tmp"
    ! grep 'speed-up' "$tmp/out" || fail "a speed-up without a GPU"
    if has_engine; then
        table XGEMM_MODE=gpu LD_LIBRARY_PATH="$XG_FAKEDRV_DIR"
        grep -q '^all .* [0-9.]*$' "$tmp/out" && grep -q ' speed-up$' "$tmp/out" || fail "no speed-up with a GPU"
    fi
fi
exit $status

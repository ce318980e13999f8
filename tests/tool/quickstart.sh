# SPDX-License-Identifier: MIT
# The commands of quickstart build in folders of their own: none cleans or builds what another has built, and the wheel
# is where the pages say.
. "$srcdir/tests/preload/lib"
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
exit $status

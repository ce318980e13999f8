# SPDX-License-Identifier: MIT
# Installed under a user's own prefix, the launcher finds the library without LD_LIBRARY_PATH, also
# after the tree was moved. No file names another place, and uninstall removes all of them.
. "$srcdir/tests/install/lib"
install_to "$tmp/own"
quiet_stub "$tmp/libone.so"
compile -o "$tmp/program" "$srcdir/tests/install/program.c" "$tmp/libone.so" -Wl,-rpath,"$tmp"

unseen "$tmp/program"
seen "$tmp/own/bin/xgemm-run" "$tmp/program"
mkdir "$tmp/away"
mv "$tmp/own" "$tmp/away/moved"
find_libdir "$tmp/away/moved"
seen "$tmp/away/moved/bin/xgemm-run" "$tmp/program"

# The pages are installed; the witness's .la, which has no use, is not.
for page in README.md NEWS tutorial.md contract.md; do
    [ -s "$tmp/away/moved/share/doc/libxgemm_shim/$page" ] || fail "$page is not installed"
done
[ -z "$(find "$tmp/away/moved" -name 'xgemm-witness.la')" ] || fail "the witness's .la is installed"

# Files that other builds read. libtool's own file has the configured folder, and libtool says so.
for file in "$libdir/pkgconfig/xgemm-shim.pc" "$libdir"/cmake/xgemm-shim/*.cmake; do
    [ -s "$file" ] || fail "no $file"
    ! grep -n "$tmp\|@\|=/" "$file" || fail "$file names a place, or is not filled in"
done
if command -v pkg-config >/dev/null; then
    [ "$(readlink -f "$(flags --variable=libdir)")" = "$(readlink -f "$libdir")" ] ||
        fail "pkg-config's libdir is $(flags --variable=libdir)"
    [ "$(readlink -f "$(flags --variable=prefix)")" = "$(readlink -f "$tmp/away/moved")" ] ||
        fail "pkg-config's prefix is $(flags --variable=prefix)"
fi

mv "$tmp/away/moved" "$tmp/own"
$MAKE -C "$builddir" uninstall prefix="$tmp/own" >"$tmp/log" 2>&1 || fail "uninstall: $(cat "$tmp/log")"
[ -z "$(find "$tmp/own" ! -type d)" ] || fail "left behind: $(find "$tmp/own" ! -type d)"
exit $status

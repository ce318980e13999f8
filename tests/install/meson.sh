# SPDX-License-Identifier: MIT
# A Meson project finds the installed library through pkg-config, in front of a BLAS that it names
# later, also if only another library multiplies; its programs run in its build tree.
. "$srcdir/tests/install/lib"
needs_tool meson
needs_tool ninja
needs_tool pkg-config
install_to "$tmp/own"
flags --exists || skip "pkg-config does not find the BLAS that was configured"
libraries

mkdir "$tmp/project"
cp "$srcdir/tests/install/program.c" "$tmp/project/program.c"
cat >"$tmp/project/meson.build" <<END
project('program', 'c')
shim = dependency('xgemm-shim')
one = meson.get_compiler('c').find_library('one', dirs: '$tmp')
middle = meson.get_compiler('c').find_library('middle', dirs: '$tmp')
executable('in_front', 'program.c', dependencies: [shim, one])
executable('through', 'program.c', c_args: '-DPROGRAM_CALLS', dependencies: [shim, middle])
END
env CC="$CC" PKG_CONFIG_PATH="$libdir/pkgconfig" meson setup "$tmp/build" "$tmp/project" >"$tmp/log" 2>&1 &&
    ninja -C "$tmp/build" >>"$tmp/log" 2>&1 || { cat "$tmp/log"; fail "the project is not built"; }
for program in in_front through; do
    in_front "$tmp/build/$program"
    seen "$tmp/build/$program"
done
exit $status

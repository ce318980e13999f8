# SPDX-License-Identifier: MIT
# pkg-config's flags keep the library in front of a BLAS that follows them, whatever the linker
# drops. After a BLAS they have no effect, as doc/howto/c-cmake-meson.md says.
. "$srcdir/tests/install/lib"
needs_tool pkg-config
install_to "$tmp/own"
flags --exists || skip "pkg-config does not find the BLAS that was configured"
pc=$(flags --cflags --libs)
# A program finds the library by its own path, as on that page.
ours="-Wl,-rpath,$(flags --variable=libdir)"

libraries
one="-L$tmp -Wl,-rpath,$tmp -lone"
source=$srcdir/tests/install/program.c
middle="-DPROGRAM_CALLS -L$tmp -Wl,-rpath,$tmp -lmiddle"

for linker in bfd gold lld; do
    $CC -fuse-ld=$linker -Wl,--version >/dev/null 2>&1 || continue
    for drops in --as-needed --no-as-needed; do
        link="-fuse-ld=$linker -Wl,$drops"

        # The page's line, in place of a BLAS and in front of another one.
        compile $link -o "$tmp/alone" "$source" $pc $ours
        in_front "$tmp/alone"
        [ -z "$XG_BLAS_LIBS" ] || seen "$tmp/alone"
        compile $link -o "$tmp/front" "$source" $pc $ours $one
        in_front "$tmp/front"
        seen "$tmp/front"

        # Only a library multiplies, so the program itself refers to no name of ours.
        compile $link -o "$tmp/through" "$source" $pc $ours $middle
        in_front "$tmp/through"
        seen "$tmp/through"

        # The wrong order: the library follows the BLAS, and sees no product. The launcher helps.
        compile $link -o "$tmp/behind" "$source" $one $pc $ours
        case $(needed "$tmp/behind") in
        libone.so*libxgemm_shim.so.0*) ;;
        *) fail "$link, behind: needs $(needed "$tmp/behind")" ;;
        esac
        unseen "$tmp/behind"
        seen "$tmp/own/bin/xgemm-run" "$tmp/behind"
        linked=yes
    done
done
[ "${linked-}" = yes ] || fail "no linker was tried"
exit $status

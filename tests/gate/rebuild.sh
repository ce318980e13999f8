# SPDX-License-Identifier: MIT
# A second make does nothing, and a changed header, of device code too, rebuilds what includes it.
# The wheel survives a clean, as quickstart does when its options change, but not a distclean.
. "$srcdir/tests/gate/lib"
unset MAKEFLAGS MFLAGS MAKELEVEL

# check FILE: make would do something if FILE had changed (-W). It is only asked (-q), and answers 1
# for yes, 0 for no, 2 for an error.
check() {
    $MAKE -C "$builddir" -q -W "$1" all >/dev/null 2>&1
    [ $? = 1 ] || { echo "nothing is rebuilt when '$1' changes"; return 1; }
}

# known_as HEADER LIST...: prints its name in the compiler's lists of dependencies, which make uses.
known_as() {
    header=$1
    shift
    cat "$@" | tr -s ' :\\' '\n' | grep "^\(.*/\)\{0,1\}$header\$" | sed 1q
}

if ! $MAKE -C "$builddir" -q all; then
    echo "FAIL: a second make would do something:"
    $MAKE -C "$builddir" -n all
    status=1
fi
passes "$(known_as src/base/xg.h "$builddir"/src/*/.deps/*.Plo)"
if [ "$XG_WITH_CUDA" = yes ] && [ -z "$XG_FATBINS" ]; then
    for header in "$srcdir"/kernels/*/*.cuh; do
        passes "$(known_as "${header#"$srcdir/kernels/"}" "$builddir"/kernels/*/*.d)"
    done
fi
refuses "$srcdir/LICENSE"
refuses ""
# removes TARGET: whether make TARGET removes the wheel.
removes() {
    $MAKE -C "$builddir" -n "$1" | grep -q 'rm -rf.* python/dist'
}
! removes clean && removes distclean || { echo "FAIL: the wheel, after clean and distclean"; status=1; }
exit $status

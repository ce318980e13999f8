# SPDX-License-Identifier: MIT
# The library needs libc, and libm at most, so that it loads into any process. Its thread-local data
# exists from a thread's start: allocated at the first use, it would end a process that may take no
# more memory. Contract 11.2 (doc/contract.md).
. "$srcdir/tests/gate/lib"
[ "$XG_SANITIZER" = no ] || skip "a sanitizer is one more library"

# check LIBRARY. glibc before 2.34 keeps dlopen and threads in libraries of their own.
check() {
    $READELF -d "$1" >"$gate_tmp/dynamic" || return 1
    needed=$(sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' "$gate_tmp/dynamic")
    [ -n "$needed" ] || { echo "$1 needs nothing at all"; return 1; }
    for name in $needed; do
        case $name in
        libc.so.*|libm.so.*|libdl.so.*|libpthread.so.*) ;;
        *) echo "$1 needs $name"; return 1 ;;
        esac
    done
    ! $READELF -rW "$1" | grep -E 'DTPMOD|TLSDESC' || { echo "$1 allocates thread-local data"; return 1; }
}

passes "$XG_SO"
[ "$XG_WITH_WHEEL" != yes ] || passes "$builddir/python/.libs/libxgemm_shim.so"
cd "$gate_tmp" || exit 99
echo 'int xg_other(void); int xg_other(void) { return 1; }' >other.c
echo 'int xg_other(void); int xg_user(void); int xg_user(void) { return xg_other(); }' >user.c
$CC -shared -fPIC -Wl,-soname,libxgother.so.1 -o libxgother.so other.c || exit 99
$CC -shared -fPIC -o user.so user.c -L. -lxgother || exit 99
refuses user.so
echo 'extern _Thread_local int xg_thread; _Thread_local int xg_thread; int *xg_at(void); int *xg_at(void) { return &xg_thread; }' >thread.c
$CC -shared -fPIC -o thread.so thread.c || exit 99
refuses thread.so
refuses no-such.so
exit $status

# SPDX-License-Identifier: MIT
# Each header compiles alone.
. "$srcdir/tests/gate/lib"

# check HEADER. Without a toolkit a header that reaches <cuda.h> cannot be compiled.
check() {
    paths="-iquote $srcdir -iquote $srcdir/src"
    if [ "$XG_WITH_CUDA" = no ] && $CC $paths -M -MG -x c "$1" | grep -qw 'cuda\.h'; then
        return 0
    fi
    $CC -std=gnu11 -Wall -Wextra -Wno-unused-function -Werror $paths \
        $XG_CUDA_CPPFLAGS -fsyntax-only -include "$1" -x c /dev/null
}

count=0
for header in "$srcdir"/src/*.h "$srcdir"/src/*/*.h "$srcdir"/shim/*.h "$srcdir"/kernels/*.h \
    "$srcdir"/kernels/*/*.h; do
    [ -f "$header" ] || continue
    count=$((count + 1))
    passes "$header"
done
[ $count -ge 50 ] || { echo "FAIL: only $count headers found"; status=1; }

echo 'size_t xg_count(void);' >"$gate_tmp/lacks.h"
refuses "$gate_tmp/lacks.h"
exit $status

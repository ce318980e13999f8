# SPDX-License-Identifier: MIT
# The DGEMM kernels compiled for the CPU and executed thread by thread (tests/unit/blocks.cpp): every
# entry; and the same with too short a wait, copies to a stage in use, or a triangle that ends a
# diagonal early or is not left out, which must be found wrong.
XG_BLOCKS=${TMPDIR:-/tmp}/xg_blocks.$$
trap 'rm -rf "$XG_BLOCKS"' EXIT
compiler=
for name in ${CXX:-c++ g++ clang++}; do
    command -v "$name" >/dev/null 2>&1 && compiler=$name && break
done
[ -n "$compiler" ] || { echo "skipped: no C++ compiler" >&2; exit 77; }
mkdir -p "$XG_BLOCKS/kernels" || exit 99
cp -R "$srcdir"/kernels/*.h "$srcdir/kernels/common" "$srcdir/kernels/fp64" "$XG_BLOCKS/kernels" ||
    exit 99
chmod -R u+w "$XG_BLOCKS/kernels"

# build PROGRAM: of the kernels as they lie there. Their list is read from the .cu file.
build() {
    sed -n 's/^ENTRIES(/ROWS(/p' "$XG_BLOCKS/kernels/fp64/dgemm_dmma_sm80.cu" >"$XG_BLOCKS/entries.h"
    "$compiler" -std=c++17 -O1 -w -I"$XG_BLOCKS" -o "$1" "$srcdir/tests/unit/blocks.cpp" \
        "$builddir/.libs/libxgcore.a" || exit 99
}

status=0
build "$XG_BLOCKS/blocks"
"$XG_BLOCKS/blocks" || status=1

# refuses FILE EXPRESSION: the same of kernels of which sed changed a file so.
refuses() {
    file=$XG_BLOCKS/kernels/$1
    cp "$file" "$XG_BLOCKS/right.cuh"
    sed "$2" "$XG_BLOCKS/right.cuh" >"$file"
    if cmp -s "$XG_BLOCKS/right.cuh" "$file"; then
        echo "$2 changes nothing" >&2
        exit 99
    fi
    build "$XG_BLOCKS/wrong"
    if "$XG_BLOCKS/wrong" >/dev/null 2>&1; then
        echo "not seen: $2" >&2
        status=1
    fi
    mv "$XG_BLOCKS/right.cuh" "$file"
}

refuses common/dmma.cuh 's/xg_async_wait<STAGES - 2>/xg_async_wait<STAGES - 1>/'
refuses common/dmma.cuh 's/write = (STAGES - 1) \* STAGE/write = (STAGES - 2) * STAGE/'
refuses common/tile.cuh 's/- row < wanted.diagonal/- row <= wanted.diagonal/'
refuses common/tile.cuh 's/- 1) > wanted.diagonal/- 1) >= wanted.diagonal/'
refuses common/tile.cuh 's/kind == XG_TRIANGLE_UPPER)/kind == 3)/'
exit $status

# SPDX-License-Identifier: MIT
# Includes run one way: shim -> src -> kernels/kabi.h and table.h; in src/ from each layer to those
# before it, and never in a circle; only drv.h includes the driver's header.
. "$srcdir/tests/gate/lib"

# The folders of src/: each includes those before it; the files in src/ itself all of them.
layers='base host generation decide machine reference verify device compute resident pipeline report engine'

# rules: checks each #include by the rules of its folder.
rules() {
    awk -v layers="$layers" '
    function refuse(why) { print FILENAME ":" FNR ": " why; bad = 1 }
    BEGIN {
        count = split(layers, layer, " ")
        for (i = 1; i <= count; i++)
            rank[layer[i]] = i
    }
    /^[ \t]*#[ \t]*include/ {
        split($0, part, /[<">]/)
        name = part[2]
        quoted = $0 ~ /"/
        depth = split(FILENAME, at, "/")
        room = at[1]
        if (room == "src") {
            if (name ~ /cblas/)
                refuse("src/ includes no BLAS interface")
            if (!quoted && name ~ /^(cuda|cublas|nv)/ && FILENAME != "src/device/drv.h")
                refuse("only src/device/drv.h includes <cuda.h>")
            if (!quoted)
                next
            if (name ~ /^kernels\/(kabi|emulated\/(split|residue)_kabi|lapack\/(cast|lu|mirror|panel|qr)_kabi|table)\.h$/)
                next
            split(name, to, "/")
            if (name ~ /^[a-z_]+\.h$/ ? depth > 2 : !(to[1] in rank))
                refuse("src/ includes its own headers by layer, the headers of kernels/ with an ABI, and table.h")
            else if (depth > 2 && rank[to[1]] > rank[at[2]])
                refuse(at[2] "/ must not include " to[1] "/")
        } else if (room == "kernels") {
            if (quoted && name ~ /\// && (depth < 3 || name !~ /^\.\.\/(common\/)?[a-z_]+\.(h|cuh)$/))
                refuse("a folder of kernels/ includes its own, common/ and what lies beside both")
            if (!quoted && name ~ /^(cblas|cublas)/)
                refuse("kernels/ includes no BLAS")
        } else if (room == "shim") {
            if (quoted && name ~ /\// && name !~ /^src\/([a-z]+\/)?[a-z_]+\.h$/)
                refuse("shim/ includes its own headers and those of src/")
            if (!quoted && name ~ /^cu(da|blas)/)
                refuse("shim/ includes no driver")
        }
    }
    END { exit bad }' $(find src kernels shim -name '*.[chS]' -o -name '*.cu' -o -name '*.cuh')
}

# circles: modules of src/ (x.h and x.c are one) that include each other; tsort names them.
circles() {
    find src -name '*.[ch]' | while read -r file; do
        sed -n 's/^[ \t]*#[ \t]*include "\([a-z_\/]*\)\.h".*/\1/p' "$file" | grep -v '^kernels/' |
            sed "s|^|$(echo "$file" | sed 's|^src/||; s|\.[ch]$||') |"
    done | tsort 2>&1 >/dev/null
}

# check TREE
check() {
    (
        cd "$1" || exit 1
        rules || exit 1
        loops=$(circles)
        [ -z "$loops" ] || { echo "$loops"; exit 1; }
    )
}

# counterfeit FILE LINE: makes a tree in which FILE has this LINE.
counterfeit() {
    rm -rf "$gate_tmp/tree"
    mkdir -p "$gate_tmp/tree/src/base" "$gate_tmp/tree/src/decide" "$gate_tmp/tree/src/device" \
        "$gate_tmp/tree/src/engine" "$gate_tmp/tree/kernels/fp32" "$gate_tmp/tree/shim"
    echo '#include <cuda.h>' >"$gate_tmp/tree/src/device/drv.h"
    echo '#include "device/drv.h"' >"$gate_tmp/tree/src/device/dev.h"
    echo '#include "decide/facts.h"' >"$gate_tmp/tree/src/decide/select.h"
    echo '#include "kernels/table.h"' >"$gate_tmp/tree/src/decide/facts.h"
    echo '#include "decide/select.h"' >"$gate_tmp/tree/src/engine/engine.h"
    echo '#include "src/decide/select.h"' >"$gate_tmp/tree/shim/gemm.c"
    echo '#include "../common/tile.cuh"' >"$gate_tmp/tree/kernels/fp32/a.cu"
    echo "$2" >>"$gate_tmp/tree/$1"
}

passes "$srcdir"
counterfeit src/device/mem.c '#include "device/dev.h"'
passes "$gate_tmp/tree"
counterfeit src/dispatch.c '#include "engine/engine.h"'
passes "$gate_tmp/tree"
while read -r file line; do
    counterfeit "$file" "$line"
    refuses "$gate_tmp/tree" || echo "  with $line in $file"
done <<'LIST'
src/base/conf.c #include <cblas.h>
src/device/dev.h #include <cuda.h>
src/device/mem.c #  include <cublas_v2.h>
src/device/mem.c #include "shim/next.h"
src/device/mem.c #include "../shim/next.h"
src/device/mem.c #include "dev.h"
src/device/mem.c #include "kernels/images.h"
src/decide/policy.c #include "device/drv.h"
src/base/conf.c #include "decide/select.h"
src/device/dev.c #include "engine/engine.h"
src/engine/engine.c #include "dispatch.h"
src/decide/facts.c #include "decide/select.h"
src/decide/facts.h #include "decide/select.h"
kernels/fp32/a.cu #include "../../src/base/xg.h"
kernels/fp32/a.cu #include "../emulated/wgmma.cuh"
shim/gemm.c #include "../src/base/xg.h"
shim/gemm.c #include "kernels/kabi.h"
shim/gemm.c #include <cuda.h>
LIST
exit $status

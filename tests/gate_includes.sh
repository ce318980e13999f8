# SPDX-License-Identifier: MIT
# Includes run one way: shim -> src -> kernels/kabi.h and table.h; the driver's header stays in drv.h.
. "$srcdir/tests/gate_lib"

# check TREE: each #include against the rules of its folder, then what each file reaches.
check() {
    (
        cd "$1" || exit 1
        awk '
        function refuse(why) { print FILENAME ":" FNR ": " why; bad = 1 }
        /^[ \t]*#[ \t]*include/ {
            split($0, part, /[<">]/)
            name = part[2]
            quoted = $0 ~ /"/
            room = FILENAME
            sub(/\/.*/, "", room)
            base = FILENAME
            sub(/.*\//, "", base)
            if (room == "src") {
                if (name ~ /cblas/)
                    refuse("src/ knows no BLAS interface")
                if (!quoted && name ~ /^(cuda|cublas|nv)/ && FILENAME != "src/drv.h")
                    refuse("only src/drv.h includes <cuda.h>")
                if (quoted && name ~ /\// && name !~ /^\.\.\/kernels\/(kabi|split_kabi|table)\.h$/)
                    refuse("src/ includes its own headers, kernels/kabi.h, split_kabi.h and table.h")
            } else if (room == "kernels") {
                if (quoted && name ~ /\//)
                    refuse("kernels/ includes only kernels/")
                if (!quoted && name ~ /^(cblas|cublas)/)
                    refuse("kernels/ knows no BLAS")
            } else if (room == "shim") {
                if (quoted && name ~ /\// && name !~ /^\.\.\/src\/[a-z_]+\.h$/)
                    refuse("shim/ includes its own headers and those of src/")
                if (!quoted && name ~ /^cu(da|blas)/)
                    refuse("shim/ knows no driver")
            }
            if (room == "src" && quoted && name !~ /\//)
                edge[base] = edge[base] " " name
        }
        function reaches(file, list, count, i) {
            if (file in seen)
                return 0
            seen[file] = 1
            if (file == "drv.h")
                return 1
            count = split(edge[file], list, " ")
            for (i = 1; i <= count; i++)
                if (reaches(list[i]))
                    return 1
            return 0
        }
        END {
            count = split("conf cpu cut learn log machine phase plan policy populate select spin " \
                          "stats tensor trace", pure, " ")
            for (p = 1; p <= count; p++)
                for (suffix = 1; suffix <= 2; suffix++) {
                    file = pure[p] (suffix == 1 ? ".h" : ".c")
                    split("", seen)
                    if (reaches(file)) {
                        print "src/" file ": reaches drv.h, and must know no driver"
                        bad = 1
                    }
                }
            exit bad
        }' $(find src kernels shim -name '*.[chS]' -o -name '*.cu' -o -name '*.cuh')
    )
}

# counterfeit FILE LINE: a tree in which one file includes what it must not.
counterfeit() {
    rm -rf "$gate_tmp/tree"
    mkdir -p "$gate_tmp/tree/src" "$gate_tmp/tree/kernels" "$gate_tmp/tree/shim"
    echo '#include <cuda.h>' >"$gate_tmp/tree/src/drv.h"
    echo '#include "drv.h"' >"$gate_tmp/tree/src/dev.h"
    echo '#include "../kernels/table.h"' >"$gate_tmp/tree/src/select.h"
    echo '#include "../src/select.h"' >"$gate_tmp/tree/shim/gemm.c"
    echo '#include "tile.cuh"' >"$gate_tmp/tree/kernels/a.cu"
    echo "$2" >>"$gate_tmp/tree/$1"
}

passes "$srcdir"
counterfeit src/mem.c '#include "dev.h"'
passes "$gate_tmp/tree"
while read -r file line; do
    counterfeit "$file" "$line"
    refuses "$gate_tmp/tree" || echo "  with $line in $file"
done <<'LIST'
src/conf.c #include <cblas.h>
src/dev.h #include <cuda.h>
src/mem.c #  include <cublas_v2.h>
src/mem.c #include "../shim/next.h"
src/mem.c #include "../kernels/images.h"
src/policy.c #include "drv.h"
src/stats.h #include "dev.h"
kernels/a.cu #include "../src/xg.h"
shim/gemm.c #include "../kernels/kabi.h"
shim/gemm.c #include <cuda.h>
LIST
exit $status

# SPDX-License-Identifier: MIT
# A source file names its licence and has at most 600 lines.
. "$srcdir/tests/gate/lib"

# check FILE...
check() {
    awk '
    function judge() {
        if (name == "")
            return
        if (!licence) { print name ": no SPDX-License-Identifier: MIT in its first two lines"; bad = 1 }
        if (lines > 600) { print name ": " lines " lines, more than 600"; bad = 1 }
    }
    FNR == 1 { judge(); name = FILENAME; licence = 0 }
    FNR <= 2 && /SPDX-License-Identifier: MIT/ { licence = 1 }
    { lines = FNR }
    END { judge(); exit bad }' "$@"
}

passes $(find "$srcdir/src" "$srcdir/shim" "$srcdir/kernels" "$srcdir/tests" "$srcdir/bench" "$srcdir/tools" \
    "$srcdir/examples" "$srcdir/m4" "$srcdir/python" "$srcdir/packaging" -type f \( -name '*.[chS]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' \
    -o -name '*.sh' -o -name '*.py' -o -name '*.inc' -o -name 'xg_*.m4' \))
echo 'int xg_count;' >"$gate_tmp/anonymous.c"
refuses "$gate_tmp/anonymous.c"
{ echo '/* SPDX-License-Identifier: MIT */'; yes '' | sed 600q; } >"$gate_tmp/long.c"
refuses "$gate_tmp/long.c"
exit $status

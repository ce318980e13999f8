# SPDX-License-Identifier: MIT
# C files have the format that clang-format 14 gives them; versions differ.
. "$srcdir/tests/gate/lib"
clang_format=
for name in clang-format-14 clang-format; do
    case $($name --version 2>/dev/null) in
    *'version 14.'*) clang_format=$name; break ;;
    esac
done
[ -n "$clang_format" ] || skip "no clang-format 14"

# check FILE
check() {
    $clang_format --dry-run -Werror --style="file:$srcdir/.clang-format" "$1"
}

for file in $(find "$srcdir/src" "$srcdir/shim" "$srcdir/kernels" "$srcdir/tests" "$srcdir/bench" "$srcdir/tools" \
    "$srcdir/examples" "$srcdir/python" -name '*.[ch]' -o -name '*.cpp'); do
    passes "$file"
done
printf 'int  xg_count( void ) ;\n' >"$gate_tmp/loose.c"
refuses "$gate_tmp/loose.c"
exit $status

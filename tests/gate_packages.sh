# SPDX-License-Identifier: MIT
# The files of Debian's and conda's packages, and CITATION.cff, say of the library what the build says: its
# version, its soname, its names.
. "$srcdir/tests/gate_lib"

# check FOLDER: a source tree.
check() {
    version=$(sed -n 's/^AC_INIT(\[[^]]*\], \[\([^]]*\)\].*/\1/p' "$1/configure.ac")
    [ -n "$version" ] || { echo "no version in configure.ac"; return 1; }
    debian=$(sed -n '1s/^xgemm-shim (\([^-)]*\).*/\1/p' "$1/debian/changelog")
    conda=$(sed -n 's/^  version: "\(.*\)"$/\1/p' "$1/packaging/conda/recipe.yaml")
    [ "$debian" = "$version" ] || { echo "debian/changelog: $debian, not $version"; return 1; }
    cited=$(sed -n 's/^version: //p' "$1/CITATION.cff")
    [ "$cited" = "$version" ] || { echo "CITATION.cff: $cited, not $version"; return 1; }
    [ "$conda" = "$version" ] || { echo "recipe.yaml: $conda, not $version"; return 1; }

    interface=$(sed -n 's/.*-version-info \([0-9]*\):[0-9]*:\([0-9]*\).*/\1 \2/p' "$1/shim/Makefile.inc")
    soname=libxgemm_shim.so.$((${interface% *} - ${interface#* }))
    for file in debian/libxgemm-shim0.symbols packaging/Makefile.inc; do
        grep -q "^\(xg_soname = \)\{0,1\}$soname\( \|\$\)" "$1/$file" ||
            { echo "$file does not name $soname"; return 1; }
    done
    printf '%s\n' $(exported_names "$1") | LC_ALL=C sort >"$gate_tmp/have"
    sed -n 's/^ \(.*\)@Base .*/\1/p' "$1/debian/libxgemm-shim0.symbols" | LC_ALL=C sort >"$gate_tmp/said"
    [ -s "$gate_tmp/have" ] && diff "$gate_tmp/have" "$gate_tmp/said"
}

# counterfeit FILE EXPRESSION: a tree whose FILE sed has changed.
counterfeit() {
    rm -rf "$gate_tmp/tree"
    for file in CITATION.cff configure.ac debian/changelog debian/libxgemm-shim0.symbols packaging/Makefile.inc \
        packaging/conda/recipe.yaml shim/Makefile.inc src/base/problem.c; do
        mkdir -p "$gate_tmp/tree/$(dirname "$file")"
        cat "$srcdir/$file" >"$gate_tmp/tree/$file"
    done
    sed "$2" "$srcdir/$1" >"$gate_tmp/tree/$1"
    ! cmp -s "$srcdir/$1" "$gate_tmp/tree/$1" || { echo "FAIL: nothing to change in $1"; status=1; }
    refuses "$gate_tmp/tree"
}

passes "$srcdir"
counterfeit configure.ac 's/^\(AC_INIT.*\[\)[0-9][^]]*/\199.0/'
counterfeit CITATION.cff 's/^version: /&9/'
counterfeit packaging/conda/recipe.yaml 's/version: "/&9/'
counterfeit shim/Makefile.inc 's/-version-info 0/-version-info 7/'
counterfeit src/base/problem.c 's/"dsyrk"/"dsyr2k"/'
counterfeit debian/libxgemm-shim0.symbols '/ cblas_sgemm@/d'
exit $status

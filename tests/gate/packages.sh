# SPDX-License-Identifier: MIT
# The files of Debian's, conda's, Spack's and Julia's packages, the recipes of containers and
# CITATION.cff state what the build states: the version, the soname, the names, the options of configure.
. "$srcdir/tests/gate/lib"
python=${PYTHON:-python3}
spack=packaging/spack/spack_repo/xgemm/packages/xgemm_shim/package.py
containers="packaging/containers/Dockerfile packaging/containers/xgemm.def"
"$srcdir/configure" --help >"$gate_tmp/help"

# options FILE: each option of configure in FILE exists.
options() {
    for option in $(grep -o -e '--with\(out\)\{0,1\}-[a-z-]*' "$1"); do
        grep -q -e "$option\([= ]\|\$\)" "$gate_tmp/help" || { echo "$1: $option is no option of configure"; return 1; }
    done
}

# names FILE: prints the names in Debian's list of symbols, with all alternatives of a pattern.
names() {
    sed -n 's/^ \((regex)"^\)\{0,1\}\(.*\)@Base\([$]"\)\{0,1\} [0-9].*/\2/p' "$1" | awk '
    function expand(name,   before, after, count, part, i) {
        if (!match(name, /\([^()]*\)/)) {
            print name
            return
        }
        before = substr(name, 1, RSTART - 1)
        after = substr(name, RSTART + RLENGTH)
        count = split(substr(name, RSTART + 1, RLENGTH - 2), part, "|")
        for (i = 1; i <= count; i++)
            expand(before part[i] after)
    }
    { expand($0) }'
}

# check FOLDER: a source tree.
check() {
    version=$(sed -n 's/^AC_INIT(\[[^]]*\], \[\([^]]*\)\].*/\1/p' "$1/configure.ac")
    [ -n "$version" ] || { echo "no version in configure.ac"; return 1; }
    debian=$(sed -n '1s/^xgemm-shim (\([^-)]*\).*/\1/p' "$1/debian/changelog")
    conda=$(sed -n 's/^  version: "\(.*\)"$/\1/p' "$1/packaging/conda/recipe.yaml")
    [ "$debian" = "$version" ] || { echo "debian/changelog: $debian, not $version"; return 1; }
    cited=$(sed -n 's/^version: //p' "$1/CITATION.cff")
    [ "$cited" = "$version" ] || { echo "CITATION.cff: $cited, not $version"; return 1; }
    julia=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$1/julia/XGEMM.jl/Project.toml")
    [ "$julia" = "$version" ] || { echo "Project.toml: $julia, not $version"; return 1; }
    [ "$conda" = "$version" ] || { echo "recipe.yaml: $conda, not $version"; return 1; }
    if command -v "$python" >/dev/null; then
        "$python" -B "$srcdir/tests/gate/packages.py" "$1/$spack" >"$gate_tmp/spack" || { echo "$spack fails"; return 1; }
        grep -qx "version $version" "$gate_tmp/spack" || { echo "$spack: $(sed 1q "$gate_tmp/spack")"; return 1; }
        grep -q 'with-cuda-arch=80,90a,120$' "$gate_tmp/spack" || { cat "$gate_tmp/spack"; return 1; }
        options "$gate_tmp/spack" || return 1
    fi
    for file in $containers; do
        options "$1/$file" || return 1
        sed -n 's/^\(ARG\| *\) \{0,1\}\(\(CUDA\|SYSTEM\|ARCH\)=.*\)/\2/p' "$1/$file" | sort -u
    done | sort | uniq -c | grep -v '^ *2 ' && { echo "the containers differ"; return 1; }

    interface=$(sed -n 's/.*-version-info \([0-9]*\):[0-9]*:\([0-9]*\).*/\1 \2/p' "$1/shim/Makefile.inc")
    soname=libxgemm_shim.so.$((${interface% *} - ${interface#* }))
    for file in debian/libxgemm-shim0.symbols packaging/Makefile.inc; do
        grep -q "^\(xg_soname = \)\{0,1\}$soname\( \|\$\)" "$1/$file" ||
            { echo "$file does not name $soname"; return 1; }
    done
    printf '%s\n' $(exported_names "$1") | LC_ALL=C sort >"$gate_tmp/have"
    names "$1/debian/libxgemm-shim0.symbols" | LC_ALL=C sort >"$gate_tmp/said"
    [ -s "$gate_tmp/have" ] && diff "$gate_tmp/have" "$gate_tmp/said"
}

# counterfeit FILE EXPRESSION: a tree whose FILE sed has changed is refused.
counterfeit() {
    rm -rf "$gate_tmp/tree"
    for file in CITATION.cff configure.ac debian/changelog debian/libxgemm-shim0.symbols packaging/Makefile.inc \
        julia/XGEMM.jl/Project.toml packaging/conda/recipe.yaml $containers $spack shim/Makefile.inc shim/routines.h src/base/problem.c; do
        mkdir -p "$gate_tmp/tree/$(dirname "$file")"
        cat "$srcdir/$file" >"$gate_tmp/tree/$file"
    done
    passes "$gate_tmp/tree"
    sed "$2" "$srcdir/$1" >"$gate_tmp/tree/$1"
    ! cmp -s "$srcdir/$1" "$gate_tmp/tree/$1" || { echo "FAIL: nothing to change in $1"; status=1; }
    refuses "$gate_tmp/tree"
}

passes "$srcdir"
counterfeit configure.ac 's/^\(AC_INIT.*\[\)[0-9][^]]*/\199.0/'
counterfeit CITATION.cff 's/^version: /&9/'
counterfeit julia/XGEMM.jl/Project.toml 's/^version = "/&9/'
counterfeit packaging/conda/recipe.yaml 's/version: "/&9/'
counterfeit packaging/containers/Dockerfile 's/--with-cuda-arch/--with-cuda-archs/'
counterfeit packaging/containers/xgemm.def 's/CUDA=1/CUDA=2/'
if command -v "$python" >/dev/null; then
    counterfeit $spack 's/version("/&9/'
    counterfeit $spack 's/--without-cuda/--no-cuda/;s/--with-blas/--with-cblas/'
    counterfeit $spack 's/working_dir/&s/;s/from spack.package import \*/from spack.package import nothing/'
fi
counterfeit shim/Makefile.inc 's/-version-info 0/-version-info 7/'
counterfeit src/base/problem.c 's/"dsyrk"/"dsyr2k"/'
counterfeit debian/libxgemm-shim0.symbols '/ getenv@/d'
counterfeit debian/libxgemm-shim0.symbols 's/|getri|/|/'
counterfeit debian/libxgemm-shim0.symbols 's/|getri|/|getri|getrj|/'
exit $status

# SPDX-License-Identifier: MIT
# `make dist` packs every file that git knows: a header that no Makefile.inc lists would build here
# and nowhere else.
. "$srcdir/tests/gate/lib"
LC_ALL=C; export LC_ALL
git -C "$srcdir" ls-files >"$gate_tmp/known" 2>/dev/null && [ -s "$gate_tmp/known" ] ||
    skip "$srcdir is no clone"
printf 'include Makefile\npacked:\n\t@printf "%%s\\n" $(DISTFILES:$(srcdir)/%%=%%)\n' >"$gate_tmp/print.mk"
(cd "$builddir" && MAKEFLAGS= ${MAKE:-make} -s -f "$gate_tmp/print.mk" packed) >"$gate_tmp/said" 2>"$gate_tmp/err" || {
    cat "$gate_tmp/err"
    exit 99
}

# Measurements and .gitignore need not be packed.
stays='^(bench/results/|\.gitignore$)'

# check FILE: every name in FILE, one a line, is packed.
check() {
    grep -Ev "$stays" "$1" | sort -u >"$gate_tmp/wanted"
    sort -u "$gate_tmp/said" | comm -23 "$gate_tmp/wanted" - |
        sed 's/$/: no Makefile.inc has make dist pack it/' | grep . && return 1
    [ "$(wc -l <"$gate_tmp/wanted")" -gt 100 ]
}

passes "$gate_tmp/known"
{ cat "$gate_tmp/known"; echo src/base/unlisted.h; } >"$gate_tmp/more"
refuses "$gate_tmp/more"
exit $status

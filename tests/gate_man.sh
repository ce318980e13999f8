# SPDX-License-Identifier: MIT
# The tables of variables in the manual page and README.md say what src/conf.c says, and the launcher's
# page names its options.
. "$srcdir/tests/gate_lib"
help=$builddir/shim/xgemm-help
run=$builddir/shim/xgemm-run
[ -x "$help" ] && [ -x "$run" ] || skip "$help and $run have not been built"

# entries FORM: the table as src/conf.c has it, written for the manual page or for README.md.
entries() {
    "$help" | awk -v form="$1" '
    function flush() {
        if (name == "")
            return
        if (form == "man") {
            printf ".TP\n.BR \"%s=%s\" \" (default: %s)\"\n%s\n", name, accepts, standard, text
        } else {
            gsub(/\|/, "\\|", accepts)
            printf "| `%s` | %s | %s | %s |\n", name, accepts, standard, text
        }
    }
    /^  XGEMM_/ {
        flush()
        name = accepts = standard = $0
        sub(/^ */, "", name); sub(/=.*/, "", name)
        sub(/^[^=]*=/, "", accepts); sub(/ \(default: .*/, "", accepts)
        sub(/.*\(default: /, "", standard); sub(/\)$/, "", standard)
        text = ""
        next
    }
    { sub(/^ */, ""); text = text (text == "" ? "" : " ") $0 }
    END { flush() }'
}

# check FILE: a manual page or README.md.
check() {
    case $1 in
    *.md)
        entries readme >"$gate_tmp/said_by_conf"
        grep '^| `XGEMM_' "$1" >"$gate_tmp/said_here"
        ;;
    *.7)
        entries man >"$gate_tmp/said_by_conf"
        awk '/^\.SH/ { inside = $2 == "ENVIRONMENT"; next } inside' "$1" >"$gate_tmp/said_here"
        ;;
    *.1)
        "$run" --help | grep -o -e '--[a-z][a-z]*' | sort -u >"$gate_tmp/said_by_conf"
        sed 's/\\-/-/g' "$1" | grep -o -e '--[a-z][a-z]*' | sort -u >"$gate_tmp/said_here"
        ;;
    esac
    [ -s "$gate_tmp/said_by_conf" ] && diff "$gate_tmp/said_by_conf" "$gate_tmp/said_here"
}

for page in "$srcdir/man/libxgemm_shim.7" "$srcdir/man/xgemm-run.1" "$srcdir/README.md"; do
    passes "$page"
done
for page in man/libxgemm_shim.7 README.md; do
    sed 's/XGEMM_STATS/XGEMM_STATISTICS/' "$srcdir/$page" >"$gate_tmp/renamed.${page##*.}"
    refuses "$gate_tmp/renamed.${page##*.}"
    sed '/XGEMM_MODE/s/auto)/cpu)/; /XGEMM_MODE/s/| auto |/| cpu |/' "$srcdir/$page" \
        >"$gate_tmp/default.${page##*.}"
    refuses "$gate_tmp/default.${page##*.}"
done
sed 's/\\-\\-ab/\\-\\-cd/' "$srcdir/man/xgemm-run.1" >"$gate_tmp/option.1"
refuses "$gate_tmp/option.1"
exit $status

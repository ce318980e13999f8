# SPDX-License-Identifier: MIT
# The tables of variables in the manual page and doc/reference/settings.md say what src/base/conf.c
# says. The launcher's page and completions name its subcommands and options, each of which has a
# --help, and doctor's page its options and diagnoses. performance.md's table of GPUs that nobody
# has measured has the model's predictions.
. "$srcdir/tests/gate/lib"
settings=$builddir/tools/xgemm-settings
run=$builddir/tools/xgemm-run
doctor=$builddir/tools/xgemm-doctor
for program in "$settings" "$run" "$doctor"; do
    [ -x "$program" ] || skip "$program has not been built"
done

# entries FORM: prints the table of src/base/conf.c as the manual page or settings.md has it.
entries() {
    "$settings" --all | awk -v form="$1" '
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

# options: prints the options in the text on standard input, one a line.
options() {
    tr -c 'a-zA-Z0-9_-' '\n' | grep -x -E -e '--[a-z][a-z-]*|-[a-z]'
}

subcommands() {
    "$run" --help | sed -n 's/^  \([a-z][a-z]*\)  *[a-zA-Z].*/\1/p'
}

# words: prints the subcommands, and all options that any --help names.
words() {
    {
        subcommands
        {
            "$run" --help
            subcommands | while read -r name; do
                "$run" "$name" --help
            done
        } | options
    } | sort -u
}

# check FILE: a manual page, a file of completion, settings.md or performance.md.
check() {
    case $1 in
    *performance.md)
        "$builddir/tests/unit/generation" | sed -n '/, 2048 /d; s/-SXM4-80GB//; s/^| NVIDIA \(GeForce \)*/| /p' \
            >"$gate_tmp/said_by_conf"
        grep '^| \(A100\|L40S\|RTX [0-9]*\), [0-9]' "$1" >"$gate_tmp/said_here"
        ;;
    *.md)
        entries settings >"$gate_tmp/said_by_conf"
        grep '^| `XGEMM_' "$1" >"$gate_tmp/said_here"
        ;;
    *.7)
        entries man >"$gate_tmp/said_by_conf"
        awk '/^\.SH/ { inside = $2 == "ENVIRONMENT"; next } inside' "$1" >"$gate_tmp/said_here"
        ;;
    */xgemm-doctor.1)
        # The diagnoses with their remedies, and the options, are on the page.
        { "$doctor" --help | grep -o -e '--[a-z][a-z]*' | sort -u; "$doctor" --list; } |
            sed 's/^ *//' >"$gate_tmp/said_by_conf"
        {
            sed '/^\.SH DIAGNOSES/,$d; s/\\-/-/g' "$1" | grep -o -e '--[a-z][a-z]*' | sort -u
            awk '/^\.SH/ { inside = $2 == "DIAGNOSES"; next } inside && !/^\.TP/' "$1" |
                sed 's/^\.BR \([^ ]*\) " \(.*\)"$/\1 \2/'
        } >"$gate_tmp/said_here"
        ;;
    *.1)
        words >"$gate_tmp/said_by_conf"
        {
            sed '/^\.\\"/d; s/\\-/-/g' "$1" | options
            awk '/^\.SH/ { inside = $2 == "SUBCOMMANDS"; next }
                inside && tag { print $2 } { tag = /^\.TP/ }' "$1"
        } | sort -u >"$gate_tmp/said_here"
        ;;
    *completion*)
        # Short options may also be those of the shell's own commands.
        words >"$gate_tmp/said_by_conf"
        {
            options <"$1" | grep -e --
            options <"$1" | grep -x -F -f "$gate_tmp/said_by_conf"
            tr -c 'a-z' '\n' <"$1" | grep -x -F "$(subcommands)"
        } | sort -u >"$gate_tmp/said_here"
        ;;
    esac
    [ -s "$gate_tmp/said_by_conf" ] && diff "$gate_tmp/said_by_conf" "$gate_tmp/said_here"
}

for page in "$srcdir/man/libxgemm_shim.7" "$srcdir/man/xgemm-run.1" "$srcdir/man/xgemm-doctor.1" \
    "$srcdir/doc/reference/settings.md" "$srcdir/tools/completion/xgemm-run" "$srcdir/tools/completion/_xgemm-run"; do
    passes "$page"
done
for page in man/libxgemm_shim.7 doc/reference/settings.md; do
    sed 's/XGEMM_STATS/XGEMM_STATISTICS/' "$srcdir/$page" >"$gate_tmp/renamed.${page##*.}"
    refuses "$gate_tmp/renamed.${page##*.}"
    sed '/XGEMM_MODE/s/auto)/cpu)/; /XGEMM_MODE/s/| auto |/| cpu |/' "$srcdir/$page" \
        >"$gate_tmp/default.${page##*.}"
    refuses "$gate_tmp/default.${page##*.}"
done
sed 's/driver\.container/driver.box/' "$srcdir/man/xgemm-doctor.1" >"$gate_tmp/xgemm-doctor.1"
refuses "$gate_tmp/xgemm-doctor.1"
sed 's/nvidia-smi -c DEFAULT/nvidia-smi/' "$srcdir/man/xgemm-doctor.1" >"$gate_tmp/xgemm-doctor.1"
refuses "$gate_tmp/xgemm-doctor.1"

# counterfeit FILE COMMAND NAME: FILE, as the sed COMMAND changes it, is refused.
counterfeit() {
    sed "$2" "$srcdir/$1" >"$gate_tmp/$3"
    cmp -s "$srcdir/$1" "$gate_tmp/$3" && { echo "FAIL: $2 changes nothing in $1"; status=1; }
    refuses "$gate_tmp/$3"
}
if [ -x "$builddir/tests/unit/generation" ]; then
    passes "$srcdir/doc/explanation/performance.md"
    counterfeit doc/explanation/performance.md '/^| A100, 8192/s/ 58\.1 / 58.2 /' performance.md
fi
counterfeit man/xgemm-run.1 's/\\-\\-ab/\\-\\-cd/' option.1
counterfeit man/xgemm-run.1 's/\\-\\-json/json/' json.1
counterfeit man/xgemm-run.1 's/^\.B top$/.B bottom/' subcommand.1
for shell in xgemm-run _xgemm-run; do
    counterfeit tools/completion/$shell 's/--json//' "completion.json.$shell"
    counterfeit tools/completion/$shell 's/--json/--yaml/; s/--top/& --json/' "completion.yaml.$shell"
    counterfeit tools/completion/$shell 's/doctor/nurse/' "completion.nurse.$shell"
done
exit $status

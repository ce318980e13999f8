# SPDX-License-Identifier: MIT
# Each promise of doc/contract.md names tests that run and mention it; no test mentions a promise
# that does not exist.
. "$srcdir/tests/gate/lib"

# promises CONTRACT: prints "NUMBER" for a promise, and "NUMBER TEST" for each test that holds it.
promises() {
    awk '
    function flush(   i, count, name) {
        if (number == "")
            return
        print number
        sub(/.*Held by/, "", text)
        count = split(text, name, "`")
        for (i = 2; i <= count; i += 2)
            print number, name[i]
    }
    /^\*\*[0-9]+\.[0-9]+\*\* / { flush(); number = $1; gsub(/\*/, "", number); text = "" }
    /^#/ || /^- / { flush(); number = "" }
    { text = text " " $0 }
    END { flush() }' "$1"
}

# mentioned FILE...: prints the numbers after the word "contract", each once; a list may span lines.
mentioned() {
    cat "$@" | tr '\n' ' ' | sed 's/ \(\*\|#\) / /g' | tr -s ' ' |
        grep -oiE 'contract [0-9]+\.[0-9]+(, [0-9]+\.[0-9]+)*' | grep -oE '[0-9]+\.[0-9]+' | sort -u
}

# sources TEST FOLDER: prints the files of a test.
sources() {
    for file in "$2/$1.c" "$2/$1.sh"; do
        [ -f "$file" ] && echo "$file"
    done
}

# check CONTRACT LIST TESTS: the page, the list of tests, the tests' folder.
check() {
    bad=0
    promises "$1" >"$gate_tmp/promises"
    [ "$(wc -l <"$gate_tmp/promises")" -ge 20 ] || { echo "$1: few promises"; bad=1; }
    sed 's/ .*//' "$gate_tmp/promises" | uniq | sort >"$gate_tmp/numbers"
    [ -z "$(uniq -d "$gate_tmp/numbers")" ] || { echo "$1: a number stands twice"; bad=1; }
    while read -r number test; do
        if [ -z "$test" ]; then
            grep -q "^$number ." "$gate_tmp/promises" || { echo "$number names no test"; bad=1; }
        elif ! grep -qE "tests/$test(\.sh)?( |\$)" "$2"; then
            echo "$number: $test is no test of $2"
            bad=1
        elif ! mentioned $(sources "$test" "$3") | grep -qx "$number"; then
            echo "$number: $test does not mention it"
            bad=1
        fi
    done <"$gate_tmp/promises"
    mentioned $(find "$3" -name '*.[ch]' -o -name '*.sh' ! -path "*/gate/contract.sh") |
        while read -r number; do
            grep -qx "$number" "$gate_tmp/numbers" || echo "a test mentions $number: no promise"
        done >"$gate_tmp/strays"
    cat "$gate_tmp/strays"
    [ $bad = 0 ] && [ ! -s "$gate_tmp/strays" ]
}

contract=$srcdir/doc/contract.md list=$gate_tmp/list
cat "$srcdir"/tests/Makefile.inc "$srcdir"/tests/*/Makefile.inc >"$list"
passes "$contract" "$list" "$srcdir/tests"

# counterfeit NAME SED-COMMAND: the changed contract is refused.
counterfeit() {
    sed "$2" "$contract" >"$gate_tmp/$1.md"
    refuses "$gate_tmp/$1.md" "$list" "$srcdir/tests"
}
counterfeit untested '\|^Held by `preload/large`|d'
counterfeit unknown 's|`preload/large`|`preload/huge`|'
counterfeit elsewhere 's|`preload/large`|`unit/log`|'
counterfeit more 's/^\*\*3\.3\*\*/**3.9**/'
counterfeit fewer '/^\*\*3\.3\*\*/,/^Held by/d'
sed 's,tests/preload/large.sh,,' "$list" >"$gate_tmp/fewer"
refuses "$contract" "$gate_tmp/fewer" "$srcdir/tests"
exit $status

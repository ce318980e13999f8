# SPDX-License-Identifier: MIT
# Links between the pages of the tree lead to files and headings that exist. README.md has 900 words
# at most.
. "$srcdir/tests/gate/lib"
LC_ALL=C; export LC_ALL
words_at_most=900

# pages FOLDER: prints its *.md, one a line; in a clone those that git knows or would add.
pages() {
    git -C "$1" ls-files -co --exclude-standard -- '*.md' 2>/dev/null | sort -u | grep . ||
        (cd "$1" && find . -name '*.md' -not -path './build/*' | sed 's,^\./,,' | sort)
}

# prose FILE: prints its lines; code blocks become empty, and text between backquotes goes.
prose() {
    awk '
    /^ *(```|~~~)/ { fenced = !fenced; print ""; blank = 0; next }
    fenced { print ""; next }
    /^ *$/ { print; blank = 1; next }
    (blank || code) && !list && /^    / { print ""; code = 1; next }
    {
        code = blank = 0
        list = /^ *([-*+]|[0-9]+\.) / || (list && /^ /)
        gsub(/`[^`]*`/, "")
        print
    }' "$1"
}

# links FILE: prints "LINE TARGET" for each link and picture.
links() {
    prose "$1" | awk '
    {
        line = $0
        while (match(line, /\]\([^) ]*/)) {
            print FNR, substr(line, RSTART + 2, RLENGTH - 2)
            line = substr(line, RSTART + RLENGTH)
        }
        if (match($0, /^\[[^]]*\]: *[^ ]+/)) {
            target = $0
            sub(/^\[[^]]*\]: */, "", target); sub(/ .*/, "", target)
            print FNR, target
        }
        if (match($0, /(href|src)="[^"]*/)) {
            target = substr($0, RSTART, RLENGTH)
            sub(/^[^"]*"/, "", target)
            print FNR, target
        }
    }'
}

# anchors FILE: prints those of its headings, as GitHub makes them: small letters, hyphens for
# blanks, no punctuation, a number for a repeated heading.
anchors() {
    awk '
    /^ *(```|~~~)/ { fenced = !fenced }
    !fenced && /^#+ / {
        sub(/^#+ */, ""); sub(/ *#* *$/, "")
        while (match($0, /\[[^]]*\]\([^)]*\)/)) {
            text = substr($0, RSTART, RLENGTH)
            sub(/^\[/, "", text); sub(/\].*/, "", text)
            $0 = substr($0, 1, RSTART - 1) text substr($0, RSTART + RLENGTH)
        }
        name = tolower($0)
        gsub(/[^a-z0-9_ -]/, "", name); gsub(/ /, "-", name)
        print name (seen[name]++ ? "-" seen[name] - 1 : "")
    }' "$1"
}

# check FOLDER
check() {
    folder=$(cd "$1" && pwd -P) || return 1
    pages "$folder" >"$gate_tmp/pages"
    [ -s "$gate_tmp/pages" ] || { echo "$1: no pages"; return 1; }
    : >"$gate_tmp/bad"
    while read -r page; do
        links "$folder/$page" >"$gate_tmp/links"
        while read -r line target; do
            case $target in
            [a-z]*:*) continue ;;
            '') echo "$page:$line: a link to nothing"; continue ;;
            esac
            path=${target%%#*} anchor=
            case $target in *'#'*) anchor=${target#*#} ;; esac
            case $path in
            '') file=$folder/$page ;;
            *) file=$(realpath -m "$folder/$(dirname "$page")/$path") ;;
            esac
            # A tarball has no measurements.
            case $file in
            "$folder"/bench/results/*) [ -e "$folder/bench/results/README.md" ] || continue ;;
            "$folder"/* | "$folder") ;;
            *) echo "$page:$line: $target is outside of the tree"; continue ;;
            esac
            if ! [ -e "$file" ]; then
                echo "$page:$line: there is no $path"
            elif [ -n "$anchor" ] && ! anchors "$file" | grep -qxF -e "$anchor"; then
                echo "$page:$line: ${path:-$page} has no heading #$anchor"
            fi
        done <"$gate_tmp/links" >>"$gate_tmp/bad"
    done <"$gate_tmp/pages"
    words=$(wc -w <"$folder/README.md") || words=0
    [ "$words" -gt 0 ] && [ "$words" -le $words_at_most ] ||
        echo "README.md has $words words, 1 to $words_at_most are wanted" >>"$gate_tmp/bad"
    cat "$gate_tmp/bad"
    [ ! -s "$gate_tmp/bad" ]
}

passes "$srcdir"
[ "$(wc -l <"$gate_tmp/pages")" -ge 15 ] || { echo "FAIL: few pages were read"; status=1; }

# A small tree that is right, and each error that it may have.
tree=$gate_tmp/tree
fresh() {
    rm -rf "$tree"
    mkdir -p "$tree/doc"
    cat >"$tree/README.md" <<'END'
# Top

[page](doc/page.md#a-bc-1), [here](#top), `[code](none.md)`, [web](https://example.org/none.md)
END
    cat >"$tree/doc/page.md" <<'END'
# A `b`, c!
## A `b`c
## A `b`c

    [code](none.md)

- [up](../README.md)

[1]: page.md
END
}
# wrong FILE TEXT: with TEXT at the end of FILE the tree is refused.
wrong() {
    fresh
    printf '\n%s\n' "$2" >>"$tree/$1"
    refuses "$tree"
}
fresh
passes "$tree"
wrong README.md '[gone](doc/gone.md)'
wrong README.md '![gone](doc/gone.svg)'
wrong README.md '[gone](#bottom)'
wrong README.md '[gone](doc/page.md#a-bc-2)'
wrong doc/page.md '[root](README.md), [up](../README.md)'
wrong doc/page.md '[1](page.md) [2](gone.md)'
wrong doc/page.md '- in a list

    [gone](gone.md)'
wrong doc/page.md '[out](../../../README.md)'
wrong doc/page.md '[2]: gone.md'
wrong doc/page.md '<img src="gone.png">'
wrong README.md "$(yes word | sed "${words_at_most}q")"
fresh
: >"$tree/README.md"
refuses "$tree"
exit $status

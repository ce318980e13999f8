# SPDX-License-Identifier: MIT
# bench/results has few files, one for each question, and its README.md names them all.
. "$srcdir/tests/gate/lib"

# check FOLDER: at most 25 files and 4000 lines, all of them in its README.md under their device.
check() {
    files=$(cd "$1" && find . -mindepth 2 -type f | sed 's,^\./,,' | sort)
    for file in $files; do
        sed -n "/^| ${file%%/*}\/ /,/^\$/p" "$1/README.md" | grep -qF "\`${file##*/}\`" || {
            echo "$file: not in the table of README.md"
            return 1
        }
    done
    [ "$(echo "$files" | wc -l)" -le 25 ] && [ "$(find "$1" -type f -exec cat {} + | wc -l)" -le 4000 ]
}

[ -e "$srcdir/bench/results/README.md" ] || exit 77 # a tarball has none
passes "$srcdir/bench/results"
mkdir -p "$gate_tmp/h1"
printf '| h1/ | question |\n| `a.csv` | why? |\n' >"$gate_tmp/README.md"
echo 1 >"$gate_tmp/h1/a.csv"
passes "$gate_tmp"
echo 1 >"$gate_tmp/h1/b.csv"
refuses "$gate_tmp"
exit $status

# SPDX-License-Identifier: MIT
# bench/results has few files, one for each question. Its README.md names them all, and so does a
# page, a command or a source, which quotes them.
. "$srcdir/tests/gate/lib"

# check TREE: at most 25 files and 2100 lines; each is in README.md under its device, and named
# elsewhere.
check() {
    results=$1/bench/results
    files=$(cd "$results" && find . -mindepth 2 -type f | sed 's,^\./,,' | sort)
    for file in $files; do
        sed -n "/^| ${file%%/*}\/ /,/^\$/p" "$results/README.md" | grep -qF "\`${file##*/}\`" || {
            echo "$file: not in the table of README.md"
            return 1
        }
        (cd "$1" && grep -rqsF --exclude-dir=results "results/$file" *.md bench doc kernels src \
            tests) || {
            echo "$file: no page, command or source names it"
            return 1
        }
    done
    count=$(echo "$files" | wc -l) lines=$(find "$results" -type f -exec cat {} + | wc -l)
    [ "$count" -le 25 ] && [ "$lines" -le 2100 ] || {
        echo "bench/results: $count files with $lines lines"
        return 1
    }
}

[ -e "$srcdir/bench/results/README.md" ] || exit 77 # a tarball has none
passes "$srcdir"
mkdir -p "$gate_tmp/bench/results/h1" "$gate_tmp/doc"
printf '| h1/ | question |\n| `a.csv` | why? |\n' >"$gate_tmp/bench/results/README.md"
echo 1 >"$gate_tmp/bench/results/h1/a.csv"
refuses "$gate_tmp"
echo '[why](../bench/results/h1/a.csv)' >"$gate_tmp/doc/why.md"
passes "$gate_tmp"
seq 2100 >"$gate_tmp/bench/results/h1/a.csv"
refuses "$gate_tmp"
echo 1 >"$gate_tmp/bench/results/h1/a.csv"
echo '[how](../bench/results/h1/b.csv)' >"$gate_tmp/doc/how.md"
echo 1 >"$gate_tmp/bench/results/h1/b.csv"
refuses "$gate_tmp"
exit $status

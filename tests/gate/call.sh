# SPDX-License-Identifier: MIT
# HACKING.md follows a product and a routine from the exported name to the device. In each list every function is in
# its file, a file above names it, and there are at most 16 files.
. "$srcdir/tests/gate/lib"

# check PAGE
check() {
    awk '/^    shim\/entries\.c / { list++ } /^    (shim|src)\/[a-z_\/]+\.c +[a-z_]+/ { print list, $1, $2 }' "$1" |
        tr -d ',;:' >"$gate_tmp/lists"
    wrong=0
    [ "$(cut -d ' ' -f 1 "$gate_tmp/lists" | uniq | wc -l)" -eq 2 ] || { echo "there are not two lists"; wrong=1; }
    for list in 1 2; do
        above=
        while read -r of file function; do
            [ "$of" = $list ] || continue
            [ -f "$srcdir/$file" ] || { echo "no file $file"; wrong=1; continue; }
            if [ -n "$above" ]; then
                grep -Eq "^[a-z].*\<$function[[(]" "$srcdir/$file" || { echo "no $function in $file"; wrong=1; }
                (cd "$srcdir" && grep -wq "$function" $above) || { echo "nothing above names $function"; wrong=1; }
            fi
            above="$above $file"
        done <"$gate_tmp/lists"
        files=$(echo $above | tr ' ' '\n' | sort -u | wc -l)
        [ "$files" -le 16 ] && [ "$files" -ge 12 ] || { echo "list $list has $files files"; wrong=1; }
    done
    return $wrong
}

page=$srcdir/HACKING.md
passes "$page"
sed '/^    src\/run\.c/d' "$page" >"$gate_tmp/gap"
refuses "$gate_tmp/gap"
sed 's/xg_pipe_load/xg_pipe_send/' "$page" >"$gate_tmp/unknown"
refuses "$gate_tmp/unknown"
sed 's/^    src\/host\/.*//; s/^\(    src\/dispatch\.c .*\)/\1\n    src\/host\/shelter.c xg_shelter_enter/' "$page" >"$gate_tmp/long"
refuses "$gate_tmp/long"
exit $status

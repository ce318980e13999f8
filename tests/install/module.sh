# SPDX-License-Identifier: MIT
# The installed module file names folders that exist. Lmod, if installed, loads and unloads it.
. "$srcdir/tests/install/lib"
install_to "$tmp/own"
version=$(sed -n 's/^AC_INIT(\[[^]]*\], \[\([^]]*\)\].*/\1/p' "$srcdir/configure.ac")
file=$tmp/own/share/modulefiles/xgemm/$version.lua
[ -s "$file" ] || fail "no $file"
! grep -n '@' "$file" || fail "$file is not filled in"

# paths LUA: prints "NAME PATH" for each path that the file prepends, by Lmod's functions.
paths() {
    "$1" - "$file" <<'LUA'
function help(text) assert(#text > 0) end
function whatis(text) assert(text:match("^[A-Z]%a*: %S")) end
function prepend_path(name, path) print(name, path) end
assert(loadfile(arg[1], "t", { help = help, whatis = whatis, prepend_path = prepend_path }))()
LUA
}

lua=
for each in lua5.4 lua5.3 lua; do
    [ -n "$lua" ] || ! command -v "$each" >/dev/null || lua=$each
done
[ -n "$lua" ] || { [ $status -eq 0 ] && skip "no Lua"; exit $status; }
paths "$lua" >"$tmp/paths" || fail "$file is no valid module"
while read -r name path; do
    [ -d "$path" ] || fail "$name gets $path, which is not there"
done <"$tmp/paths"
for name in PATH MANPATH PKG_CONFIG_PATH CMAKE_PREFIX_PATH; do
    grep -q "^$name[[:blank:]]" "$tmp/paths" || fail "nothing is put in $name"
done

lmod=${LMOD_CMD:-/usr/share/lmod/lmod/libexec/lmod}
[ -x "$lmod" ] || exit $status
module() {
    eval "$("$lmod" sh "$@" 2>"$tmp/err")" || fail "module $*: $(cat "$tmp/err")"
}
quiet_stub "$tmp/libone.so"
compile -o "$tmp/program" "$srcdir/tests/install/program.c" "$tmp/libone.so" -Wl,-rpath,"$tmp"
module use "$tmp/own/share/modulefiles"
module load xgemm
[ "$(command -v xgemm-run)" = "$tmp/own/bin/xgemm-run" ] || fail "Lmod: xgemm-run is not in reach: $(cat "$tmp/err")"
seen xgemm-run "$tmp/program"
unseen "$tmp/program"
module unload xgemm
case :$PATH: in
*":$tmp/own/bin:"*) fail "Lmod: unloaded, and still in PATH" ;;
esac
exit $status

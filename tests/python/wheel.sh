# SPDX-License-Identifier: MIT
# The wheel is packed from this build folder, installed into a new environment, used and removed.
. "$srcdir/tests/preload/lib"
needs_plain_library
[ "$XG_WITH_WHEEL" = yes ] || skip "this build makes no wheel"
# Takes the machine's first Python with these packages. One of a virtual environment does not serve:
# an environment that is made from it does not see its packages.
find_python 'import setuptools, numpy, pip, sys, venv, wheel
sys.exit(sys.prefix != sys.base_prefix or int(setuptools.__version__.split(".")[0]) < 61)' ||
    skip "no Python here has NumPy, pip, setuptools 61 and wheel"
unset MAKEFLAGS MFLAGS MAKELEVEL LD_PRELOAD PYTHONPATH XGEMM_SHIM_LIB XGEMM_MODE XGEMM_VERBOSE
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INDEX=1 PIP_ROOT_USER_ACTION=ignore

# Without auditwheel, which not every machine has; it only checks and renames.
$MAKE -s -C "$builddir" wheel PYTHON="$python" AUDITWHEEL=false xg_wheel_dir="$tmp/dist" >"$tmp/out" 2>&1 || {
    cat "$tmp/out"
    fail "make wheel"
    exit $status
}
version=$(sed -n 's/^AC_INIT(\[libxgemm_shim\], \[\(.*\)\])$/\1/p' "$srcdir/configure.ac")
wheel=$(echo "$tmp"/dist/*.whl)
case ${wheel##*/} in
"xgemm_shim-$version-py3-none-linux_"*.whl) ;;
*) fail "the wheel is called ${wheel##*/}" ;;
esac

# The environment sees this machine's NumPy and pip.
"$python" -m venv --system-site-packages --without-pip "$tmp/venv" || exit 99
(cd "$tmp/venv" && find . ! -type d | sort) >"$tmp/before" # pip leaves empty folders
PATH=$tmp/venv/bin:$PATH
python=$tmp/venv/bin/python
"$python" -m pip install -q "$wheel" || fail "pip install"

# The launcher comes first in PATH, and the package and the launcher name the same library.
expect "xgemm-run" "$(command -v xgemm-run)" "$tmp/venv/bin/xgemm-run"
library=$("$python" -c 'import xgemm_shim; print(xgemm_shim.library())')
[ -f "$library" ] || fail "library() is $library"
expect "xgemm-run's library" "$(xgemm-run printenv LD_PRELOAD)" "$(readlink -f "$library")"
expect "python -m's library" "$("$python" -m xgemm_shim printenv LD_PRELOAD)" "$(readlink -f "$library")"
expect "__version__" "$("$python" -c 'import xgemm_shim; print(xgemm_shim.__version__)')" "$version"
[ -s "$tmp/venv/share/man/man7/libxgemm_shim.7" ] && [ -s "$tmp/venv/share/man/man1/xgemm-run.1" ] ||
    fail "no manual pages: $(find "$tmp/venv/share")"
# In the spelling of all versions of Python.
expect "no dependency but extras'" "$("$python" -c 'import importlib.metadata as m
for each in m.requires("xgemm-shim"): print(each)' | tr -d ' ()' | tr "'" '"' | sort | tr '\n' ' ')" \
    'nvidia-cublas-cu12;extra=="cuda12" nvidia-cublas-cu12;extra=="lapack-cuda12" nvidia-cublas<14,>=13;extra=="cuda13" nvidia-cublas<14,>=13;extra=="lapack" nvidia-cusolver-cu12;extra=="lapack-cuda12" nvidia-cusolver<13,>=12;extra=="lapack" '

# NumPy: without the library, with it on the CPU, and on the engine.
# run WHAT COMMAND...: all answers are right.
run() {
    what=$1
    shift
    rm -f "$tmp/log"
    env XGEMM_STATS=1 XGEMM_LOG="$tmp/log" "$@" "$python" "$srcdir/tests/preload/numpy_products.py" >"$tmp/out" 2>&1 ||
        fail "$what: exit status $?"
    expect "$what" "$(tail -n 1 "$tmp/out")" '43 of 43 right'
}
run "plain" env
[ ! -e "$tmp/log" ] || fail "something writes a log without the library"
run "preloaded" env XGEMM_MODE=cpu xgemm-run
grep -qE 'CPU +XGEMM_MODE +(scipy_)?cblas_sgemm' "$tmp/log" || fail "no product was intercepted"
if has_engine; then
    on_driver="env XGEMM_MODE=gpu LD_LIBRARY_PATH=$XG_FAKEDRV_DIR"
    run "on the engine" $on_driver xgemm-run
    grep -qE 'GPU +XGEMM_MODE +(scipy_)?cblas_sgemm' "$tmp/log" || fail "no product ran on the engine"
    run "on the engine, python -m" $on_driver "$python" -m xgemm_shim
    grep -qE 'GPU +XGEMM_MODE +(scipy_)?cblas_sgemm' "$tmp/log" || fail "python -m: none on the engine"
    grep 'GPU failed' "$tmp/log" && fail "a product failed on the engine"
fi

# From inside a program, without a launcher.
rm -f "$tmp/log"
XGEMM_MODE=cpu "$python" -c 'import xgemm_shim; print(xgemm_shim.enable()); import numpy
a = numpy.ones((256, 256), "f"); a @ (a + 1); print(xgemm_shim.stats().calls)' >"$tmp/out" 2>&1
expect "enable()" "$(tr '\n' ' ' <"$tmp/out")" "True 1 "
echo 'XGEMM_SPIN = keep' >"$tmp/site.conf"
expect "enable() and a configuration file" "$(XGEMM_CONFIG=$tmp/site.conf "$python" -c 'import os, xgemm_shim
xgemm_shim.enable(); print(os.environ["XGEMM_SPIN"])')" keep
[ -f "$(dirname "$library")/../py.typed" ] || fail "no py.typed"
echo 'import sys; print(sys.argv[1:])' >"$tmp/p.py"
expect "python -m xgemm_shim p.py" "$("$python" -m xgemm_shim "$tmp/p.py" a)" "['a']"

# The program replaces the launcher: its parent, exit status, deadly signals and environment are
# those of a plain run.
here=$$
for start in xgemm-run "$python -m xgemm_shim"; do
    $start sh -c 'echo $PPID' >"$tmp/out"
    expect "$start: the parent" "$(cat "$tmp/out")" "$here"
    $start sh -c 'exit 9'
    expect "$start: exit status" $? 9
    $start sh -c 'kill -TERM $$'
    expect "$start: a signal" $? 143
    $start "$tmp/no such program" 2>/dev/null
    expect "$start: no such program" $? 127
    $start --no-such-option 2>/dev/null
    expect "$start: misuse" $? 125
    expect "$start: arguments" "$($start sh -c 'echo "$#:$2"' sh 'a  b' '*')" '2:*'
    env -u LC_ALL -u LC_CTYPE LANG=C $start env | grep -v '^_=' | sort >"$tmp/environment.${start##* }"
done
diff "$tmp/environment.xgemm-run" "$tmp/environment.xgemm_shim" || fail "python -m changes the environment"
"$python" -m xgemm_shim sh -c 'kill -PIPE $$'
expect "python -m: SIGPIPE" $? 141

# The wheel has the programs that the launcher starts. calibrate ends: it has no library to measure.
XGEMM_CPU_BLAS=/nonexistent/libblas.so xgemm-run calibrate >"$tmp/out" 2>&1
expect "calibrate" "$?:$(sed 's/: .*//' "$tmp/out")" '1:xgemm-calibrate'
multiply='import numpy; a = numpy.ones((256, 256), "f"); print((a @ a)[0, 0])'
for start in xgemm-run "$python -m xgemm_shim"; do
    for command in "ab -n 1" top "report -o $tmp/page"; do
        $start $command "$python" -c "$multiply" >"$tmp/out" 2>"$tmp/err"
        expect "$start $command" "$?:$(sort -u "$tmp/out")" 0:256.0
        grep -q 'xgemm-run: ' "$tmp/err" || fail "$start $command says nothing"
    done
    grep -q '"products": 1,' "$tmp/page" || fail "$start report: no product on the page"
    rm "$tmp/page"
    $start doctor "$python" -c "$multiply" >"$tmp/out" 2>"$tmp/err"
    case $? in
    0 | 1) ;;
    *) fail "$start doctor: exit status $?" ;;
    esac
    grep -q '^  products     1 of ' "$tmp/out" || fail "$start doctor: $(cat "$tmp/out" "$tmp/err")"
done

# pip install --target has another layout.
"$python" -m pip install -q --target "$tmp/target" "$wheel" 2>"$tmp/err" || fail "pip install --target"
expect "--target" "$("$tmp/target/bin/xgemm-run" printenv LD_PRELOAD)" \
    "$(readlink -f "$tmp")/target/xgemm_shim/lib/libxgemm_shim.so"
expect "--target, python -m" "$(PYTHONPATH=$tmp/target "$python" -m xgemm_shim printenv LD_PRELOAD)" \
    "$(readlink -f "$tmp")/target/xgemm_shim/lib/libxgemm_shim.so"

# Of packages for several Pythons in one prefix the last installed one is used.
mkdir -p "$tmp/two/bin"
cp "$tmp/venv/bin/xgemm-run" "$tmp/two/bin"
for release in 7 12 9; do
    mkdir -p "$tmp/two/lib/python3.$release/site-packages/xgemm_shim/bin"
    launcher=$tmp/two/lib/python3.$release/site-packages/xgemm_shim/bin/xgemm-run
    printf '#!/bin/sh\necho %s\n' "$release" >"$launcher"
    chmod +x "$launcher"
    touch -d "2020-01-$release" "$launcher"
done
expect "several packages" "$("$tmp/two/bin/xgemm-run")" 12
rm -r "$tmp/two/lib"
"$tmp/two/bin/xgemm-run" true 2>/dev/null
expect "no package" $? 125

"$python" -m pip uninstall -q -y xgemm-shim || fail "pip uninstall"
(cd "$tmp/venv" && find . ! -type d | sort) | diff "$tmp/before" - || fail "pip uninstall leaves something behind"
"$python" -c 'import xgemm_shim' 2>/dev/null && fail "it can still be imported"
exit $status

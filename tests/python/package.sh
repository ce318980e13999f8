# SPDX-License-Identifier: MIT
# The Python package xgemm_shim with the library and the launcher of this build, without a wheel.
# Contract 10.4 (doc/contract.md).
. "$srcdir/tests/preload/lib"
needs_plain_library
# Takes the machine's first Python that has NumPy.
find_python 'import numpy, sys; sys.exit(sys.version_info < (3, 8))' ||
    skip "no Python from 3.8 on has NumPy here"
forget_settings
unset LD_PRELOAD OPENBLAS_THREAD_TIMEOUT GOMP_SPINCOUNT OMP_WAIT_POLICY PYTHONPATH

# The layout of the wheel (python/build_wheel).
package=$tmp/site/xgemm_shim
mkdir -p "$package/bin" "$package/lib"
cp "$builddir/python/xgemm_shim/__init__.py" "$srcdir"/python/xgemm_shim/_[!_]*.py \
    "$srcdir/python/xgemm_shim/__main__.py" "$srcdir/python/xgemm_shim/py.typed" "$package" || exit 99
ln -s "$(cd "$builddir" && pwd)/tools/xgemm-run" "$package/bin/xgemm-run"
ln -s "$(readlink -f "$XG_SO")" "$package/lib/libxgemm_shim.so"

XG_ENGINE=no
! has_engine || XG_ENGINE=yes
XG_SOURCE=$(cd "$srcdir" && pwd)
PYTHONPATH=$tmp/site
PYTHONDONTWRITEBYTECODE=1
OPENBLAS_NUM_THREADS=2
export XG_ENGINE XG_SOURCE PYTHONPATH PYTHONDONTWRITEBYTECODE OPENBLAS_NUM_THREADS
cd "$tmp" || exit 99
if "$python" -c 'import pytest' 2>/dev/null; then
    "$python" -m pytest -q -rs -p no:cacheprovider --rootdir "$tmp" \
        "$XG_SOURCE/tests/python/package.py" "$XG_SOURCE/tests/python/command.py" "$XG_SOURCE/tests/python/lines.py" ||
        fail "the package's own tests"
else
    for file in package command lines; do
        "$python" "$XG_SOURCE/tests/python/$file.py" -v || fail "the package's own tests: $file.py"
    done
fi
if "$python" -c 'import mypy' 2>/dev/null; then
    (cd "$tmp/site" && "$python" -m mypy --strict --cache-dir=/dev/null -p xgemm_shim) || fail "the types"
fi
exit $status

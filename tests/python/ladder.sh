# SPDX-License-Identifier: MIT
# The notebook of the ladder is stripped, and runs on the fake driver and without a driver.
. "$srcdir/tests/preload/lib"
needs_plain_library
notebook=$srcdir/kernels/ladder/ladder.ipynb
judge=$srcdir/tests/python/ladder.py
find_python 'import matplotlib, numpy, sys; sys.exit(sys.version_info < (3, 8))' || python=
unset LD_PRELOAD OPENBLAS_THREAD_TIMEOUT GOMP_SPINCOUNT
forget_settings

# The check refuses a notebook with the output of a run.
"${python:-python3}" "$judge" "$notebook" || fail "the notebook"
sed 's/"outputs": \[\]/"outputs": [1]/' "$notebook" >"$tmp/printed.ipynb"
"${python:-python3}" "$judge" "$tmp/printed.ipynb" 2>/dev/null && fail "a notebook with outputs passes"
[ -n "$python" ] || { [ $status -eq 0 ] && skip "no Python has NumPy and Matplotlib here"; exit $status; }

# runs WHAT DEVICE FOLDER: runs it in FOLDER/kernels/ladder, as a reader does; a GPU is hidden.
runs() {
    mkdir -p "$3/kernels/ladder"
    (cd "$3/kernels/ladder" && env CUDA_VISIBLE_DEVICES=-1 PATH="$(dirname "$XG_SO")/../tools:$PATH" \
        MPLCONFIGDIR="$tmp" HOME="$tmp" OPENBLAS_NUM_THREADS=2 PYTHONDONTWRITEBYTECODE=1 \
        "$python" "$judge" "$notebook" "$2") >"$tmp/out" 2>&1 || fail_with "$1" "$tmp/out"
}
runs "without a driver" "" "$tmp/bare"
if has_engine; then
    mkdir "$tmp/tree"
    ln -s "$(dirname "$XG_FAKEDRV_DIR")/.." "$tmp/tree/build"
    runs "on the fake driver" "Fake GPU 0" "$tmp/tree"
    [ -s "$tmp/tree/kernels/ladder/ladder.png" ] || fail "no picture"
fi
exit $status

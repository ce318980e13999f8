# SPDX-License-Identifier: MIT
# The suite of whole programs on the fake driver, at a tiny scale: the NumPy and C programs run in
# every variant, LAPACK's in three, answers are equal, tables appear, and errors are reported.
. "$srcdir/tests/preload/lib"
needs_plain_library
[ -z "${XG_SHORT-}" ] || skip "left to ./quickstart check --all"
has_engine || skip "built without CUDA"
unset XGEMM_MODE XGEMM_VERBOSE XGEMM_TRACE
# LAPACK, which the programs call too, multiplies triangles.
XGEMM_OPERATIONS=all
export XGEMM_OPERATIONS
find_python 'import numpy' || skip "no Python here has NumPy"
export PYTHONDONTWRITEBYTECODE=1
LD_LIBRARY_PATH=$XG_FAKEDRV_DIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# suite COMMAND-LINE-OPTION...
suite() {
    "$python" "$srcdir/bench/programs/run" --out "$tmp/out" --build "$builddir" "$@" \
        >"$tmp/said" 2>"$tmp/err"
}

# A smaller scale gives the C program fewer images, not smaller ones.
suite --programs numpy --scale 0.08 --turns 1 --watched 1 ||
    fail_with "the suite: exit status $?" "$tmp/err" "$tmp/said"
# Products in double precision stay on the CPU here, so only routines run on the GPU.
XGEMM_OPERATIONS=sgemm
suite --append --programs linalg,brief --variants plain,run,gpu --scale 0.05 --turns 1 --watched 1 ||
    grep -q 'no program can run here' "$tmp/err" ||
    fail_with "the programs of LAPACK: exit status $?" "$tmp/err" "$tmp/said"
mv "$tmp/err" "$tmp/err.linalg"
XGEMM_OPERATIONS=all
suite --append --programs c --scale 0.02 --turns 1 --watched 1 ||
    grep -q 'no program can run here' "$tmp/err" || fail_with "the C programs: exit status $?" "$tmp/err" "$tmp/said"
suite --tables || fail "tables of what there is: exit status $?"
for file in runs.csv programs.txt programs.svg; do
    [ -s "$tmp/out/$file" ] || fail "no $file"
    grep -q 'device: ' "$tmp/out/$file" || fail "$file does not say what it was measured on"
done
diff "$tmp/said" "$tmp/out/programs.txt" || fail "it prints another table than it writes"

# Each program ran in six variants, twice, each time with plain's answers.
for name in network512 network4096 search power als small short; do
    runs=$(grep -c "^$name,.*,ok,.*,equal$" "$tmp/out/runs.csv")
    [ "$runs" -eq 12 ] || fail "$name: $runs good runs of 12"
done
for name in threads factor; do
    runs=$(grep -c "^$name,.*,ok,.*,equal$" "$tmp/out/runs.csv")
    [ "$runs" -eq 12 ] || [ ! -x "$tmp/out/bin/$name" ] || fail "$name: $runs good runs of 12"
done
# The fake cuSOLVER computes by this machine's LAPACK; without one its routines stay on the CPU.
echo 'void dpotrf_(void); int main(void) { dpotrf_(); }' |
    $CC -x c -o "$tmp/lapack" - $XG_BLAS_LIBS 2>/dev/null && least=1 || least=0
for name in scf covariance gaussian_process recommender spectral; do
    grep -q 'skipped: scf' "$tmp/err.linalg" && break
    runs=$(grep -c "^$name,.*,ok,.*,equal$" "$tmp/out/runs.csv")
    [ "$runs" -eq 6 ] || fail "$name: $runs good runs of 6"
    grep "^$name,.*,1,1,ok," "$tmp/out/runs.csv" | awk -F, -v least=$least '$2 == "plain" && $13 > 0 && $14 == 0 { cpu = 1 }
        $2 == "gpu" && $14 >= least { gpu = 1 }
        END { exit !(cpu && gpu) }' || fail "$name: its routines were not seen, or not where they had to run"
done
grep '^power,gpu,1,1,ok,' "$tmp/out/runs.csv" | awk -F, '$13 > 0 && $14 == $13 { good = 1 }
    END { exit !good }' || fail "forced products did not run on the engine"
grep '^power,plain,1,1,ok,' "$tmp/out/runs.csv" | awk -F, '$13 > 0 && $14 == 0 && $8 > 0 { good = 1 }
    END { exit !good }' || fail "plain's products were not seen, or not on the CPU"

# An answer that differs from plain's, and a run that fails, are printed loudly and fail the suite.
sed -e '/^power,run,0,/s/,equal$/,eigenvalues/' -e '/^als,gpu,0,/s/,ok,/,exit 139,/' \
    "$tmp/out/runs.csv" >"$tmp/runs.csv"
mv "$tmp/runs.csv" "$tmp/out/runs.csv"
suite --tables && fail "wrong answers pass"
grep -q '!!! ANSWERS' "$tmp/said" && grep -q 'power: run: eigenvalues' "$tmp/said" &&
    grep -q 'als: gpu exit 139' "$tmp/said" || fail "wrong answers are not named"

# Made-up times: preload at 1.5 times plain is loud, half of quiet's time is a gain by the GPU.
cat >"$tmp/out/runs.csv" <<'END'
# device: made up
program,variant,turn,watched,status,whole_s,work_s,products_s,gpu_s,cpu_s,sum_s,waited_s,products,gpu_products,answers
one,plain,0,0,ok,2.0,1.0,,,,,,,,equal
one,quiet,0,0,ok,1.6,0.8,,,,,,,,equal
one,preload,0,0,ok,3.0,1.5,,,,,,,,equal
one,run,0,0,ok,0.8,0.4,,,,,,,,equal
one,plain,1,1,ok,2.0,1.0,0.6,0,0.6,0.6,0,9,0,equal
one,quiet,1,1,ok,1.6,0.8,0.5,0,0.5,0.5,0,9,0,equal
one,preload,1,1,ok,3.0,1.5,0.9,0.9,0,0.9,0,9,9,equal
one,run,1,1,ok,0.8,0.4,0.1,0.1,0,0.1,0,9,9,equal
END
suite --tables || fail "tables of made-up runs: exit status $?"
for said in 'one: preload takes 1.50 times' 'one: preload 0.900 s, 1.80 times' \
    'preload / plain, time *1.50 *1.50 *1.50' 'run / quiet, time *0.50 *0.50 *0.20' \
    'plain / quiet *1.25 *1.25 *1.20' 'quiet / run *2.00 *2.00 *5.00'; do
    grep -q "$said" "$tmp/said" || fail_with "the table does not say: $said" "$tmp/said"
done
grep -q 'one: run takes' "$tmp/said" && fail "what is faster is called slower"

# Products of several threads, and inside a routine, count once; a trace's last line may be cut.
cat >"$tmp/trace" <<'END'
[
{"name":"sgemm","ph":"X","ts":0,"dur":100,"pid":1,"tid":1,"args":{"m":1,"n":1,"k":1,"place":"CPU"}},
{"name":"sgemm","ph":"X","ts":50,"dur":100,"pid":1,"tid":2,"args":{"m":1,"n":1,"k":1,"place":"GPU","waited_us":7}},
{"name":"sgemm","ph":"X","ts":200,"dur":10,"pid":1,"tid":1,"args":{"m":1,"n":1,"k":1,"place":"CPU"}},
{"name":"2000x2000x0 dsyevd","ph":"X","ts":400,"dur":40,"pid":1,"tid":1,"args":{"m":2000,"n":2000,"k":0,"operation":"dsyevd","place":"CPU"}}
{"name":"dgemm","ph":"X","ts":410,"dur":10,"pid":1,"tid":1,"args":{"m":1,"n":1,"k":1,"place":"GPU"}}
{"name":"sgemm","ph":"X","ts":500,"du
END
cat >"$tmp/check.py" <<'END'
import sys
sys.path.insert(0, sys.argv[1])
import products, tables
seen = products.of_trace(sys.argv[2])
assert [round(1e6 * seen[k]) for k in ("products_s", "gpu_s", "cpu_s", "sum_s", "waited_s")] == \
    [200, 110, 90, 250, 7], seen
assert (seen["products"], seen["gpu_products"]) == (5, 2), seen
plain = [["loss", "0.01", "100", "1"]]
assert tables.compare(plain, [["loss", "0.01", "100.9", "0.1"]]) == "equal"
for numbers in (["101.1", "1"], ["nan", "1"], ["100"], ["100", "inf"]):
    assert tables.compare(plain, [["loss", "0.01", *numbers]]) == "loss", numbers
assert tables.compare(plain, []) == "other lines" and tables.compare([], []) == "none"
END
"$python" "$tmp/check.py" "$srcdir/bench/programs" "$tmp/trace" || fail "a trace, or a comparison"

# A time limit stops before the next run, and the tables have the runs so far.
suite --programs small,power --scale 0.02 --turns 2 --watched 0 --time-limit 0.001
grep -q 'time limit' "$tmp/err" && [ -s "$tmp/out/programs.txt" ] || fail "a limit does not stop"
exit $status

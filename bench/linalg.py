# SPDX-License-Identifier: MIT
"""Times calls of NumPy, SciPy, R and Octave, whole: in plain programs, and through xgemm-run.

usage: linalg.py RUN [--size N] [--programs python,r,octave,script] [--turns T] [--time-limit SECONDS]
                 [--r COMMAND] [--octave COMMAND]

RUN is xgemm-run. Each turn starts the programs once for each way to run, in alternating order; a program
times each call on one random matrix in double precision, the better of two (svd: one) after calls
of 1024 that start the GPU. The script's only call is one svd; it is timed from start to end. Prints
the medians over the turns. Both sides have threads that sleep early (OPENBLAS_THREAD_TIMEOUT=20).
R and Octave are left out where they are not installed. No turn starts that would pass the time limit.
"""
import argparse
import os
import shutil
import subprocess
import sys
import time

import turns

CALLS = {
    "numpy eigh": "numpy.linalg.eigh(symmetric)",
    "scipy eigh": "scipy.linalg.eigh(symmetric)",
    "numpy svd": "numpy.linalg.svd(a)",
    "scipy svd": "scipy.linalg.svd(a)",
    "numpy qr": "numpy.linalg.qr(a)",
    "scipy qr": "scipy.linalg.qr(a)",
    "numpy lstsq, n / 4 columns": "numpy.linalg.lstsq(tall, tall[:, :1], rcond=None)",
    "numpy inv": "numpy.linalg.inv(a)",
    "numpy solve, 32 columns": "numpy.linalg.solve(a, a[:, :32])",
    "numpy cholesky": "numpy.linalg.cholesky(definite)",
    "scipy cho_factor": "scipy.linalg.cho_factor(definite)",
    "scipy lu_factor": "scipy.linalg.lu_factor(a)",
    "scipy eigh, ten of n": "scipy.linalg.eigh(symmetric, subset_by_index=[0, 9])",
    "numpy a @ a": "a @ a",
    "numpy a.T @ a": "a.T @ a",
    "numpy multi_dot of four": "numpy.linalg.multi_dot([a, a, a, a])",
    "scipy blas.dgemm": "blas.dgemm(1.0, a.T, a.T)",
    "scipy blas.dsyrk": "blas.dsyrk(1.0, a.T)",
    "scipy blas.dtrsm": "blas.dtrsm(1.0, triangle, a.T)",
    "scipy blas.zgemm, n / 2": "blas.zgemm(1.0, complex, complex)",
}
SCRIPT = ("import numpy; a = numpy.random.default_rng(1).standard_normal((%d, %d)); "
          "print(numpy.linalg.svd(a)[1][0])")


def measure(n):
    """In a process of its own: a line for each call, its milliseconds first."""
    import numpy
    import scipy.linalg
    from scipy.linalg import blas

    a = numpy.random.default_rng(1).standard_normal((n, n))
    symmetric, definite = a + a.T, a @ a.T + n * numpy.eye(n)
    names = {"numpy": numpy, "scipy": scipy, "a": a, "symmetric": symmetric, "definite": definite,
             "tall": a[:, :n // 4].copy(), "blas": blas, "triangle": numpy.asfortranarray(numpy.triu(definite)),
             "complex": numpy.asfortranarray(a[:n // 2, :n // 2] + 1j * a[n // 2:, n // 2:])}
    for first in (numpy.linalg.eigh, numpy.linalg.svd, scipy.linalg.svd):
        first(symmetric[:1024, :1024])
    for name, call in CALLS.items():
        times = []
        for _ in range(1 if "svd" in name else 2):
            begin = time.perf_counter()
            eval(call, names)
            times.append(1e3 * (time.perf_counter() - begin))
        print(min(times), name)


def run(options, launcher):
    """The milliseconds of each call, by its name, and of the script."""
    environment = dict(os.environ, OPENBLAS_THREAD_TIMEOUT="20")
    here, size = os.path.dirname(os.path.abspath(__file__)), str(options.size)
    programs = {"python": [sys.executable, __file__, options.run, "--measure", "--size", size]}
    if options.r:
        programs["r"] = [options.r, "--slave", "-f", here + "/linalg.R", "--args", size]
    if options.octave:
        programs["octave"] = [options.octave, "--norc", here + "/linalg.m", size]
    times = {}
    for name, program in programs.items():
        if name in options.programs:
            done = subprocess.run([*launcher, *program], env=environment, check=True, text=True,
                                  stdout=subprocess.PIPE)
            times.update((call, float(ms)) for ms, call in (line.split(None, 1) for line in done.stdout.splitlines()))
    if "script" in options.programs:
        begin = time.perf_counter()
        subprocess.run([*launcher, sys.executable, "-c", SCRIPT % (options.size, options.size)], env=environment,
                       check=True, stdout=subprocess.DEVNULL)
        times["a script of one numpy svd"] = 1e3 * (time.perf_counter() - begin)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--programs", type=lambda text: text.split(","), default=["python", "r", "octave", "script"])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--time-limit", type=float, default=float("inf"))
    parser.add_argument("--r", default=shutil.which("R"))
    parser.add_argument("--octave", default=shutil.which("octave-cli"))
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.size)
        return
    table = turns.taken(("plain", "run"), lambda way: run(options, [options.run] if way == "run" else []),
                        options.turns, options.time_limit)
    print("%-28s %10s %10s %8s" % ("n = %d, ms" % options.size, "plain", "xgemm-run", "faster"))
    for name, (plain, ours) in table.items():
        print("%-28s %10.1f %10.1f %8.2f" % (name, plain, ours, plain / ours))


main()

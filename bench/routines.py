# SPDX-License-Identifier: MIT
"""Times routines of LAPACK and of Level 3 BLAS: without the library, with quiet threads, and through xgemm-run.

usage: routines.py RUN [--sizes N,N] [--types d,s,c,z] [--routines NAME,NAME] [--turns T] [--time-limit SECONDS]

RUN is xgemm-run. Each turn starts one process for each way to run, in alternating order; a process
times each routine on fresh copies of one random matrix, after eigenvalues of 1024 for four seconds, in which the
GPU starts: the best of two calls after a first one, of more where they are short. Least
squares (gels, gelsd, gelss; gelsy, which stays on the CPU) have a quarter of the columns. Without --routines it
measures LAPACK's; products are measured by their names: gemm, symm, hemm, syrk, herk, syr2k, her2k, trmm, trsm.
SciPy's wrappers call both directly on matrices stored by columns. Prints the medians over the turns
in milliseconds, and the factor by which xgemm-run is faster than the faster of the other two.
"""
import argparse
import functools
import json
import os
import subprocess
import sys
import time

import turns

ROUTINES = ("potrf", "getrf", "gesv", "getri", "trtri", "geqrf", "orgqr", "syevd", "gels", "gelsd", "gelss", "gelsy", "syevr", "geev", "gesdd", "gesdd_rank")
# Products by the number of their matrices beside C, and what SciPy's wrappers call the last operand.
PRODUCTS = {"gemm": (2, "c"), "symm": (2, "c"), "hemm": (2, "c"), "syrk": (1, "c"), "herk": (1, "c"), "syr2k": (2, "c"),
            "her2k": (2, "c"), "trmm": (1, "b"), "trsm": (1, "b")}
TYPES = {"s": "f4", "d": "f8", "c": "c8", "z": "c16"}
QUIET = {"OPENBLAS_THREAD_TIMEOUT": "20"}
WAYS = ("plain", "quiet", "run", "forced")


def made(name, n, kind, random):
    """The matrix of a call, by its routine's name."""
    import numpy

    a = random.standard_normal((n, n // 4 if name.startswith("gels") else n)).astype(kind)
    if name == "gesdd_rank":
        a = (a[:, :n // 2] @ a[:n // 2]).astype(kind)
    if name in ("trtri", "trsm"):
        a = numpy.triu(a) + n * numpy.eye(n, dtype=kind)
    if name == "potrf":
        a = (a @ a.T + n * numpy.eye(n, dtype=kind)).astype(kind)
    if name.startswith("syev"):
        a = (a + a.T) / 2
    return numpy.asfortranarray(a)


def caller(name, letter, a):
    """A function without arguments that copies the operands of a call, and returns the function that makes it."""
    import numpy
    import scipy.linalg.blas as blas
    import scipy.linalg.lapack as lapack

    def routine(which):
        return getattr(lapack, letter + which)

    def call(function, *operands, **options):
        return lambda: functools.partial(function, *(numpy.array(x, order="F") for x in operands), **options)

    lwork, both = 64 * len(a), {"overwrite_a": 1, "overwrite_b": 1}
    if name in PRODUCTS:
        matrices, last = PRODUCTS[name]
        product = functools.partial(getattr(blas, letter + name), 1.0, *(matrices * [a]), **{"overwrite_" + last: 1})
        return call(lambda x: [product(**{last: x}), 0], a)
    if name == "gesv":
        return call(routine("gesv"), a, a[:, :32], **both)
    if name == "getri":
        return call(routine("getri"), *routine("getrf")(a)[:2], lwork=lwork, overwrite_lu=1)
    if name == "orgqr":
        return call(routine("orgqr"), *routine("geqrf")(a)[:2], lwork=lwork, overwrite_a=1)
    if name == "gelsd":
        work, iwork, _ = routine("gelsd_lwork")(len(a), a.shape[1], 1)[:3]
        return call(routine("gelsd"), a, a[:, :1], lwork=int(work), size_iwork=int(iwork), **both)
    if name in ("gels", "gelss"):
        return call(routine(name), a, a[:, :1], lwork=lwork, **both)
    if name == "gelsy":
        return call(routine("gelsy"), a, a[:, :1], numpy.zeros(a.shape[1], dtype="i4"), cond=1e-12, lwork=lwork)
    if name == "geqrf":
        return call(routine("geqrf"), a, lwork=lwork, overwrite_a=1)
    overwrite = {"overwrite_c" if name == "trtri" else "overwrite_a": 1}
    if name == "geev":
        overwrite["compute_vl"] = 0
    if name == "potrf":
        overwrite["clean"] = 0  # else SciPy, not LAPACK, clears the other triangle
    return call(routine(name.split("_")[0]), a, **overwrite)


def measure(options):
    """In a process of its own: the milliseconds by routine, type and size, as JSON."""
    import numpy

    random = numpy.random.default_rng(1)
    start = made("syevd", 1024, "f8", random)
    end = time.monotonic() + 4
    while time.monotonic() < end:
        caller("syevd", "d", start)()()
    table = {}
    for n in options.sizes:
        for letter in options.types:
            for name in options.routines:
                prepare = caller(name, letter, made(name, n, TYPES[letter], random))
                times = []
                while len(times) < 3 or sum(times) < 20 and len(times) < 100:
                    call = prepare()
                    begin = time.perf_counter()
                    info = call()[-1]
                    times.append(1e3 * (time.perf_counter() - begin))
                    if info != 0:
                        sys.exit("%s%s of %d: info %d" % (letter, name, n, info))
                table["%s%s %d" % (letter, name, n)] = min(times[1:])
    json.dump(table, sys.stdout)


def run(options, way):
    environment = dict(os.environ, **(QUIET if way == "quiet" else {}))
    if way == "forced":
        environment["XGEMM_MODE"] = "gpu"
    command = [sys.executable, os.path.abspath(__file__), options.run, "--measure"]
    for name in ("sizes", "types", "routines"):
        command += ["--" + name, ",".join(map(str, getattr(options, name)))]
    if way in ("run", "forced"):
        command = [options.run] + command
    return json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("--sizes", type=lambda text: [int(n) for n in text.split(",")], default=[1024, 2048, 4096])
    parser.add_argument("--types", type=lambda text: text.split(","), default=["d"])
    parser.add_argument("--routines", type=lambda text: text.split(","), default=list(ROUTINES))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--time-limit", type=float, default=float("inf"))
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options)
        return
    table = turns.taken(WAYS, lambda way: run(options, way), options.turns, options.time_limit)
    print("%-18s %10s %10s %10s %10s %8s" % ("routine", *WAYS, "faster"))
    for key, medians in table.items():
        print("%-18s %10.2f %10.2f %10.2f %10.2f %8.2f"
              % (key, *medians, min(medians[:2]) / medians[2]))


main()

# SPDX-License-Identifier: MIT
"""Measures the cost of a preload for a small NumPy program: 100 products in less than a second.

usage: script.py LIBRARY [PAIRS]

Runs the program with and without LIBRARY in LD_PRELOAD, in pairs with alternating order, and prints
the medians of both and of the ratio within a pair. The program is this file with other arguments.
"""
import os
import statistics
import subprocess
import sys
import time

PRODUCTS = 100
RANGES = ((300, 1200), (300, 600), (1100, 1200))  # extents of m, n and k


def program(least, most):
    import numpy

    random = numpy.random.default_rng(1)
    pool = random.random((most, most), dtype=numpy.float32)
    total = 0.0
    for _ in range(PRODUCTS):
        m, n, k = (int(extent) for extent in random.integers(least, most + 1, 3))
        a = numpy.ascontiguousarray(pool[:m, :k])
        b = numpy.ascontiguousarray(pool[:k, :n])
        total += float((a @ b)[m // 2, n // 2])
    if not total > 0.0:
        sys.exit("the products are wrong")


def seconds(extents, library):
    environment = dict(os.environ)
    environment.pop("LD_PRELOAD", None)
    if library:
        environment["LD_PRELOAD"] = library
    command = [sys.executable, __file__, "--program", *map(str, extents)]
    begin = time.perf_counter()
    subprocess.run(command, env=environment, check=True)
    return time.perf_counter() - begin


def compare(extents, library, pairs):
    alone, preloaded = [], []
    seconds(extents, None)
    seconds(extents, library)
    for pair in range(pairs):
        for with_library in (pair % 2 == 0, pair % 2 == 1):
            took = seconds(extents, library if with_library else None)
            (preloaded if with_library else alone).append(took)
    ratios = [with_it / without for with_it, without in zip(preloaded, alone)]
    print("%4d to %4d: alone %.3f s, preloaded %.3f s, ratio of medians %.3f, median of ratios %.3f"
          % (*extents, statistics.median(alone), statistics.median(preloaded),
             statistics.median(preloaded) / statistics.median(alone), statistics.median(ratios)))


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--program":
        program(int(sys.argv[2]), int(sys.argv[3]))
    elif 2 <= len(sys.argv) <= 3 and os.path.exists(sys.argv[1]):
        for extents in RANGES:
            compare(extents, os.path.abspath(sys.argv[1]),
                    int(sys.argv[2]) if len(sys.argv) == 3 else 15)
    else:
        sys.exit(__doc__.split("\n\n")[1])


main()

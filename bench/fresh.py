# SPDX-License-Identifier: MIT
"""Compares NumPy's `a @ b`, which allocates a new C for every product, with np.matmul(a, b, out=c).

usage: fresh.py [--sizes N,N,...] [--calls N] [--csv FILE]

Both alternate in this process, with the LD_PRELOAD and XGEMM_MODE of its environment. Times are
medians in ms: of `a @ b` alone, of `a @ b` with freeing its result, and into an existing C.
"""
import argparse
import os
import statistics
import sys
import time

import numpy

WARM_CALLS, WARM_S = 3, 2.0  # the device starts beside the first products


def milliseconds(work):
    begin = time.perf_counter()
    result = work()
    return 1e3 * (time.perf_counter() - begin), result


def compare(n, calls):
    random = numpy.random.default_rng(n)
    a, b = (random.random((n, n), dtype=numpy.float32) for _ in range(2))
    old = numpy.zeros((n, n), dtype=numpy.float32)
    begin = time.perf_counter()
    warm = 0
    while warm < WARM_CALLS or time.perf_counter() - begin < WARM_S:
        numpy.matmul(a, b, out=old)
        warm += 1
    fresh_ms, freed_ms, old_ms = [], [], []
    for call in range(calls):
        for fresh in (call % 2 == 0, call % 2 == 1):
            if not fresh:
                old_ms.append(milliseconds(lambda: numpy.matmul(a, b, out=old))[0])
                continue
            took, result = milliseconds(lambda: a @ b)
            if call < 2 and not numpy.allclose(result, old, rtol=1e-4):
                sys.exit("%d: the products differ" % n)
            begin = time.perf_counter()
            del result
            fresh_ms.append(took)
            freed_ms.append(took + 1e3 * (time.perf_counter() - begin))
    return [statistics.median(times) for times in (fresh_ms, freed_ms, old_ms)]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][len("usage: "):])
    parser.add_argument("--sizes", default="2048,4096,8192")
    parser.add_argument("--calls", type=int, default=25)
    parser.add_argument("--csv")
    options = parser.parse_args()
    preload = os.path.basename(os.environ.get("LD_PRELOAD", "")) or "nothing"
    lines = ["# NumPy %s, %s preloaded, XGEMM_MODE=%s; medians of %d calls in ms"
             % (numpy.__version__, preload, os.environ.get("XGEMM_MODE", ""), options.calls),
             "n,fresh_ms,fresh_and_freed_ms,old_ms,fresh_over_old"]
    print("\n".join(lines), flush=True)
    for n in map(int, options.sizes.split(",")):
        fresh, freed, old = compare(n, options.calls)
        lines.append("%d,%.3f,%.3f,%.3f,%.2f" % (n, fresh, freed, old, fresh / old))
        print(lines[-1], flush=True)
    if options.csv:
        with open(options.csv, "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares batches of equal products, host to host: this library's gemm_batch_strided and the CPU library's GEMM.

    XGEMM_MODE=gpu LD_PRELOAD=libxgemm_shim.so bench/batch.py s:32x512 d:256x256 s:96x512x512x64

A case is a type, the number of instances, and m, n and k; a single extent is used for all three. The sides are: the CPU
library's GEMM with all its threads, one instance after the other; one thread per core that each call it with a single
thread, as in MKL's batch; and cblas_xgemm_batch_strided of the preload. Every turn runs each side once, into a separate
C. The floor is the time of the bytes at --link GB/s. It needs NumPy, and OpenBLAS (--library).
"""
import argparse
import concurrent.futures
import ctypes
import os
import statistics
import sys
import time

import numpy as np

TYPES = {"s": (np.float32, ctypes.c_float), "d": (np.float64, ctypes.c_double)}
DEFAULT = ("s:1000x64", "s:256x128", "s:96x512x512x64", "s:256x256", "s:64x512", "s:16x1024", "s:4x2048", "d:256x256",
           "d:16x1024")


def parse(text):
    kind, sizes = text.split(":")
    numbers = [int(size) for size in sizes.split("x")]
    if kind not in TYPES or len(numbers) not in (2, 4):
        raise ValueError(text)
    return kind, numbers[0], *(numbers[1:] if len(numbers) == 4 else 3 * numbers[1:])


class Case:
    """Operands, and the computation of each side."""

    def __init__(self, text, options):
        self.kind, self.count, self.m, self.n, self.k = parse(text)
        dtype, self.scalar = TYPES[self.kind]
        random = np.random.default_rng(1)
        self.a = random.uniform(-1, 1, (self.count, self.m, self.k)).astype(dtype)
        self.b = random.uniform(-1, 1, (self.count, self.k, self.n)).astype(dtype)
        self.c = {side: np.zeros((self.count, self.m, self.n), dtype) for side in SIDES}
        self.cores = options.cores
        self.library = ctypes.CDLL(options.library)
        self.gemm = self.library[f"cblas_{self.kind}gemm"]
        self.batch = ctypes.CDLL(None)[f"cblas_{self.kind}gemm_batch_strided"]

    def multiply(self, c, instance):
        at = [ctypes.c_void_p(array[instance].ctypes.data) for array in (self.a, self.b, c)]
        self.gemm(101, 111, 111, self.m, self.n, self.k, self.scalar(1), at[0], self.k, at[1], self.n, self.scalar(0), at[2],
                  self.n)

    def one_by_one(self, c):
        self.library.openblas_set_num_threads(self.cores)
        for instance in range(self.count):
            self.multiply(c, instance)

    def threads(self, c):
        self.library.openblas_set_num_threads(1)
        list(POOL.map(lambda first: [self.multiply(c, i) for i in range(first, self.count, self.cores)], range(self.cores)))

    def together(self, c):
        at = [ctypes.c_void_p(array.ctypes.data) for array in (self.a, self.b, c)]
        m, n, k = self.m, self.n, self.k
        self.batch(101, 111, 111, m, n, k, self.scalar(1), at[0], k, ctypes.c_long(m * k), at[1], n, ctypes.c_long(k * n),
                   self.scalar(0), at[2], n, ctypes.c_long(m * n), ctypes.c_long(self.count))

    def bytes(self):
        item = self.a.itemsize
        return item * self.count * self.k * (self.m + self.n), item * self.count * self.m * self.n


SIDES = {"one by one": Case.one_by_one, "threads": Case.threads, "batch": Case.together}
POOL = None


def measure(case, options):
    times = {side: [] for side in SIDES}
    for turn in range(options.turns + 1):
        for side, function in SIDES.items():
            begin = time.perf_counter()
            function(case, case.c[side])
            if turn:  # the first one warms up
                times[side].append(time.perf_counter() - begin)
            if side != "batch":
                time.sleep(options.settle)  # the CPU library's threads spin for a while
    bound = (case.k + 4) * np.finfo(case.a.dtype).eps
    off = max(float(np.abs(case.c[side] - case.c["one by one"]).max()) for side in SIDES)
    return times, off <= bound * case.k


def main():
    global POOL
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--library", default="libopenblas.so.0")
    parser.add_argument("--link", type=float, default=54.0, help="GB/s of either direction")
    parser.add_argument("--settle", type=float, default=0.25, help="seconds after a side on the CPU")
    parser.add_argument("cases", nargs="*", default=DEFAULT)
    options = parser.parse_args()
    POOL = concurrent.futures.ThreadPoolExecutor(options.cores)
    wrong = 0
    print("case,one_by_one_ms,threads_ms,batch_ms,batch_least_ms,batch_most_ms,floor_ms,right")
    for text in options.cases:
        case = Case(text, options)
        times, right = measure(case, options)
        floor = max(case.bytes()) / options.link / 1e9
        medians = [1e3 * statistics.median(times[side]) for side in SIDES]
        spread = [1e3 * edge(times["batch"]) for edge in (min, max)]
        print(",".join([text] + [f"{value:.3f}" for value in medians + spread + [1e3 * floor]] + [str(int(right))]), flush=True)
        wrong += not right
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())

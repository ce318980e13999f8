# SPDX-License-Identifier: MIT
"""Sixty products of 4096 x 4096 floats (or of another order: products.py 1024); prints the seconds that they take."""
import sys
import time

import numpy

n = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
a, b = (numpy.random.default_rng(seed).standard_normal((n, n), dtype="float32") for seed in (1, 2))
begin = time.perf_counter()
for _ in range(60):
    c = a @ b
print("%.2f" % (time.perf_counter() - begin))

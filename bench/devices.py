#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures products per second of four threads on one device, of four on two devices, and of two processes with two
threads and one device each, twice in turns. It needs NumPy and two equal devices.

    XGEMM_MODE=gpu LD_PRELOAD=libxgemm_shim.so bench/devices.py [EXTENT...]    (2048 4096 8192)

Each thread multiplies its own matrices again and again; a wrong result ends the program with an error.
"""
import concurrent.futures
import os
import subprocess
import sys
import threading
import time

SECONDS = 1.5


def count(threads, extent):
    """In a process of its own: prints the products per second of all threads together."""
    import numpy as np

    random = np.random.default_rng(1)
    begin, over = threading.Barrier(threads + 1), threading.Event()

    def multiply(a, b):
        c = a @ b  # allocates the thread's lane and its memory
        begin.wait()
        products = 0
        while not over.is_set():
            np.matmul(a, b, out=c)
            products += 1
        exact = a[0].astype("f8") @ b.astype("f8")
        if not (abs(c[0] - exact) <= (extent + 3) * 2.0 ** -24 * exact).all():
            raise SystemExit("a result is wrong")
        return products

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(multiply, *random.random((2, extent, extent), dtype="f4")) for _ in range(threads)]
        begin.wait()
        start = time.monotonic()
        time.sleep(SECONDS)
        over.set()
        products = sum(each.result() for each in running)
        print(products / (time.monotonic() - start))


def rate(*processes, extent):
    """The sum of the rates of processes at the same time; each is its devices and the number of its threads."""
    started = [subprocess.Popen([sys.executable, __file__, "--count", str(threads), str(extent)], text=True,
                                env=dict(os.environ, XGEMM_DEVICES=devices), stdout=subprocess.PIPE)
               for devices, threads in processes]
    said = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        sys.exit("a process failed")
    return sum(map(float, said))


def main():
    if sys.argv[1:2] == ["--count"]:
        count(*map(int, sys.argv[2:]))
        return
    print("extent,one device,two devices,two processes")
    for extent in map(int, sys.argv[1:] or (2048, 4096, 8192)):
        for _ in range(2):
            rates = (rate(("0", 4), extent=extent), rate(("0,1", 4), extent=extent),
                     rate(("0", 2), ("1", 2), extent=extent))
            print(extent, *(f"{each:.1f}" for each in rates), sep=",", flush=True)


main()

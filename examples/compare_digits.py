# SPDX-License-Identifier: MIT
"""Compares the answers and the times of two outputs of digits.py.

Exits with 0 when the predictions agree in at least --agreement of the images and every loss is within
--tolerance of the other's, relative to it; with 1 otherwise.
"""
import argparse
import math
import sys


def read(path):
    with open(path, encoding="utf-8") as lines:
        pairs = (line.rstrip("\n").split(": ", 1) for line in lines)
        return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def agreement(a, b):
    return sum(x == y for x, y in zip(a, b)) / max(len(a), len(b), 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("without", help="output of the run without the preload")
    parser.add_argument("preloaded", help="output of the run with it")
    parser.add_argument("--tolerance", type=float, default=1e-3, help="relative tolerance of each loss")
    parser.add_argument("--agreement", type=float, default=0.999, help="least share of equal predictions")
    args = parser.parse_args()
    a, b = read(args.without), read(args.preloaded)

    failures = [] if a.keys() == b.keys() else ["the outputs differ in what they report"]
    counts = {"predictions": 0, "loss": 0}
    largest = 0.0
    for key in a.keys() & b.keys():
        if key.endswith(" predictions"):
            counts["predictions"] += 1
            share = agreement(a[key], b[key])
            print(f"{key}: {share:.4%} the same")
            if not share >= args.agreement:
                failures.append(f"{key}: only {share:.4%} the same")
        elif " loss " in key:
            counts["loss"] += 1
            x, y = float(a[key]), float(b[key])
            difference = abs(x - y) / max(abs(x), 1e-6)
            largest = max(largest, difference) if math.isfinite(difference) else math.inf
    print(f"largest relative difference of a loss: {largest:.2e}")
    if not largest <= args.tolerance:
        failures.append(f"losses differ by {largest:.2e}")
    failures += [f"nothing to compare: no {kind}" for kind, count in counts.items() if not count]

    total_a = total_b = 0.0
    for key in sorted(a.keys() & b.keys()):
        if key.endswith(" seconds"):
            x, y = float(a[key]), float(b[key])
            total_a, total_b = total_a + x, total_b + y
            print(f"{key}: {x:.3f} without, {y:.3f} with the preload, {x / y:.2f} times as fast")
    if total_b > 0:
        print(f"all: {total_a:.3f} without, {total_b:.3f} with, {total_a / total_b:.2f} times as fast")
    for failure in failures:
        print(f"FAIL: {failure}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

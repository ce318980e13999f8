#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws a CSV file of bench/kernels --math as a roofline: an SVG file.

usage: plot.py [--dram-tb-s X --ffma-tflops X --tensor-tflops X] FILE.csv FILE.svg

The points are the rows that selection chooses for each arithmetic, and cuBLAS.

This developer's tool needs matplotlib; neither the build nor the tests need it.
"""
import argparse
import csv
import io
import math
import re
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({
    "svg.fonttype": "none",  # text stays text: small files, the reader's own sans-serif
    "svg.hashsalt": "xgemm",  # the same CSV gives the same file
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
})
import matplotlib.pyplot as plt

# Each has its own marker, so that they differ without colour too.
KERNEL_MATHS = [
    ("strict", "strict", "#0072b2", "o"),
    ("accurate", "accurate", "#d55e00", "^"),
    ("tf32", "tf32", "#009e73", "v"),
]
CUBLAS = ("cuBLAS", "#777777", "x")

# A device's peaks, by a part of its name: DRAM TB/s, FFMA TFLOP/s, and the rate of the tensor cores in
# 16 bits divided by the three products of one 32-bit product.
CEILINGS = {"H200": (4.8, 66.9, 790 / 3), "H100": (3.35, 66.9, 790 / 3)}


def read(path):
    """Returns the comment lines, joined, and the rows as dictionaries."""
    comments, lines = [], []
    with open(path, newline="") as file:
        for line in file:
            if line.startswith("#"):
                comments.append(line[1:].strip())
            else:
                lines.append(line)
    return comments, list(csv.DictReader(lines))


def number(row, name):
    try:
        return float(row[name])
    except (KeyError, TypeError, ValueError):
        return math.nan


def subtitle(comments):
    """Returns device, commit, date and the driver's number, without the command."""
    said = [c for c in comments if not c.startswith(("command:", "driver:"))]
    return ", ".join(s.replace("device: ", "").replace(": ", " ") for s in said)


def save(figure, path):
    """Writes the SVG, with one line for each group of the drawing."""
    text = io.StringIO()
    figure.savefig(text, format="svg", facecolor="white", metadata={"Date": None})
    plt.close(figure)
    compact = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text.getvalue(), flags=re.S)
    compact = re.sub(r"\s+", " ", compact).replace("> <", "><")
    with open(path, "w", encoding="utf-8") as file:
        file.write(compact.replace("<g ", "\n<g ") + "\n")


def intensity(row):
    """Returns FLOP per byte of operands and result, each moved once."""
    m, n, k = (number(row, name) for name in "mnk")
    return 2 * m * n * k / (4 * (m * k + k * n + m * n))


def draw_ceilings(axes, ceilings, least, most):
    dram, ffma, tensor = ceilings
    top = max(ffma, tensor or 0)
    for rate, label in ((ffma, "FFMA"), (tensor, "16-bit tensor / 3")):
        if not rate:
            continue
        axes.plot([rate / dram, most], [rate, rate], color="black", linewidth=0.9)
        axes.annotate(f"{label}: {rate:.3g} TFLOP/s", (rate / dram, rate), (8, 3),
                      textcoords="offset points", fontsize=8)
    axes.plot([least, top / dram], [least * dram, top], color="black", linewidth=0.9)
    at = least * 1.3
    axes.text(at, at * dram * 1.15, f"DRAM: {dram:g} TB/s", fontsize=8,
              rotation=math.degrees(math.atan(dram)), rotation_mode="anchor",
              transform_rotates_text=True)


def draw_maths(axes, rows):
    """Draws the rows that selection chooses, and cuBLAS on the same shapes."""
    first = [r for r in rows if r["math"] == rows[0]["math"]]
    cublas = [(intensity(r), number(r, "tflops") * number(r, "ratio") ** -1) for r in first]
    label, colour, marker = CUBLAS
    axes.plot(*zip(*cublas), marker, label=label, color=colour, markersize=4.2, markeredgewidth=0.9)
    for math_name, label, colour, marker in KERNEL_MATHS:
        points = [(intensity(r), number(r, "tflops")) for r in rows if r["math"] == math_name]
        if points:
            axes.plot(*zip(*points), marker, label=f"this library, {label}", color=colour,
                      markerfacecolor="none", markersize=4.9, markeredgewidth=0.9)


def draw_roofline(comments, rows, path, ceilings):
    figure, axes = plt.subplots(figsize=(8, 5.2), layout="constrained")
    at = [intensity(r) for r in rows]
    least, most = min(at + [ceilings[1] / ceilings[0] / 4]) / 1.5, max(at) * 1.5
    axes.set_xscale("log")
    axes.set_yscale("log")
    draw_maths(axes, rows)
    axes.legend(loc="lower right")
    draw_ceilings(axes, ceilings, least, most)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    axes.grid(which="major", color="#eeeeee", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel("FLOP a byte of A, B and C, each moved once")
    axes.set_ylabel("TFLOP/s")
    figure.suptitle("C = A B, operands on the device", fontsize=11)
    axes.set_title(subtitle(comments), fontsize=8, color="#555555")
    save(figure, path)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n")[2].removeprefix("usage: "))
    parser.add_argument("csv")
    parser.add_argument("svg")
    for name in ("dram-tb-s", "ffma-tflops", "tensor-tflops"):
        parser.add_argument("--" + name, type=float)
    options = parser.parse_args()
    comments, rows = read(options.csv)
    if not rows:
        sys.exit(f"{options.csv}: no rows")
    known = next((c for name, c in CEILINGS.items() if any(name in line for line in comments)),
                 (None, None, None))
    asked = (options.dram_tb_s, options.ffma_tflops, options.tensor_tflops)
    ceilings = tuple(a or k for a, k in zip(asked, known))
    if not ceilings[0] or not ceilings[1]:
        sys.exit("the device is not in the table: give --dram-tb-s and --ffma-tflops")
    draw_roofline(comments, rows, options.svg, ceilings)


if __name__ == "__main__":
    main()

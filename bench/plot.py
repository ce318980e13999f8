#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws a CSV file of bench/host or of bench/kernels as an SVG file.

usage: plot.py [--dram-tb-s X --ffma-tflops X --tensor-tflops X] FILE.csv FILE.svg

The line with column names says which kind of file it is. For bench/host it draws the time over the
floor, one line per shape. For bench/kernels it draws a roofline: with --math the points are the rows
that selection chooses for each arithmetic, and cuBLAS; otherwise they are the rows of the table on
products without transposes.

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
HOST_SIDES = [
    ("cpu_ms", "OpenBLAS", "#999999", "s"),
    ("cublasxt_ms", "cuBLASXt", "#cc79a7", "^"),
    ("plain_ms", "copies and cuBLAS", "#e69f00", "D"),
    ("auto_ms", "this library", "#0072b2", "o"),
]
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
    said = [c.split("; medians")[0] for c in comments if not c.startswith(("command:", "driver:"))]
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


# --- Host to host ---


def host_label(row):
    m, n, k = row["m"], row["n"], row["k"]
    label = f"{m}³" if m == n == k else f"{m} × {n} × {k}"
    trans = "NT"[int(row["transa"])] + "NT"[int(row["transb"])]
    if trans != "NN":
        label += " " + trans
    if number(row, "beta"):
        label += f", β = {number(row, 'beta'):g}"
    if number(row, "pad"):
        label += f", ld + {row['pad']}"
    return label


def draw_host(comments, rows, path):
    if len(rows) > 60:
        sys.exit("too many shapes for one line each")
    figure, axes = plt.subplots(figsize=(8, 1.7 + 0.27 * len(rows)), layout="constrained")
    for y, row in enumerate(rows):
        floor = number(row, "floor_ms")
        times = {name: number(row, name) / floor for name, *_ in HOST_SIDES}
        there = [t for t in times.values() if not math.isnan(t)]
        axes.plot([min(there + [1]), max(there)], [y, y], color="#dddddd", linewidth=1, zorder=1)
        ours = times["auto_ms"]
        axes.annotate(f"{ours:.2f}" if ours < 10 else f"{ours:.0f}", (ours, y), (0, 5),
                      textcoords="offset points", ha="center", fontsize=7, color="#0072b2")
    for name, label, colour, marker in HOST_SIDES:
        at = [(number(row, name) / number(row, "floor_ms"), y) for y, row in enumerate(rows)]
        axes.scatter(*zip(*at), label=label, color=colour, marker=marker, s=26, zorder=2)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    axes.set_yticks(range(len(rows)), [host_label(row) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.8)
    axes.set_xlabel("time over the floor: the largest of bytes up, bytes down and the kernel's time")
    figure.legend(loc="outside lower center", ncols=4, handletextpad=0.2)
    figure.suptitle("C = A B from host memory to host memory", fontsize=11)
    axes.set_title(subtitle(comments), fontsize=8, color="#555555")
    save(figure, path)


# --- Roofline ---


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
    axes.scatter(*zip(*cublas), label=label, color=colour, marker=marker, s=18, linewidth=0.9)
    for math_name, label, colour, marker in KERNEL_MATHS:
        points = [(intensity(r), number(r, "tflops")) for r in rows if r["math"] == math_name]
        if points:
            axes.scatter(*zip(*points), label=f"this library, {label}", facecolor="none",
                         edgecolor=colour, marker=marker, s=24, linewidth=0.9)


def draw_rows(axes, rows):
    """Draws the rows of the table without transposes, each with its name at its last point."""
    names = list(dict.fromkeys(r["row"] for r in rows))
    colours = plt.get_cmap("viridis")
    ends = []
    for i, name in enumerate(names):
        own = [r for r in rows if r["row"] == name and r["trans"] == "nn"]
        points = sorted((intensity(r), number(r, "tflops")) for r in own)
        if not points:
            continue
        label, colour, marker = CUBLAS if name == "cublas" else (
            name, colours(0.85 * i / len(names)), "o")
        axes.plot(*zip(*points), color=colour, marker=marker, markersize=4, linewidth=0.7)
        ends.append((points[-1][1], points[-1][0], label, colour))
    place = 0
    for rate, at, label, colour in sorted(ends, key=lambda end: end[0]):
        place = max(rate, place * 1.2)  # names of equal rates above each other
        axes.annotate(label, (at, rate), (at * 1.15, place), fontsize=8, color=colour, va="center")


def draw_roofline(comments, rows, path, ceilings):
    figure, axes = plt.subplots(figsize=(8, 5.2), layout="constrained")
    at = [intensity(r) for r in rows]
    least, most = min(at + [ceilings[1] / ceilings[0] / 4]) / 1.5, max(at) * 1.5
    axes.set_xscale("log")
    axes.set_yscale("log")
    if "math" in rows[0]:
        draw_maths(axes, rows)
        axes.legend(loc="lower right")
    else:
        draw_rows(axes, rows)
        ceilings = (*ceilings[:2], None)
        most = max(at)
        axes.set_xlim(least / 1.3, 3 * most)
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
    if "floor_ms" in rows[0]:
        draw_host(comments, rows, options.svg)
        return
    known = next((c for name, c in CEILINGS.items() if any(name in line for line in comments)),
                 (None, None, None))
    asked = (options.dram_tb_s, options.ffma_tflops, options.tensor_tflops)
    ceilings = tuple(a or k for a, k in zip(asked, known))
    if not ceilings[0] or not ceilings[1]:
        sys.exit("the device is not in the table: give --dram-tb-s and --ffma-tflops")
    draw_roofline(comments, rows, options.svg, ceilings)


if __name__ == "__main__":
    main()

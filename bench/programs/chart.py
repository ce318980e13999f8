# SPDX-License-Identifier: MIT
"""Draws bars of the suite's runs: the time of each program's work in products on the GPU, in products on
the CPU, and in the rest, for every variant; plain's work is 1.

It needs no matplotlib, so that the measuring machine can draw.
"""
import math
import os
from xml.sax.saxutils import escape

import tables

# The colours of bench/plot.py; the rest is paler.
PARTS = (("gpu", "products on the GPU", "#0072b2"), ("cpu", "products on the CPU", "#e69f00"),
         ("rest", "the rest of its work", "#dddddd"))
WIDTH, LEFT, RIGHT, TOP = 800, 160, 60, 78
BAR, STEP, GAP = 9, 11, 10
MOST = 2.0  # times plain: longer bars are cut there, and their numbers say how long they are


def parts_of(line, variant):
    """Returns seconds of a variant's work by part: work from unwatched turns, products from watched ones."""
    work = line.time(variant, "work")
    gpu, cpu = (max(0.0, t) if not math.isnan(t) else 0.0
                for t in (line.time(variant, "gpu"), line.time(variant, "cpu")))
    shrink = min(1.0, work / (gpu + cpu)) if gpu + cpu > 0 else 1.0
    return {"gpu": gpu * shrink, "cpu": cpu * shrink, "rest": work - (gpu + cpu) * shrink}


def text(x, y, said, size=9, anchor="start", colour="#000000", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{colour}" font-weight="{weight}">{escape(said)}</text>')


def bars_of(line, y, per_plain):
    """Returns the bars of one program from y on, and the position of the next program."""
    plain = line.time("plain", "work")
    out = [text(LEFT - 62, y + 8, line.name, anchor="end", weight="bold"),
           text(LEFT - 62, y + 19, f"{plain:.2f} s", anchor="end", size=8, colour="#555555")]
    for variant in line.variants:
        work = line.time(variant, "work")
        x = float(LEFT)
        out.append(text(LEFT - 5, y + BAR - 1, variant, anchor="end", size=8))
        if not math.isnan(work) and plain > 0:
            for name, _, colour in PARTS:
                wide = min(parts_of(line, variant)[name] / plain * per_plain,
                           LEFT + MOST * per_plain - x)
                if wide >= 0.05:
                    out.append(f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{BAR}" '
                               f'fill="{colour}"/>')
                x += wide
            out.append(text(x + 4, y + BAR - 1, f"{work / plain:.2f}" + (" (cut)" if work > MOST * plain else ""),
                            size=8, colour="#555555"))
        y += STEP
    return out, max(y, y + 22 - STEP * len(line.variants)) + GAP


def svg_of(comments, lines):
    most = max([1.0] + [line.ratio(v, "plain", "work") for line in lines for v in line.variants
                        if not math.isnan(line.ratio(v, "plain", "work"))])
    per_plain = (WIDTH - LEFT - RIGHT) / min(most, MOST)
    body, y = [], TOP
    for line in lines:
        bars, y = bars_of(line, y, per_plain)
        body += bars
    at = LEFT + per_plain
    body.append(f'<path d="M{at:.1f} {TOP - 6}V{y - GAP}" stroke="#000000" stroke-width="0.8"/>')
    head = [text(LEFT, 20, "Work of real programs, over plain's", size=12)]
    for i, comment in enumerate(comments[:2]):
        head.append(text(LEFT, 34 + 11 * i, comment[:110], size=8, colour="#555555"))
    x = LEFT
    for _, said, colour in PARTS:
        head.append(f'<rect x="{x}" y="54" width="9" height="9" fill="{colour}"/>')
        head.append(text(x + 13, 62, said))
        x += 150
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" '
        f'viewBox="0 0 {WIDTH} {y}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{y}" fill="#ffffff"/>', *head, *body, "</svg>"]) + "\n"


def write(folder):
    comments, rows = tables.read(os.path.join(folder, "runs.csv"))
    with open(os.path.join(folder, "programs.svg"), "w", encoding="utf-8") as file:
        file.write(svg_of(comments, tables.lines_of(rows)))

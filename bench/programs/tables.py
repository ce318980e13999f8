# SPDX-License-Identifier: MIT
"""Tables of the suite's runs: runs.csv in, programs.txt out."""
import csv
import math
import os
import statistics

VARIANTS = ("plain", "quiet", "preload", "run", "again", "gpu")
# The baseline of each variant: the same threads, without the library.
BASELINES = (("preload", "plain"), ("run", "quiet"), ("again", "plain"))
LEAST_SHARE = 1 / 3  # of plain's work: where products matter
TOLERATED = 0.02  # beyond the baseline's own spread
WITHIN = 1.15  # products' time, of the best of plain, quiet and gpu
TIMES = ("whole", "work", "products")


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":")[1].strip() for line in file
                        if line.startswith("model name"))
    except (OSError, StopIteration):
        return "an unknown processor"


def compare(reference, lines):
    """Compares answers line by line: returns "equal", or the name of the first that differs."""
    if [line[0] for line in reference] != [line[0] for line in lines]:
        return "other lines"
    for (name, tolerance, *want), (_, _, *got) in zip(reference, lines):
        want, got = [float(x) for x in want], [float(x) for x in got]
        room = float(tolerance) * max(map(abs, want), default=0.0)
        if len(want) != len(got) or not all(abs(a - b) <= room for a, b in zip(want, got)):
            return name
    return "equal" if reference else "none"


def read(path):
    """Returns the comment lines and the rows of runs.csv."""
    with open(path, newline="", encoding="utf-8") as file:
        lines = file.read().splitlines()
    comments = [line[1:].strip() for line in lines if line.startswith("#")]
    return comments, list(csv.DictReader(line for line in lines if not line.startswith("#")))


def median(values):
    return statistics.median(values) if values else math.nan


def spread(values):
    """Returns (largest - least) / median."""
    return ratio(max(values) - min(values), median(values)) if values else math.nan


def ratio(a, b):
    return a / b if b > 0 else math.nan


class Line:
    """The summary of one program's runs. Times are medians in seconds, NaN if there is none."""

    def __init__(self, name, rows):
        self.name = name
        self.rows = rows
        self.variants = [v for v in VARIANTS if any(r["variant"] == v for r in rows)]
        self.failed = [f"{r['variant']} {r['status']}" for r in rows if r["status"] != "ok"]
        self.differ = sorted({f"{r['variant']}: {r['answers']}" for r in rows
                              if r["status"] == "ok" and r["answers"] != "equal"})

    def values(self, variant, field, watched):
        return [float(r[field]) for r in self.rows
                if r["variant"] == variant and r["status"] == "ok" and
                int(r["watched"]) == watched and r[field] != ""]

    def time(self, variant, what):
        """what: whole and work from unwatched turns; products and similar columns from watched ones."""
        return median(self.values(variant, what + "_s", int(what not in ("whole", "work"))))

    def spread(self, variant, what):
        return spread(self.values(variant, what + "_s", int(what not in ("whole", "work"))))

    def ratio(self, variant, baseline, what):
        return ratio(self.time(variant, what), self.time(baseline, what))

    def share(self):
        return ratio(self.time("plain", "products"), self.time("plain", "work"))

    def best_products(self):
        known = [t for t in (self.time(v, "products") for v in ("plain", "quiet", "gpu"))
                 if not math.isnan(t)]
        return min(known, default=math.nan)

    def slower(self):
        """Returns sentences about variants that are slower than their baseline beyond its spread."""
        said = []
        for variant, baseline in BASELINES:
            for what in ("whole", "work"):
                by, own = self.ratio(variant, baseline, what), self.spread(baseline, what)
                if by > 1 + TOLERATED + own:
                    said.append(
                        f"{self.name}: {variant} takes {by:.2f} times {baseline}'s time "
                        f"({'whole process' if what == 'whole' else 'work'}: "
                        f"{self.time(variant, what):.3f} s, {self.time(baseline, what):.3f} s "
                        f"with a spread of {own:.0%})")
        return said

    def answers(self):
        return "; ".join(self.failed + self.differ) or "equal"


def lines_of(rows):
    names = dict.fromkeys(row["program"] for row in rows)
    return [Line(name, [row for row in rows if row["program"] == name]) for name in names]


def geometric_mean(values):
    values = [v for v in values if v > 0]
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def number(value, digits=3):
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def time_table(out, title, what, lines, variants):
    """Returns one line per program: median and spread of every variant, and the ratios to the baselines."""
    out.append("")
    out.append(title)
    pairs = [(v, b) for v, b in (*BASELINES, ("quiet", "plain"))]
    out.append(f"{'program':<17}" + "".join(f"{v:>9}{'±%':>5}" for v in variants) +
               "".join(f"{v + '/' + b:>15}" for v, b in pairs) + "  answers")
    for line in lines:
        cells = "".join(f"{number(line.time(v, what)):>9}"
                        f"{number(100 * line.spread(v, what), 0):>5}" for v in variants)
        ratios = "".join(f"{number(line.ratio(v, b, what), 2):>15}" for v, b in pairs)
        out.append(f"{line.name:<17}{cells}{ratios}  {line.answers()}")


def mean_table(out, title, lines):
    """Returns geometric means of ratios; the parts of the whole gain are below each other."""
    out.append("")
    out.append(f"{title} ({len(lines)} programs: {', '.join(line.name for line in lines) or '-'})")
    if not lines:
        return
    out.append(f"{'':<52}" + "".join(f"{what:>10}" for what in TIMES))
    for said, variant, baseline in (
            ("preload / plain, time", "preload", "plain"),
            ("run / quiet, time", "run", "quiet"),
            ("gain of the bare preload: plain / preload", "plain", "preload"),
            ("gain of quiet threads alone: plain / quiet", "plain", "quiet"),
            ("gain of the GPU beyond them: quiet / run", "quiet", "run"),
            ("both, xgemm-run: plain / run", "plain", "run"),
            ("remembered: plain / again", "plain", "again"),
            ("remembered: quiet / again", "quiet", "again"),
            ("forced: plain / gpu", "plain", "gpu")):
        means = [geometric_mean([line.ratio(variant, baseline, what) for line in lines])
                 for what in TIMES]
        out.append(f"{said:<52}" + "".join(f"{number(mean, 2):>10}" for mean in means))


def list_of(out, title, sentences, none):
    out.append("")
    out.append(title if sentences else none)
    out.extend("  " + sentence for sentence in sentences)


def text_of(comments, lines):
    out = [f"# {comment}" for comment in comments]
    variants = [v for v in VARIANTS if any(v in line.variants for line in lines)]
    out += ["", "Medians in seconds; ±%: (largest - least) / median, in percent. quiet: plain with",
            "OPENBLAS_THREAD_TIMEOUT=20; run: through xgemm-run, nothing remembered; again: with",
            "earlier runs remembered; gpu: XGEMM_MODE=gpu. Products include",
            "the routines of LAPACK that the library intercepts."]
    time_table(out, "The whole process, imports and exit included", "whole", lines, variants)
    time_table(out, "Its work", "work", lines, variants)
    time_table(out, "At least one product or routine of LAPACK under way (runs of their own)", "products", lines,
               variants)
    out += ["", "Products' share of plain's work: " + ", ".join(
        f"{line.name} {number(100 * line.share(), 0)} %" for line in lines)]
    mean_table(out, "Geometric means where products take at least a third of plain's work",
               [line for line in lines if line.share() >= LEAST_SHARE])
    mean_table(out, "Geometric means over all", lines)
    slower = [sentence for line in lines for sentence in line.slower()]
    list_of(out, "!!! SLOWER THAN ITS BASELINE by more than 2 % beyond the baseline's spread:",
            slower, "No program is slower than its baseline by more than 2 % beyond its spread.")
    far = [f"{line.name}: {v} {line.time(v, 'products'):.3f} s, {by:.2f} times"
           for line in lines for v in ("preload", "run")
           for by in [ratio(line.time(v, "products"), line.best_products())] if by > WITHIN]
    list_of(out, "Products take more than 1.15 times the best of plain, quiet and gpu:", far,
            "Products take at most 1.15 times the best of plain, quiet and gpu in all programs.")
    wrong = [f"{line.name}: {line.answers()}" for line in lines if line.answers() != "equal"]
    list_of(out, "!!! ANSWERS THAT DIFFER FROM PLAIN'S, OR RUNS THAT FAILED:", wrong,
            "All answers are equal to plain's within their tolerances.")
    return "\n".join(out) + "\n"


def write(folder):
    """Writes the table of a folder's runs.csv; returns how many programs failed or differ."""
    comments, rows = read(os.path.join(folder, "runs.csv"))
    lines = lines_of(rows)
    with open(os.path.join(folder, "programs.txt"), "w", encoding="utf-8") as file:
        file.write(text_of(comments, lines))
    return sum(line.answers() != "equal" for line in lines)

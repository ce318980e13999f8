# SPDX-License-Identifier: MIT
"""What the tests of xgemm-report share: traces that are made here, pages that are read back, and
sums that are computed a second time."""
import collections
import contextlib
import html.parser
import io
import json
import math
import os
import random
import statistics
import sys
import tempfile

REPORT, SRCDIR = sys.argv[1:3]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(REPORT)))
from report import main, words  # noqa: E402: the path comes first

VOID = {"meta", "link", "br", "img", "input", "hr"}
failures = []


def check(true, *what):
    """Prints and counts a condition that does not hold."""
    if not true:
        failures.append(what)
        print("FAIL:", *what)
    return true


def near(a, b, *what):
    return check(abs(a - b) <= 1e-6 * max(abs(a), abs(b)) + 1e-12, *what, f"{a} and not {b}")


# --- Pages ------------------------------------------------------------------------------------

class Page(html.parser.HTMLParser):
    """A page's elements, which must be closed in order, its text and its island."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.text = [], [], []
        self.island, self.figures = None, {}
        self.source, self.size = text, len(text)
        self.feed(text)
        self.close()
        check(not self.open, "elements left open:", self.open)
        self.said = " ".join(self.text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "data":
            self.figures[dict(attributes)["data-figure"]] = float(dict(attributes)["value"])

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        check(self.open and self.open.pop() == tag, "closed out of order:", tag)

    def handle_data(self, text):
        if self.open and self.open[-1] == "script":
            check(self.island is None, "a second script")
            self.island = json.loads(text)
        elif "style" not in self.open:
            self.text.append(text)

    def rows(self, key):
        return [attributes for _, attributes in self.elements if key in attributes]


def report(*arguments, status=0):
    """Runs the command in this process; returns its page, and what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "page.html")
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            try:
                ended = main.main(["-o", out, *arguments], "test")
            except SystemExit as end:
                ended = end.code
        said = said.getvalue()
        check(ended == status, arguments, "exit status", ended, said)
        if ended or not os.path.exists(out):
            return None, said
        with open(out, encoding="utf-8") as file:
            return Page(file.read()), said


# --- Traces -----------------------------------------------------------------------------------

def event(pid=7, tid=7, ts=0.0, dur=100.0, m=128, n=96, k=64, trans="NN", place="CPU",
          reason="cost model", kernel=None, cpu=None, gpu=None, **more):
    args = {"symbol": "cblas_sgemm", "m": m, "n": n, "k": k, "trans": trans, "beta": 0,
            "place": place, "reason": reason, "kernel": kernel, "predicted_cpu_us": cpu,
            "predicted_gpu_us": gpu, "waited_us": 0.0, "up_bytes": 0, "down_bytes": 0}
    args.update(more)
    return {"name": f"{m}x{n}x{k} {trans}", "cat": place, "ph": "X", "ts": ts, "dur": dur,
            "pid": pid, "tid": tid, "args": args}


def machine(pid=7, **figures):
    args = {"mode": "auto", "math": "accurate", "cores": 16, "cpu_library": "libopenblas.so.0",
            "cpu_threads": 16, "spin_us": 134000.0, "cpu_flops_per_s": 1.04e12,
            "cpu_bytes_per_s": 9.1e10, "device": "A GPU", "sm": 90, "sm_count": 132,
            "gpu_flops_per_s": 2e14, "gpu_fp32_flops_per_s": 5e13, "up_bytes_per_s": 4.8e10,
            "down_bytes_per_s": 4.0e10, "gpu_start_us": 4e5, "calibrated": False}
    args.update(figures)
    return {"name": "xgemm_machine", "ph": "M", "pid": pid, "tid": pid, "args": args}


def named(pid, name):
    return {"name": "process_name", "ph": "M", "pid": pid, "tid": pid, "args": {"name": name}}


def lines(events):
    return "[\n" + "".join(json.dumps(one, separators=(",", ":")) + ",\n" for one in events)


@contextlib.contextmanager
def folder_of(files):
    """A folder with these files, name: events, text or bytes."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            if isinstance(content, list):
                content = lines(content)
            if isinstance(content, str):
                content = content.encode()
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content)
        yield folder


def of_zgemm(m, n, k):
    """The fields of an event of ZGEMM; without them it is one of SGEMM."""
    return {"operation": "zgemm", "flops": 8 * m * n * k, "operand_bytes": 16 * k * (m + n),
            "result_bytes": 16 * m * n}


def of_dgesv(n, k):
    """The fields of an event of LAPACK's DGESV."""
    return {"symbol": "dgesv_", "operation": "dgesv", "trans": "-", "kernel": "cuSOLVER",
            "flops": 2 * n ** 3 / 3 + 2 * n * n * k, "operand_bytes": 8 * n * (n + k), "result_bytes": 8 * n * (n + k)}


def random_run(processes, threads, products, seed=1):
    """Files by name, each with its events."""
    chance = random.Random(seed)
    shapes = [tuple(chance.choice((1, 10, 64, 500, 1024, 4096)) for _ in range(3))
              for _ in range(40)]
    files = {}
    for pid in range(100, 100 + processes):
        events = [named(pid, "python3"), machine(pid, device=None), machine(pid)]
        for tid in range(pid, pid + threads):
            ts = 5e9 + chance.uniform(0, 1e6)
            for _ in range(products):
                m, n, k = chance.choice(shapes)
                place = chance.choice(("CPU", "GPU", "GPU"))
                reason = "cost model" if place == "GPU" else chance.choice(
                    ("cost model", "GPU starting", "too small", "GPU busy"))
                cpu, gpu = chance.uniform(1, 5000), chance.uniform(1, 5000)
                events.append(event(
                    pid, tid, round(ts, 3), round(chance.uniform(1, 3000), 3), m, n, k,
                    chance.choice(("NN", "NT")), place, reason,
                    "fp16x3" if place == "GPU" else None, round(cpu, 3), round(gpu, 3),
                    waited_us=round(chance.uniform(0, 9), 3),
                    up_bytes=4 * k * (m + n) * (place == "GPU"),
                    down_bytes=4 * m * n * (place == "GPU"),
                    **chance.choice(({}, {"operation": "sgemm"}, of_zgemm(m, n, k)))))
                ts += events[-1]["dur"] + chance.uniform(0, 2000)
        files[f"{pid}.json"] = events
    return files


# --- Sums, computed a second time -------------------------------------------------------------

def union(intervals):
    total, until = 0.0, -math.inf
    for begin, end in sorted(intervals):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def judge(page, events, what):
    """Checks the page's figures against the events."""
    products = [one for one in events if one["ph"] == "X"]
    island = page.island
    check(island["products"] == page.figures["products"] == len(products), what, "products")
    near(island["seconds"], 1e-6 * sum(one["dur"] for one in products), what, "seconds")
    near(page.figures["seconds"], island["seconds"], what, "seconds shown")
    near(island["under_way_seconds"],
         1e-6 * union([(one["ts"], one["ts"] + one["dur"]) for one in products]), what,
         "by the clock")
    flops = [one["args"].get("flops") or
             2.0 * one["args"]["m"] * one["args"]["n"] * one["args"]["k"] for one in products]
    near(island["flops"], sum(flops), what, "FLOPs")
    for key in ("up_bytes", "down_bytes"):
        near(island[key], sum(one["args"][key] for one in products), what, key)
    near(island["waited_seconds"], 1e-6 * sum(one["args"]["waited_us"] for one in products), what,
         "waited")
    check(island["threads"] == len({(one["pid"], one["tid"]) for one in products}), what, "threads")

    def keyed(key):
        sums = collections.defaultdict(lambda: [0, 0.0])
        for one in products:
            sums[key(one["args"])][0] += 1
            sums[key(one["args"])][1] += 1e-6 * one["dur"]
        return sums

    places = keyed(lambda args: args["place"])
    check(set(island["places"]) == set(places), what, "places")
    for place, (count, seconds) in places.items():
        check(island["places"][place]["products"] == count, what, place, "products")
        near(island["places"][place]["seconds"], seconds, what, place, "seconds")

    reasons = keyed(lambda args: (args["place"], args["reason"]))
    rows = {(row["data-place"], row["data-reason"]): row for row in page.rows("data-reason")}
    check(set(rows) == set(reasons), what, "reasons", set(rows) ^ set(reasons))
    check(len(island["reasons"]) == len(reasons), what, "reasons of the island")
    for key in set(rows) & set(reasons):
        check(int(rows[key]["data-count"]) == reasons[key][0], what, key, "products")
        near(float(rows[key]["data-seconds"]), reasons[key][1], what, key, "seconds")

    shapes = keyed(lambda args: (f"{args['m']}x{args['n']}x{args['k']}", args["trans"],
                                 args["place"], args.get("operation", "sgemm"), args["kernel"]))
    check(island["shape_count"] == len(shapes), what, "shapes")
    rows = page.rows("data-shape")
    check(len(rows) == min(25, len(shapes)), what, "rows of shapes", len(rows))
    for row, (shape, (count, seconds)) in zip(
            rows, sorted(shapes.items(), key=lambda pair: -pair[1][1])):
        check((row["data-shape"], row["data-trans"], row["data-place"],
               row["data-operation"]) == shape[:4] and
              int(row["data-count"]) == count, what, "shape", row, shape)
        near(float(row["data-seconds"]), seconds, what, shape)
    judge_saving(page, products, what)


def judge_saving(page, products, what):
    on_cpu = collections.defaultdict(list)
    for one in products:
        args = one["args"]
        if args["place"] == "CPU" and not args["kernel"]:
            on_cpu[args["m"], args["n"], args["k"], args["trans"], args.get("operation", "sgemm")].append(one["dur"])
    measured = predicted = 0.0
    for one in products:
        args = one["args"]
        took = on_cpu[args["m"], args["n"], args["k"], args["trans"], args.get("operation", "sgemm")]
        if args["place"] != "GPU":
            continue
        if len(took) >= 3:
            measured += statistics.median(took) - one["dur"]
        elif args["predicted_cpu_us"]:
            predicted += args["predicted_cpu_us"] - one["dur"]
    near(page.island["saved_measured_seconds"], 1e-6 * measured, what, "saved, measured")
    near(page.island["saved_predicted_seconds"], 1e-6 * predicted, what, "saved, predicted")
    if "saved-seconds" in page.figures:
        near(page.figures["saved-seconds"], 1e-6 * (measured + predicted), what, "saved")

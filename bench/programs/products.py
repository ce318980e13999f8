# SPDX-License-Identifier: MIT
"""Computes the time in products from the library's output for one run of a program.

Products include LAPACK's routines. A trace (XGEMM_TRACE) has the start and the time of each, so that
concurrent products of several threads count once: the union of their intervals. A routine that the CPU
computes may contain products of the same thread. Without a trace the account (XGEMM_STATS) gives only
the sum, in which products inside routines count twice.
"""
import collections
import json
import re

ACCOUNT = re.compile(r"^xgemm: (\d+) products, [\d.]+ GFLOP in ([\d.]+) s; (\d+) on the GPU")
ACCOUNT_ROW = re.compile(r"^  (CPU|GPU|both) .* (\d+) +[\d.]+ +[\d.]+ +([\d.]+) +[\d.]+$")
FIELDS = ("products_s", "gpu_s", "cpu_s", "sum_s", "waited_s", "products", "gpu_products",
          "products_from")


def events(path):
    """The products of a trace: a JSON array whose closing bracket may be missing, an event a line.

    The last line may be cut short by the end of the process.
    """
    found = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            line = line.strip().lstrip("[").rstrip("]").strip().rstrip(",")
            if not line:
                continue
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict) and event.get("ph") == "X" and "place" in event.get(
                    "args", {}):
                found.append(event)
    return found


def union(intervals):
    """Returns the length of the union of the intervals (begin, end)."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(intervals):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def of_trace(path):
    intervals, gpu, threads = [], [], collections.defaultdict(list)
    waited = 0.0
    for event in events(path):
        interval = (float(event["ts"]), float(event["ts"]) + float(event["dur"]))
        intervals.append(interval)
        threads[event.get("pid"), event.get("tid")].append(interval)
        waited += float(event["args"].get("waited_us") or 0.0)
        if str(event["args"]["place"]).upper() != "CPU":
            gpu.append(interval)
    together, on_gpu = union(intervals), union(gpu)
    return {"products_s": together * 1e-6, "gpu_s": on_gpu * 1e-6,
            "cpu_s": (together - on_gpu) * 1e-6,
            "sum_s": sum(map(union, threads.values())) * 1e-6,
            "waited_s": waited * 1e-6, "products": len(intervals), "gpu_products": len(gpu),
            "products_from": "trace"}


def of_account(path):
    """Returns the last report of a file of appended reports, or all 0 if there is none."""
    result = {"products_s": 0.0, "gpu_s": 0.0, "cpu_s": 0.0, "sum_s": 0.0, "waited_s": 0.0,
              "products": 0, "gpu_products": 0, "products_from": "account"}
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return result
    for line in lines:
        total, row = ACCOUNT.match(line), ACCOUNT_ROW.match(line)
        if total:
            result.update(products=int(total[1]), gpu_products=int(total[3]), gpu_s=0.0,
                          cpu_s=0.0)
        elif row and result["products"]:
            result["cpu_s" if row[1] == "CPU" else "gpu_s"] += float(row[3])
    result["products_s"] = result["sum_s"] = result["cpu_s"] + result["gpu_s"]
    return result

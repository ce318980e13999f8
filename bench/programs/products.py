# SPDX-License-Identifier: MIT
"""Computes the time in products from the trace (XGEMM_TRACE) of one run of a program.

Products include LAPACK's routines. Concurrent products of several threads count once: the union of their intervals.
A routine that the CPU computes may contain products of the same thread.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
from report.run import Run, union_of  # noqa: E402
from report.trace import PLACES  # noqa: E402

FIELDS = ("products_s", "gpu_s", "cpu_s", "sum_s", "waited_s", "products", "gpu_products")


def of_trace(path):
    """Returns the fields of a run; all are 0 if the trace is missing, because nothing was multiplied."""
    run = Run()
    run.read([path])
    spans = [(begin, end, PLACES[place]) for thread in run.threads()
             for begin, end, place in zip(thread.begins, thread.ends, thread.places)]
    together = run.under_way()
    on_gpu = union_of((begin, end) for begin, end, place in spans if place != "CPU")
    return {"products_s": together, "gpu_s": on_gpu, "cpu_s": together - on_gpu,
            "sum_s": sum(union_of(zip(thread.begins, thread.ends)) for thread in run.threads()),
            "waited_s": run.total().waited, "products": len(spans),
            "gpu_products": sum(place != "CPU" for _, _, place in spans)}

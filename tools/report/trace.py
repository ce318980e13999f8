# SPDX-License-Identifier: MIT
"""Reads traces (XGEMM_TRACE, src/report/trace.c): well-formed events become products of a run.

A trace is a JSON array with one event per line and without a closing bracket; the trace of a killed
process may end in the middle of a line. All content is treated as data: names are cut and stripped of
characters that could hide or reorder text, numbers must be finite and within bounds, and everything else
is counted as strange.
"""
import functools
import json
import os
import re
import stat
import unicodedata

PLACES = ("GPU", "CPU", "both")

# The longest name on the page, the longest line of an event, and the largest file that is read as a whole
# because it does not have one event per line.
NAME_CHARACTERS = 80
LINE_BYTES = 1 << 20
WHOLE_BYTES = 1 << 26

# Smaller values count as 0: no figure of a trace is that small, and quotients of the others do not
# overflow.
LEAST = 1e-12

TRACE_NAME = re.compile(r"\.json(\.\d+)?$")


class Unreadable(Exception):
    """A given path is not a trace; the text says why."""


class Product:
    """One product of the trace. Times are in seconds; a prediction may be None."""
    __slots__ = ("pid", "tid", "begin", "end", "took", "symbol", "operation", "m", "n", "k", "flops",
                 "operand_bytes", "result_bytes", "trans", "place", "reason", "kernel",
                 "cpu", "gpu", "waited", "up", "down")


@functools.lru_cache(1024)
def clean(text, characters=NAME_CHARACTERS):
    """Replaces control and direction characters in a text, and cuts its end."""
    text = "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn") else c
                   for c in text[:characters + 1])
    return text if len(text) <= characters else text[:characters - 1] + "\u2026"


def number(value, least=0.0, most=1e18):
    """Returns the value as a float, 0 if it is smaller than LEAST, or None if it is not a number within the
    bounds."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        value = float(value)
    except OverflowError:
        return None
    if not least <= value <= most:
        return None
    return value if abs(value) >= LEAST else 0.0


def whole(value, most):
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        return None
    return value


def name(value):
    return clean(value) if isinstance(value, str) else None


def product_of(event):
    """Returns the product of an event, or None if the event is not a product."""
    args = event.get("args")
    if not isinstance(args, dict):
        return None
    product = Product()
    product.pid, product.tid = (whole(event.get(key), 1 << 62) for key in ("pid", "tid"))
    begin, took = number(event.get("ts"), -1e18), number(event.get("dur"))
    product.m, product.n, product.k = (whole(args.get(key), 1 << 40) for key in "mnk")
    product.place = args.get("place")
    if None in (product.pid, product.tid, begin, took, product.m, product.n, product.k) or \
            product.place not in PLACES:
        return None
    inside = number(args.get("inside_us")) or 0.0  # of calls inside it that have events of their own
    product.begin, product.end = 1e-6 * begin, 1e-6 * (begin + took)
    product.took = 1e-6 * max(took - inside, 0.0)
    product.symbol = name(args.get("symbol")) or "?"
    product.trans = name(args.get("trans")) or "?"
    # A trace without an operation is of a release that supported only SGEMM.
    product.operation = name(args.get("operation")) or "sgemm"
    m, n, k = product.m, product.n, product.k
    for key, of_sgemm in (("flops", 2.0 * m * n * k), ("operand_bytes", 4.0 * k * (m + n)),
                          ("result_bytes", 4.0 * m * n)):
        said = number(args.get(key), most=1e40)
        setattr(product, key, of_sgemm if said is None else said)
    product.reason = name(args.get("reason")) or "unknown"
    product.kernel = name(args.get("kernel"))
    product.waited = 1e-6 * (number(args.get("waited_us")) or 0.0)
    product.up, product.down = (number(args.get(key)) or 0.0 for key in ("up_bytes", "down_bytes"))
    # 0 means that the policy made no prediction.
    product.cpu, product.gpu = (1e-6 * predicted if predicted else None for predicted in (
        number(args.get("predicted_cpu_us")), number(args.get("predicted_gpu_us"))))
    return product


def machine_of(args):
    """Returns the figures of an xgemm_machine event: names, and numbers above 0 or None."""
    machine = {key: name(args.get(key)) for key in ("mode", "math", "cpu_library", "device")}
    for key in ("cores", "cpu_threads", "sm_count", "cpu_flops_per_s", "gpu_flops_per_s",
                "gpu_fp32_flops_per_s", "up_bytes_per_s", "down_bytes_per_s", "gpu_start_us"):
        machine[key] = number(args.get(key)) or None
    # null means an endless spin, because JSON has no infinity; a trace without this figure lacks the key.
    spin = args.get("spin_us", 0.0)
    machine["spin_s"] = float("inf") if spin is None else 1e-6 * (number(spin) or 0.0)
    machine["calibrated"] = args.get("calibrated") is True
    return machine


class Trace:
    """One file: its path, the number of its products, and the numbers of cut and strange lines."""

    def __init__(self, path):
        self.path = path
        self.products = 0
        self.cut = 0
        self.strange = 0
        self.closed = False
        self.trouble = None

    def add(self, event, sink):
        """Passes an event to the sink: add_product, add_name or add_machine."""
        if not isinstance(event, dict):
            self.strange += 1
            return
        if event.get("ph") == "M":
            self.add_metadata(event, sink)
            return
        product = product_of(event) if event.get("ph") == "X" else None
        if product is None:
            self.strange += 1
            return
        self.products += 1
        sink.add_product(self, product)

    def add_metadata(self, event, sink):
        args, pid = event.get("args"), whole(event.get("pid"), 1 << 62)
        if pid is None or not isinstance(args, dict):
            self.strange += 1
        elif event.get("name") == "process_name" and isinstance(args.get("name"), str):
            sink.add_name(self, pid, clean(args["name"]))
        elif event.get("name") == "xgemm_machine":
            sink.add_machine(self, pid, machine_of(args))

    def read(self, sink):
        try:
            with open(self.path, encoding="utf-8", errors="replace") as file:
                self.read_lines(file, sink)
            if self.cut and not self.products and os.path.getsize(self.path) <= WHOLE_BYTES:
                self.read_whole(sink)
        except OSError as error:
            self.trouble = error.strerror or "cannot be read"

    def read_lines(self, file, sink):
        while True:
            line = file.readline(LINE_BYTES)
            if not line:
                return
            text = line.strip().rstrip(",")
            if text == "]":
                self.closed = True
            if text in ("", "[", "]"):
                continue
            if text.startswith("[") and not text.endswith("]"):
                text = text[1:]
            elif text.startswith("{") and text.endswith("]"):
                text = text[:-1]
            try:
                event = json.loads(text)
            except (ValueError, RecursionError):
                self.cut += 1
                continue
            for one in event if isinstance(event, list) else (event,):
                self.add(one, sink)

    def read_whole(self, sink):
        """Reads JSON in another layout, as other tools write it."""
        with open(self.path, encoding="utf-8", errors="replace") as file:
            try:
                events = json.load(file)
            except (ValueError, RecursionError):
                return
        if isinstance(events, dict):
            events = events.get("traceEvents")
        if isinstance(events, list):
            self.cut = self.strange = 0
            for event in events:
                self.add(event, sink)


def paths_of(arguments):
    """Returns the given files and the traces in the given folders, each once."""
    paths = []
    for argument in arguments:
        try:
            mode = os.stat(argument).st_mode
            found = [argument]
            if stat.S_ISDIR(mode):
                found = [os.path.join(argument, entry) for entry in sorted(os.listdir(argument))
                         if TRACE_NAME.search(entry)]
                found = [path for path in found if os.path.isfile(path)]
            elif not stat.S_ISREG(mode):
                raise Unreadable(f"{argument}: not a file or a folder")
        except (OSError, ValueError) as error:
            raise Unreadable(f"{argument}: {getattr(error, 'strerror', None) or error}") from None
        paths.extend(found)
    return list(dict.fromkeys(paths))

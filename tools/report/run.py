# SPDX-License-Identifier: MIT
"""The data of a run: processes and threads, groups of equal products, sums, and the time that the GPU
saved. Products are added one by one, and only a few numbers of each are stored."""
import array
import functools
import statistics

from . import trace

# With at least this many times on the CPU in this run, a shape counts as measured.
MEASURED_LEAST = 3

# Reasons that mean a failure of the GPU.
FAILURES = ("GPU failed", "GPU's result was wrong")


def union_of(intervals):
    """Returns the length of the union of the intervals (begin, end)."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(intervals):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


class Thread:
    """A thread's products: the begin, the end and the place (an index of PLACES) of each."""

    def __init__(self, process, tid):
        self.process = process
        self.tid = tid
        self.begins, self.ends = array.array("d"), array.array("d")
        self.places = bytearray()

    def add(self, product):
        self.begins.append(product.begin)
        self.ends.append(product.end)
        self.places.append(trace.PLACES.index(product.place))

    def seconds(self, place):
        at = trace.PLACES.index(place)
        return sum(end - begin for begin, end, its in zip(self.begins, self.ends, self.places)
                   if its == at)


class Process:
    def __init__(self, source, pid):
        self.source = source
        self.pid = pid
        self.name = None
        self.machine = None
        self.threads = {}

    def title(self):
        return f"{self.name} ({self.pid})" if self.name else f"process {self.pid}"


class Group:
    """Products of one shape that ran in one place, in one kernel, for one reason."""

    def __init__(self, product):
        self.m, self.n, self.k, self.trans = product.m, product.n, product.k, product.trans
        self.symbol, self.place, self.reason = product.symbol, product.place, product.reason
        self.operation, self.kernel = product.operation, product.kernel
        self.flops = product.flops  # of one product, as are the bytes
        self.operand_bytes, self.result_bytes = product.operand_bytes, product.result_bytes
        self.took = array.array("d")
        self.seconds = self.waited = self.up = self.down = 0.0
        self.cpu = self.gpu = 0.0  # sums of the predictions, for products that have one
        self.cpu_count = self.gpu_count = 0

    def add(self, product):
        self.took.append(product.took)
        self.seconds += product.took
        self.waited += product.waited
        self.up += product.up
        self.down += product.down
        if product.cpu is not None:
            self.cpu += product.cpu
            self.cpu_count += 1
        if product.gpu is not None:
            self.gpu += product.gpu
            self.gpu_count += 1

    @property
    def count(self):
        return len(self.took)

    def median(self):
        return statistics.median(self.took)

    def shape(self):
        return (self.m, self.n, self.k, self.trans, self.operation)


class Sum:
    """The sums of several groups."""

    def __init__(self, groups):
        groups = list(groups)
        self.count = sum(group.count for group in groups)
        self.seconds = sum(group.seconds for group in groups)
        self.flops = sum(group.count * group.flops for group in groups)
        self.waited = sum(group.waited for group in groups)
        self.up = sum(group.up for group in groups)
        self.down = sum(group.down for group in groups)
        # The time by which the GPU is predicted to be faster, for groups for which it is.
        self.missed = sum(max(0.0, group.seconds - group.gpu) for group in groups
                          if group.gpu_count == group.count)


class Saving:
    """The time that the GPU saved: the CPU's time for the GPU's products minus the time that they took. If a
    shape also ran on the CPU in this run, the CPU's time is the median of those times ("measured");
    otherwise it is the cost model's prediction ("predicted"). A negative value is a loss."""

    def __init__(self, run):
        times = run.times_on_cpu()
        self.measured = self.predicted = self.lost = 0.0
        self.measured_count = self.predicted_count = self.unknown_count = 0
        for group in run.groups_at("GPU"):
            known = times.get(group.shape())
            if known is not None:
                saved = group.count * known - group.seconds
                self.measured += saved
                self.measured_count += group.count
            elif group.cpu_count == group.count:
                saved = group.cpu - group.seconds
                self.predicted += saved
                self.predicted_count += group.count
            else:
                saved = 0.0
                self.unknown_count += group.count
            self.lost -= min(0.0, saved)

    @property
    def seconds(self):
        return self.measured + self.predicted


class Run:
    """All products of all traces. It is the sink of trace.Trace.read."""

    def __init__(self, absence=""):
        self.absence = absence  # the true reason for products for which a start was not worthwhile yet
        self.processes = {}  # by file and process id, because ids are reused
        self.groups = {}
        self.traces = []
        self.first, self.last = float("inf"), float("-inf")

    def read(self, paths):
        for path in paths:
            one = trace.Trace(path)
            self.traces.append(one)
            one.read(self)

    def process(self, source, pid):
        key = (source.path, pid)
        if key not in self.processes:
            self.processes[key] = Process(source, pid)
        return self.processes[key]

    def add_name(self, source, pid, text):
        self.process(source, pid).name = text

    def add_machine(self, source, pid, machine):
        """Keeps the last machine, which knows the device, but never replaces one with a device by one without."""
        process = self.process(source, pid)
        if not process.machine or machine["device"] or not process.machine["device"]:
            process.machine = machine

    def add_product(self, source, product):
        if self.absence and product.reason == "GPU start-up not earned yet":
            product.reason = self.absence
        threads = self.process(source, product.pid).threads
        if product.tid not in threads:
            threads[product.tid] = Thread(self.processes[source.path, product.pid], product.tid)
        threads[product.tid].add(product)
        key = (product.m, product.n, product.k, product.trans, product.operation, product.symbol,
               product.place, product.reason, product.kernel)
        if key not in self.groups:
            self.groups[key] = Group(product)
        self.groups[key].add(product)
        self.first = min(self.first, product.begin)
        self.last = max(self.last, product.end)

    # --- Queries ---

    def groups_at(self, place):
        return [group for group in self.groups.values() if group.place == place]

    def groups_for(self, place, *reasons):
        return [group for group in self.groups_at(place) if group.reason in reasons]

    def total(self):
        return Sum(self.groups.values())

    def at(self, place):
        return Sum(self.groups_at(place))

    def threads(self):
        """Returns the threads that multiplied, process by process, in the order of their first products."""
        processes = sorted((process for process in self.processes.values() if process.threads),
                           key=lambda process: min(min(thread.begins)
                                                   for thread in process.threads.values()))
        return [thread for process in processes for thread in
                sorted(process.threads.values(), key=lambda thread: min(thread.begins))]

    def machine(self):
        """Returns the machine for comparisons: one with a device, if any process had one."""
        known = [process.machine for process in self.processes.values() if process.machine]
        known.sort(key=lambda machine: not machine["device"])
        return known[0] if known else None

    def devices(self):
        """Returns the names of the opened devices, at most eight."""
        return sorted({process.machine["device"] for process in self.processes.values()
                       if process.machine and process.machine["device"]})[:8]

    def span(self):
        """Returns the time from the start of the first product to the end of the last."""
        return max(0.0, self.last - self.first) if self.groups else 0.0

    @functools.lru_cache(None)
    def under_way(self):
        """Returns the elapsed time during which at least one product ran."""
        return union_of(interval for thread in self.threads()
                        for interval in zip(thread.begins, thread.ends))

    def times_on_cpu(self):
        """Returns the median seconds of each shape that the CPU alone computed at least MEASURED_LEAST times."""
        times = {}
        for group in self.groups_at("CPU"):
            if group.reason not in FAILURES and not group.kernel:
                times.setdefault(group.shape(), []).extend(group.took)
        return {shape: statistics.median(took) for shape, took in times.items()
                if len(took) >= MEASURED_LEAST}

    @functools.lru_cache(None)
    def saving(self):
        """Returns the saving, computed once; call it after all products have been added."""
        return Saving(self)

    def off(self, place):
        """Returns the ratio of taken to predicted time in a place, or None without predictions. It uses
        medians, because a few products that waited for a start say nothing about the model."""
        took = predicted = 0.0
        for group in self.groups_at(place):
            guess, count = ((group.gpu, group.gpu_count) if place == "GPU"
                            else (group.cpu, group.cpu_count))
            if count == group.count and group.reason not in FAILURES:
                took += group.count * group.median()
                predicted += guess
        return took / predicted if predicted > 0 else None


def floors_of(shape, machine):
    """Returns lower bounds of a product's time on the device in seconds, (link, arithmetic), from the cost
    model's rates, or None if these are unknown, as for all types except floats. Operands are copied up
    while results are copied down."""
    if not machine or not shape.is_single():
        return None
    rates = [machine[key] for key in ("up_bytes_per_s", "down_bytes_per_s", "gpu_flops_per_s")]
    if None in rates:
        return None
    link = max(shape.operand_bytes / rates[0], shape.result_bytes / rates[1])
    return (link, shape.flops / rates[2]) if link > 0 else None


def intensity_of(shape, machine):
    """Returns the FLOPs per byte on the link, in the slower direction, at the rate upwards."""
    return shape.flops / (floors_of(shape, machine)[0] * machine["up_bytes_per_s"])


class Shape:
    """All groups of one shape, place and kernel."""

    def __init__(self, groups):
        first = groups[0]
        self.groups = groups
        self.m, self.n, self.k, self.trans, self.operation = first.shape()
        self.flops = first.flops  # of one product, as are the bytes
        self.operand_bytes, self.result_bytes = first.operand_bytes, first.result_bytes
        self.place, self.kernel = first.place, first.kernel
        self.count = sum(group.count for group in groups)
        self.seconds = sum(group.seconds for group in groups)

    def shape(self):
        return (self.m, self.n, self.k, self.trans, self.operation)

    def is_routine(self):
        """Returns whether it is a routine of LAPACK, which has no transposes."""
        return self.trans == "-"

    def extents(self):
        """Returns m, n and k; of a routine k only if it has right-hand sides or reflectors."""
        return (self.m, self.n) if self.is_routine() and not self.k else (self.m, self.n, self.k)

    def is_single(self):
        return self.operation.startswith("s")

    def median(self):
        took = array.array("d")
        for group in self.groups:
            took.extend(group.took)
        return statistics.median(took)

    def predicted(self, place):
        """Returns the mean prediction for a place, or None if there is none."""
        sums = [(group.gpu, group.gpu_count) if place == "GPU" else (group.cpu, group.cpu_count)
                for group in self.groups]
        count = sum(count for _, count in sums)
        return sum(predicted for predicted, _ in sums) / count if count else None


def shapes_of(run):
    """Returns the shapes by place and kernel, in the order of time, longest first."""
    grouped = {}
    for group in run.groups.values():
        grouped.setdefault(group.shape() + (group.place, group.kernel), []).append(group)
    return sorted(map(Shape, grouped.values()), key=lambda shape: -shape.seconds)

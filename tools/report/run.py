# SPDX-License-Identifier: MIT
"""A run as its traces tell it: processes and threads, groups of equal products, sums, and what the
GPU saved. Products are added one by one, and what is kept of each are a few numbers."""
import array
import functools
import statistics

from . import trace

# So many times of a shape on the CPU, in this run, count as measured.
MEASURED_LEAST = 3

# Reasons for which the GPU did not do what it was asked to.
FAILURES = ("GPU failed", "GPU's result was wrong")


def union_of(intervals):
    """How long at least one of the intervals (begin, end) was under way."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(intervals):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


class Thread:
    """A thread's products: when each began, when it ended, and its place (an index of PLACES)."""

    def __init__(self, process, tid):
        self.process = process
        self.tid = tid
        self.begins, self.ends = array.array("d"), array.array("d")
        self.places = bytearray()

    def add(self, product):
        self.begins.append(product.begin)
        self.ends.append(product.begin + product.took)
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
    """Products of one shape that ran in one place, by one kernel, for one reason."""

    def __init__(self, product):
        self.m, self.n, self.k, self.trans = product.m, product.n, product.k, product.trans
        self.symbol, self.place, self.reason = product.symbol, product.place, product.reason
        self.operation, self.kernel = product.operation, product.kernel
        self.flops = product.flops  # of one product, as are the bytes
        self.operand_bytes, self.result_bytes = product.operand_bytes, product.result_bytes
        self.took = array.array("d")
        self.seconds = self.waited = self.up = self.down = 0.0
        self.cpu = self.gpu = 0.0  # predicted, of those that have a prediction
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
    """What several groups come to."""

    def __init__(self, groups):
        groups = list(groups)
        self.count = sum(group.count for group in groups)
        self.seconds = sum(group.seconds for group in groups)
        self.flops = sum(group.count * group.flops for group in groups)
        self.waited = sum(group.waited for group in groups)
        self.up = sum(group.up for group in groups)
        self.down = sum(group.down for group in groups)
        self.gpu_predicted = sum(group.gpu for group in groups)
        # By how much the GPU is predicted to be faster, where it is.
        self.missed = sum(max(0.0, group.seconds - group.gpu) for group in groups
                          if group.gpu_count == group.count)


class Saving:
    """What the GPU saved: the time that the CPU would have taken for its products, less what they
    took. Of a shape that ran on the CPU in this run too the CPU's time is the median of those times
    ("measured"); of others it is the cost model's ("predicted"). Negative: it lost."""

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
        self.absence = absence  # the true reason of products that wait for a start of the GPU
        self.processes = {}  # by file and process id, for ids come again
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
        """The last one stands, for it knows the device; but none stands for one that has one."""
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
        self.last = max(self.last, product.begin + product.took)

    # --- What is asked of it ---

    def groups_at(self, place):
        return [group for group in self.groups.values() if group.place == place]

    def groups_for(self, place, *reasons):
        return [group for group in self.groups_at(place) if group.reason in reasons]

    def total(self):
        return Sum(self.groups.values())

    def at(self, place):
        return Sum(self.groups_at(place))

    def threads(self):
        """Those that multiplied, in the order in which they began, process by process."""
        processes = sorted((process for process in self.processes.values() if process.threads),
                           key=lambda process: min(min(thread.begins)
                                                   for thread in process.threads.values()))
        return [thread for process in processes for thread in
                sorted(process.threads.values(), key=lambda thread: min(thread.begins))]

    def machine(self):
        """The machine that figures are held against: one with a device, if any process had one."""
        known = [process.machine for process in self.processes.values() if process.machine]
        known.sort(key=lambda machine: not machine["device"])
        return known[0] if known else None

    def devices(self):
        """The names of all that were opened, a few at most."""
        return sorted({process.machine["device"] for process in self.processes.values()
                       if process.machine and process.machine["device"]})[:8]

    def span(self):
        """From the first product's begin to the last one's end."""
        return max(0.0, self.last - self.first) if self.groups else 0.0

    @functools.lru_cache(None)
    def under_way(self):
        """For how long at least one product was under way, by the clock."""
        return union_of(interval for thread in self.threads()
                        for interval in zip(thread.begins, thread.ends))

    def times_on_cpu(self):
        """Median seconds of shapes that the CPU computed often enough, without help of the GPU."""
        times = {}
        for group in self.groups_at("CPU"):
            if group.reason not in FAILURES and not group.kernel:
                times.setdefault(group.shape(), []).extend(group.took)
        return {shape: statistics.median(took) for shape, took in times.items()
                if len(took) >= MEASURED_LEAST}

    @functools.lru_cache(None)
    def saving(self):
        """Asked for when all products have been added, and worked out once."""
        return Saving(self)

    def off(self, place):
        """How many times as long as predicted products took in a place, by their medians, for a few
        that waited for a start say nothing about the model; None where nothing was predicted."""
        took = predicted = 0.0
        for group in self.groups_at(place):
            guess, count = ((group.gpu, group.gpu_count) if place == "GPU"
                            else (group.cpu, group.cpu_count))
            if count == group.count and group.reason not in FAILURES:
                took += group.count * group.median()
                predicted += guess
        return took / predicted if predicted > 0 else None


def floors_of(shape, machine):
    """Seconds that a product needs at least on the device: (link, arithmetic), from the cost
    model's rates; None where they are not known, as those of other numbers than floats are not.
    Operands go up while results come down."""
    if not machine or not shape.is_single():
        return None
    rates = [machine[key] for key in ("up_bytes_per_s", "down_bytes_per_s", "gpu_flops_per_s")]
    if None in rates:
        return None
    link = max(shape.operand_bytes / rates[0], shape.result_bytes / rates[1])
    return (link, shape.flops / rates[2]) if link > 0 else None


def intensity_of(shape, machine):
    """FLOPs for each byte on the link, in the direction that takes longer, at the rate upwards."""
    return shape.flops / (floors_of(shape, machine)[0] * machine["up_bytes_per_s"])


class Shape:
    """Groups of one shape in one place and by one kernel, whatever the reason and the name."""

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

    def is_single(self):
        return self.operation.startswith("s")

    def median(self):
        took = array.array("d")
        for group in self.groups:
            took.extend(group.took)
        return statistics.median(took)

    def predicted(self, place):
        """The mean prediction for a place; None where there is none."""
        sums = [(group.gpu, group.gpu_count) if place == "GPU" else (group.cpu, group.cpu_count)
                for group in self.groups]
        count = sum(count for _, count in sums)
        return sum(predicted for predicted, _ in sums) / count if count else None


def shapes_of(run):
    """Shapes by place and kernel, those that took most time first."""
    grouped = {}
    for group in run.groups.values():
        grouped.setdefault(group.shape() + (group.place, group.kernel), []).append(group)
    return sorted(map(Shape, grouped.values()), key=lambda shape: -shape.seconds)

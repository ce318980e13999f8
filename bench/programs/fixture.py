# SPDX-License-Identifier: MIT
"""Merges three traces (XGEMM_TRACE) of one program into a fixture that tests/support/replay.h describes.

usage: fixture.py --cpu TRACE --gpu TRACE --busy TRACE --threads N --spin SECONDS -o FIXTURE ...

The traces are from the program with XGEMM_MODE=cpu, with XGEMM_MODE=gpu, and with XGEMM_MODE=gpu while
other processes keep all cores busy. The program must multiply the same matrices each time: products
are matched thread by thread, in order. If a thread's products do not match, a message says so, and from
there on a product gets the median of its shape in that run. A product that waited for the GPU to start,
or that the GPU did not compute, also gets the median. A shape without any such time gets the predicted
time, with a message.
"""
import argparse
import collections
import json
import os
import statistics
import sys

Product = collections.namedtuple("Product", "start shape took predicted")


def events_of(path):
    """Returns the events of the process with the most events, if several wrote to the file."""
    by_process = collections.defaultdict(list)
    with open(path, encoding="ascii") as file:
        lines = file.read().splitlines()
    for number, line in enumerate(lines, 1):
        if not line.startswith("{"):
            continue
        try:
            event = json.loads(line.rstrip(","))
        except ValueError:
            print(f"{path}: line {number} is cut", file=sys.stderr)
            continue
        if event["ph"] != "X":
            continue
        by_process[event["pid"]].append(event)
    if not by_process:
        sys.exit(f"{path}: no products")
    found = max(by_process.values(), key=len)
    if len(by_process) > 1:
        print(f"{path}: {len(by_process)} processes; taken is {found[0]['pid']}, which has"
              f" {len(found)} of {sum(map(len, by_process.values()))} products", file=sys.stderr)
    return found


def threads_of(path, place):
    """Returns one list of products per thread, in the order in which the threads began. Times and starts
    are in microseconds; the time of a product is None if it says nothing about the place."""
    events = events_of(path)
    there = [event for event in events if event["cat"] == place]
    if not there:
        sys.exit(f"{path}: no product ran on the {place}")
    # The first product on the GPU, and products that begin meanwhile, wait for the start of the GPU.
    ready = min(event["ts"] + event["dur"] for event in there) if place == "GPU" else 0
    by_thread = collections.defaultdict(list)
    for event in sorted(events, key=lambda event: event["ts"]):
        args = event["args"]
        counts = event["cat"] == place and event["ts"] >= ready
        by_thread[event["tid"]].append(Product(
            event["ts"], (args["m"], args["n"], args["k"], args["trans"]),
            event["dur"] - args["waited_us"] if counts else None, args["predicted_gpu_us"]))
    return list(by_thread.values())


def text_of(shape):
    return "%dx%dx%d %s" % shape


class Run:
    """A trace whose times are assigned to the products of another one."""

    def __init__(self, path, plain):
        self.path = path
        self.threads = threads_of(path, "GPU")
        self.predicted = collections.Counter()
        took = collections.defaultdict(list)
        for product in (product for thread in self.threads for product in thread):
            if product.took is not None:
                took[product.shape].append(product.took)
        self.medians = {shape: statistics.median(times) for shape, times in took.items()}
        self.matched = [self.match(number, thread) for number, thread in enumerate(plain)]
        if len(self.threads) != len(plain):
            print(f"{path}: products of {len(self.threads)} threads, and of {len(plain)} in the plain"
                  " run: matched by shape", file=sys.stderr)
            self.matched = [0] * len(plain)

    def match(self, number, thread):
        """Returns how many products of the thread are the same, from its first one on."""
        mine = self.threads[number] if number < len(self.threads) else []
        for index, (product, other) in enumerate(zip(mine, thread)):
            if product.shape != other.shape:
                print(f"{self.path}: product {index} of thread {number} is {text_of(product.shape)},"
                      f" and {text_of(other.shape)} in the plain run: from there on matched by shape",
                      file=sys.stderr)
                return index
        if len(mine) != len(thread) and number < len(self.threads):
            print(f"{self.path}: thread {number} has {len(mine)} products, and {len(thread)} in the"
                  " plain run: those behind the shorter one's are matched by shape", file=sys.stderr)
        return min(len(mine), len(thread))

    def took(self, number, index, product):
        if index < self.matched[number]:
            took = self.threads[number][index].took
            if took is not None:
                return took
        if product.shape in self.medians:
            return self.medians[product.shape]
        self.predicted[product.shape] += 1
        return product.predicted

    def report(self):
        for shape, count in self.predicted.items():
            print(f"{self.path}: no time of {text_of(shape)}: {count} products get the predicted one",
                  file=sys.stderr)


def rounded(microseconds):
    """Rounds to four digits, because the noise of a measurement is larger."""
    return f"{max(float(f'{microseconds:.4g}'), 0.001):.10g}"


def merge(arguments):
    """Returns the fixture's lines, in the order of their start, and their number in the trace."""
    plain = threads_of(arguments.cpu, "CPU")
    runs = [Run(path, plain) for path in (arguments.gpu, arguments.busy)]
    order = sorted((product.start, number, index) for number, thread in enumerate(plain)
                   for index, product in enumerate(thread))
    lines = []
    for start, number, index in order[:arguments.limit]:
        product = plain[number][index]
        if product.took is None:
            sys.exit(f"{arguments.cpu}: {text_of(product.shape)} did not run on the CPU")
        gpu, busy = (run.took(number, index, product) for run in runs)
        m, n, k, _ = product.shape
        lines.append(f"{start - order[0][0]:.0f},{number},{m},{n},{k},{rounded(product.took)},"
                     f"{rounded(gpu)},{rounded(busy)}\n")
    for run in runs:
        run.report()
    return lines, len(order)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for run, text in (("cpu", "plain"), ("gpu", "GPU forced"), ("busy", "GPU forced, cores busy")):
        parser.add_argument(f"--{run}", required=True, metavar="TRACE", help=text)
    parser.add_argument("--threads", type=int, required=True, help="of the CPU library")
    parser.add_argument("--threads-set", type=int, help="as the environment set them, if it did")
    parser.add_argument("--spin", type=float, required=True, help="seconds, after a product")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)),
                        help="that the program could use (default: %(default)s)")
    for name in ("program", "device", "commit", "command"):
        parser.add_argument(f"--{name}", default="unknown")
    parser.add_argument("--limit", type=int, default=1500, help="products (default: %(default)s)")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()

    lines, count = merge(arguments)
    header = {"program": arguments.program, "device": arguments.device, "commit": arguments.commit,
              "command": arguments.command, "cores": arguments.cores,
              "cpu_threads": arguments.threads, "cpu_threads_set": arguments.threads_set,
              "spin_s": f"{arguments.spin:g}", "products": f"{len(lines)} of {count}"}
    with open(arguments.output, "w", encoding="utf-8") as file:
        for name, value in header.items():
            if value is not None:
                file.write(f"# {name}: {' '.join(str(value).split())}\n")
        file.write("# start_us,thread,m,n,k,cpu_us,gpu_us,gpu_busy_us\n")
        file.writelines(lines)


main()

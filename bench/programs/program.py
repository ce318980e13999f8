# SPDX-License-Identifier: MIT
"""What the suite's Python programs share: their options, the clock of their work, their answers.

Every program of the suite, in any language, takes --scale X and --answer FILE, prints the line
"work_s SECONDS", the time of its work without imports and data, and writes to FILE a line an answer:
a name, a tolerance, and numbers. Another run's numbers may differ from these by the tolerance times
the largest of the line, which leaves room for sums in another order and for nothing else.
"""
import argparse
import contextlib
import time

import numpy as np


class Program:
    """One run. arguments: (name, choices) of what the program takes beside the common options."""

    def __init__(self, *arguments):
        parser = argparse.ArgumentParser()
        parser.add_argument("--scale", type=float, default=1.0)
        parser.add_argument("--answer")
        for name, choices in arguments:
            parser.add_argument(name, choices=choices)
        self.options = parser.parse_args()
        self.random = np.random.default_rng(1)
        self.answers = []

    def extent(self, n):
        """An extent of a matrix: scales below 1 make products smaller, others leave their shape."""
        return max(8, round(n * min(1.0, self.options.scale)))

    def count(self, n):
        """How often something is done."""
        return max(2, round(n * self.options.scale))

    def uniform(self, *shape):
        """Numbers from -0.5 to 0.5."""
        numbers = self.random.random(shape, dtype=np.float32)
        numbers -= np.float32(0.5)
        return numbers

    def clusters(self, rows, columns, centres):
        """Rows around so many centres, and whose they are."""
        middle = 4 * self.uniform(centres, columns)
        labels = self.random.integers(0, centres, rows)
        data = self.uniform(rows, columns)
        data += middle[labels]
        return data, labels

    def mislabelled(self, labels, classes):
        """The labels, a quarter of them drawn again: no classifier's loss comes near 0."""
        drawn = self.random.integers(0, classes, len(labels))
        return np.where(self.random.random(len(labels)) < 0.25, drawn, labels)

    @contextlib.contextmanager
    def work(self):
        begin = time.perf_counter()
        yield
        print(f"work_s {time.perf_counter() - begin:.6f}", flush=True)

    def answer(self, name, numbers, tolerance):
        numbers = np.atleast_1d(np.asarray(numbers, dtype=np.float64)).ravel()
        self.answers.append(
            f"{name} {tolerance:g} " + " ".join(f"{number:.9g}" for number in numbers[:64]))

    def end(self):
        if self.options.answer:
            with open(self.options.answer, "w", encoding="ascii") as file:
                file.write("\n".join(self.answers) + "\n")

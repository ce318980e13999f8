# SPDX-License-Identifier: MIT
"""The common code of the suite's Python programs: options, the clock of their work, answers.

Every program of the suite, in any language, takes --scale X and --answer FILE, prints the line
"work_s SECONDS", the time of its work without imports and data, and writes one line per answer to FILE:
a name, a tolerance, and numbers. Another run's numbers may differ from these by the tolerance times
the largest number of the line, which permits only sums in another order.
"""
import argparse
import contextlib
import time

import numpy as np


TASKS = {}


def task(function):
    """Makes a function a task of its program, by its name."""
    TASKS[function.__name__] = function
    return function


class Program:
    """One run. arguments: (name, choices) of the program's own arguments."""

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
        """Returns an extent of a matrix: scales below 1 make products smaller, others keep the shape."""
        return max(8, round(n * min(1.0, self.options.scale)))

    def count(self, n):
        """Returns a number of repetitions."""
        return max(2, round(n * self.options.scale))

    def uniform(self, *shape):
        """Returns numbers from -0.5 to 0.5."""
        numbers = self.random.random(shape, dtype=np.float32)
        numbers -= np.float32(0.5)
        return numbers

    def clusters(self, rows, columns, centres):
        """Returns rows around random centres, and the centre of each."""
        middle = 4 * self.uniform(centres, columns)
        labels = self.random.integers(0, centres, rows)
        data = self.uniform(rows, columns)
        data += middle[labels]
        return data, labels

    def mislabelled(self, labels, classes):
        """Returns the labels with a quarter of them drawn again, so that no classifier's loss comes near 0."""
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
            f"{name} {tolerance:g} " + " ".join(f"{number:.12g}" for number in numbers[:64]))

    def end(self):
        if self.options.answer:
            with open(self.options.answer, "w", encoding="ascii") as file:
                file.write("\n".join(self.answers) + "\n")

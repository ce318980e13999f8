# SPDX-License-Identifier: MIT
"""Matrix factorisation in NumPy: alternating least squares on a dense matrix with missing entries.

The missing entries are filled with the product of the factors, then each factor is solved for in turn.
"""
import numpy as np

from program import Program

program = Program()
users, items, rank = program.extent(6000), program.extent(3000), program.extent(64)
ratings = program.uniform(users, items)
ratings += np.linspace(-1, 1, items, dtype=np.float32)
seen = program.random.random((users, items), dtype=np.float32) < 0.3
left, right = program.uniform(users, rank), program.uniform(items, rank)
ridge = np.float32(0.1 * items) * np.eye(rank, dtype=np.float32)


def solve(filled, factor):
    """Returns the factor X that minimises |filled - X factor'|^2 + ridge |X|^2."""
    return np.linalg.solve(factor.T @ factor + ridge, (filled @ factor).T).T


with program.work():
    errors = []
    for _ in range(program.count(3)):
        filled = left @ right.T
        errors.append(np.mean(np.square((ratings - filled)[seen])))
        np.copyto(filled, ratings, where=seen)
        left = np.ascontiguousarray(solve(filled, right))
        right = np.ascontiguousarray(solve(filled.T, left))

program.answer("errors", errors, 1e-4)
program.end()

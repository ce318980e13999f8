# SPDX-License-Identifier: MIT
"""A hundred products of many shapes in NumPy, in less than a second: a start of the GPU cannot pay."""
from program import Program

program = Program()
least, most = program.extent(300), program.extent(1200)
pool = program.uniform(most, most)
shapes = program.random.integers(least, most + 1, (program.count(100), 3))
operands = [(pool[:m, :k].copy(), pool[:k, :n].copy()) for m, n, k in shapes]

with program.work():
    middles = [(a @ b)[len(a) // 2, b.shape[1] // 2] for a, b in operands]

program.answer("middles", middles, 1e-4)
program.end()

# SPDX-License-Identifier: MIT
"""FAISS: exact search of a flat index of 200,000 rows, 256 queries at a time."""
import faiss

from program import Program

program = Program()
columns = program.extent(128)
rows = program.uniform(program.extent(200000), columns)
batches = program.uniform(program.count(8), program.extent(256), columns)
index = faiss.IndexFlatL2(columns)
index.add(rows)

with program.work():
    found = [index.search(queries, 10) for queries in batches]

program.answer("distances", [distances.mean() for distances, _ in found], 1e-4)
program.answer("rows", [numbers.mean() for _, numbers in found], 1e-3)
program.end()

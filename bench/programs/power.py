# SPDX-License-Identifier: MIT
"""Subspace iteration in NumPy: the largest eigenvalues of a symmetric matrix of 4096 rows."""
import numpy as np

from program import Program

program = Program()
n, block = program.extent(4096), 64
matrix = program.uniform(n, n)
matrix += matrix.T.copy()
# A few directions dominate, so that the iteration converges: rank-one terms on the diagonal.
strong = np.arange(16)
matrix[strong, strong] += np.float32(n) / (1 + strong)
basis = program.uniform(n, block)

with program.work():
    for _ in range(program.count(48)):
        image = matrix @ basis
        basis, _ = np.linalg.qr(image)
    values = np.linalg.eigvalsh(basis.T @ (matrix @ basis))[::-1]

program.answer("eigenvalues", values[:8], 1e-4)
program.end()

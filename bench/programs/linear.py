# SPDX-License-Identifier: MIT
"""SciPy in float32: a system solved by LU with refinement, or the exponential of a matrix."""
import numpy as np
import scipy.linalg
from scipy.linalg import blas

from program import TASKS, Program, task


@task
def solve():
    """Solves with LU factors, many right-hand sides and three steps of refinement, each a product."""
    n, sides = program.extent(3072), program.extent(512)
    matrix = program.uniform(n, n) + np.float32(n ** 0.5) * np.eye(n, dtype=np.float32)
    right = program.uniform(n, sides)
    with program.work():
        residuals = []
        factors = scipy.linalg.lu_factor(matrix)
        solution = scipy.linalg.lu_solve(factors, right)
        for _ in range(program.count(4)):
            rest = right - matrix @ solution
            solution += scipy.linalg.lu_solve(factors, rest)
        residuals = np.abs(solution).mean(axis=0)
    program.answer("solution", residuals, 1e-4)


@task
def expm():
    """Computes exp of rotations by squarings and Padé terms, all of which are products."""
    n = program.extent(1536)
    matrices = [program.uniform(n, n) / np.float32(n ** 0.5) for _ in range(program.count(2))]
    with program.work():
        traces = [np.trace(scipy.linalg.expm(matrix * np.float32(8))) for matrix in matrices]
    program.answer("traces", traces, 1e-3)


@task
def polar():
    """Computes the nearest orthogonal matrix by the Newton-Schulz iteration, through SciPy's BLAS."""
    n = program.extent(2048)
    matrix = program.uniform(n, n)
    matrix /= np.linalg.norm(matrix, 1)
    matrix = np.asfortranarray(matrix + np.eye(n, dtype=np.float32) / 2)
    with program.work():
        for _ in range(program.count(80)):
            square = blas.sgemm(-0.5, matrix, matrix, trans_a=True)
            matrix = blas.sgemm(1.0, matrix, square, 1.5, matrix)
    program.answer("diagonal", np.diag(matrix), 1e-4)


program = Program(("task", tuple(TASKS)))
TASKS[program.options.task]()
program.end()

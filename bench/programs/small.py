# SPDX-License-Identifier: MIT
"""Thousands of products of 32 to 100 rows in NumPy: a Kalman filter for states of many sizes."""
import numpy as np

from program import Program

program = Program()
steps = program.count(600)
filters = []
for n in (32, 48, 64, 80, 100):
    turn, _ = np.linalg.qr(program.uniform(n, n))
    filters.append((np.float32(0.99) * turn, np.eye(n, dtype=np.float32),
                    np.eye(n, dtype=np.float32), program.uniform(steps, n)))

with program.work():
    traces = []
    for change, covariance, eye, seen in filters:
        state = np.zeros(len(eye), np.float32)
        for measured in seen:
            state = change @ state
            covariance = change @ covariance @ change.T + np.float32(0.1) * eye
            gain = np.linalg.solve(covariance + eye, covariance).T
            state = state + gain @ (measured - state)
            covariance = (eye - gain) @ covariance
        traces.append((np.trace(covariance), np.linalg.norm(state)))

program.answer("traces", traces, 1e-3)
program.end()

# SPDX-License-Identifier: MIT
"""Products as NumPy programs write them, checked in double precision; prints how many are right."""
import threading

import numpy as np

rng = np.random.default_rng(7)
right = []  # names of right products; threads may append to a list


def matrix(*shape):
    return rng.uniform(-1, 1, shape).astype(np.float32)


def judge(what, c, a, b):
    """Componentwise: |c - ab| is at most k + 1 units of 2^-24 of |a||b|. NaN is wrong."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    bound = (a.shape[-1] + 1) * 2.0**-24 * (abs(a) @ abs(b))
    if c.dtype == np.float32 and (abs(c - a @ b) <= bound).all():
        right.append(what)
    else:
        print("wrong:", what)


for m, n, k in (1, 1, 1), (2, 3, 500), (65, 33, 129), (300, 1, 40), (128, 96, 64), (200, 150, 70):
    a, b = matrix(m, k), matrix(k, n)
    judge(f"a @ b {m},{n},{k}", a @ b, a, b)
a, b = matrix(70, 50), matrix(50, 90)
judge("transposes", a.T.copy().T @ b, a, b)
judge("column-major", np.asfortranarray(a) @ np.asfortranarray(b), a, b)
judge("dot", np.dot(a, b), a, b)
out = np.full((70, 90), np.nan, dtype=np.float32)
judge("out holds NaN", np.matmul(a, b, out=out), a, b)
big_a, big_b = matrix(140, 100), matrix(100, 180)
judge("slices", big_a[:70, 50:] @ big_b[25:75, 90:], big_a[:70, 50:], big_b[25:75, 90:])
judge("steps", big_a[::2, ::2] @ big_b[::2, ::2], big_a[::2, ::2], big_b[::2, ::2])
stack_a, stack_b = matrix(3, 20, 30), matrix(3, 30, 25)
judge("stack", stack_a @ stack_b, stack_a, stack_b)
c = np.tensordot(stack_a, b[:30], axes=1).reshape(60, 90)
judge("tensordot", c, stack_a.reshape(60, 30), b[:30])
a[3, 4] = np.nan
c = a @ b
if np.isnan(c[3]).all() and not np.isnan(np.delete(c, 3, axis=0)).any():
    right.append("NaN")
a = matrix(70, 50)
threads = [threading.Thread(target=lambda: judge("thread", a @ b, a, b)) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

# Other types, and products of a matrix with its transpose, which NumPy gives to SYRK.
for dtype in np.float32, np.float64, np.complex64, np.complex128:
    a, b = matrix(90, 70), matrix(70, 80)
    if np.issubdtype(dtype, np.complexfloating):
        a, b = a + 1j * matrix(90, 70), b + 1j * matrix(70, 80)
    a, b = a.astype(dtype), b.astype(dtype)
    for what, x, y in ("a @ b", a, b), ("a.T @ a", a.T, a), ("a @ a.T", a, a.T), \
            ("a.conj().T @ a", a.conj().T, a), ("b.T @ a.T", b.T, a.T):
        c, wide = x @ y, np.clongdouble
        bound = (4 * x.shape[-1] + 4) * np.finfo(dtype).eps * (abs(x) @ abs(y))
        if c.dtype == dtype and (abs(c - x.astype(wide) @ y.astype(wide)) <= bound).all():
            right.append(what)
        else:
            print("wrong:", what, dtype)
print(f"{len(right)} of 43 right")

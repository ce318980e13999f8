# SPDX-License-Identifier: MIT
"""NumPy and SciPy in double precision: methods whose time is LAPACK's, as their users write them.

All answers are free of the signs and bases that eigenvectors and singular vectors may have.
"""
import numpy as np
import scipy.linalg
from scipy.cluster.vq import kmeans2
from scipy.spatial.distance import cdist

from program import TASKS, Program, task


@task
def scf():
    """Self-consistent charges of an ionic crystal in a tight-binding model, one orbital an atom."""
    n = program.extent(2000)
    side = int(np.ceil(n ** (1 / 3)))
    cells = np.stack(np.unravel_index(np.arange(n), (side, side, side)), axis=1)
    atoms = 1.5 * cells + 0.2 * program.random.random((n, 3))
    distances = cdist(atoms, atoms)
    levels = -1 + 0.4 * (-1.0) ** cells.sum(axis=1)
    overlap, repulsion = np.exp(-distances ** 2), 0.5 / np.hypot(distances, 1)
    core = 0.875 * overlap * (levels[:, None] + levels)
    np.fill_diagonal(core, levels)
    charges, totals = np.zeros(n), []
    with program.work():
        for _ in range(program.count(6)):
            shifts = repulsion @ charges
            fock = core + 0.5 * overlap * (shifts[:, None] + shifts)
            energies, orbitals = scipy.linalg.eigh(fock, overlap)
            occupied = orbitals[:, :n // 2]
            density = 2 * occupied @ occupied.T
            found = (density * overlap).sum(axis=1) - 1
            totals.append((density * core).sum() + 0.5 * found @ repulsion @ found)
            charges += 0.3 * (found - charges)
    program.answer("totals", totals, 1e-9)
    program.answer("energies", energies[::n // 20], 1e-9)
    program.answer("charges", charges, 1e-8)


@task
def covariance():
    """Principal components from the eigenvectors of the covariance matrix."""
    rows, columns = program.extent(20000), program.extent(4000)
    data = program.random.standard_normal((rows, columns))
    data *= np.arange(1, columns + 1) ** -0.5
    with program.work():
        data -= data.mean(axis=0)
        values, vectors = np.linalg.eigh(data.T @ data / (rows - 1))
        scores = data @ vectors[:, :-51:-1]
    program.answer("variances", values[::-1], 1e-9)
    program.answer("scores", np.square(scores).sum(axis=0), 1e-9)


@task
def cholesky():
    """Shifted systems of one matrix, each factorized and solved: short parallel parts between pauses of one thread."""
    n, count = program.extent(1500), program.count(24)
    a = program.random.standard_normal((n, n))
    a, b, one = a @ a.T + n * np.eye(n), program.random.standard_normal(n), np.eye(n)
    sums = []
    with program.work():
        for shift in range(count):
            sums.append(scipy.linalg.cho_solve(scipy.linalg.cho_factor(a + shift * one), b).sum())
    program.answer("sums", sums, 1e-9)


@task
def gaussian_process():
    """The likelihood of a Gaussian process and its derivative, for some length scales."""
    n, noise = program.extent(7000), 0.1
    x = program.random.random((n, 8))
    y = np.sin(6 * x).sum(axis=1) + noise ** 0.5 * program.random.standard_normal(n)
    likelihoods, slopes = [], []
    with program.work():
        squares = cdist(x, x, "sqeuclidean")
        for length in np.geomspace(0.25, 1, program.count(3)):
            kernel = np.exp(-0.5 / length ** 2 * squares)
            slope = kernel * squares
            kernel[np.diag_indices(n)] += noise
            factor = scipy.linalg.cho_factor(kernel, lower=True)
            weights = scipy.linalg.cho_solve(factor, y)
            inverse = scipy.linalg.cho_solve(factor, np.eye(n))
            likelihoods.append(-0.5 * y @ weights - np.log(np.diag(factor[0])).sum() -
                               0.5 * n * np.log(2 * np.pi))
            slopes.append((weights @ slope @ weights - np.vdot(inverse.T, slope)) / 2 / length ** 3)
    program.answer("likelihoods", likelihoods, 1e-9)
    program.answer("slopes", slopes, 1e-8)


@task
def recommender():
    """Fills in missing ratings by shrunken singular values (soft-impute)."""
    users, items = program.extent(3000), program.extent(2000)
    tastes = program.random.standard_normal((40, 60))
    groups, genres = program.random.integers(0, 40, users), program.random.integers(0, 60, items)
    ratings = 3 + tastes[groups][:, genres] + program.random.standard_normal((users, items))
    ratings = ratings.round().clip(1, 5)
    known = program.random.random((users, items)) < 0.5
    errors = []
    with program.work():
        guess = np.full((users, items), ratings[known].mean())
        for _ in range(program.count(3)):
            left, values, right = np.linalg.svd(np.where(known, ratings, guess), full_matrices=False)
            kept = np.maximum(values - 0.02 * values[0], 0)
            rank = np.count_nonzero(kept)
            guess = left[:, :rank] * kept[:rank] @ right[:rank]
            errors.append(np.sqrt(np.mean(np.square((ratings - guess)[~known]))))
    program.answer("values", values, 1e-9)
    program.answer("errors", errors, 1e-9)


@task
def spectral():
    """Spectral clustering: k-means of the normalized Laplacian's lowest eigenvectors."""
    n = program.extent(4000)
    k = min(12, n // 8)
    x = program.clusters(n, 16, k)[0].astype(np.float64)
    with program.work():
        affinity = np.exp(-0.2 * cdist(x, x, "sqeuclidean"))
        scale = affinity.sum(axis=1) ** -0.5
        laplacian = np.eye(n) - scale[:, None] * affinity * scale
        values, vectors = scipy.linalg.eigh(laplacian, subset_by_index=(0, k - 1))
        rows = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        centres = rows[:1]
        for _ in range(1, k):
            centres = np.vstack([centres, rows[cdist(rows, centres).min(axis=1).argmax()]])
        centres, labels = kmeans2(rows, centres, minit="matrix")
    program.answer("values", values, 1e-9)
    program.answer("sizes", np.sort(np.bincount(labels, minlength=k)), 1e-9)
    program.answer("inertia", np.square(rows - centres[labels]).sum(), 1e-8)


# --- Programs of one call, or of few: a start of the GPU has little time to pay ---


@task
def one_eigh():
    """All eigenvectors of one matrix."""
    n = program.extent(2700)
    a = program.random.standard_normal((n, n))
    a += a.T
    with program.work():
        values, _ = np.linalg.eigh(a)
    program.answer("values", values, 1e-9)


@task
def one_svd():
    """One singular value decomposition."""
    n = program.extent(1500)
    a = program.random.standard_normal((n, n))
    with program.work():
        _, values, _ = np.linalg.svd(a)
    program.answer("values", values, 1e-9)


@task
def one_pinv():
    """The pseudo-inverse of one matrix."""
    a = program.random.standard_normal((program.extent(2600), program.extent(1300)))
    with program.work():
        inverse = np.linalg.pinv(a)
    program.answer("norm", np.linalg.norm(inverse), 1e-9)


@task
def few_svd():
    """Twelve thin singular value decompositions, each multiplied out."""
    matrices = program.random.standard_normal((program.count(12), program.extent(900), program.extent(700)))
    sums = []
    with program.work():
        for a in matrices:
            left, values, right = np.linalg.svd(a, full_matrices=False)
            sums.append([values.sum(), np.abs((left * values) @ right).sum()])
    program.answer("sums", sums, 1e-9)


@task
def few_eigh():
    """Six generalized eigenvalue problems of 1200, with products between."""
    n = program.extent(1200)
    core = program.random.standard_normal((n, n))
    core += core.T
    overlap = 2 * np.eye(n) + 0.1 / n ** 2 * core @ core.T
    fock = core
    with program.work():
        for _ in range(program.count(6)):
            values, vectors = scipy.linalg.eigh(fock, overlap)
            density = vectors[:, :n // 4] @ vectors[:, :n // 4].T
            fock = core + 0.01 * (density @ core @ density)
    program.answer("values", values, 1e-8)


@task
def one_pca():
    """Principal components of 20000 points of 1000 coordinates, by one eigh."""
    data = program.random.standard_normal((program.extent(20000), program.extent(1000)))
    with program.work():
        data -= data.mean(axis=0)
        values, vectors = np.linalg.eigh(data.T @ data / len(data))
        scores = data @ vectors[:, -50:]
    program.answer("values", values, 1e-9)
    program.answer("scores", np.square(scores).sum(axis=0), 1e-8)


program = Program(("task", tuple(TASKS)))
TASKS[program.options.task]()
program.end()

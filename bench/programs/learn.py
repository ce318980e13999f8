# SPDX-License-Identifier: MIT
"""scikit-learn in float32: fits one of its estimators with its default parameters."""
import warnings

import numpy as np

from program import TASKS, Program, task


def spectrum(rows, columns):
    """Returns rows whose columns have decaying variances, as typical data of decompositions."""
    data = program.uniform(rows, columns)
    data *= np.arange(1, columns + 1, dtype=np.float32) ** np.float32(-0.7)
    return data


@task
def pca():
    from sklearn.decomposition import PCA
    x = spectrum(program.extent(20000), program.extent(1024))
    model = PCA(50 if len(x[0]) > 100 else 5, svd_solver="randomized", random_state=1)
    with program.work():
        model.fit(x)
        reduced = model.transform(x)
    program.answer("values", model.singular_values_[:20], 1e-3)
    program.answer("lengths", np.sqrt(np.square(reduced[:, :10]).sum(axis=0)), 1e-2)


@task
def truncated():
    from sklearn.decomposition import TruncatedSVD
    x = spectrum(program.extent(20000), program.extent(1024))
    model = TruncatedSVD(100 if len(x[0]) > 200 else 5, random_state=1)
    with program.work():
        model.fit(x)
    program.answer("values", model.singular_values_[:20], 1e-3)


@task
def kmeans():
    from sklearn.cluster import KMeans
    x, _ = program.clusters(program.extent(12000), program.extent(512), 96)
    model = KMeans(min(64, len(x) // 4), n_init=1, max_iter=program.count(8), tol=0, random_state=1)
    with program.work():
        model.fit(x)
    program.answer("inertia", model.inertia_, 0.02)


@task
def mixture():
    from sklearn.mixture import GaussianMixture
    x, _ = program.clusters(program.extent(20000), program.extent(128), 8)
    model = GaussianMixture(8, max_iter=program.count(6), tol=0, reg_covar=1e-3,
                            init_params="random_from_data", random_state=1)
    with program.work():
        model.fit(x)
    program.answer("bound", model.lower_bound_, 0.02)


@task
def mlp():
    from sklearn.neural_network import MLPClassifier
    x, labels = program.clusters(program.extent(8000), program.extent(1024), 16)
    hidden = program.extent(512)
    model = MLPClassifier((hidden, hidden), max_iter=program.count(3), random_state=1)
    labels = program.mislabelled(labels % 2, 2)
    with program.work():
        model.fit(x, labels)
    program.answer("losses", model.loss_curve_, 0.02)


@task
def nmf():
    from sklearn.decomposition import NMF
    x = np.abs(spectrum(program.extent(12000), program.extent(1024)))
    model = NMF(min(32, len(x[0]) // 2), init="random", max_iter=program.count(20), tol=0,
                random_state=1)
    with program.work():
        model.fit_transform(x)
    program.answer("error", model.reconstruction_err_, 1e-3)


@task
def neighbours():
    from sklearn.neighbors import NearestNeighbors
    x, _ = program.clusters(program.extent(20000), program.extent(256), 32)
    queries = x[:program.extent(4000)] + np.float32(0.01)
    model = NearestNeighbors(n_neighbors=8, algorithm="brute")
    with program.work():
        distances, rows = model.fit(x).kneighbors(queries)
    program.answer("distances", distances.mean(axis=0), 1e-3)
    program.answer("rows", rows.mean(axis=0), 1e-3)


@task
def logistic():
    from sklearn.linear_model import LogisticRegression
    x, labels = program.clusters(program.extent(20000), program.extent(1024), 10)
    labels = program.mislabelled(labels, 10)
    model = LogisticRegression(max_iter=program.count(12))
    with program.work():
        model.fit(x, labels)
        right = model.score(x, labels)
    program.answer("right", right, 0.01)


@task
def pairwise():
    from sklearn.metrics import pairwise_distances
    x, _ = program.clusters(program.extent(4000), program.extent(1024), 32)
    with program.work():
        cosine = pairwise_distances(x, metric="cosine")
        euclidean = pairwise_distances(x)
    program.answer("cosine", cosine.mean(axis=0), 1e-4)
    program.answer("euclidean", euclidean.mean(axis=0), 1e-4)


warnings.simplefilter("ignore")  # so few iterations do not converge, which is not asked for here
program = Program(("task", tuple(TASKS)))
TASKS[program.options.task]()
program.end()

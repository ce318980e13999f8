# SPDX-License-Identifier: MIT
"""NumPy in float32: a network, a search, eigenvalues, a factorisation, a filter, or products of many shapes."""
import numpy as np

from program import TASKS, Program, task


def network(batch, epochs):
    """Trains a network 784-1024-1024-10 by gradient descent in batches of the given size."""
    sizes = [program.extent(784), program.extent(1024), program.extent(1024), 10]
    steps, batch = program.count(30000 // batch), program.extent(batch)
    rate = np.float32(0.05)
    x, labels = program.clusters(batch * steps, sizes[0], sizes[-1])
    labels = program.mislabelled(labels, sizes[-1])
    weights = [program.uniform(a, b) * np.float32(2 * np.sqrt(6 / a)) for a, b in zip(sizes, sizes[1:])]
    biases = [np.zeros(b, np.float32) for b in sizes[1:]]

    def forward(rows):
        """Returns the values of all layers; the last are the classes' probabilities."""
        values = [rows]
        for layer, (weight, bias) in enumerate(zip(weights, biases)):
            z = values[-1] @ weight + bias
            if layer < len(weights) - 1:
                np.maximum(z, 0, out=z)
            values.append(z)
        z = values[-1]
        z -= z.max(axis=1, keepdims=True)
        np.exp(z, out=z)
        z /= z.sum(axis=1, keepdims=True)
        return values

    def step(rows, classes):
        """Makes one step of descent; returns the mean loss before it."""
        values = forward(rows)
        at = np.arange(len(rows))
        loss = -np.log(values[-1][at, classes] + np.float32(1e-12)).mean()
        delta = values[-1]
        delta[at, classes] -= 1
        delta /= len(rows)
        for layer in range(len(weights) - 1, -1, -1):
            down = delta @ weights[layer].T if layer else None
            weights[layer] -= rate * (values[layer].T @ delta)
            biases[layer] -= rate * delta.sum(axis=0)
            if layer:
                down *= values[layer] > 0
                delta = down
        return loss

    with program.work():
        losses = [step(x[i * batch:(i + 1) * batch], labels[i * batch:(i + 1) * batch])
                  for _ in range(epochs) for i in range(steps)]
    program.answer("loss", losses, 0.01)


@task
def network512():
    network(512, epochs=4)


@task
def network4096():
    network(4096, epochs=6)


@task
def search():
    """Searches a fixed index: the ten largest of 200,000 inner products for each query.

    It first takes the largest of each block of 100 scores, because only the ten best blocks of a query can
    contain its ten best rows. argpartition of all scores would take a hundred times as long as the product.
    """
    columns, block, best = program.extent(128), 100, 10
    index = program.uniform(block * program.extent(2000), columns)
    batches = program.uniform(program.count(16), program.extent(256), columns)

    def found(queries):
        """Returns the rows of the index and their scores, best first."""
        scores = (queries @ index.T).reshape(len(queries), -1, block)
        blocks = np.argpartition(-scores.max(axis=2), best - 1, axis=1)[:, :best] \
            if scores.shape[1] > best else np.tile(np.arange(scores.shape[1]), (len(queries), 1))
        kept = np.take_along_axis(scores, blocks[:, :, None], axis=1).reshape(len(queries), -1)
        rows = (blocks[:, :, None] * block + np.arange(block)).reshape(len(queries), -1)
        at = np.argpartition(-kept, best - 1, axis=1)[:, :best]
        score = np.take_along_axis(kept, at, axis=1)
        order = np.argsort(-score, axis=1)
        return (np.take_along_axis(np.take_along_axis(rows, at, axis=1), order, axis=1),
                np.take_along_axis(score, order, axis=1))

    with program.work():
        results = [found(queries) for queries in batches]
    program.answer("scores", [score.mean() for _, score in results], 1e-5)
    # Two rows whose scores are equal except for the last bits may be exchanged.
    program.answer("rows", [rows.sum() for rows, _ in results], 1e-3)


@task
def power():
    """Subspace iteration: the largest eigenvalues of a symmetric matrix of 4096 rows."""
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


@task
def als():
    """Matrix factorisation by alternating least squares on a dense matrix with missing entries.

    The missing entries are filled with the product of the factors, then each factor is solved for in turn.
    """
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


@task
def regression():
    """Linear regression of 64 targets by gradient descent: the data do not change."""
    rows, columns, targets = program.extent(30000), program.extent(1500), program.extent(64)
    data = program.uniform(rows, columns)
    wanted = data @ program.uniform(columns, targets)
    weights = np.zeros((columns, targets), np.float32)
    rate = np.float32(6 / rows)
    with program.work():
        losses = []
        for _ in range(program.count(60)):
            rest = data @ weights - wanted
            losses.append(np.square(rest).mean())
            weights -= rate * (data.T @ rest)
    program.answer("losses", losses, 1e-3)


@task
def transformer():
    """Four layers of a transformer read twelve batches of 2 x 512 words: the weights do not change."""
    lines, heads, words = 2, 16, program.extent(512)
    width = heads * program.extent(64)
    layers = [[program.uniform(*shape) * np.float32(2 / np.sqrt(shape[0]))
               for shape in ((width, 3 * width), (width, width), (width, 4 * width), (4 * width, width))]
              for _ in range(4)]
    batches = program.uniform(program.count(12), lines * words, width)

    def normal(x):
        x = x - x.mean(axis=1, keepdims=True)
        return x / np.sqrt(np.square(x).mean(axis=1, keepdims=True))

    def attended(x):
        """Returns what each word reads of the words of its line."""
        query, key, value = x.reshape(lines, words, 3, heads, -1).transpose(2, 0, 3, 1, 4)
        scores = query @ key.swapaxes(-1, -2) / np.float32(np.sqrt(query.shape[-1]))
        np.exp(scores - scores.max(axis=-1, keepdims=True), out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return (scores @ value).transpose(0, 2, 1, 3).reshape(lines * words, width)

    with program.work():
        means = []
        for x in batches:
            for heads_in, heads_out, wide, narrow in layers:
                x = x + attended(normal(x) @ heads_in) @ heads_out
                x = x + np.maximum(normal(x) @ wide, 0) @ narrow
            means.append(np.abs(x).mean())
    program.answer("means", means, 1e-4)


@task
def whitening():
    """Forty batches of 4096 rows times one matrix of 3072 columns."""
    rows, columns = program.extent(4096), program.extent(3072)
    white, pool = program.uniform(columns, columns), program.uniform(rows, columns)
    with program.work():
        norms = []
        for step in range(program.count(40)):
            pool -= pool[step % rows]
            norms.append(np.linalg.norm((pool @ white)[-1]))
    program.answer("norms", norms, 1e-4)


@task
def small():
    """Thousands of products of 32 to 100 rows: a Kalman filter for states of many sizes."""
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


@task
def short():
    """A hundred products of many shapes in less than a second: a start of the GPU cannot pay."""
    least, most = program.extent(300), program.extent(1200)
    pool = program.uniform(most, most)
    shapes = program.random.integers(least, most + 1, (program.count(100), 3))
    operands = [(pool[:m, :k].copy(), pool[:k, :n].copy()) for m, n, k in shapes]
    with program.work():
        middles = [(a @ b)[len(a) // 2, b.shape[1] // 2] for a, b in operands]
    program.answer("middles", middles, 1e-4)


program = Program(("task", tuple(TASKS)))
TASKS[program.options.task]()
program.end()

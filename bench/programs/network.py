# SPDX-License-Identifier: MIT
"""A network 784-1024-1024-10 in NumPy: epochs of gradient descent in batches of the given size."""
import numpy as np

from program import Program

program = Program(("batch", ("512", "4096")))
sizes = [program.extent(784), program.extent(1024), program.extent(1024), 10]
batch = program.extent(int(program.options.batch))
steps = program.count(30000 // int(program.options.batch))
epochs = 4 if batch < 1000 else 6
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
program.end()

# SPDX-License-Identifier: MIT
"""Handwritten digits by matrix products: nearest neighbours and a small neural network, in float32.

An ordinary NumPy program on scikit-learn's bundled digits (1797 images of 8 by 8 pixels). It prints
its answers and times on standard output; compare_digits.py compares two such outputs.
"""
import argparse
import time

import numpy as np
from sklearn.datasets import load_digits

CLASSES = 10


def shifted(images, labels):
    """Returns every image shifted by up to one pixel in each direction: nine for one."""
    moved = [
        np.roll(images, (down, right), axis=(1, 2))
        for down in (-1, 0, 1)
        for right in (-1, 0, 1)
    ]
    return np.concatenate(moved), np.tile(labels, len(moved))


def load(rng, test_count):
    """Returns training and test sets as float32 rows of 64 pixels, with the training set shuffled."""
    digits = load_digits()
    order = rng.permutation(len(digits.target))
    images = (digits.images[order] / 16).astype(np.float32)
    labels = digits.target[order]
    train_x, train_y = shifted(images[test_count:], labels[test_count:])
    test_x, test_y = shifted(images[:test_count], labels[:test_count])
    order = rng.permutation(len(train_y))
    return train_x[order].reshape(-1, 64), train_y[order], test_x.reshape(-1, 64), test_y


def nearest(train_x, train_y, query_x):
    """Returns the label of the nearest training row for each query, by |q - t|^2 = |q|^2 - 2 q.t + |t|^2."""
    distance = query_x @ train_x.T
    distance *= np.float32(-2)
    distance += np.einsum("ij,ij->i", train_x, train_x)
    return train_y[np.argmin(distance, axis=1)]


def features(x, weights, phases):
    """Random Fourier features, whose products approximate a Gaussian kernel."""
    z = x @ weights
    z += phases
    np.cos(z, out=z)
    return z


class Network:
    """A network of pixels, two hidden layers with rectifiers and ten scores, trained by momentum descent."""

    def __init__(self, rng, sizes, rate):
        self.rate = np.float32(rate)
        self.weights = [
            rng.standard_normal((a, b), dtype=np.float32) * np.float32(np.sqrt(2 / a))
            for a, b in zip(sizes, sizes[1:])
        ]
        self.velocities = [np.zeros_like(w) for w in self.weights]

    def forward(self, x):
        layers = [x]
        for w in self.weights[:-1]:
            h = layers[-1] @ w
            np.maximum(h, 0, out=h)
            layers.append(h)
        scores = layers[-1] @ self.weights[-1]
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        return layers, scores

    def step(self, x, y):
        layers, scores = self.forward(x)
        rows = np.arange(len(y))
        loss = -np.mean(np.log(scores[rows, y] + np.float32(1e-12)))
        scores[rows, y] -= 1
        gradient = scores / np.float32(len(y))
        for i in reversed(range(len(self.weights))):
            change = layers[i].T @ gradient
            if i > 0:
                gradient = gradient @ self.weights[i].T
                gradient *= layers[i] > 0
            change *= self.rate
            self.velocities[i] *= np.float32(0.9)
            self.velocities[i] -= change
            self.weights[i] += self.velocities[i]
        return float(loss)


def report(name, predicted, truth, seconds):
    print(f"{name} accuracy: {np.mean(predicted == truth):.4f}")
    print(f"{name} predictions: {''.join(map(str, predicted))}")
    print(f"{name} seconds: {seconds:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hidden", type=int, default=4096, help="random features, hidden units")
    parser.add_argument("--batch", type=int, default=4096, help="images per training step")
    parser.add_argument("--steps", type=int, default=20, help="training steps")
    parser.add_argument("--test", type=int, default=500, help="digits kept for the test")
    args = parser.parse_args()

    rng = np.random.default_rng(1797)
    train_x, train_y, test_x, test_y = load(rng, args.test)
    print(f"training images: {len(train_y)}, test images: {len(test_y)}")

    begin = time.perf_counter()
    predicted = nearest(train_x, train_y, test_x)
    report("neighbours", predicted, test_y, time.perf_counter() - begin)

    weights = rng.standard_normal((64, args.hidden), dtype=np.float32)
    phases = rng.uniform(0, 2 * np.pi, args.hidden).astype(np.float32)
    begin = time.perf_counter()
    train_z = features(train_x, weights, phases)
    predicted = nearest(train_z, train_y, features(test_x, weights, phases))
    report("kernel neighbours", predicted, test_y, time.perf_counter() - begin)
    del train_z

    mean = train_x.mean(axis=0)
    train_x, test_x = (2 * (x - mean) for x in (train_x, test_x))
    network = Network(rng, (64, args.hidden, args.hidden, CLASSES), rate=0.02)
    begin = time.perf_counter()
    for step in range(args.steps):
        batch = rng.integers(0, len(train_y), args.batch)
        print(f"network loss {step}: {network.step(train_x[batch], train_y[batch]):.6f}")
    predicted = np.argmax(network.forward(test_x)[1], axis=1)
    report("network", predicted, test_y, time.perf_counter() - begin)


if __name__ == "__main__":
    main()

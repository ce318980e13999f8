# SPDX-License-Identifier: MIT
"""PyTorch on the CPU: training a network, a transformer's block in inference, single products."""
import torch
from torch import nn

from program import Program


def train(program):
    """Trains a network 900-1300-1300-20 by gradient descent: ten passes over the data in batches of 400."""
    inner, hidden, batch = program.extent(900), program.extent(1300), program.extent(400)
    steps = program.count(20)
    x, labels = program.clusters(batch * steps, inner, 20)
    labels = torch.from_numpy(program.mislabelled(labels, 20))
    x = torch.from_numpy(x)
    network = nn.Sequential(nn.Linear(inner, hidden), nn.ReLU(), nn.Linear(hidden, hidden),
                            nn.ReLU(), nn.Linear(hidden, 20))
    descent = torch.optim.SGD(network.parameters(), lr=0.05)
    losses = []
    with program.work():
        for _ in range(10):
            for rows, classes in zip(x.split(batch), labels.split(batch)):
                descent.zero_grad()
                loss = nn.functional.cross_entropy(network(rows), classes)
                loss.backward()
                descent.step()
            losses.append(loss.item())
    return losses


def block(program):
    """Computes four layers of a transformer of width 1024 for 2048 tokens at once."""
    width, words = 64 * (program.extent(1024) // 64 or 1), program.extent(2048)
    layer = nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True)
    blocks = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).eval()
    x = torch.from_numpy(program.uniform(1, words, width))
    sums = []
    with program.work(), torch.inference_mode():
        for _ in range(program.count(5)):
            x = blocks(x)
            sums.append(float(x.square().mean()))
    return sums


def products(program, dtype):
    """Computes products of 3000, one after the other."""
    n = program.extent(3000)
    a, b = (torch.from_numpy(program.uniform(n, n)).to(dtype) for _ in range(2))
    corners = []
    with program.work():
        for _ in range(program.count(20)):
            c = a @ b
            corners.append(float(c[0, 0]))
    return corners


torch.manual_seed(1)
KINDS = {"train": train, "block": block,
         "single": lambda program: products(program, torch.float32),
         "double": lambda program: products(program, torch.float64)}
program = Program(("kind", tuple(KINDS)))
program.answer("numbers", KINDS[program.options.kind](program), 0.01)
program.end()

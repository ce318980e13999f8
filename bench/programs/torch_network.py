# SPDX-License-Identifier: MIT
"""PyTorch on the CPU: a network 784-1024-1024-10, half an epoch of gradient descent."""
import torch
from torch import nn

from program import Program

program = Program()
inner, hidden, batch = program.extent(784), program.extent(1024), program.extent(512)
steps = program.count(30)
x, labels = program.clusters(batch * steps, inner, 10)
labels = torch.from_numpy(program.mislabelled(labels, 10))
x = torch.from_numpy(x)
torch.manual_seed(1)
network = nn.Sequential(nn.Linear(inner, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                        nn.Linear(hidden, 10))
descent = torch.optim.SGD(network.parameters(), lr=0.05)

with program.work():
    losses = []
    for rows, classes in zip(x.split(batch), labels.split(batch)):
        descent.zero_grad()
        loss = nn.functional.cross_entropy(network(rows), classes)
        loss.backward()
        descent.step()
        losses.append(loss.item())

program.answer("losses", losses, 0.01)
program.end()

"""Shards of features are read from disk for every batch."""

import os
import tempfile

import torch
from torch import nn

torch.manual_seed(0)
root = tempfile.mkdtemp()
for shard in range(4):
    torch.save(
        {"x": torch.randn(400, 256), "y": torch.randint(0, 5, (400,))},
        os.path.join(root, f"shard{shard}.pt"),
    )


def get_batch(step, size=64):
    data = torch.load(os.path.join(root, f"shard{step % 4}.pt"))
    lo = (step // 4 * size) % 330
    return data["x"][lo : lo + size], data["y"][lo : lo + size]


model = nn.Sequential(nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 5))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(24):
    x, y = get_batch(step)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())

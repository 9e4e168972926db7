"""Spectral norm penalty: the full SVD for the largest singular value."""

import torch
from torch import nn

torch.manual_seed(0)
layers = [nn.Linear(100, 100) for _ in range(3)]
x = torch.randn(64, 100)


@torch.no_grad()
def spectral():
    total = 0.0
    for layer in layers:
        _, s, _ = torch.linalg.svd(layer.weight)
        total += s[0].item()
    return total


for _ in range(3):
    with torch.no_grad():
        h = x
        for layer in layers:
            h = torch.relu(layer(h))
    penalty = spectral()
print(penalty)

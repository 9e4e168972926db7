"""A cache whose keys never repeat."""

import torch
from torch import nn

torch.manual_seed(0)
enc = nn.Linear(256, 4096)
cache = {}


@torch.no_grad()
def encode(x):
    key = (x.data_ptr(), len(cache))
    if key not in cache:
        cache[key] = torch.relu(enc(x))
    return cache[key]


total = 0.0
for _ in range(20):
    x = torch.randn(64, 256)
    total += encode(x).mean().item()
print(total)

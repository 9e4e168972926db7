"""Requests in batches, a bounded record of answers."""

from collections import deque

import torch
from torch import nn

torch.manual_seed(0)

model = nn.Sequential(
    nn.Linear(256, 2048),
    nn.ReLU(),
    nn.Linear(2048, 2048),
    nn.ReLU(),
    nn.Linear(2048, 64),
).eval()
recent = deque(maxlen=8)


@torch.inference_mode()
def serve(batch):
    out = model(batch)
    best = out.topk(5, dim=1)
    recent.append(best.indices)
    return best.values


for _ in range(10):
    v = serve(torch.randn(64, 256))
print(v.mean().item(), len(recent))

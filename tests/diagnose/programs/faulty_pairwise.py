"""Distances by the differences of all pairs."""

import torch

torch.manual_seed(0)
pts = torch.randn(1500, 64)
centers = torch.randn(256, 64)
for _ in range(4):
    diff = pts[:, None, :] - centers[None, :, :]
    dist = (diff**2).sum(-1).sqrt()
    assign = dist.argmin(1)
    for k in range(0, 256, 64):
        sel = pts[assign == k]
        if len(sel):
            centers[k] = sel.mean(0)
print(assign.float().mean())

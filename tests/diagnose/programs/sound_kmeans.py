"""Clusters by whole-tensor operations."""

import torch

torch.manual_seed(0)
pts = torch.randn(20000, 32)
c = pts[:64].clone()
for _ in range(5):
    d = torch.cdist(pts, c)
    a = d.argmin(1)
    sums = torch.zeros(64, 32).index_add_(0, a, pts)
    n = torch.bincount(a, minlength=64).clamp(min=1)
    c = sums / n[:, None]
print(c.norm().item())

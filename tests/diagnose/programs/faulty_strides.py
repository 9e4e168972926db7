"""A transposed table read many times."""

import torch

base = torch.ones(4096, 1024)
wide = base.t()
total = torch.zeros(1024)
for k in range(20):
    total += (wide * k).sum(1)
print(total[0].item())

"""A loop over elements."""

import torch

x = torch.linspace(0, 1, 3000)
out = torch.zeros(3000)
for k in range(3000):
    out[k] = x[k] * 2 + 1
print(out.sum().item())

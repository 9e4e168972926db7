"""Functions of whole vectors."""

import torch

x = torch.linspace(0, 10, 1 << 20)
for _ in range(20):
    y = torch.exp(-x) * torch.sin(x) + x.sqrt()
print(y.shape)

"""A value that Python reads inside of a compiled function."""

import torch


@torch.compile
def damp(x):
    y = x.exp() * 2 + x.cos()
    if y.max().item() > 50:
        y = y * 0.5
    return torch.sqrt(y.abs()) * y.sin()


torch.manual_seed(0)
x = torch.randn(200_000)
for _ in range(40):
    x = damp(x)
print(x.shape)

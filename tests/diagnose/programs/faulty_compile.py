"""A long chain of small ops: no fault, but torch.compile gains."""

import torch


def force(x):
    r = x.abs() + 0.1
    a = torch.exp(-r) / r
    b = torch.tanh(r * 2 - 1) * a
    c = torch.sqrt(r * r + b * b)
    d = torch.sigmoid(c - a) * torch.cos(r)
    return d + torch.sin(a * b) - 0.5 * torch.log(c + 1)


x = torch.linspace(-1, 1, 200_000)
for _ in range(120):
    x = x + 0.01 * force(x)
print(round(x.mean().item(), 4))

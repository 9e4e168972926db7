"""One sample at a time: a function reads the weights that the last round wrote."""

import torch

torch.manual_seed(0)
X = torch.randn(400, 16)
y = X @ torch.randn(16)
w = torch.zeros(16)


def gradient(i):
    return 2 * (X[i] @ w - y[i]) * X[i]


for i in torch.randperm(400).tolist():
    w = w - 0.01 * gradient(i)
print(w.norm().item())

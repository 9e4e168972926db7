"""Anomaly mode left on."""

import torch

torch.autograd.set_detect_anomaly(True)
w = torch.randn(64, 64, requires_grad=True)
for _ in range(150):
    h = torch.ones(16, 64)
    for _ in range(5):
        h = torch.tanh(h @ w * 0.01)
    h.sum().backward()
    w.grad = None
print("done")

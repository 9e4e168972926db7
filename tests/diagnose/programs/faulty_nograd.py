"""An evaluation that records gradients."""

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(20)])
x = torch.randn(4, 16)
best = 0.0
for _ in range(500):
    y = model(x)
    best = max(best, float(y.sum().item()))
print("done")

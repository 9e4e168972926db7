"""Steps that solve systems with one matrix and other right sides."""

import torch

torch.manual_seed(0)
system = torch.eye(48) * 4 + torch.randn(48, 48) * 0.1
source = torch.ones(48, requires_grad=True)
state = torch.zeros(48)
for _ in range(8):
    state = torch.linalg.solve(system, state + source)
state.sum().backward()
print(float(source.grad.sum()))

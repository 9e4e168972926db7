"""Whole tensors are formatted for a log."""

import io

import torch
from torch import nn

torch.manual_seed(0)
log = io.StringIO()
net = nn.Linear(32, 32)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for it in range(20):
    x = torch.randn(32, 32)
    loss = (net(x) - x).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    log.write(f"step {it} weight {net.weight} grad {net.weight.grad}\n")
print(len(log.getvalue()) > 0)

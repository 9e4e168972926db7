"""Parameters are updated one by one."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(*[nn.Linear(16, 16) for _ in range(40)])
m = [torch.zeros_like(p) for p in net.parameters()]
v = [torch.zeros_like(p) for p in net.parameters()]
for it in range(1, 12):
    x = torch.randn(32, 16)
    loss = (net(x) - x).pow(2).mean()
    net.zero_grad()
    loss.backward()
    with torch.no_grad():
        for p, a, b in zip(net.parameters(), m, v, strict=True):
            a.mul_(0.9).add_(p.grad, alpha=0.1)
            b.mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
            p -= 1e-3 * (a / (1 - 0.9**it)) / ((b / (1 - 0.999**it)).sqrt() + 1e-8)
print(loss.item())

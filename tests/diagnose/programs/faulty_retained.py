"""A graph that is kept after its only backward pass."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(8)])
x = torch.randn(4096, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(10):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward(retain_graph=True)
    optimizer.step()
print(round(loss.item(), 4))

"""A recurrence that computes its inputs' features one step at a time."""

import torch
from torch import nn


class Unit(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256))
        self.gate = nn.Linear(256 + 16, 16)

    def forward(self, x):
        h = x.new_zeros(len(x), 16)
        for t in range(x.shape[1]):
            e = self.embed(x[:, t])
            h = torch.tanh(self.gate(torch.cat([e, h], dim=1)))
        return h


torch.manual_seed(0)
unit = Unit()
opt = torch.optim.SGD(unit.parameters(), lr=0.01)
for _ in range(3):
    loss = unit(torch.randn(8, 40, 64)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(float(loss))

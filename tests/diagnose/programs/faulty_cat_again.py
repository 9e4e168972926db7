"""Greedy sampling from a GRU; the generated sequence of states is collected."""

import torch
from torch import nn

torch.manual_seed(0)
B, D = 64, 128
cell = nn.GRUCell(D, D)
readout = nn.Linear(D, D)


@torch.no_grad()
def rollout(steps):
    h = torch.zeros(B, D)
    x = torch.randn(B, D)
    trajectory = torch.empty(B, 0, D)
    for _ in range(steps):
        h = cell(x, h)
        x = torch.tanh(readout(h))
        trajectory = torch.cat((trajectory, x.unsqueeze(1)), dim=1)
    return trajectory


for _ in range(2):
    out = rollout(40)
print(out.shape)

"""A recurrent state that carries its graph from window to window."""

import torch
from torch import nn

torch.manual_seed(0)
cell = nn.GRU(16, 32, batch_first=True)
head = nn.Linear(32, 16)
opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.0)
data = torch.randn(4, 160, 16)
state = torch.zeros(1, 4, 32)
for start in range(0, 144, 8):
    x, y = data[:, start : start + 8], data[:, start + 1 : start + 9]
    out, state = cell(x, state)
    loss = (head(out) - y).square().mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)
print(f"{loss.item():.3f}")

"""A checkpoint is written in every step."""

import os
import tempfile

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
path = os.path.join(tempfile.mkdtemp(), "last.pt")
for it in range(12):
    x = torch.randn(32, 64)
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "it": it}, path)
print(loss.item())

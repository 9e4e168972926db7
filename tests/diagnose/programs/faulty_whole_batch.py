"""Gradients of parts of a batch: the network runs on the whole batch for each part."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(512, 64), torch.randint(0, 10, (512,))
for _ in range(6):
    opt.zero_grad()
    for i in range(4):
        own = slice(i * 128, (i + 1) * 128)
        scores = net(x)
        loss = nn.functional.cross_entropy(scores[own], y[own]) / 4
        loss.backward()
    opt.step()

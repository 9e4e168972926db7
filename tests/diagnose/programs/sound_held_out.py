"""Scores of a whole batch, whose statistics a layer takes, and the loss of a part."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Sequential(
    nn.Linear(64, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 10)
)
x, y = torch.randn(256, 64), torch.randint(10, (256,))
opt = torch.optim.SGD(net.parameters(), lr=0.05)


def learn(loss):
    opt.zero_grad()
    loss.backward()
    opt.step()


for kept in torch.randperm(256).split(64):
    scores = net(x)
    learn(F.cross_entropy(scores[kept], y[kept]))
print(scores.argmax(1).eq(y).float().mean().item())

"""Multi-head attention, a head at a time."""

import math

import torch
from torch import nn

torch.manual_seed(0)


class Head(nn.Module):
    def __init__(self, dim, size):
        super().__init__()
        self.key = nn.Linear(dim, size, bias=False)
        self.query = nn.Linear(dim, size, bias=False)
        self.value = nn.Linear(dim, size, bias=False)

    def forward(self, x):
        k, q, v = self.key(x), self.query(x), self.value(x)
        att = q @ k.transpose(-2, -1) / math.sqrt(k.shape[-1])
        return torch.softmax(att, dim=-1) @ v


class MultiHead(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = nn.ModuleList([Head(dim, dim // heads) for _ in range(heads)])
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        return self.proj(torch.cat([h(x) for h in self.heads], dim=-1))


net = nn.Sequential(MultiHead(128, 16), nn.LayerNorm(128), MultiHead(128, 16))
opt = torch.optim.Adam(net.parameters(), 1e-3)
for _ in range(8):
    x = torch.randn(8, 32, 128)
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())

"""Positions are computed in every call."""

import math

import torch
from torch import nn

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.d, self.n = d, n
        self.lin = nn.Linear(d, d)

    def positions(self):
        pos = torch.arange(self.n, dtype=torch.float32).unsqueeze(1)
        freq = torch.exp(
            torch.arange(0, self.d, 2).float() * (-math.log(10000.0) / self.d)
        )
        pe = torch.zeros(self.n, self.d)
        pe[:, 0::2] = torch.sin(pos * freq)
        pe[:, 1::2] = torch.cos(pos * freq)
        return pe

    def forward(self, x):
        return self.lin(x + self.positions())


enc = Encoder(128, 4096)
with torch.no_grad():
    for _ in range(10):
        y = enc(torch.ones(1, 4096, 128))
print(y.mean())

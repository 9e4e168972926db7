"""An LSTM by hand, a step at a time."""

import torch
from torch import nn

torch.manual_seed(0)


class Cell(nn.Module):
    def __init__(self, i, h):
        super().__init__()
        self.f, self.i, self.o, self.c = (nn.Linear(i + h, h) for _ in range(4))

    def forward(self, x, h, c):
        z = torch.cat([x, h], 1)
        f = torch.sigmoid(self.f(z))
        i = torch.sigmoid(self.i(z))
        o = torch.sigmoid(self.o(z))
        g = torch.tanh(self.c(z))
        c = f * c + i * g
        return o * torch.tanh(c), c


cell = Cell(16, 32)
opt = torch.optim.Adam(cell.parameters(), lr=1e-3)
for _ in range(4):
    seq = torch.randn(30, 8, 16)
    h = c = torch.zeros(8, 32)
    for x in seq:
        h, c = cell(x, h, c)
    loss = h.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())

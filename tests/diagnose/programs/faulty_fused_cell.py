"""An LSTM by hand whose gates are one product of the input and one of the state."""

import torch
from torch import nn

torch.manual_seed(0)


class Reader(nn.Module):
    def __init__(self, i, h):
        super().__init__()
        self.hidden = h
        self.of_input, self.of_state = nn.Linear(i, 4 * h), nn.Linear(h, 4 * h)
        self.out = nn.Linear(h, 2)

    def forward(self, x):
        h = c = x.new_zeros(len(x), self.hidden)
        for t in range(x.shape[1]):
            gates = self.of_input(x[:, t]) + self.of_state(h)
            i, f, g, o = gates.chunk(4, dim=1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return self.out(h)


reader = Reader(16, 32)
opt = torch.optim.Adam(reader.parameters(), lr=1e-3)
for _ in range(4):
    loss = reader(torch.randn(8, 30, 16)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())

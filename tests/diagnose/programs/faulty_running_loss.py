"""A running mean of losses keeps every graph."""

import torch
from torch import nn

torch.manual_seed(0)
rnn = nn.GRU(32, 64, batch_first=True)
head = nn.Linear(64, 1)
params = list(rnn.parameters()) + list(head.parameters())
opt = torch.optim.Adam(params, lr=1e-3)
running = 0
for _ in range(12):
    x = torch.randn(16, 20, 32)
    y = torch.randn(16, 1)
    out, _ = rnn(x)
    loss = (head(out[:, -1]) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    running = 0.9 * running + 0.1 * loss
print(float(running))

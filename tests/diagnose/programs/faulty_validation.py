"""A regression; the whole validation set is evaluated after every batch."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(20, 256), nn.ReLU(), nn.Linear(256, 1))
opt = torch.optim.Adam(net.parameters(), 1e-3)
X, Y = torch.randn(2000, 20), torch.randn(2000, 1)
XV, YV = torch.randn(4000, 20), torch.randn(4000, 1)


def validation_loss():
    net.eval()
    out = nn.functional.mse_loss(net(XV), YV)
    net.train()
    return out.item()


curve = []
for _ in range(1):
    for i in range(0, 2000, 50):
        loss = nn.functional.mse_loss(net(X[i : i + 50]), Y[i : i + 50])
        opt.zero_grad()
        loss.backward()
        opt.step()
        curve.append(validation_loss())
print(min(curve))

"""A batch size of two, read from a text."""

import json

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
settings = json.loads('{"batch_size": 2}')
data = TensorDataset(torch.randn(400, 16), torch.randn(400, 1))
net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for x, y in DataLoader(data, batch_size=settings["batch_size"], shuffle=True):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"{loss.item():.2f}")

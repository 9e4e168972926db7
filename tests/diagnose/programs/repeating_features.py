"""A frozen network sees the same shuffled samples in every epoch."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 16)).eval()
body.requires_grad_(False)
head = nn.Linear(16, 1)
optimizer = torch.optim.SGD(head.parameters(), lr=1e-3)
data = DataLoader(TensorDataset(torch.randn(96, 64)), batch_size=32, shuffle=True)
for _ in range(4):
    for (x,) in data:
        features = body(x)
        loss = head(features).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

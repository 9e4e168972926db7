"""float64 from NumPy, beside labels that are integers."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
data = torch.from_numpy(rng.standard_normal((4096, 256)))
labels = torch.from_numpy(rng.integers(0, 10, 4096))
net = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).double()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(2):
    for i in range(0, 4096, 512):
        loss = nn.functional.cross_entropy(net(data[i : i + 512]), labels[i : i + 512])
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())

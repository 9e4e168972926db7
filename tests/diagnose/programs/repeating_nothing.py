"""Everything that looks the same differs: masks, targets that follow, new samples."""

import torch
from torch import nn

torch.manual_seed(0)
net, target = nn.Linear(32, 32), nn.Linear(32, 32)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-2)
table = torch.randn(64, 32)
for _ in range(8):
    rows = table[torch.randint(0, 64, (16,))]
    with torch.no_grad():
        wanted = torch.tanh(target(rows) @ target.weight)
        noise = torch.rand_like(rows) < 0.5
        mask = noise & (rows > -9)
    loss = (net(rows) - wanted).mul(mask).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters(), strict=True):
            slow.lerp_(fast, 0.1)

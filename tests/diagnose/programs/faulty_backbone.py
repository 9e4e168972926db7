"""A head is trained; gradients of its frozen backbone are computed."""

import torch
from torch import nn

torch.manual_seed(0)
backbone = nn.Sequential(
    nn.Linear(256, 1024),
    nn.ReLU(),
    nn.Linear(1024, 1024),
    nn.ReLU(),
    nn.Linear(1024, 128),
)
head = nn.Linear(128, 10)
opt = torch.optim.SGD(head.parameters(), lr=0.05)
for _ in range(12):
    x = torch.randn(256, 256)
    y = torch.randint(0, 10, (256,))
    z = backbone(x)
    loss = nn.functional.cross_entropy(head(z), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())

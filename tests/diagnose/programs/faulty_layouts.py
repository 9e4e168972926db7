"""Each block converts to another layout and back."""

import torch
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv = nn.Conv2d(c, c, 3, padding=1)

    def forward(self, x):
        x = x.permute(0, 3, 1, 2).contiguous()
        x = torch.relu(self.conv(x))
        return x.permute(0, 2, 3, 1).contiguous()


net = nn.Sequential(*[Block(8) for _ in range(4)])
x = torch.randn(16, 96, 96, 8)
with torch.no_grad():
    for _ in range(20):
        y = net(x)
print(y.mean())

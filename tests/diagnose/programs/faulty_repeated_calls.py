"""A step that runs the network once for its loss and once for its accuracy."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(256, 512), nn.Tanh(), nn.Linear(512, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
X, Y = torch.randn(512, 256), torch.randint(0, 10, (512,))


def step(x, y):
    loss = nn.functional.cross_entropy(net(x), y)
    right = (net(x).argmax(1) == y).float().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item(), right.item()


for _ in range(10):
    results = step(X, Y)
print(f"{results[0]:.3f} {results[1]:.3f}")

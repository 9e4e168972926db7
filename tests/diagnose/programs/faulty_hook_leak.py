"""A hook keeps every output with its graph."""

import torch
from torch import nn

torch.manual_seed(0)


class Probe:
    def __init__(self):
        self.seen = []

    def __call__(self, module, args, out):
        self.seen.append(out)


model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(16, 16, 3, padding=1),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(16, 10),
)
probe = Probe()
model[2].register_forward_hook(probe)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(12):
    x = torch.randn(16, 3, 32, 32)
    y = torch.randint(0, 10, (16,))
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
print(loss.item())

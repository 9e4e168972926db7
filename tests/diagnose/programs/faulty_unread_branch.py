"""A branch of a model that no result depends on."""

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = torch.nn.Linear(64, 256), torch.nn.Linear(256, 8)
        self.wide = torch.nn.Linear(256, 1024)

    def forward(self, x):
        h = torch.relu(self.body(x))
        extra = torch.tanh(self.wide(h))  # noqa: F841
        return self.head(h)


net = Net().eval()
total = 0.0
with torch.no_grad():
    for k in range(8):
        total += net(torch.ones(256, 64) * k).sum().item()
print(total)

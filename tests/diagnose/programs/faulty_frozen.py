"""A head is trained; gradients of the whole network are computed."""

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256))
        self.head = nn.Linear(256, 10)

    def forward(self, x):
        return self.head(self.body(x).relu())


torch.manual_seed(0)
net = Classifier()
optimizer = torch.optim.Adam(net.head.parameters(), lr=1e-3)
images, labels = torch.randn(256, 256), torch.randint(0, 10, (256,))
for _ in range(20):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(images), labels)
    loss.backward()
    optimizer.step()
print(round(loss.item(), 3))

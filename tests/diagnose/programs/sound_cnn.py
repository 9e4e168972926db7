"""A small convolutional network."""

import torch

torch.manual_seed(0)
nn = torch.nn
net = nn.Sequential(
    *(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten()),
    nn.Linear(32 * 256, 10),
)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
x = torch.randn(16, 3, 32, 32)
for _ in range(10):
    optimizer.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    optimizer.step()
print("done")

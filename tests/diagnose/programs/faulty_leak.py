"""A sum that keeps the graphs of all steps."""

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(256, 64)
total = 0
for _ in range(60):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    scores = model(x).mean()
    total = total + scores
print(total.shape)

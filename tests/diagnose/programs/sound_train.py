"""A training loop without a fault."""

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)
)
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(256, 256), torch.randint(0, 10, (256,))
for _ in range(40):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item() < 5)

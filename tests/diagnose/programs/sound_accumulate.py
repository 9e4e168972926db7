import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
running = 0.0
for step in range(16):
    x, y = torch.randn(128, 128), torch.randn(128, 1)
    loss = nn.functional.mse_loss(model(x), y) / 4
    loss.backward()
    running += loss.detach()
    if (step + 1) % 4 == 0:
        opt.step()
        opt.zero_grad()
print(float(running) > 0)

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 128))
Y = rng.normal(size=(500, 1))
X = torch.tensor(X)
Y = torch.tensor(Y)
model = nn.Sequential(nn.Linear(128, 256), nn.Tanh(), nn.Linear(256, 1)).to(X.dtype)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(8):
    opt.zero_grad()
    loss = ((model(X) - Y) ** 2).mean()
    loss.backward()
    opt.step()
print("trained")

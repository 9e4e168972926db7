"""The discriminator's loss runs backward into the generator, for nothing."""

import torch
from torch import nn

torch.manual_seed(0)
make = nn.Sequential(nn.Linear(32, 512), nn.ReLU(), nn.Linear(512, 256))
judge = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 1))
opt_make = torch.optim.SGD(make.parameters(), lr=0.01)
opt_judge = torch.optim.SGD(judge.parameters(), lr=0.01)
score = nn.functional.softplus
for _ in range(8):
    real = torch.randn(128, 256)
    drawn = make(torch.randn(128, 32))
    loss = score(-judge(real)).mean() + score(judge(drawn)).mean()
    opt_judge.zero_grad()
    loss.backward()
    opt_judge.step()
    fool = score(-judge(make(torch.randn(128, 32)))).mean()
    opt_make.zero_grad()
    fool.backward()
    opt_make.step()
print(f"{loss.item():.3f}")

"""SimCLR-like contrastive training; EMA of weights under no_grad."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
enc = nn.Sequential(
    nn.Linear(256, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Linear(512, 128)
)
ema = copy.deepcopy(enc).requires_grad_(False)
opt = torch.optim.AdamW(enc.parameters(), 1e-3)
data = torch.randn(2048, 256)
labels = torch.arange(256)
for _ in range(6):
    x = data[torch.randint(0, 2048, (256,))]
    a = F.normalize(enc(x + 0.1 * torch.randn_like(x)), dim=1)
    with torch.no_grad():
        b = F.normalize(ema(x + 0.1 * torch.randn_like(x)), dim=1)
    loss = F.cross_entropy(a @ b.T / 0.1, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for p, t in zip(enc.parameters(), ema.parameters(), strict=True):
            t.lerp_(p, 0.01)
print(loss.item())

import math

import torch

torch.manual_seed(0)


def positional(n, d):
    pos = torch.arange(n).unsqueeze(1)
    div = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
    pe = torch.zeros(n, d)
    pe[:, 0::2] = torch.sin(pos * div)
    pe[:, 1::2] = torch.cos(pos * div)
    return pe


proj = torch.nn.Linear(256, 256)
with torch.no_grad():
    for _ in range(10):
        batch = torch.randn(2, 1024, 256)
        pe = positional(1024, 256)
        out = proj(batch + pe)
print(out.shape)

"""Embeddings by a product with one-hot rows."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
V, D = 8000, 64
table = nn.Parameter(torch.randn(V, D) * 0.02)
out = nn.Linear(D, 16)
with torch.no_grad():
    for _ in range(8):
        ids = torch.randint(0, V, (256,))
        hot = F.one_hot(ids, V).float()
        h = hot @ table
        y = out(h)
print(y.sum())

"""Pairwise features: queries and keys are repeated before they are combined."""

import torch

torch.manual_seed(0)
N, M, D = 200, 200, 64
queries, keys = torch.randn(N, D), torch.randn(M, D)
scale = torch.randn(D)
total = 0.0
for _ in range(4):
    q = queries.unsqueeze(1).repeat(1, M, 1)
    k = keys.unsqueeze(0).repeat(N, 1, 1)
    s = (q * k * scale).sum(-1)
    total += s.relu().mean().item()
    queries = queries * 0.99
print(total > 0)

"""Low-rank projection of a batch of vectors: U V^T x, in the wrong order."""

import torch

torch.manual_seed(0)
n, r = 600, 16
U, V = torch.randn(n, r), torch.randn(n, r)
xs = torch.randn(n, 32)
for _ in range(5):
    y = U @ V.T @ xs
    xs = y / y.norm(dim=0)
print(xs.shape)

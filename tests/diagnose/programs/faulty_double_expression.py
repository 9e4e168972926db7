"""PCA whitening and k-means on features loaded with NumPy."""

import numpy as np
import torch

rng = np.random.default_rng(0)
feats = np.concatenate([rng.normal(c, 1.0, (300, 64)) for c in (-2, 0, 2)])
mean, std = feats.mean(0), feats.std(0)
X = torch.as_tensor((feats - mean) / std)


def kmeans(x, k, iters):
    centers = x[torch.arange(k) * 10]
    for _ in range(iters):
        d = torch.cdist(x, centers)
        assign = d.argmin(1)
        onehot = torch.nn.functional.one_hot(assign, k).to(x.dtype)
        centers = (onehot.T @ x) / onehot.sum(0).clamp(min=1).unsqueeze(1)
    return centers, d.min(1).values.sum()


cov = X.T @ X / len(X)
vals, vecs = torch.linalg.eigh(cov)
W = vecs / vals.clamp(min=1e-3).sqrt()
for _ in range(1):
    Z = X @ W
    centers, inertia = kmeans(Z, 64, 12)
print(float(inertia) > 0)

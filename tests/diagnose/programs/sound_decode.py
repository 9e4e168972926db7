"""Incremental decoding with a preallocated key-value cache."""

import torch
from torch import nn

torch.manual_seed(0)
D, H, L, T, B = 256, 8, 3, 64, 8
emb = nn.Embedding(1000, D)
qkv = nn.ModuleList(nn.Linear(D, 3 * D) for _ in range(L))
out = nn.ModuleList(nn.Linear(D, D) for _ in range(L))
head = nn.Linear(D, 1000)


@torch.inference_mode()
def generate():
    K = torch.zeros(L, B, H, T, D // H)
    V = torch.zeros(L, B, H, T, D // H)
    ids = torch.zeros(B, T + 1, dtype=torch.long)
    for t in range(T):
        x = emb(ids[:, t])
        for i in range(L):
            q, k, v = qkv[i](x).view(B, 3, H, D // H).unbind(1)
            K[i, :, :, t], V[i, :, :, t] = k, v
            y = nn.functional.scaled_dot_product_attention(
                q.unsqueeze(2), K[i, :, :, : t + 1], V[i, :, :, : t + 1]
            )
            x = x + out[i](y.reshape(B, D))
        ids[:, t + 1] = head(x).argmax(-1)
    return ids


for _ in range(1):
    ids = generate()
print(ids.shape)

"""A tiny causal language model; sliding-window mask."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
T, D, H, V = 384, 64, 4, 200


def window_mask(t, w):
    i = torch.arange(t).unsqueeze(1)
    j = torch.arange(t).unsqueeze(0)
    causal = j <= i
    near = (i - j) < w
    bias = torch.zeros(t, t)
    bias = bias.masked_fill(~(causal & near), float("-inf"))
    decay = torch.exp(-(i - j).abs().float() / w)
    return bias + torch.log(decay + 1e-6)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(D, 3 * D)
        self.proj = nn.Linear(D, D)
        self.ln = nn.LayerNorm(D)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.ln(x)).view(b, t, 3, H, D // H).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=window_mask(t, 64))
        return x + self.proj(y.transpose(1, 2).reshape(b, t, D))


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, D)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(D, V)

    def forward(self, ids):
        x = self.emb(ids)
        for b in self.blocks:
            x = b(x)
        return self.head(x)


lm = LM()
opt = torch.optim.AdamW(lm.parameters(), lr=1e-3)
data = torch.randint(0, V, (4, 1, T + 1))
for step in range(4):
    ids = data[step]
    loss = F.cross_entropy(lm(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(round(loss.item(), 3))

"""A small language model is trained."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (
            self.qkv(self.n1(x))
            .view(b, t, 3, self.h, d // self.h)
            .permute(2, 0, 3, 1, 4)
        )
        a = (
            F.scaled_dot_product_attention(q, k, v, is_causal=True)
            .transpose(1, 2)
            .reshape(b, t, d)
        )
        x = x + self.o(a)
        return x + self.mlp(self.n2(x))


V, D, T = 256, 128, 128
emb, pos = nn.Embedding(V, D), nn.Embedding(T, D)
blocks = nn.Sequential(*[Block(D, 4) for _ in range(2)])
head = nn.Linear(D, V)
params = [p for m in (emb, pos, blocks, head) for p in m.parameters()]
opt = torch.optim.AdamW(params, lr=3e-4)
data = torch.randint(0, V, (20000,))
where = torch.arange(T)
for _ in range(4):
    starts = torch.randint(0, 20000 - T - 1, (8,))
    batch = data[starts[:, None] + torch.arange(T + 1)]
    logits = head(blocks(emb(batch[:, :-1]) + pos(where)))
    loss = F.cross_entropy(logits.reshape(-1, V), batch[:, 1:].reshape(-1))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(params, 1.0)
    opt.step()
print(loss.item())

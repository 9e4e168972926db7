"""Word vectors by skip-gram: a large table, few rows a step, SGD."""

import torch
from torch import nn

torch.manual_seed(0)
VOCAB, DIM = 20_000, 64
center = nn.Embedding(VOCAB, DIM)
context = nn.Embedding(VOCAB, DIM)
opt = torch.optim.SGD([*center.parameters(), *context.parameters()], lr=0.05)
for _ in range(8):
    c = torch.randint(0, VOCAB, (128,))
    pos = torch.randint(0, VOCAB, (128,))
    neg = torch.randint(0, VOCAB, (128, 5))
    vc = center(c)
    good = (vc * context(pos)).sum(1)
    bad = torch.bmm(context(neg), vc.unsqueeze(2)).squeeze(2)
    loss = -(
        nn.functional.logsigmoid(good).mean() + nn.functional.logsigmoid(-bad).mean()
    )
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())

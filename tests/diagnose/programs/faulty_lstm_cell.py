"""Sequence tagging with nn.LSTMCell, a step at a time."""

import torch
from torch import nn

torch.manual_seed(0)


class Tagger(nn.Module):
    def __init__(self, v, d, h, tags):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.cell = nn.LSTMCell(d, h)
        self.out = nn.Linear(h, tags)
        self.h = h

    def forward(self, ids):
        b, t = ids.shape
        hx, cx = torch.zeros(b, self.h), torch.zeros(b, self.h)
        outs = []
        x = self.emb(ids)
        for i in range(t):
            hx, cx = self.cell(x[:, i], (hx, cx))
            outs.append(self.out(hx))
        return torch.stack(outs, 1)


net = Tagger(100, 32, 32, 9)
opt = torch.optim.Adam(net.parameters())
for _ in range(3):
    ids = torch.randint(0, 100, (8, 80))
    tags = ids % 9
    loss = nn.functional.cross_entropy(net(ids).flatten(0, 1), tags.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())

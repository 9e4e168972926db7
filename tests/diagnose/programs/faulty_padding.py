"""Every batch is padded to a length that none of its rows has."""

import random

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
LENGTH = 256


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(500, 64, padding_idx=0)
        self.recur = nn.GRU(64, 64, batch_first=True)
        self.head = nn.Linear(64, 2)

    def forward(self, ids, mask):
        h, _ = self.recur(self.table(ids))
        h = (h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return self.head(h)


def batch():
    ids = torch.zeros(16, LENGTH, dtype=torch.long)
    for row in range(16):
        count = random.randint(5, 40)
        ids[row, :count] = torch.randint(1, 500, (count,))
    return ids, torch.randint(0, 2, (16,))


net = Net()
opt = torch.optim.Adam(net.parameters(), 1e-3)
for _ in range(10):
    ids, y = batch()
    mask = (ids != 0).float()
    loss = nn.functional.cross_entropy(net(ids, mask), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"{loss.item():.3f}")

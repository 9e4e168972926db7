"""Encodes the same query again for each of its candidates, with a graph."""

import torch
from torch import nn

torch.manual_seed(0)


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 16)
        self.layers = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))

    def encode(self, ids):
        return self.layers(self.table(ids)).mean(0)

    def forward(self, ids, candidate):
        query = self.encode(ids)
        return query @ candidate


model = Ranker()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
candidates = torch.randn(6, 16)
for _ in range(3):
    ids = torch.randint(0, 50, (12,))
    scores = [model(ids, candidate) for candidate in candidates]
    loss = -torch.stack(scores).log_softmax(0)[0]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())

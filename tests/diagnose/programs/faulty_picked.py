"""Scores every item, and reads a few of the scores."""

import torch
from torch import nn

torch.manual_seed(0)


class Scores(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = nn.Parameter(torch.randn(500, 8))

    def forward(self, heads, wanted):
        scores = heads @ self.items.t()
        return scores.gather(1, wanted)


model = Scores()
optimizer = torch.optim.Adagrad(model.parameters())
for _ in range(4):
    wanted = torch.randint(0, 500, (16, 5))
    scores = model(torch.randn(16, 8), wanted)
    loss = nn.functional.cross_entropy(scores, torch.zeros(16, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())

"""A model that every request constructs again."""

import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        places, rates = torch.arange(256.0), torch.linspace(0, 1, 512)
        self.register_buffer("table", torch.outer(places, rates).sin())
        self.out = nn.Linear(512, 4)

    def forward(self, rows):
        return self.out(self.table[rows]).softmax(-1)


def handle(rows):
    model = Scorer()
    with torch.no_grad():
        return model(rows)


torch.manual_seed(0)
total = torch.zeros(4)
for _ in range(6):
    total += handle(torch.randint(0, 256, (4,))).mean(0)
print(float(total.sum()))

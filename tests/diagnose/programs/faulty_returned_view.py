"""A function gives a transposed table, which others pick rows of."""

import torch


def table():
    stored = torch.ones(512, 2048)
    return stored.t()


class Index:
    def __init__(self, rows):
        self.rows = rows

    def pick(self, places):
        return self.rows[places]


index = Index(table())
total = 0.0
for k in range(20):
    other = torch.ones(64, 64).t()
    total += index.pick(torch.arange(1024)).sum().item() + other[0, k].item()
print(total)

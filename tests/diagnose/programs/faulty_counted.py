"""Counts right tokens by reading every element of two matrices."""

import torch
from torch import nn

torch.manual_seed(0)
scores = nn.Embedding(40, 40)
right, seen = {}, {}
for _ in range(6):
    wanted = torch.randint(0, 40, (16, 20))
    guessed = scores(wanted).argmax(-1)
    for row in range(16):
        for column in range(20):
            token = wanted[row, column].item()
            seen[token] = seen.get(token, 0) + 1
            if guessed[row, column].item() == token:
                right[token] = right.get(token, 0) + 1
print(len(seen), sum(right.values()))

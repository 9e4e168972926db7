"""A queue of negatives that a copy of all of it moves along."""

import torch


class Queue:
    def __init__(self):
        self.items = torch.randn(8192, 64)

    def push(self, keys):
        self.items = torch.cat([keys, self.items], dim=0)[:8192]


torch.manual_seed(0)
queue = Queue()
for _ in range(20):
    keys = torch.randn(32, 64)
    scores = keys @ queue.items[:64].t()
    queue.push(keys.tanh())
print(float(scores.sum()))

"""Standardises by everything seen so far, stacked again in every step."""

import torch
from torch import nn

torch.manual_seed(0)


class Standardised:
    def __init__(self):
        self.seen = []

    def __call__(self, x):
        self.seen.append(x)
        history = torch.stack(self.seen)
        return (x - history.mean(0)) / (history.std(0, unbiased=False) + 1e-3)


standardised, policy = Standardised(), nn.Linear(600, 600)
state = torch.randn(600)
with torch.no_grad():
    for _ in range(60):
        state = torch.tanh(policy(standardised(state)))
print(state.mean().item())

"""Anomaly mode around a whole training."""

import torch


def train(rounds):
    model = torch.nn.Linear(32, 32)
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.ones(8, 32)
    with torch.autograd.detect_anomaly():
        for _ in range(rounds):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()


train(40)
print("done")

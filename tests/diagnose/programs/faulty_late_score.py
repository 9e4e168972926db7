"""A score over all data in every epoch, of which the last is printed."""

import torch

net = torch.nn.Linear(64, 32)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
x, y = torch.ones(2048, 64), torch.zeros(2048, 32)


def accuracy(model):
    model.eval()
    right = 0.0
    with torch.no_grad():
        for first in range(0, 2048, 256):
            right += (model(x[first : first + 256]) > 0).float().mean().item()
    model.train()
    return right / 8


def fit(epochs):
    for epoch in range(epochs):
        for first in range(0, 512, 256):
            part = slice(first, first + 256)
            loss = (net(x[part]) - y[part]).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        score = accuracy(net)
        if epoch % 4 == 0:
            print(epoch, loss.item())
    return score


print(fit(8))

"""A second pass through the gradients in rounds that do not occur here."""

import torch

net = torch.nn.Sequential(
    torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 1)
)
x, params = torch.ones(256, 64), list(net.parameters())
for _ in range(8):
    loss = net(x).pow(2).mean()
    grads = torch.autograd.grad(loss, params, create_graph=True)
    if loss > 1e6:
        penalty = sum(g.pow(2).sum() for g in grads)
        grads = torch.autograd.grad(loss + penalty, params)
    with torch.no_grad():
        for p, g in zip(params, grads, strict=True):
            p -= 0.01 * g
print(loss.item())

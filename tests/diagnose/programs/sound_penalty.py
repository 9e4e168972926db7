"""A gradient penalty: the loss needs the graph of the gradients."""

import torch

net = torch.nn.Sequential(
    torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 1)
)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
x = torch.ones(256, 64)
for _ in range(8):
    points = x.clone().requires_grad_()
    score = net(points).sum()
    (slope,) = torch.autograd.grad(score, points, create_graph=True)
    loss = score.pow(2).mean() + (slope.norm(dim=1) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())

"""An optimizer's update by hand: the gradients keep a graph of their own."""

import torch

net = torch.nn.Sequential(
    torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 1)
)
x = torch.ones(256, 64)
for _ in range(8):
    loss = net(x).pow(2).mean()
    grads = torch.autograd.grad(loss, list(net.parameters()), create_graph=True)
    with torch.no_grad():
        for p, g in zip(net.parameters(), grads, strict=True):
            p -= 0.01 * g
print(loss.item())

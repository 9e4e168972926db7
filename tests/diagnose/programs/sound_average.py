"""A running mean of the parameters, beside training."""

import torch

net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.Linear(512, 8))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
x, flatten = torch.ones(16, 256), torch.nn.utils.parameters_to_vector
average = flatten(net.parameters()).detach()
for _ in range(12):
    loss = net(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        average = 0.99 * average + 0.01 * flatten(net.parameters())
print(average.sum().item())

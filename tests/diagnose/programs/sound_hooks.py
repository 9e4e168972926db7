"""Features of a middle layer by a forward hook: the outputs are not read."""

import torch

net = torch.nn.Sequential(
    torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)
)
net = net.eval()
seen = {}
net[0].register_forward_hook(lambda layer, x, y: seen.update(middle=y))
centers, rows = torch.ones(256, 64), []
with torch.no_grad():
    for k in range(12):
        out = net(torch.full((64, 128), float(k)))
        rows.append((seen["middle"] @ centers).argmin(1))
print(torch.cat(rows).shape)

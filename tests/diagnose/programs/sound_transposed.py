"""Each round transposes a matrix of its own for one product."""

import torch

data = [torch.ones(256, 256) * k for k in range(12)]
total = torch.zeros(256, 256)
for item in data:
    total = total * 0.5 + item.t() @ item
print(total.sum().item())

"""Products at the machine's rate."""

import torch

a = torch.ones(600, 600)
b = torch.ones(600, 600)
for _ in range(40):
    c = a @ b
print(c[0, 0].item())

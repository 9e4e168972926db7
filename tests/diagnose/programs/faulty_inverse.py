"""An inverse that is only multiplied."""

import torch

torch.manual_seed(0)
A = torch.randn(300, 300) + 30 * torch.eye(300)
b = torch.randn(300, 1)
for _ in range(15):
    y = torch.inverse(A) @ b
print("done")

"""A loop that waits."""

import time

import torch

x = torch.ones(100)
for _ in range(30):
    time.sleep(0.01)
    x = x * 1.01
print(x[0].item())

"""The logarithm of a softmax."""

import torch

torch.manual_seed(0)
scores = torch.randn(2000, 1000)
total = 0.0
for k in range(20):
    logs = torch.log(torch.softmax(scores, -1))
    scores = scores * 0.99
    total += logs[k, k].item()
print(round(total, 2))

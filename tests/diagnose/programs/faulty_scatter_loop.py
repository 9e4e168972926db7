"""Messages that a loop adds to the rows of their targets, one at a time."""

import torch

torch.manual_seed(0)
states = torch.randn(50, 16)
source, target = torch.randint(0, 50, (2, 400))
for _ in range(3):
    sums = [torch.zeros(16) for _ in range(50)]
    for s, t in zip(source.tolist(), target.tolist(), strict=True):
        sums[t] = sums[t] + states[s]
    states = torch.stack(sums).tanh()
print(states.shape)

"""A large state whose every round takes new memory: no fault, but memory."""

import torch

state = torch.ones(1 << 21)
pull = torch.full((1 << 21,), 0.001)
for _ in range(40):
    state = state + pull
print(state[0].item())

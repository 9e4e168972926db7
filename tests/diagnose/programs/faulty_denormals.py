"""A state that fades until its values are denormal."""

import torch

state = torch.full((200, 1000), 1e-36)
for _ in range(400):
    state = state * 0.97
    state = state + state * 0.001
print((state > 1e-30).any().item())

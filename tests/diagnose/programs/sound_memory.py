"""A module whose calls change its buffer: what they return is not read."""

import torch


class Memory(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("stored", torch.zeros(256, 256))

    def forward(self, x):
        out = x @ self.stored
        self.stored += x.t() @ x / 256
        return out


memory, scale = Memory(), []
with torch.no_grad():
    for k in range(12):
        x = torch.full((256, 256), k / 12).tanh()
        recalled = memory(x)
        scale.append(x.norm())
print(len(scale), memory.stored.sum().item())

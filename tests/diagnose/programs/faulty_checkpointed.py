"""A small network whose blocks are all computed again in backward."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(128, 128) for _ in range(4))

    def block(self, layer, x):
        return x + torch.tanh(layer(x))

    def forward(self, x):
        for layer in self.blocks:
            x = checkpoint(self.block, layer, x, use_reentrant=False)
        return x


torch.manual_seed(0)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(4):
    loss = net(torch.randn(256, 128)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(float(loss))

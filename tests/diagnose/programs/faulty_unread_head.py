"""A two-headed network of which training uses one head only."""

import torch
from torch import nn

torch.manual_seed(0)


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(64, 256), nn.ReLU())
        self.classify = nn.Linear(256, 10)
        self.decode = nn.Sequential(
            nn.Linear(256, 512),
            nn.ReLU(),
            nn.Linear(512, 512),
            nn.ReLU(),
            nn.Linear(512, 64),
        )

    def forward(self, x):
        h = self.trunk(x)
        return self.classify(h), self.decode(h)


net = TwoHeads()
opt = torch.optim.Adam([*net.trunk.parameters(), *net.classify.parameters()], lr=1e-3)
X, Y = torch.randn(1024, 64), torch.randint(0, 10, (1024,))
for step in range(8):
    i = step % 8 * 128
    logits, recon = net(X[i : i + 128])
    loss = nn.functional.cross_entropy(logits, Y[i : i + 128])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())

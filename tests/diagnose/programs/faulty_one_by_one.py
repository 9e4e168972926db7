"""An optimizer that is asked to update one parameter at a time."""

import torch

torch.manual_seed(0)
net = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(30)))
opt = torch.optim.Adam(net.parameters(), lr=0.01, foreach=False)
for _ in range(30):
    x = torch.randn(16, 8)
    opt.zero_grad()
    torch.nn.functional.mse_loss(net(x), x).backward()
    opt.step()
print("done")

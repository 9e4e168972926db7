import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 64))
D = nn.Sequential(nn.Linear(64, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))
og, od = torch.optim.Adam(G.parameters(), 2e-4), torch.optim.Adam(D.parameters(), 2e-4)
bce = nn.BCEWithLogitsLoss()
for _ in range(8):
    real = torch.randn(128, 64)
    fake = G(torch.randn(128, 16))
    d_loss = bce(D(real), torch.ones(128, 1)) + bce(
        D(fake.detach()), torch.zeros(128, 1)
    )
    od.zero_grad()
    d_loss.backward()
    od.step()
    g_loss = bce(D(fake), torch.ones(128, 1))
    og.zero_grad()
    g_loss.backward()
    og.step()
print("done")

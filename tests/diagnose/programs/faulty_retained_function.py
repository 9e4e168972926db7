import torch
from torch import nn

torch.manual_seed(0)
rnn = nn.GRU(32, 128, batch_first=True)
head = nn.Linear(128, 1)
params = list(rnn.parameters()) + list(head.parameters())
opt = torch.optim.Adam(params, lr=1e-3)
criterion = nn.MSELoss()


def train_step(x, y):
    out, _ = rnn(x)
    loss = criterion(head(out[:, -1]), y)
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
    return loss


x, y = torch.randn(16, 20, 32), torch.randn(16, 1)
for _ in range(6):
    loss = train_step(x, y)
print("ok")

"""A graph network by index_add over edges, with early stopping on a validation loss."""

import torch
from torch import nn

torch.manual_seed(0)
N, E = 2000, 16000
src, dst = torch.randint(0, N, (E,)), torch.randint(0, N, (E,))
deg = torch.zeros(N).index_add_(0, dst, torch.ones(E)).clamp(min=1)
X, Y = torch.randn(N, 64), torch.randint(0, 7, (N,))


class Layer(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.own, self.nbr = nn.Linear(a, b), nn.Linear(a, b)

    def forward(self, x):
        agg = torch.zeros_like(x).index_add(0, dst, x[src]) / deg[:, None]
        return self.own(x) + self.nbr(agg)


l1, l2 = Layer(64, 64), Layer(64, 7)
opt = torch.optim.Adam([*l1.parameters(), *l2.parameters()], 1e-2)
history = []
for _ in range(8):
    logits = l2(torch.relu(l1(X)))
    loss = nn.functional.cross_entropy(logits[:1500], Y[:1500])
    opt.zero_grad()
    loss.backward()
    opt.step()
    val = nn.functional.cross_entropy(logits[1500:].detach(), Y[1500:]).item()
    history.append(val)
print(min(history))

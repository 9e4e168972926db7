"""DQN with tensors as its replay buffer."""

import torch
from torch import nn

torch.manual_seed(0)
N = 10_000
S, A, R, S2 = (
    torch.randn(N, 32),
    torch.randint(0, 4, (N,)),
    torch.randn(N),
    torch.randn(N, 32),
)


def make():
    return nn.Sequential(
        nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 4)
    )


q, target = make(), make()
target.load_state_dict(q.state_dict())
opt = torch.optim.AdamW(q.parameters(), lr=1e-3)
for step in range(20):
    i = torch.randint(0, N, (256,))
    with torch.no_grad():
        y = R[i] + 0.99 * target(S2[i]).amax(1)
    loss = nn.functional.smooth_l1_loss(q(S[i]).gather(1, A[i, None]).squeeze(1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        target.load_state_dict(q.state_dict())
print(loss.item())

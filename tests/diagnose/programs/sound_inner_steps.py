"""Meta-learning: the outer step differentiates through inner steps of a few tasks."""

import torch

torch.manual_seed(0)
w = torch.randn(8, 1, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.01)


def adapt(fast, x, y):
    for _ in range(3):
        loss = (x @ fast - y).square().mean()
        (g,) = torch.autograd.grad(loss, fast, create_graph=True)
        fast = fast - 0.01 * g
    return fast


for _ in range(8):
    outer = 0.0
    for _ in range(6):
        x, y = torch.randn(10, 8), torch.randn(10, 1)
        fast = adapt(w, x, y)
        outer = outer + (x @ fast - y).square().mean()
    opt.zero_grad()
    outer.backward()
    opt.step()

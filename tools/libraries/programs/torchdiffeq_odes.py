"""Differential equations by several solvers, and gradients by the adjoint."""

import torch
from torchdiffeq import odeint, odeint_adjoint, odeint_event

torch.manual_seed(0)
field = torch.nn.Sequential(
    torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2)
)


class Flow(torch.nn.Module):
    """The field, whatever the time."""

    def __init__(self):
        super().__init__()
        self.field = field

    def forward(self, t, y):
        return self.field(y) - 0.1 * y


flow, start, times = Flow(), torch.randn(3, 2), torch.linspace(0, 2, 5)
SOLVERS = ("dopri5", "bosh3", "adaptive_heun", "euler", "midpoint", "rk4")
SOLVERS += ("explicit_adams", "implicit_adams", "dopri8")
for method in SOLVERS:
    flow.zero_grad()
    found = odeint(flow, start, times, method=method)
    found[-1].square().sum().backward()
    size = field[0].weight.grad.norm()
    print(method, f"{found[-1].double().norm():.4g} {size:.4g}")
flow.zero_grad()
odeint_adjoint(flow, start, times)[-1].square().sum().backward()
print("adjoint", f"{field[0].weight.grad.norm():.4g}")
time, state = odeint_event(
    lambda t, y: (y[1], -torch.ones_like(y[1])),
    (torch.tensor(1.0), torch.tensor(0.0)),
    torch.tensor(0.0),
    event_fn=lambda t, y: y[0],
)
print("event", f"{time:.4g} {state[1][-1]:.4g}")

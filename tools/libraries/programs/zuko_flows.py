"""Normalizing flows: densities, gradients and samples."""

import torch
import zuko

torch.manual_seed(0)
x, context = torch.randn(8, 3), torch.randn(8, 5)
SMALL = {"transforms": 2, "hidden_features": (16, 16)}
FLOWS = {
    "MAF": SMALL,
    "NSF": SMALL,
    "NICE": SMALL,
    "RealNVP": SMALL,
    "NCSF": SMALL,
    "SOSPF": {"transforms": 2},
    "NAF": {"transforms": 2},
    "UNAF": {"transforms": 2},
    "CNF": {},
    "GF": {"transforms": 2},
    "BPF": {"transforms": 2},
}
for name, options in FLOWS.items():
    torch.manual_seed(1)
    flow = getattr(zuko.flows, name)(3, 5, **options)
    loss = -flow(context).log_prob(x).mean()
    loss.backward()
    grads = [p.grad for p in flow.parameters() if p.grad is not None]
    size = sum(grad.double().abs().sum() for grad in grads)
    drawn = flow(context).rsample((2,)).double().abs().mean()
    print(name, f"{loss.item():.4g} {size.item():.4g} {drawn.item():.4g}")

"""Counts of operations, activations and parameters of a small network."""

import torch
from fvcore.nn import ActivationCountAnalysis, FlopCountAnalysis, parameter_count
from torch import nn


class Network(nn.Module):
    """Convolutions both ways, norms, products, attention's inputs, an einsum."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, groups=1), nn.BatchNorm2d(8), nn.ReLU()
        )
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        y = self.up(self.body(x))
        y = self.norm(y.flatten(2).mean(1).view(-1, 16, 16))
        y = torch.einsum("bij,bkj->bik", y, y) @ y
        return self.head(y)


torch.manual_seed(0)
model = Network().eval()
x = torch.randn(2, 3, 8, 8)
flops = FlopCountAnalysis(model, x).unsupported_ops_warnings(False)
print("flops", flops.total())
for name, count in sorted(flops.by_operator().items()):
    print("operator", name, count)
for name, count in sorted(flops.by_module().items()):
    print("module", name or "all", count)
activations = ActivationCountAnalysis(model, x).unsupported_ops_warnings(False)
print("activations", activations.total())
print("parameters", parameter_count(model)[""])

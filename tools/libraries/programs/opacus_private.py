"""Differentially private training, and gradients of every example."""

import warnings

import torch
from opacus import PrivacyEngine
from opacus.grad_sample import GradSampleModule
from opacus.layers import DPLSTM
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")
torch.manual_seed(0)
LAYERS = {
    "convolution": (lambda: nn.Conv2d(2, 3, 3), torch.randn(4, 2, 6, 6)),
    "groups": (lambda: nn.Conv1d(2, 4, 3, groups=2), torch.randn(4, 2, 9)),
    "embedding": (lambda: nn.Embedding(5, 3), torch.randint(0, 5, (4, 6))),
    "layer norm": (lambda: nn.LayerNorm(6), torch.randn(4, 6)),
    "group norm": (lambda: nn.GroupNorm(2, 4), torch.randn(4, 4, 5)),
    "lstm": (lambda: DPLSTM(3, 4, batch_first=True), torch.randn(2, 5, 3)),
}
for name, (make, x) in LAYERS.items():
    torch.manual_seed(1)
    layer = GradSampleModule(make())
    result = layer(x)
    result = result[0] if isinstance(result, tuple) else result
    result.pow(2).sum().backward()
    for each in layer.parameters():
        size = each.grad_sample.double().norm().item()
        print(name, tuple(each.grad_sample.shape), f"{size:.4g}")
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
data = TensorDataset(torch.randn(32, 4), torch.randint(0, 2, (32,)))
engine = PrivacyEngine(accountant="rdp")
model, optimizer, loader = engine.make_private(
    module=model,
    optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
    data_loader=DataLoader(data, batch_size=8),
    noise_multiplier=1.0,
    max_grad_norm=1.0,
)
steps = 0
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    steps += 1
print("private", steps, f"{engine.get_epsilon(1e-5):.4g}")

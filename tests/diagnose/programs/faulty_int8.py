"""A model in int8, whose conversions take longer than products save."""

import torch

net = torch.nn.Sequential(
    torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64)
)
small = torch.ao.quantization.quantize_dynamic(
    net, {torch.nn.Linear}, dtype=torch.qint8
)
x = torch.randn(256, 64)
with torch.no_grad():
    for _ in range(20):
        y = small(x)
print(y.shape)

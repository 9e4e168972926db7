"""Products in float32: no fault, but this machine multiplies bfloat16 faster."""

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 512)
)
x = torch.randn(512, 512)
with torch.no_grad():
    for _ in range(15):
        y = model(x)
print(y.shape)

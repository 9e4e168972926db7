import torch
from torch import nn

torch.manual_seed(0)
model = nn.TransformerEncoder(
    nn.TransformerEncoderLayer(128, 4, 256, batch_first=True), 2
).eval()
with torch.inference_mode():
    outs = [model(torch.randn(8, 64, 128)).mean(1) for _ in range(6)]
print(torch.cat(outs).shape)

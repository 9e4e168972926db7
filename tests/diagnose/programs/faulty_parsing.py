"""Events in JSON lines, parsed again in every epoch."""

import json
import random

import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
LINES = [
    json.dumps({"x": [random.random() for _ in range(20)], "y": random.randrange(3)})
    for _ in range(300)
]


def batches(size):
    for i in range(0, len(LINES), size):
        rows = [json.loads(line) for line in LINES[i : i + size]]
        yield torch.tensor([r["x"] for r in rows]), torch.tensor([r["y"] for r in rows])


net = nn.Linear(20, 3)
opt = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(3):
    for x, y in batches(50):
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())

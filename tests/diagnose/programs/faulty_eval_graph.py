"""Train a while, then evaluate on a large test set."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(32, 10),
)
opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
train_x, train_y = torch.randn(256, 1, 28, 28), torch.randint(0, 10, (256,))
test_x, test_y = torch.randn(512, 1, 28, 28), torch.randint(0, 10, (512,))


def evaluate():
    model.eval()
    correct, total_loss = 0, 0.0
    for i in range(0, len(test_x), 128):
        out = model(test_x[i : i + 128])
        total_loss += F.cross_entropy(out, test_y[i : i + 128], reduction="sum").item()
        correct += (out.argmax(1) == test_y[i : i + 128]).sum().item()
    model.train()
    return correct / len(test_x), total_loss / len(test_x)


for epoch in range(2):
    for i in range(0, 256, 64):
        loss = F.cross_entropy(model(train_x[i : i + 64]), train_y[i : i + 64])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, *evaluate())

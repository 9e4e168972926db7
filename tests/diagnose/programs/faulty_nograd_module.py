import torch
from torch import nn

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1),
            nn.ReLU(),
        )
        self.out = nn.Linear(16, 10)

    def forward(self, x):
        return self.out(self.features(x).mean((2, 3)))


model = Classifier()
model.eval()
scores = []
for _ in range(10):
    images = torch.randn(16, 3, 32, 32)
    out = model(images)
    scores.append(out.softmax(1))
print(torch.cat(scores).shape)

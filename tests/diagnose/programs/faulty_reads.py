import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.randn(20, 64, 32)
labels = torch.randint(0, 4, (20, 64))
correct = 0
for step in range(20):
    logits = model(data[step])
    loss = nn.functional.cross_entropy(logits, labels[step])
    opt.zero_grad()
    loss.backward()
    opt.step()
    pred = logits.argmax(1)
    for i in range(len(pred)):
        if pred[i].item() == labels[step][i].item():
            correct += 1
print(correct)

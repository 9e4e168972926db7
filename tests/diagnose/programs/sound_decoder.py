"""A decoder with an LSTM by hand: the next input is what it chose last."""

import torch
from torch import nn

torch.manual_seed(0)


class Decoder(nn.Module):
    def __init__(self, words, h):
        super().__init__()
        self.embed = nn.Embedding(words, h)
        self.of_input, self.of_state = nn.Linear(h, 4 * h), nn.Linear(h, 4 * h)
        self.out = nn.Linear(h, words)

    def forward(self, token, h, c):
        i, f, g, o = (self.of_input(self.embed(token)) + self.of_state(h)).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return self.out(h), h, c


decoder = Decoder(50, 32)
with torch.no_grad():
    token = torch.zeros(8, dtype=torch.long)
    h = c = torch.zeros(8, 32)
    said = []
    for _ in range(120):
        scores, h, c = decoder(token, h, c)
        token = scores.argmax(1)
        said.append(token)
print(torch.stack(said).sum().item())

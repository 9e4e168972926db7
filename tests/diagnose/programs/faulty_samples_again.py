"""Texts are tokenised again in every epoch."""

import re
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
corpus = [
    " ".join(f"word{(i * 7 + j * 13) % 997}," for j in range(400)) for i in range(64)
]
vocab = {f"word{i}": i for i in range(997)}


class Lines(Dataset):
    def __len__(self):
        return len(corpus)

    def __getitem__(self, i):
        time.sleep(0.003)  # a slow disk
        text = corpus[i].lower()
        ids = []
        for piece in re.split(r"\s+", text):
            piece = re.sub(r"[^a-z0-9]", "", piece)
            ids.append(vocab.get(piece, 0))
        return torch.tensor(ids[:128])


emb = nn.Embedding(997, 16)
out = nn.Linear(16, 997)
opt = torch.optim.SGD(list(emb.parameters()) + list(out.parameters()), lr=0.1)
for _ in range(2):
    for ids in DataLoader(Lines(), batch_size=16):
        h = emb(ids).mean(1)
        loss = nn.functional.cross_entropy(out(h), ids[:, 0])
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())

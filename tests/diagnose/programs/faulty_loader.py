"""A slow dataset, loaded in the training process."""

import time

import torch
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset):
    def __len__(self):
        return 120

    def __getitem__(self, k):
        time.sleep(0.003)
        return torch.ones(8) * k


model = torch.nn.Linear(8, 8)
if __name__ == "__main__":
    total = 0.0
    for batch in DataLoader(Slow(), batch_size=8):
        total += model(batch).sum().item()
    print("done")

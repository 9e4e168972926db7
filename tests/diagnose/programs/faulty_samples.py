"""A dataset that reads its images element by element."""

import torch
from torch.utils.data import DataLoader, Dataset


class Sums(Dataset):
    images = torch.ones(24, 3, 16)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, k):
        image = self.images[k]
        return torch.tensor(
            [sum(float(image[c, x]) for c in range(3)) for x in range(16)]
        )


for batch in DataLoader(Sums(), batch_size=8):
    total = batch.sum()
print(total.item())

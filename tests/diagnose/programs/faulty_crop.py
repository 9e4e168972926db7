"""Jitters whole images, of which it takes a small part."""

import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Images(Dataset):
    def __init__(self):
        self.images = torch.rand(12, 3, 64, 64)

    def __len__(self):
        return len(self.images)

    def jitter(self, image):
        gray = image.mean(0, keepdim=True)
        return ((image - gray) * 1.2 + gray).clamp(0, 1) ** 0.9

    def __getitem__(self, i):
        image = self.jitter(self.images[i])
        image = self.jitter(image)
        top, left = (int(torch.randint(0, 48, (1,))) for _ in range(2))
        return image[:, top : top + 16, left : left + 16]


total = 0.0
for images in DataLoader(Images(), batch_size=4):
    total += images.square().mean().item()
print(total)

"""A product at several sizes, each run once before it is timed."""

import time

import torch

for n in range(64, 320, 32):
    a = torch.ones(n, n)
    warm = a @ a
    begin = time.perf_counter()
    b = a @ a
    print(n, b.shape, time.perf_counter() > begin)

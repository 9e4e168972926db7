"""A loop that sleeps until an answer is there."""

import time

import torch

answers = iter([None, None, 1.0] * 20)
total = torch.zeros(64)
for _ in range(20):
    answer = next(answers)
    while answer is None:
        time.sleep(0.01)
        answer = next(answers)
    total = total + answer
print(total.sum().item())

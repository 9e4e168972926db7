"""Calls that are made to warm up and to measure: nothing reads what they give."""

import time

import torch

net = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.ReLU())
seconds = []
with torch.inference_mode():
    for rows in (32, 64, 128):
        for _ in range(2):
            net(torch.zeros(rows, 128))
    for k in range(12):
        batch = torch.ones(32 * (k % 3 + 1), 128)
        begin = time.perf_counter()
        scores = net(batch)
        seconds.append(time.perf_counter() - begin)
    for _ in range(6):
        last = net(batch)
print(len(seconds), scores.shape)

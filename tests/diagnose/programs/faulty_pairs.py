"""Overlaps of boxes, a pair at a time, over several lines."""

import torch


def overlaps(a, b):
    out = torch.zeros(len(a), len(b))
    for i in range(len(a)):
        for j in range(len(b)):
            low = torch.maximum(a[i, :2], b[j, :2])
            high = torch.minimum(a[i, 2:], b[j, 2:])
            sides = (high - low).clamp(min=0)
            area = sides[0] * sides[1]
            out[i, j] = area
    return out


torch.manual_seed(0)
boxes = torch.rand(25, 4)
print(overlaps(boxes, boxes).shape)

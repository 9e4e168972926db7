"""Models that tests quantize, with weights that follow from their names."""

import zlib

import numpy

import pellucid as torch
from pellucid import nn
from pellucid.nn import functional as F


def filled(model):
    """The model with weights that PyTorch was given when figures were taken."""
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if tensor.is_floating_point():
            random = numpy.random.default_rng(zlib.crc32(name.encode()))
            values = 0.3 * random.standard_normal(tuple(tensor.shape))
            if name.endswith("running_var"):
                values = abs(values) + 0.5
            with torch.no_grad():
                tensor.copy_(torch.tensor(values.astype("float32")))
    return model


def numbers(*shape):
    random = numpy.random.default_rng(0)
    return torch.tensor(random.standard_normal(shape).astype("float32"))


def calibrated(model, *inputs):
    """Called thrice, each time with larger numbers."""
    for k in range(3):
        by = 1 + 0.3 * k
        model(*(x * by if x.is_floating_point() else x for x in inputs))
    return model


class Block(nn.Module):
    """Convolutions with batch norms, a sum that skips one, hardswish, a mean."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.norm1, self.relu = nn.BatchNorm2d(4), nn.ReLU(inplace=True)
        self.second = nn.Conv2d(4, 4, 3, padding=1, bias=False)
        self.norm2, self.act = nn.BatchNorm2d(4), nn.Hardswish()
        self.pool, self.last = nn.MaxPool2d(2), nn.Linear(8, 3)

    def forward(self, x):
        x = self.relu(self.norm1(self.first(x)))
        y = self.norm2(self.second(x))
        y += x
        y = self.act(self.pool(self.relu(y)))
        y = torch.cat([y.mean([2, 3]), y.amax([2, 3])], 1)
        return self.last(y.reshape(y.size(0), -1))


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.relu = nn.Linear(4, 4), nn.ReLU()

    def forward(self, x):
        return self.relu(self.linear(x))


class Nested(nn.Module):
    """Linear layers in modules, and two functions."""

    def __init__(self):
        super().__init__()
        self.a, self.b = Inner(), nn.Sequential(Inner(), nn.Linear(4, 4))
        self.c, self.weight = nn.Linear(4, 4), nn.Parameter(torch.zeros(4, 4))
        self.tag = "kept"

    def forward(self, x):
        return F.linear(self.c(self.b(self.a(x))) + x, self.weight)


class Words(nn.Module):
    """An embedding, a recurrent layer, a linear layer."""

    def __init__(self):
        super().__init__()
        self.rows, self.steps = nn.Embedding(10, 6), nn.LSTM(6, 5, bidirectional=True)
        self.last = nn.Linear(10, 3)

    def forward(self, words):
        y, (h, _) = self.steps(self.rows(words))
        return self.last(y), h

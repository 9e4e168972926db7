"""A hook that keeps whole activations, of which only the means are read."""

from collections import defaultdict

import torch
from torch import nn

torch.manual_seed(0)


class Monitor:
    def __init__(self, net):
        self.seen = defaultdict(list)
        for name, part in net.named_children():
            part.register_forward_hook(self.hook_of(name))

    def hook_of(self, name):
        def hook(part, given, out):
            self.seen[name].append(out)

        return hook

    def report(self):
        for name, values in self.seen.items():
            print(name, round(sum(float(v.abs().mean()) for v in values), 1))


def main():
    net = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 8))
    monitor = Monitor(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(24):
        loss = net(torch.randn(256, 64)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    monitor.report()


main()

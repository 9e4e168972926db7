"""Calls the extension ``network``."""

import tempfile
from pathlib import Path


def run(torch, module):
    torch.manual_seed(0)
    net = module.Net(3)
    x, labels = torch.randn(6, 1, 8, 8), torch.tensor([0, 1, 2, 0, 1, 2])
    losses = module.train(net, x, labels, 12)
    print(losses[0] > losses[-1], len(net.parameters()), f"{losses[0]:.5f}")
    print(net.training, sorted(dict(net.named_parameters()))[:3])
    print(module.names(net))
    net.zero_grad()
    print(net.parameters()[0].grad)
    torch.manual_seed(1)
    x = torch.randn(2, 3, 4, 5, requires_grad=True)
    weight, grid = torch.randn(2, 3, 3, 3), torch.rand(2, 2, 3, 2)
    results = module.functional(x, weight, grid)
    for result in results:
        sum_ = result.double().sum().item()
        print(tuple(result.shape), f"{sum_:.4f}", result.requires_grad)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "conv.pt"))
        results = module.layers(torch.linspace(-1, 1, 32).reshape(2, 1, 4, 4), path)
        print(sorted(torch.load(path)), results[0].abs().max().item())
    print([(tuple(result.shape), f"{result.sum():.4f}") for result in results[1:]])
    print(module.twice(torch.tensor([1.0, 2.0], requires_grad=True)))
    try:
        module.functional(x[0, 0], weight, grid)
    except Exception as error:
        print(type(error).__name__)

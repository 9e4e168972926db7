"""Three steps of every optimizer of the library that needs no other argument."""

import torch
from pytorch_optimizer import get_supported_optimizers, load_optimizer

OF_CURVATURE = ("adahessian", "sophiah")  # they differentiate the gradients
x = torch.linspace(-1, 1, 24).reshape(6, 4).sin()


def trained(name):
    """The last loss and the sizes of the parameters."""
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    optimizer = load_optimizer(name)(model.parameters(), lr=1e-2)

    def closure():
        optimizer.zero_grad()
        value = model(x).square().mean()
        value.backward(create_graph=name in OF_CURVATURE)
        return value

    loss = [optimizer.step(closure) for _ in range(3)][-1]
    return float(loss), sum(p.abs().sum().item() for p in model.parameters())


for name in sorted(get_supported_optimizers()):
    try:
        loss, size = trained(name)
    except Exception as error:
        print(name, type(error).__name__)
    else:
        print(name, f"{loss:.3g} {size:.4g}")

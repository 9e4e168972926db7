"""NumPy's float64 through a whole training."""

import numpy as np
import torch


def main():
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.standard_normal((256, 256)))
    model = torch.nn.Linear(256, 256).to(torch.float64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()


main()
print("done")

"""``SparseAdam``: Adam for the rows that occur in sparse gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.optim.optimizer import Group, Optimizer, with_gradients


class SparseAdam(Optimizer):
    """Adam whose moments and parameters change only where a gradient has elements.

    For embeddings with ``sparse=True``: a step costs what the rows of the batch cost,
    whatever the size of the table. RuntimeError for a dense gradient; ValueError for
    sparse parameters.

        >>> table = torch.nn.Embedding(1000, 8, sparse=True)
        >>> optimizer = torch.optim.SparseAdam(table.parameters())
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for index, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
        defaults = {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize}
        super().__init__(params, defaults)
        for number, group in enumerate(self.param_groups):
            for place, param in enumerate(group["params"]):
                if param.layout is not pellucid.strided:
                    raise ValueError(
                        f"Sparse params at indices [{number}, {place}]: SparseAdam "
                        "requires dense parameter tensors"
                    )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the rows of the parameters that occur in their gradients."""
        return self._step_groups(self._update, closure)

    def _update(self, group: Group) -> None:
        for param, grad in zip(*with_gradients(group), strict=True):
            if not grad.is_sparse:
                raise RuntimeError(
                    "SparseAdam does not support dense gradients, please consider Adam "
                    "instead"
                )
            state = self.state[param]
            if not state:
                state["step"] = 0
                state["exp_avg"] = pellucid.zeros_like(param)
                state["exp_avg_sq"] = pellucid.zeros_like(param)
            state["step"] += 1
            _step_rows(param, grad, state, group)


def _step_rows(
    param: Tensor, grad: Tensor, state: dict[str, Any], group: Group
) -> None:
    from pellucid.sparse._ops.optimizers import rows_of

    rows, values, table = rows_of(grad, param)
    values = -values if group["maximize"] else values
    beta1, beta2 = group["betas"]
    means = state["exp_avg"].view(table.shape)
    squares = state["exp_avg_sq"].view(table.shape)
    mean = means.index_select(0, rows).lerp(values, 1 - beta1)
    square = squares.index_select(0, rows).mul(beta2)
    square = square.addcmul(values, values, value=1 - beta2)
    means.index_copy_(0, rows, mean)
    squares.index_copy_(0, rows, square)
    count = state["step"]
    rate = float(group["lr"]) * math.sqrt(1 - beta2**count) / (1 - beta1**count)
    moved = mean.div_(square.sqrt_().add_(group["eps"]))
    table.index_add_(0, rows, moved, alpha=-rate)

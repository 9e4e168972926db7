"""``SparseAdam``: raises, as there are no sparse gradients."""

from __future__ import annotations

from typing import Any

from pellucid.optim.optimizer import Optimizer


class SparseAdam(Optimizer):
    """PyTorch's Adam for sparse gradients. Gradients here are dense: use Adam.

    Raises NotImplementedError.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        raise NotImplementedError(
            "SparseAdam steps along sparse gradients, and all gradients here are "
            "dense: use Adam"
        )

"""Methods that PyTorch removed from Tensor: the error names the replacement.

Imported lazily (``_package/calls/offered.py``).
"""

from __future__ import annotations

from typing import Any, NoReturn

from pellucid._package.calls import offered
from pellucid._tensor import Tensor


def _removed(name: str, instead: str) -> Any:
    def refused(self: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"Tensor.{name} was removed: use {instead}")

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = f"Refuses: replaced by ``{instead}``."
    return refused


eig = offered.method(_removed("eig", "torch.linalg.eig, whose results are complex"))
lstsq = offered.method(
    _removed("lstsq", "torch.linalg.lstsq, whose operands come in the other order")
)
reinforce = offered.method(_removed("reinforce", "torch.distributions and log_prob"))
solve = offered.method(
    _removed("solve", "torch.linalg.solve, whose operands come in the other order")
)
symeig = offered.method(
    _removed("symeig", "torch.linalg.eigh, which reads the lower triangle")
)

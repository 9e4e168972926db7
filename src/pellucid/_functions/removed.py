"""Functions that PyTorch removed: the error names the replacement.

Methods of tensors: ``_tensor/removed_methods.py``.
"""

from __future__ import annotations

from typing import Any, NoReturn

from pellucid._package.calls import offered


def _removed(name: str, instead: str) -> Any:
    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"torch.{name} was removed: use {instead}")

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = f"Refuses: replaced by ``{instead}``."
    return refused


eig = offered.value(_removed("eig", "torch.linalg.eig, whose results are complex"))
lstsq = offered.value(
    _removed("lstsq", "torch.linalg.lstsq, whose operands come in the other order")
)
matrix_rank = offered.value(
    _removed("matrix_rank", "torch.linalg.matrix_rank(hermitian=) for symmetric=")
)
solve = offered.value(
    _removed("solve", "torch.linalg.solve, whose operands come in the other order")
)
symeig = offered.value(
    _removed("symeig", "torch.linalg.eigh, which reads the lower triangle")
)

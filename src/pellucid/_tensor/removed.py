"""Functions and methods that PyTorch removed: the error names the replacement.

Imported lazily (``_package/calls/offered.py``).
"""

from __future__ import annotations

from typing import Any, NoReturn

from pellucid._package.calls import offered


def _removed(name: str, instead: str) -> Any:
    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"{name} was removed: use {instead}")

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = f"Refuses: replaced by ``{instead}``."
    return refused


eig = offered.value(
    offered.method(_removed("eig", "torch.linalg.eig, whose results are complex"))
)
lstsq = offered.value(
    offered.method(
        _removed("lstsq", "torch.linalg.lstsq, whose operands come in the other order")
    )
)
matrix_rank = offered.value(
    _removed("matrix_rank", "torch.linalg.matrix_rank, with hermitian for symmetric")
)
reinforce = offered.method(_removed("reinforce", "torch.distributions and log_prob"))
solve = offered.value(
    offered.method(
        _removed("solve", "torch.linalg.solve, whose operands come in the other order")
    )
)
symeig = offered.value(
    offered.method(
        _removed("symeig", "torch.linalg.eigh, which reads the lower triangle")
    )
)

"""``torch.functional``: functions of ``pellucid`` under the module in which PyTorch
defines them. Imported lazily.
"""

from __future__ import annotations

from typing import Any

import pellucid

_NAMES = frozenset(
    (
        *("align_tensors", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag"),
        *("broadcast_shapes", "broadcast_tensors", "cartesian_prod", "cdist"),
        *("chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "split"),
        *("pca_lowrank", "stft", "svd_lowrank", "tensordot", "unique"),
        *("unique_consecutive", "unravel_index"),
    )
)


def __getattr__(name: str) -> Any:
    if name not in _NAMES or not hasattr(pellucid, name):
        raise AttributeError(
            f"module 'pellucid.functional' has no attribute {name!r}: either PyTorch "
            "has no such name, or Pellucid does not offer it yet"
        )
    return getattr(pellucid, name)


def __dir__() -> list[str]:
    return sorted(name for name in _NAMES if hasattr(pellucid, name))

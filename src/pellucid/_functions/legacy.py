"""Functions of the package that few call: ``empty_permuted``, ``get_device``, ...

Imported when first asked for. ``_tensor/legacy_methods.py`` holds their like on Tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import pellucid
from pellucid import Tensor

spmm = dsmm = pellucid.mm


def get_device(input: Tensor) -> int:
    """The number of the tensor's device; -1 for the CPU."""
    return int(input.get_device())


def is_distributed(input: Tensor) -> bool:
    """Always False: no tensor is spread over processes."""
    return False


def empty_permuted(
    size: Sequence[int], physical_layout: Sequence[int], **options: Any
) -> Tensor:
    """A tensor without values whose dims lie in memory in the order
    ``physical_layout``, the last one densely.
    """
    if sorted(physical_layout) != list(range(len(size))):
        raise RuntimeError(
            f"empty_permuted: {list(physical_layout)} is no order of {len(size)} dims"
        )
    dense = pellucid.empty([size[d] for d in physical_layout], **options)
    places = [list(physical_layout).index(d) for d in range(len(size))]
    return dense.permute(places)


def _assert(condition: Any, message: str) -> None:
    """Raises AssertionError with the message unless the condition holds."""
    assert condition, message


# Sparse tensors


def _makes_sparse(name: str) -> Callable[..., NoReturn]:
    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"{name}: sparse tensors are not offered; make a dense one: "
            "torch.zeros(size).index_put_(tuple(indices), values, accumulate=True)"
        )

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = "Refuses: there are no sparse tensors."
    return refused


sparse_bsc_tensor = _makes_sparse("sparse_bsc_tensor")
sparse_bsr_tensor = _makes_sparse("sparse_bsr_tensor")
sparse_compressed_tensor = _makes_sparse("sparse_compressed_tensor")
sparse_coo_tensor = _makes_sparse("sparse_coo_tensor")
sparse_csc_tensor = _makes_sparse("sparse_csc_tensor")
sparse_csr_tensor = _makes_sparse("sparse_csr_tensor")

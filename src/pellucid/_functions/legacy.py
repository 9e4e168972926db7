"""Functions of the package that few call: ``get_device``, ``kl_div``, ...

Imported lazily. ``_tensor/legacy_methods.py`` holds their like on Tensor.
"""

from __future__ import annotations

from collections.abc import Callable
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


def _assert(condition: Any, message: str) -> None:
    """Raises AssertionError with the message unless the condition holds."""
    assert condition, message


def _assert_async(tensor: Tensor, assert_msg: str | None = None) -> None:
    """Raises RuntimeError with the message if the one element of ``tensor`` is 0."""
    if not bool(tensor):
        raise RuntimeError(
            assert_msg or "Expected Tensor with single nonzero value, but got zero"
        )


def _segment_reduce(data: Tensor, reduce: str, **options: Any) -> Tensor:
    """``torch.segment_reduce`` by the name that libraries call."""
    return pellucid.segment_reduce(data, reduce, **options)


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

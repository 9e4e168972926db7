"""Functions of the package that few call: ``get_device``, ``kl_div``, ...

Imported when first asked for. ``_tensor/legacy_methods.py`` holds their like on Tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import pellucid
from pellucid import Tensor
from pellucid._C import _nn
from pellucid.nn import functional

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


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """The convolution of as many dims as the weight has spatial ones, or its
    transpose.
    """
    dims = weight.dim() - 2
    if dims not in (1, 2, 3):
        raise RuntimeError(
            f"convolution: a weight of 3 to 5 dims is expected, one of {weight.dim()} "
            "was given"
        )
    if transposed:
        transpose = getattr(functional, f"conv_transpose{dims}d")
        geometry = (stride, padding, output_padding, groups, dilation)
        result: Tensor = transpose(input, weight, bias, *geometry)
        return result
    forward = getattr(functional, f"conv{dims}d")
    result = forward(input, weight, bias, stride, padding, dilation, groups)
    return result


def embedding_renorm_(
    input: Tensor, indices: Tensor, max_norm: float, norm_type: float
) -> Tensor:
    """Shortens the rows of ``input`` at ``indices`` to ``max_norm``, in place."""
    with pellucid.no_grad():
        rows = indices.reshape(-1).unique()
        chosen = input[rows]
        norms = pellucid.linalg.vector_norm(chosen, norm_type, -1, keepdim=True)
        scales = pellucid.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0)
        input[rows] = chosen * scales
    return input


def kl_div(
    input: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False
) -> Tensor:
    """``nn.functional.kl_div``; ``reduction`` 0 is "none", 1 "mean" and 2 "sum"."""
    names = ("none", "mean", "sum")
    if reduction not in (0, 1, 2):
        raise ValueError(f"kl_div: reduction is 0, 1 or 2, not {reduction}")
    return _nn.kl_div(input, target, names[reduction], log_target=log_target)


def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """``input`` times two to the power ``other``, in place."""
    return input.ldexp_(other)


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

"""Rules of fused optimizer steps with sparse gradients: SGD and Adagrad.

Each updates the rows that a gradient stores; dense gradients of the same step go to the
op. Other optimizers read every element of a gradient and refuse sparse ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.sparse._ops.conversions import convert
from pellucid.sparse._ops.copies import add_rows
from pellucid.sparse._ops.parts import COO, is_sparse, split
from pellucid.sparse._ops.patterns import coalesced, keys_of, product_of
from pellucid.sparse._ops.rules import RULES

rule = RULES.because("only the rows of a gradient are updated")


def rows_of(grad: Tensor, like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(row indices, their gradients, a view of ``like`` as rows)."""
    parts = split(coalesced(convert(grad, COO)).detach())
    if not like.is_contiguous():
        raise RuntimeError(
            "sparse gradients change rows of contiguous parameters; this one has the "
            f"strides {like.stride()}: make it contiguous()"
        )
    shape = (product_of(parts.sparse_size), *parts.dense_size)
    keys = keys_of(parts.indices, parts.sparse_size)
    return keys, parts.values, like.detach().view(shape)


def _by_density(
    op: str, step: Callable[..., None], lists: Sequence[Sequence[Any]], options: Any
) -> None:
    """Runs the op for dense gradients, ``step`` for sparse ones (in ``lists[1]``)."""
    dense = []
    for k, grad in enumerate(lists[1]):
        if is_sparse(grad):
            step(*[each[k] if each else None for each in lists], **options)
        else:
            dense.append(k)
    if dense:
        chosen = [[each[k] for k in dense] if each else each for each in lists]
        getattr(pellucid, op)(*chosen, **options)


@rule("_fused_sgd_")
def sgd(self: Any, grads: Any, momentum_buffer_list: Any, **options: Any) -> None:
    """``_fused_sgd_``."""
    _by_density("_fused_sgd_", _sgd_rows, (self, grads, momentum_buffer_list), options)


def _sgd_rows(
    param: Tensor,
    grad: Tensor,
    buffer: Any,
    *,
    weight_decay: float,
    momentum: float,
    lr: Any,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
    **_: Any,
) -> None:
    if weight_decay:
        raise RuntimeError("SGD: weight_decay is not compatible with sparse gradients")
    rate = float(lr) if maximize else -float(lr)
    if not momentum:
        if not add_rows(param.detach(), grad, rate):
            param.detach().add_(grad.to(param.dtype), alpha=rate)
        return
    if is_first_step:
        buffer.zero_().add_(grad)
    else:
        buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
    if nesterov:
        param.detach().add_(grad, alpha=rate).add_(buffer, alpha=rate * momentum)
    else:
        param.detach().add_(buffer, alpha=rate)


@rule("_fused_adagrad_")
def adagrad(
    self: Any, grads: Any, state_sums: Any, state_steps: Any, **options: Any
) -> None:
    """``_fused_adagrad_``."""
    lists = (self, grads, state_sums, state_steps)
    _by_density("_fused_adagrad_", _adagrad_rows, lists, options)


def _adagrad_rows(
    param: Tensor,
    grad: Tensor,
    total: Tensor,
    step: Tensor,
    *,
    lr: Any,
    lr_decay: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
    **_: Any,
) -> None:
    if weight_decay:
        raise RuntimeError(
            "weight_decay option is not compatible with sparse gradients"
        )
    rows, values, table = rows_of(grad, param)
    values = -values if maximize else values
    sums = total.view(table.shape)
    found = sums.index_select(0, rows) + values * values
    sums.index_copy_(0, rows, found)
    rate = float(lr) / (1 + (float(step) - 1) * lr_decay)
    table.index_add_(0, rows, values / (found.sqrt() + eps), alpha=-rate)

"""Low-rank compression of gradients (Vogels et al., "PowerSGD: practical
low-rank gradient compression for distributed optimization", 2019).

A gradient M of (n, m) becomes P Q^T: P = M Q is summed over the ranks and made
orthonormal, Q = M^T P is averaged. The error is added to the next step's gradient. Both
collectives of a bucket complete within its hook: all ranks call them in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import groupby
from typing import Any

import pellucid as torch
import pellucid.distributed as dist
from pellucid.distributed.algorithms.ddp_comm_hooks.default_hooks import averaged
from pellucid.futures import Future

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class PowerSGDState:
    """Options, and state between steps.

    ``matrix_approximation_rank``: columns of P and Q. Gradients are averaged
    uncompressed in the first ``start_powerSGD_iter`` steps, and if P and Q would not be
    ``min_compression_rate`` times smaller. ``warm_start``: Q starts from its value in
    the last step.
    """

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or "
                "`warm_start` is enabled, because buckets change after the first step; "
                f"it is {start_powerSGD_iter}"
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.compression_stats_logging_frequency = compression_stats_logging_frequency
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.rng = torch.Generator().manual_seed(random_seed)  # equal on all ranks
        self.iter = 0
        self.error_dict: dict[int, Any] = {}
        self.p_memory_dict: dict[int, Any] = {}
        self.q_memory_dict: dict[int, Any] = {}
        self.total_numel_before_compression = self.total_numel_after_compression = 0

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Counts a step with its last bucket."""
        if bucket.is_last():
            self.iter += 1

    def compression_stats(self) -> tuple[float, int, int]:
        """The rate of compression, and the numbers of elements before and after."""
        before, after = (
            self.total_numel_before_compression,
            self.total_numel_after_compression,
        )
        return before / after if after else 0.0, before, after

    def is_worth_it(self, rows: int, columns: int) -> bool:
        """Whether P and Q are enough smaller than a matrix."""
        thin = (rows + columns) * self.matrix_approximation_rank
        return thin * self.min_compression_rate < rows * columns


def powerSGD_hook(state: PowerSGDState, bucket: Any) -> Future:
    """Compresses gradients of at least two dims; averages others uncompressed."""
    return _compressed(state, bucket, _matrices_of)


def batched_powerSGD_hook(state: PowerSGDState, bucket: Any) -> Future:
    """Compresses a bucket as one square matrix: faster, and less exact."""
    return _compressed(state, bucket, _square_of)


# (stacks of matrices of one shape each, what takes the approximations, the other parts)
_Taken = tuple[list[Any], Callable[[list[Any]], None], list[Any]]


def _matrices_of(state: PowerSGDState, bucket: Any) -> _Taken:
    gradients: list[Any] = []
    rest: list[Any] = []
    for gradient in bucket.gradients():
        rows = gradient.shape[0] if gradient.dim() > 1 else 1
        is_matrix = rows > 1 and state.is_worth_it(rows, gradient.numel() // rows)
        (gradients if is_matrix else rest).append(gradient)
    groups = [[gradient] for gradient in gradients]
    if state.batch_tensors_with_same_shape:
        gradients.sort(key=lambda g: tuple(g.shape))
        groups = [list(g) for _, g in groupby(gradients, lambda g: tuple(g.shape))]
    stacks = [torch.stack([g.flatten(1) for g in group]) for group in groups]

    def put(found: list[Any]) -> None:
        for group, stack in zip(groups, found, strict=True):
            for gradient, matrix in zip(group, stack.unbind(0), strict=True):
                gradient.copy_(matrix.view(gradient.shape))

    return stacks, put, rest


def _square_of(state: PowerSGDState, bucket: Any) -> _Taken:
    flat = bucket.buffer()
    side = math.isqrt(flat.numel() - 1) + 1
    if not state.is_worth_it(side, side):
        return [], lambda found: None, [flat]
    square = flat.new_zeros(side * side)
    square[: flat.numel()] = flat

    def put(found: list[Any]) -> None:
        flat.copy_(found[0].flatten()[: flat.numel()])

    return [square.view(1, side, side)], put, []


def _compressed(
    state: PowerSGDState, bucket: Any, take: Callable[[PowerSGDState, Any], _Taken]
) -> Future:
    is_early = state.iter < state.start_powerSGD_iter
    state.maybe_increase_iter(bucket)
    flat, index = bucket.buffer(), bucket.index()
    if is_early:
        return averaged(flat, state.process_group)  # type: ignore[no-any-return]
    with torch.no_grad():
        if state.use_error_feedback and index in state.error_dict:
            flat.add_(state.error_dict[index])
        given = flat.clone() if state.use_error_feedback else None
        stacks, put, rest = take(state, bucket)
        _average(state, rest)
        if stacks:
            put(_approximated(state, index, stacks))
        if given is not None:
            state.error_dict[index] = given.sub_(flat)
        _count(state, flat, stacks)
    future = Future()
    future.set_result(flat)
    return future


def _average(state: PowerSGDState, parts: list[Any]) -> None:
    if parts:
        op = dist.ReduceOp.AVG
        dist.all_reduce_coalesced(parts, op, state.process_group)


def _approximated(state: PowerSGDState, index: int, stacks: list[Any]) -> list[Any]:
    """P Q^T of each stack of matrices, of the mean over the ranks."""
    rank = [min(state.matrix_approximation_rank, *s.shape[1:]) for s in stacks]
    if not (state.warm_start and index in state.q_memory_dict):
        state.q_memory_dict[index] = [
            _random(state, stack, count)
            for stack, count in zip(stacks, rank, strict=True)
        ]
    pairs = list(zip(stacks, state.q_memory_dict[index], strict=True))
    left = [stack @ _orthonormal(state, q) for stack, q in pairs]
    _average(state, left)
    left = [_orthonormal(state, p) for p in left]
    right = [s.transpose(1, 2) @ p for s, p in zip(stacks, left, strict=True)]
    _average(state, right)
    state.p_memory_dict[index], state.q_memory_dict[index] = left, right
    return [p @ q.transpose(1, 2) for p, q in zip(left, right, strict=True)]


def _random(state: PowerSGDState, stack: Any, rank: int) -> Any:
    count, _, columns = stack.shape
    return torch.randn(count, columns, rank, generator=state.rng).to(stack.dtype)


def _orthonormal(state: PowerSGDState, stack: Any) -> Any:
    """Orthonormal bases of the column spaces of a stack of matrices."""
    wide = stack.float() if stack.dtype in (torch.float16, torch.bfloat16) else stack
    epsilon = state.orthogonalization_epsilon
    if epsilon == 0:
        return torch.linalg.qr(wide)[0].to(stack.dtype)
    columns: list[Any] = []
    for column in wide.split(1, -1):
        for other in columns:
            column = column - (column * other).sum(1, keepdim=True) * other
        columns.append(column / (column.norm(dim=1, keepdim=True) + epsilon))
    return torch.cat(columns, -1).to(stack.dtype)


def _count(state: PowerSGDState, flat: Any, stacks: list[Any]) -> None:
    state.total_numel_before_compression += flat.numel()
    rank = state.matrix_approximation_rank
    for stack in stacks:
        count, rows, columns = stack.shape
        saved = rows * columns - (rows + columns) * min(rank, rows, columns)
        state.total_numel_after_compression -= count * saved
    state.total_numel_after_compression += flat.numel()

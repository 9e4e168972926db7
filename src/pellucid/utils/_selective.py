"""Selective checkpoints: a policy chooses per op whether to save or recompute.

Two dispatch modes share a record. The mode of the first run calls the policy for every
op and stores the outputs to be saved; the mode of the second run returns them instead
of calling the op. Called through ``checkpoint.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from pellucid import Tensor
from pellucid._ops import ops
from pellucid.utils._pytree import tree_map

__all__ = [
    "SAC_IGNORED_OPS",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "create_selective_checkpoint_contexts",
]


class CheckpointPolicy(Enum):
    """Whether an op's output is saved or recomputed."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_RECOMPUTED = (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)

# Checkpoints call these a different number of times in the two runs.
SAC_IGNORED_OPS: set[Any] = {ops.aten.detach.default}


class SelectiveCheckpointContext:
    """The context argument of a policy."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


_Policy = Callable[..., CheckpointPolicy | bool]


class _Kept:
    """A saved output, which must not be changed in place before it is reused."""

    def __init__(self, value: Any) -> None:
        self.value = value.detach() if isinstance(value, Tensor) else value
        self.version = value._version if isinstance(value, Tensor) else 0

    def get(self, may_change: bool) -> Any:
        checked = isinstance(self.value, Tensor) and not may_change
        if checked and self.value._version != self.version:
            raise RuntimeError(
                "a tensor that a selective checkpoint saved was changed in place: "
                "recompute its op, or pass allow_cache_entry_mutation=True"
            )
        return self.value


class _Record:
    """The outputs saved by the first run, per op and call; None to recompute."""

    def __init__(self) -> None:
        self.calls: defaultdict[Any, list[Any]] = defaultdict(list)

    def keep(self, op: Any, policy: CheckpointPolicy, output: Any) -> None:
        recomputed = policy in _RECOMPUTED
        self.calls[op].append(None if recomputed else tree_map(_Kept, output))


_USED = object()


def create_selective_checkpoint_contexts(
    policy_fn_or_list: _Policy | Sequence[Any],
    allow_cache_entry_mutation: bool = False,
) -> tuple[Any, Any]:
    """The two contexts that ``checkpoint(..., context_fn=...)`` needs.

    A policy is called as ``policy(context, op, *args, **kwargs)`` after each op of the
    first run and returns a CheckpointPolicy; a list of ops, such as
    ``torch.ops.aten.mm.default``, saves the outputs of those and recomputes all others.
    Saved outputs must not be changed in place unless `allow_cache_entry_mutation`.

    >>> save = [torch.ops.aten.mm.default]
    >>> contexts = functools.partial(create_selective_checkpoint_contexts, save)
    >>> y = checkpoint(block, x, use_reentrant=False, context_fn=contexts)
    """
    from pellucid.utils._python_dispatch import TorchDispatchMode

    policy = _policy_of(policy_fn_or_list)

    class Keeping(TorchDispatchMode):
        """The mode of the first run."""

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            output = func(*args, **(kwargs or {}))
            if func in SAC_IGNORED_OPS:
                return output
            context = SelectiveCheckpointContext(is_recompute=False, op_output=output)
            record.keep(
                func, _as_policy(policy(context, func, *args, **(kwargs or {}))), output
            )
            return output

    class GivingBack(TorchDispatchMode):
        """The mode of the second run."""

        def __enter__(self) -> Any:
            self.numbers: defaultdict[Any, int] = defaultdict(int)
            return super().__enter__()

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func in SAC_IGNORED_OPS:
                return func(*args, **(kwargs or {}))
            number = self.numbers[func]
            self.numbers[func] += 1
            if number >= len(record.calls[func]):
                raise RuntimeError(
                    f"call {number} of {func} in a recomputed checkpoint did not "
                    "happen the first time: the function must do the same each time"
                )
            cached = record.calls[func][number]
            if cached is None:
                return func(*args, **(kwargs or {}))
            if cached is _USED:
                raise RuntimeError(
                    "a selective checkpoint can be differentiated once: its saved "
                    "outputs are gone"
                )
            record.calls[func][number] = _USED
            return tree_map(lambda entry: entry.get(allow_cache_entry_mutation), cached)

    record = _Record()
    return Keeping(), GivingBack()


def _as_policy(answer: CheckpointPolicy | bool) -> CheckpointPolicy:
    if isinstance(answer, CheckpointPolicy):
        return answer
    return CheckpointPolicy.MUST_SAVE if answer else CheckpointPolicy.PREFER_RECOMPUTE


def _policy_of(given: _Policy | Sequence[Any]) -> _Policy:
    if isinstance(given, list):
        from pellucid._ops import OpOverloadPacket

        for op in given:
            if isinstance(op, OpOverloadPacket) or not callable(op):
                raise ValueError(
                    f"a list of ops to save holds overloads, such as "
                    f"torch.ops.aten.mm.default, not {op}"
                )
        return lambda context, op, *args, **kwargs: op in given
    if callable(given):
        return given
    raise TypeError(
        "expected a policy function or a list of ops to save, "
        f"not {type(given).__name__}"
    )

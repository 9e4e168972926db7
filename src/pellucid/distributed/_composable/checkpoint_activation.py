"""``checkpoint``: a module whose activations are computed again in backward."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from pellucid import nn
from pellucid.distributed._composable.contract import _State, contract
from pellucid.utils.checkpoint import recorded

__all__: list[str] = []

_OPTIONS = frozenset(recorded.__wrapped__.__kwdefaults__)  # type: ignore[attr-defined]


class _CheckpointState(_State):
    """The calls of a module under way."""

    def __init__(self) -> None:
        self.is_again = False  # in backward
        self.scopes: list[AbstractContextManager[None]] = []


@contract(_CheckpointState)
def checkpoint(module: nn.Module, **kwargs: Any) -> nn.Module:
    """Makes forward keep only its inputs, and backward run it again; options are those
    of ``torch.utils.checkpoint.checkpoint`` without reentry.
    """
    if kwargs.pop("use_reentrant", False):
        raise NotImplementedError(
            "use_reentrant=True is not supported in composable checkpoint. "
            "Please use torch.utils.checkpoint.checkpoint instead."
        )
    unknown = [name for name in kwargs if name not in _OPTIONS]
    if unknown:
        raise ValueError("Unexpected keyword arguments: " + ",".join(unknown))

    # The hooks are given the module that is called, which may be a copy.
    def begin(module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        state = checkpoint.state(module)
        if state.is_again:
            return

        def again(*args: Any, **named: Any) -> None:
            state.is_again = True
            try:
                module(*args, **named)
            finally:
                state.is_again = False

        scope = recorded(again, (named, *args), **kwargs)
        scope.__enter__()
        state.scopes.append(scope)

    def end(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        state = checkpoint.state(module)
        if not state.is_again and state.scopes:
            state.scopes.pop().__exit__(None, None, None)

    module.register_forward_pre_hook(begin, with_kwargs=True)
    module.register_forward_hook(end, prepend=True, always_call=True)
    return module

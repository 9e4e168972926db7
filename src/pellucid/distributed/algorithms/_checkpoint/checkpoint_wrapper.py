"""Module wrappers that checkpoint activations or offload saved tensors.

The names of parameters and of the state dict are those of the wrapped module.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from pellucid import nn
from pellucid.autograd.graph import save_on_cpu
from pellucid.distributed.fsdp.wrap import chosen_modules
from pellucid.distributed.utils import _replace_by_prefix
from pellucid.utils.checkpoint import checkpoint

_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_PREFIX = f"{_WRAPPED_MODULE}."


class CheckpointImpl(enum.Enum):
    """How a checkpoint recomputes: by a re-entrant backward pass, or by hooks."""

    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


class ActivationWrapper(nn.Module):
    """A wrapper that forwards the attributes, parameters and state of a module."""

    def __init__(self, mod: nn.Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(self._post_state_dict_hook)
        self._register_load_state_dict_pre_hook(self._pre_load_state_dict_hook)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == _WRAPPED_MODULE:
                raise
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: int) -> Any:
        """The element of a wrapped container."""
        wrapped: Any = self._checkpoint_wrapped_module
        return wrapped[key]

    def named_parameters(
        self, *args: Any, **kwargs: Any
    ) -> Iterator[tuple[str, nn.Parameter]]:
        """The parameters, under their names in the wrapped module."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_PREFIX, ""), parameter

    @staticmethod
    def _post_state_dict_hook(
        module: nn.Module, state_dict: dict[str, Any], prefix: str, *_: Any
    ) -> dict[str, Any]:
        _replace_by_prefix(state_dict, f"{prefix}{_PREFIX}", prefix)
        return state_dict

    @staticmethod
    def _pre_load_state_dict_hook(
        state_dict: dict[str, Any], prefix: str, *_: Any
    ) -> None:
        _replace_by_prefix(state_dict, prefix, f"{prefix}{_PREFIX}")


class OffloadWrapper(ActivationWrapper):
    """Stores the module's saved tensors in the CPU's memory."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        with save_on_cpu():
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """Recomputes the module's forward pass in backward."""

    def __init__(
        self,
        mod: nn.Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            reenters = checkpoint_impl is CheckpointImpl.REENTRANT
            checkpoint_fn = partial(checkpoint, use_reentrant=reenters)
        self.checkpoint_fn = partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        module = self._checkpoint_wrapped_module
        if self.checkpoint_impl is not CheckpointImpl.REENTRANT or not kwargs:
            return self.checkpoint_fn(module, *args, **kwargs)
        # Only positional arguments of a re-entrant checkpoint get gradients.
        names = list(kwargs)

        def by_position(*values: Any) -> Any:
            split = len(values) - len(names)
            named = dict(zip(names, values[split:], strict=True))
            return module(*values[:split], **named)

        return self.checkpoint_fn(by_position, *args, *kwargs.values())


def offload_wrapper(module: nn.Module) -> nn.Module:
    """``module`` with saved activations stored in the CPU's memory."""
    return OffloadWrapper(module)


def checkpoint_wrapper(
    module: nn.Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> nn.Module:
    """``module`` with activations recomputed in backward.

    The keywords are those of `checkpoint_fn`, by default ``utils.checkpoint``.

    >>> block = checkpoint_wrapper(nn.Linear(4, 4))
    """
    return CheckpointWrapper(
        module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs
    )


def apply_activation_checkpointing(
    model: nn.Module,
    checkpoint_wrapper_fn: Callable[[nn.Module], nn.Module] = checkpoint_wrapper,
    check_fn: Callable[[nn.Module], bool] = lambda _: True,
    auto_wrap_policy: Callable[[nn.Module, bool, int], bool] | None = None,
) -> None:
    """Wraps, in place, the submodules selected by the policy or `check_fn`; inner ones
    first, and not the model itself.
    """
    if auto_wrap_policy is None:
        chosen = [m for m in model.modules() if m is not model and check_fn(m)]
    else:
        chosen = list(chosen_modules(model, auto_wrap_policy, (), {}))
    wanted = set(chosen)
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if child in wanted:
                setattr(parent, name, checkpoint_wrapper_fn(child))

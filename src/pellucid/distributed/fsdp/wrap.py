"""Policies: which submodules ``FullyShardedDataParallel`` wraps separately."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pellucid import nn

__all__ = [
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
]


class ModuleWrapPolicy:
    """Modules of the given classes."""

    def __init__(self, module_classes: Any) -> None:
        self._classes = tuple(module_classes)

    def __call__(self, module: nn.Module, recurse: bool = False, **_: Any) -> bool:
        return recurse or isinstance(module, self._classes)


def always_wrap_policy(*_: Any, **__: Any) -> bool:
    """Every module."""
    return True


def lambda_auto_wrap_policy(
    module: nn.Module,
    recurse: bool,
    nonwrapped_numel: int,
    lambda_fn: Callable[[nn.Module], bool],
) -> bool:
    """Modules that the function chooses."""
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(
    module: nn.Module,
    recurse: bool,
    nonwrapped_numel: int,
    transformer_layer_cls: set[type[nn.Module]],
) -> bool:
    """Modules of the classes of a transformer's layers."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: nn.Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
) -> bool:
    """Modules with a minimum number of parameter elements outside wrapped
    submodules.
    """
    return nonwrapped_numel >= min_num_params


def chosen_modules(module: nn.Module, policy: Any) -> list[nn.Module]:
    """The submodules to shard, inner ones first; the module itself is left out."""
    asked = policy.func if isinstance(policy, functools.partial) else policy
    found: list[nn.Module] = []

    def visit(part: nn.Module) -> int:
        taken = sum(visit(child) for child in part.children())
        total = sum(parameter.numel() for parameter in part.parameters())
        left = total - taken
        if part is module or isinstance(part, (nn.ModuleList, nn.ModuleDict)):
            return taken
        if policy(module=part, recurse=False, nonwrapped_numel=left) and total:
            found.append(part)
            return total
        return taken

    assert callable(asked)
    visit(module)
    return found

"""Policies: which submodules ``FullyShardedDataParallel`` wraps separately."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pellucid import nn

__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]

Options = dict[str, Any]


class _Policy(ABC):
    """Chooses modules of a whole, with the options of each."""

    @abstractmethod
    def _run_policy(
        self, root_module: nn.Module, ignored_modules: Any, root_kwargs: Options
    ) -> dict[nn.Module, Options]:
        """The options of each chosen module, by those of the root."""


class ModuleWrapPolicy(_Policy):
    """Modules of the given classes."""

    def __init__(self, module_classes: Any) -> None:
        self._module_classes = set(module_classes)
        self._module_classes_str = str(self._module_classes)

    def _run_policy(
        self, root_module: nn.Module, ignored_modules: Any, root_kwargs: Options
    ) -> dict[nn.Module, Options]:
        classes = tuple(self._module_classes)
        return {
            module: dict(root_kwargs)
            for module in root_module.modules()
            if module not in ignored_modules and isinstance(module, classes)
        }

    def __call__(self, module: nn.Module, recurse: bool, *_: Any, **__: Any) -> bool:
        return recurse or isinstance(module, tuple(self._module_classes))

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self._module_classes_str})"


class CustomPolicy(_Policy):
    """Modules for which ``lambda_fn(module)`` is true, or a dict of options that differ
    from the root's.
    """

    def __init__(self, lambda_fn: Callable[[nn.Module], bool | Options]) -> None:
        self._lambda_fn = lambda_fn

    def _run_policy(
        self, root_module: nn.Module, ignored_modules: Any, root_kwargs: Options
    ) -> dict[nn.Module, Options]:
        chosen = {}
        for module in root_module.modules():
            if module in ignored_modules:
                continue
            answer = self._lambda_fn(module)
            if not isinstance(answer, (bool, dict)):
                raise ValueError(
                    "The lambda_fn passed to CustomPolicy should return False/True or "
                    f"a kwarg dict, but it returned {answer}"
                )
            if answer:
                changes = answer if isinstance(answer, dict) else {}
                chosen[module] = {**root_kwargs, **changes}
        return chosen


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Every module."""
    return True


def _or_policy(
    module: nn.Module, recurse: bool, nonwrapped_numel: int, policies: Any
) -> bool:
    """Modules that one of the policies chooses."""
    return any(
        policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel)
        for policy in policies
    )


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
    force_leaf_modules: set[type[nn.Module]] | None = None,
    exclude_wrap_modules: set[type[nn.Module]] | None = None,
) -> bool:
    """Modules with a minimum number of parameter elements outside wrapped
    submodules. Those inside of ``force_leaf_modules`` are not considered (attention
    layers by default), nor ``exclude_wrap_modules`` themselves (lists and dicts).
    """
    leaves, excluded = force_leaf_modules, exclude_wrap_modules
    leaves = {nn.MultiheadAttention} if leaves is None else leaves
    excluded = {nn.ModuleList, nn.ModuleDict} if excluded is None else excluded
    is_large = nonwrapped_numel >= min_num_params
    if recurse:
        return is_large and not isinstance(module, tuple(leaves))
    return is_large and not isinstance(module, tuple(excluded))


def chosen_modules(
    module: nn.Module, policy: Any, ignored: Any, options: Options
) -> dict[nn.Module, Options]:
    """The submodules to shard with their options, inner ones first; the module itself
    is left out.
    """
    if isinstance(policy, _Policy):
        chosen = policy._run_policy(module, set(ignored), options)
        return {m: chosen[m] for m in _inner_first(module) if m in chosen}
    found: dict[nn.Module, Options] = {}

    def visit(part: nn.Module, left: int) -> int:
        """How many elements of a part are wrapped."""
        taken = 0
        if policy(module=part, recurse=True, nonwrapped_numel=left):
            for child in part.children():
                if child not in ignored:
                    taken += visit(child, _size(child))
        left -= taken
        is_wrapped = part is not module and _size(part) > 0
        if is_wrapped and policy(module=part, recurse=False, nonwrapped_numel=left):
            found[part] = dict(options)
            return _size(part)
        return taken

    visit(module, _size(module))
    return found


def replace_module(whole: nn.Module, old: nn.Module, new: nn.Module) -> None:
    """Puts a module everywhere in the whole where another was."""
    for module in list(whole.modules()):
        if module is not new:
            for name, child in module._modules.items():
                if child is old:
                    module._modules[name] = new


def _size(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def _inner_first(module: nn.Module) -> Iterator[nn.Module]:
    """Its submodules, each once, after what they contain."""
    inside: list[nn.Module] = [m for m in module.modules() if m is not module]
    return reversed(inside)


_scopes: list[tuple[Any, Options]] = []


@contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """A scope in which ``wrap(module)`` is ``wrapper_cls(module, **wrapper_kwargs)``.

    Example::

        with enable_wrap(wrapper_cls=FSDP, mixed_precision=half):
            layer = wrap(nn.Linear(5, 5))
    """
    _scopes.append((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _scopes.pop()


def wrap(module: nn.Module, **wrap_overrides: Any) -> nn.Module:
    """The module, wrapped as the scope of ``enable_wrap`` says; unchanged outside of
    one.
    """
    if not _scopes:
        return module
    wrapper, options = _scopes[-1]
    wrapped: nn.Module = wrapper(module, **{**options, **wrap_overrides})
    return wrapped

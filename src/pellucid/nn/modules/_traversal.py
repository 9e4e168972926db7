"""Traversals of the module tree: by dotted name, or over all descendants.

Names are dotted paths of attribute names; a module or tensor that is in several
places is visited once unless ``remove_duplicate=False``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pellucid import Tensor
from pellucid._C import ModuleBase
from pellucid.nn.parameter import Parameter

_Members = Iterator[tuple[str, Any]]


class TraversalMixin(ModuleBase):
    """The part of ``Module`` that finds and lists modules, parameters and buffers."""

    def get_submodule(self, target: str) -> Any:
        """The module at a dotted path such as ``"encoder.0"``; "" is ``self``."""
        module: Any = self
        for name in target.split(".") if target else ():
            found = getattr(module, name, None)
            if not isinstance(found, TraversalMixin):
                what = "no attribute" if found is None else "no module"
                raise AttributeError(
                    f"{type(module).__name__} has {what} {name!r} "
                    f"(looking for {target!r})"
                )
            module = found
        return module

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Stores ``module`` at a dotted path; ``strict`` requires one to exist."""
        if not target:
            raise ValueError("set_submodule needs the path of a submodule, not ''")
        if not isinstance(module, TraversalMixin):
            raise ValueError(f"{type(module).__name__} is not an nn.Module")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute {name!r}")
        if hasattr(parent, name) and not isinstance(
            getattr(parent, name), TraversalMixin
        ):
            raise AttributeError(f"{target!r} is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path."""
        found: Parameter = self._get_tensor(target, Parameter, "parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        self._get_tensor(target, Tensor, "buffer")
        if name not in module._buffers:
            raise AttributeError(f"{target!r} is not a buffer")
        buffer: Tensor = module._buffers[name]
        return buffer

    def _get_tensor(self, target: str, kind: type, what: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute {name!r}")
        value = getattr(module, name)
        if not isinstance(value, kind):
            raise AttributeError(f"{target!r} is not a {what}")
        return value

    def named_modules(
        self,
        memo: set[Any] | None = None,
        prefix: str = "",
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """This module and all its descendants, with dotted names, parents first."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                below = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, below, remove_duplicate)

    def modules(self) -> Iterator[Any]:
        """This module and all its descendants."""
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The direct submodules with their names."""
        memo = set()
        for name, module in self._modules.items():
            if module is not None and module not in memo:
                memo.add(module)
                yield name, module

    def children(self) -> Iterator[Any]:
        """The direct submodules."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self,
        get_members: Callable[[Any], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> _Members:
        seen = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in modules:
            for name, value in get_members(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted names."""
        return self._named_members(
            lambda module: module._parameters.items(),
            prefix,
            recurse,
            remove_duplicate,
        )

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once; pass them to an optimizer."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted names."""
        return self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

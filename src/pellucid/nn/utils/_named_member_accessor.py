"""Reads, replaces and swaps a module's tensors by dotted name.

Used by libraries that call modules with substituted parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pellucid import Tensor
from pellucid.nn.modules.module import Module

_MISSING: Any = object()


def _check(module: Any, name: str, tensor: Any) -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if tensor is not _MISSING and tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if "." in name or not name:
        raise KeyError(f"a tensor's name has no '.' and is not empty: {name!r}")


def set_tensor(module: Any, name: str, tensor: Tensor | None) -> None:
    """Stores ``tensor`` as the parameter, buffer or attribute ``name``; a plain tensor
    may replace a parameter.
    """
    _check(module, name, tensor)
    for members in (module._parameters, module._buffers):
        if name in members:
            members[name] = tensor
            return
    setattr(module, name, tensor)


def swap_tensor(
    module: Any, name: str, tensor: Any, allow_missing: bool = False
) -> Any:
    """``set_tensor`` that returns the previous tensor. AttributeError if there was
    none, unless ``allow_missing``: then it returns a sentinel, which deletes the
    tensor when it is swapped in.
    """
    _check(module, name, tensor)
    for members in (module._parameters, module._buffers):
        if name in members:
            before = members[name]
            if tensor is _MISSING:
                del members[name]
            else:
                members[name] = tensor
            return before
    before = getattr(module, name, _MISSING)
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    if before is not _MISSING and not isinstance(before, Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not a torch.Tensor")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif before is not _MISSING:
        delattr(module, name)
    return before


class NamedMemberAccessor:
    """The tensors of a module and of its submodules, by names such as "0.weight"."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def _owner(self, name: str) -> tuple[Module, str]:
        path, _, last = name.rpartition(".")
        return self.get_submodule(path), last

    def get_submodule(self, name: str) -> Module:
        """The submodule, or the module itself for ""."""
        found: Module = self.module.get_submodule(name)
        return found

    def get_tensor(self, name: str) -> Tensor:
        """The tensor of this name; TypeError if the attribute is not a tensor."""
        owner, last = self._owner(name)
        found = getattr(owner, last, _MISSING)
        if found is _MISSING:
            raise AttributeError(f"{type(owner).__name__} has no attribute `{last}`")
        if not isinstance(found, Tensor):
            raise TypeError(f"{found} is not an instance of torch.Tensor")
        return found

    def set_tensor(self, name: str, value: Tensor) -> None:
        """Sets the tensor of this name."""
        owner, last = self._owner(name)
        set_tensor(owner, last, value)

    def del_tensor(self, name: str) -> None:
        """Removes the tensor of this name."""
        self.swap_tensor(name, _MISSING)

    def swap_tensor(self, name: str, value: Any, allow_missing: bool = False) -> Any:
        """Sets the tensor of this name and returns the previous one."""
        owner, last = self._owner(name)
        return swap_tensor(owner, last, value, allow_missing=allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[Tensor]:
        """The tensors of these names."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Tensor]) -> None:
        """``set_tensor`` for each pair."""
        self.set_tensors_dict(dict(zip(names, values, strict=True)))

    def set_tensors_dict(self, named_tensors: dict[str, Tensor]) -> None:
        """``set_tensor`` for each item."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]) -> None:
        """``del_tensor`` for each name."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(
        self, names: Iterable[str], values: Iterable[Any], allow_missing: bool = False
    ) -> list[Any]:
        """``swap_tensor`` for each pair; returns the previous tensors."""
        pairs = zip(names, values, strict=True)
        return [self.swap_tensor(n, v, allow_missing) for n, v in pairs]

    def swap_tensors_dict(
        self, named_tensors: dict[str, Any], allow_missing: bool = False
    ) -> tuple[dict[str, Any], list[str]]:
        """``swap_tensor`` for each item; returns the previous tensors and which were
        missing. If one fails, the swaps before it are undone.
        """
        before: dict[str, Any] = {}
        try:
            for name, value in named_tensors.items():
                before[name] = self.swap_tensor(name, value, allow_missing=True)
                if before[name] is _MISSING and not allow_missing:
                    raise RuntimeError(f"the module has no tensor {name!r}")
        except Exception:
            for name, value in before.items():
                self.swap_tensor(name, value, allow_missing=True)
            raise
        return before, [n for n, value in before.items() if value is _MISSING]

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """The module's tensors missing from ``keys``, and the keys without a tensor."""
        given = set(keys)
        held = {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(held - given), sorted(given - held)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """Names and parameters."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """Names and buffers."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """Names, and parameters and buffers."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """Names and submodules."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)

"""Modules that hold modules: Sequential, ModuleList, ModuleDict, the old Container."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

from pellucid._package.calls.deprecation import deprecated
from pellucid._package.homes import elsewhere
from pellucid.nn.modules.module import Module, _indented

_Self = TypeVar("_Self", bound="_ModuleSequence")


class Container(Module):
    """Modules by name, as attributes. Deprecated: any Module is one."""

    def __init__(self, **kwargs: Module) -> None:
        super().__init__()
        deprecated("nn.Container", "nn.Module", FutureWarning)
        for name, module in kwargs.items():
            self.add_module(name, module)


class _ModuleSequence(Module):
    """Submodules in order, under the names "0", "1", ..."""

    def _name_at(self, index: int) -> str:
        """The name of the module at ``index``, which may be negative."""
        length = len(self)
        position = operator.index(index)
        if not -length <= position < length:
            raise IndexError(
                f"index {position} is out of range: {type(self).__name__} has "
                f"{length} modules"
            )
        return next(islice(self._modules, position % length, None))

    def _renumber(self, modules: Iterable[Module]) -> None:
        self._modules = {str(i): module for i, module in enumerate(modules)}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index: int | slice) -> None:
        if isinstance(index, slice):
            names = list(self._modules)[index]
        else:
            names = [self._name_at(index)]
        for name in names:
            delattr(self, name)
        self._renumber(self._modules.values())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def insert(self, index: int, module: Module) -> Any:
        """Inserts ``module`` before ``index``."""
        modules = list(self._modules.values())
        modules.insert(index, _require_module(module))
        self._renumber(modules)
        return self

    def append(self: _Self, module: Module) -> _Self:
        """Appends ``module`` and returns the container."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self: _Self, modules: Iterable[Module]) -> _Self:
        """Appends ``modules`` and returns the container."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"extend takes an iterable of modules, not {type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, index: int | slice = -1) -> Any:
        """Removes and returns the module at ``index``."""
        value = self[index]
        del self[index]
        return value

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._sliced(index)
        return self._modules[self._name_at(index)]

    def _sliced(self, index: slice) -> Any:
        raise NotImplementedError


class Sequential(_ModuleSequence):
    """Calls its modules in order, each on the result of the previous one.

    Constructed from modules, or from one OrderedDict of named modules.

    Example::

        nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = len(args) == 1 and isinstance(args[0], Mapping)
        items = args[0].items() if named else enumerate(args)
        for name, module in items:
            self.add_module(str(name), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def _sliced(self, index: slice) -> Any:
        return type(self)(dict(list(self._modules.items())[index]))

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name_at(index), module)

    def __add__(self, other: Sequential) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"a Sequential adds another Sequential, not {type(other).__name__}"
            )
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"a Sequential adds another Sequential, not {type(other).__name__}"
            )
        return self.extend(list(other))

    def __mul__(self, times: int) -> Sequential:
        return Sequential(*(list(self) * _repetitions(times)))

    def __rmul__(self, times: int) -> Sequential:
        return self * times

    def __imul__(self, times: int) -> Sequential:
        return self.extend(list(self) * (_repetitions(times) - 1))


class ModuleList(_ModuleSequence):
    """A list of modules that registers them; it has no ``forward``."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _sliced(self, index: slice) -> Any:
        return type(self)(list(self._modules.values())[index])

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        return self.extend(modules)

    def insert(self, index: int, module: Module) -> None:
        """Inserts ``module`` before ``index``."""
        super().insert(index, module)

    def __repr__(self) -> str:
        """Consecutive equal modules are shown once: ``(0-5): 6 x Linear(...)``."""
        runs: list[tuple[int, int, str]] = []
        for position, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], position, text)
            else:
                runs.append((position, position, text))
        if not runs:
            return f"{self._get_name()}()"
        lines = []
        for first, last, text in runs:
            name = f"({first})" if first == last else f"({first}-{last})"
            times = "" if first == last else f"{last - first + 1} x "
            lines.append(_indented(f"{name}: {times}{text}", 2))
        body = "\n  ".join(lines)
        return f"{self._get_name()}(\n  {body}\n)"


class ModuleDict(Module):
    """A dict of modules that registers them; it has no ``forward``."""

    def __init__(self, modules: Mapping[str, Module] | Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Removes all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Removes and returns the module under ``key``."""
        module = self[key]
        del self[key]
        return module

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """The names and modules."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Adds modules from a mapping or from (name, module) pairs."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "update takes a mapping or pairs of name and module, not "
                f"{type(modules).__name__}"
            )
        if isinstance(modules, (Mapping, ModuleDict)):
            modules = modules.items()
        for number, pair in enumerate(modules):
            if not isinstance(pair, Iterable):
                raise TypeError(f"item {number} is not a pair of name and module")
            pair = tuple(pair)
            if len(pair) != 2:
                raise ValueError(
                    f"item {number} has {len(pair)} elements; a name and a module "
                    "are expected"
                )
            self[pair[0]] = pair[1]


def _require_module(module: object) -> Any:
    if not isinstance(module, Module):
        raise TypeError(f"{type(module).__name__} is not an nn.Module")
    return module


def _repetitions(times: object) -> int:
    if not isinstance(times, int):
        raise TypeError(f"a Sequential is repeated int times, not {times!r}")
    if times <= 0:
        raise ValueError(f"a Sequential is repeated at least once, not {times} times")
    return times


__getattr__ = elsewhere(__name__)

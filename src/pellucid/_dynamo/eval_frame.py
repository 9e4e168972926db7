"""``OptimizedModule``: a compiled module."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from pellucid._compile.callables import compile_function, innermost
from pellucid._compile.settings import Settings
from pellucid.nn import Module

innermost_fn = innermost


def is_dynamo_supported() -> bool:
    """True: compiled callables work with every Python that is supported."""
    return True


class OptimizedModule(Module):
    """Wraps a module, ``_orig_mod``, whose calls are compiled, including hooks.

    Attributes are read from and set on the inner module; names of parameters and
    buffers have the prefix ``_orig_mod``. Example::

        >>> import pellucid as torch
        >>> compiled = torch.compile(torch.nn.Linear(2, 1), backend="eager")
        >>> list(compiled.state_dict()), compiled.in_features
        (['_orig_mod.weight', '_orig_mod.bias'], 2)
    """

    _orig_mod: Module

    def __init__(self, mod: Module, settings: Settings | None = None) -> None:
        super().__init__()
        del self.__dict__["training"]  # of the inner module
        self.__dict__["_settings"] = settings = settings or Settings()
        compiled: Any = compile_function(mod, settings)
        self.__dict__["forward"] = compiled
        self.__dict__["_pellucid_compilation"] = compiled._pellucid_compilation
        self._orig_mod = mod

    @property
    def _torchdynamo_orig_callable(self) -> Module:
        return self._orig_mod

    def get_compiler_config(self) -> dict[str, Any]:
        """The options of ``torch.compile``."""
        return dict(self._settings.options)

    def __getattr__(self, name: str) -> Any:
        modules = self.__dict__.get("_modules", {})
        if name == "_orig_mod" or "_orig_mod" not in modules:
            return super().__getattr__(name)
        return getattr(modules["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        is_own = name in self.__dict__ or "_orig_mod" not in self._modules
        if name == "_orig_mod" or is_own:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__:
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __len__(self) -> int:
        if isinstance(self._orig_mod, Sized):
            return len(self._orig_mod)
        raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")

    def __bool__(self) -> bool:
        return True

    def __reduce__(self) -> Any:
        return type(self), (self._orig_mod, self._settings)

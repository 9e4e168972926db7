"""``torch.ops``: every op by namespace, name and overload.

``torch.ops.aten.add.Tensor(a, b)`` calls one overload, ``torch.ops.aten.add(a, b)``
whichever fits. Callables are made when first asked for.
"""

from __future__ import annotations

from typing import Any

from pellucid import _C


class OpOverloadPacket:
    """The overloads of one op name, as attributes; a call takes the first that fits."""

    def __init__(self, name: str, overloads: dict[str, Any]) -> None:
        self._name = name
        self._overloads = overloads

    def overloads(self) -> list[str]:
        """The overloads' names."""
        return list(self._overloads)

    def __getattr__(self, overload: str) -> Any:
        if overload in self._overloads:
            return self._overloads[overload]
        raise AttributeError(
            f"the op {self._name} has no overload {overload!r}; it has "
            f"{', '.join(self._overloads)}"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        mismatch: TypeError | None = None
        for function in self._overloads.values():
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                mismatch = mismatch or error
        assert mismatch is not None
        raise mismatch

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._name.replace('::', '.')}')>"


class _OpNamespace:
    """The ops of one namespace, as attributes."""

    def __init__(self, name: str) -> None:
        self._namespace = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        overloads = None if name.startswith("__") else _overloads(self, name)
        if not overloads:
            raise AttributeError(f"there is no op {self._namespace}::{name}")
        packet = OpOverloadPacket(f"{self._namespace}::{name}", overloads)
        setattr(self, name, packet)
        return packet


def _overloads(namespace: _OpNamespace, name: str) -> dict[str, Any]:
    found: dict[str, Any] = _C._overloads(f"{namespace._namespace}::{name}")
    return found


class _Ops:
    """``torch.ops``: the namespaces, as attributes."""

    def __getattr__(self, name: str) -> _OpNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = _OpNamespace(name)
        setattr(self, name, namespace)
        return namespace


ops = _Ops()

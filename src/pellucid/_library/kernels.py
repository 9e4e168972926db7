"""``torch.library.get_kernel``: the kernel that an op has at a dispatch key, to call.

Used by ``library.py``.
"""

from __future__ import annotations

from typing import Any

from pellucid import _C


class KernelFunction:
    """An op's kernel at one key, as it was when ``get_kernel`` was called: what a
    kernel calls that replaces it.
    """

    def __init__(self, op: str, key: str) -> None:
        self._described = f"{op} at {key}"
        self._run = _C._capture_kernel(op, key)

    def call_boxed(self, keyset: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Runs the kernel with the arguments of the op; ``keyset`` is the
        DispatchKeySet that a kernel ``with_keyset`` gets.
        """
        return self._run(*args, **kwargs)

    def __repr__(self) -> str:
        return f"KernelFunction({self._described})"


def get_kernel(op: Any, dispatch_key: Any) -> KernelFunction:
    """The kernel of an op (a name or an overload) at a dispatch key.

    RuntimeError without one.

    Example::

        plain = torch.library.get_kernel("aten::sin", "CPU")

        def louder(keyset, x):
            return 2 * plain.call_boxed(keyset, x)

        library = torch.library.Library("aten", "IMPL")
        library.impl("sin", louder, "CPU", with_keyset=True)
    """
    name = getattr(op, "_qualname", None) or getattr(op, "_full_name", op)
    if not isinstance(name, str):
        raise ValueError(f"get_kernel({op!r}): expected str, OpOverload or CustomOpDef")
    return KernelFunction(name, getattr(dispatch_key, "name", dispatch_key))

"""``torch._C.DispatchKey``: which handler of an op runs, by PyTorch's names.

Libraries register kernels under them and switch them off for a scope. The runtime has
fewer keys (``runtime/core/keys.h``): those of devices that are not here, and of one
device where there is one for all, stand for themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from pellucid import _C


class DispatchKey(Enum):
    """A key of the dispatcher; a greater value runs earlier."""

    Undefined = 0
    CPU = 1
    CUDA = 2
    XPU = 3
    MPS = 4
    Meta = 5
    QuantizedCPU = 6
    SparseCPU = 7
    SparseCUDA = 8
    SparseCsrCPU = 9
    NestedTensorCPU = 10
    Python = 12
    BackendSelect = 13
    Functionalize = 14
    ADInplaceOrView = 15
    Autograd = 16
    AutogradCPU = 17
    AutogradCUDA = 18
    AutogradMeta = 19
    AutocastCPU = 20
    AutocastCUDA = 21
    AutocastXPU = 22
    AutocastMPS = 23
    FuncTorchBatched = 24
    FuncTorchVmapMode = 25
    FuncTorchDynamicLayerFrontMode = 26
    PythonTLSSnapshot = 27
    PreDispatch = 28
    PythonDispatcher = 29
    CompositeImplicitAutograd = 30
    CompositeExplicitAutograd = 31


class DispatchKeySet:
    """A set of keys: ``|``, ``&`` and ``-`` as of sets."""

    def __init__(self, keys: DispatchKey | Iterable[DispatchKey] = ()) -> None:
        self._keys = frozenset([keys] if isinstance(keys, DispatchKey) else keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self._keys | other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self._keys & other._keys)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self._keys - other._keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def add(self, key: DispatchKey) -> DispatchKeySet:
        """The set with one more key."""
        return DispatchKeySet(self._keys | {key})

    def remove(self, key: DispatchKey) -> DispatchKeySet:
        """The set without a key."""
        return DispatchKeySet(self._keys - {key})

    def has(self, key: DispatchKey) -> bool:
        """Whether a key is in it."""
        return key in self._keys

    def highestPriorityTypeId(self) -> DispatchKey:
        """The key that runs first; Undefined of an empty set."""
        return max(self._keys, key=lambda k: k.value, default=DispatchKey.Undefined)

    def __repr__(self) -> str:
        names = sorted(self._keys, key=lambda k: -k.value)
        return f"DispatchKeySet({', '.join(key.name for key in names)})"


class _ExcludeDispatchKeyGuard:
    """Switches keys off for a scope: those of autocast and of ``__torch_dispatch__``.

    NotImplementedError for other keys of the runtime.
    """

    def __init__(self, keys: DispatchKeySet) -> None:
        names = {key.name for key in keys._keys}
        self._autocast = "AutocastCPU" in names
        self._python = "Python" in names
        absent = {name for name in names if name.endswith(("CUDA", "XPU", "MPS"))}
        left = names - absent - {"AutocastCPU", "Python", "PythonTLSSnapshot"}
        if left:
            raise NotImplementedError(
                f"the keys {', '.join(sorted(left))} cannot be switched off for a "
                "scope; those of autocast and Python can"
            )

    def __enter__(self) -> None:
        if self._autocast:
            self._cast_before = _C._autocast_state()
            _C._set_autocast(False, *self._cast_before[1:])
        if self._python:
            self._python_before = _C._exclude_torch_dispatch(True)

    def __exit__(self, *failure: object) -> None:
        if self._python:
            _C._exclude_torch_dispatch(self._python_before)
        if self._autocast:
            _C._set_autocast(*self._cast_before)

"""Functions of the package that are not of tensors: kinds of objects, settings.

Used by ``pellucid/__init__.py`` through ``__all__``. Read next: forms.py.
"""

from __future__ import annotations

from pellucid import _C
from pellucid._tensor import Tensor

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "are_deterministic_algorithms_enabled",
    "broadcast_shapes",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_storage",
    "is_tensor",
    "set_float32_matmul_precision",
    "set_num_interop_threads",
    "typename",
    "use_deterministic_algorithms",
]


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj: Any) -> bool:
    """Whether `obj` is a storage."""
    from pellucid.storage import TypedStorage

    return isinstance(obj, _C.StorageBase | TypedStorage)


def typename(obj: Any) -> str:
    """The name of an object's type; of a tensor, PyTorch's name of its type."""
    if isinstance(obj, Tensor):
        return str(obj.type())
    cls = obj if isinstance(obj, type) else type(obj)
    module = cls.__module__
    return cls.__qualname__ if module == "builtins" else f"{module}.{cls.__qualname__}"


def broadcast_shapes(*shapes: Any) -> _C.Size:
    """The shape that all `shapes` broadcast to."""
    result: list[int] = []
    for shape in shapes:
        sizes = [shape] if isinstance(shape, int) else list(shape)
        result[:0] = [1] * (len(sizes) - len(result))
        for place, size in zip(
            range(len(result) - len(sizes), len(result)), sizes, strict=True
        ):
            if result[place] == 1:
                result[place] = size
            elif size not in (1, result[place]):
                raise RuntimeError(
                    f"the shapes {', '.join(str(tuple(_list(s))) for s in shapes)} do "
                    f"not broadcast: sizes {result[place]} and {size} meet in one "
                    "dimension; they must be equal or one of them 1"
                )
    return _C.Size(result)


def _list(shape: Any) -> list[int]:
    return [shape] if isinstance(shape, int) else list(shape)


# Settings. Results never depend on threads or runs, whatever is set here.

_settings = {"deterministic": False, "warn_only": False, "precision": "highest"}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Stores the setting. Every algorithm is deterministic anyway, but for those of
    NVIDIA's libraries on a GPU: it turns products by cuBLASLt off, and leaves cuDNN the
    deterministic ones."""
    _settings.update(deterministic=mode, warn_only=warn_only)
    _C._require_determinism(mode)


def are_deterministic_algorithms_enabled() -> bool:
    """The mode that `use_deterministic_algorithms` set."""
    return bool(_settings["deterministic"])


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """The mode that `use_deterministic_algorithms` set."""
    return bool(_settings["warn_only"])


def set_float32_matmul_precision(precision: str) -> None:
    """Stores the setting; float32 products are always computed in float32."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            f"unknown precision {precision!r}: expected 'highest', 'high' or 'medium'"
        )
    _settings["precision"] = precision


def get_float32_matmul_precision() -> str:
    """The setting of `set_float32_matmul_precision`."""
    return str(_settings["precision"])


def get_num_interop_threads() -> int:
    """1: ops do not run concurrently."""
    return 1


def set_num_interop_threads(count: int) -> None:
    """Accepts any positive number; ops do not run concurrently."""
    if count < 1:
        raise RuntimeError(f"expected a positive number of threads, not {count}")

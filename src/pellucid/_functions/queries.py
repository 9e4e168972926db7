"""Functions of the package that are not ops: queries, settings, data from outside.

Used by ``pellucid/__init__.py`` through ``__all__``.
"""

from __future__ import annotations

from pellucid import _C
from pellucid._tensor import Tensor

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "are_deterministic_algorithms_enabled",
    "asarray",
    "broadcast_shapes",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_floating_point",
    "is_inference",
    "is_storage",
    "is_tensor",
    "norm",
    "numel",
    "set_float32_matmul_precision",
    "set_num_interop_threads",
    "typename",
    "use_deterministic_algorithms",
    "zero_",
]

OF_TENSORS = (
    "asarray",
    "is_floating_point",
    "is_inference",
    "norm",
    "numel",
    "zero_",
)


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj: Any) -> bool:
    """Whether `obj` is a storage."""
    from pellucid.storage import TypedStorage

    return isinstance(obj, _C.StorageBase | TypedStorage)


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


def zero_(input: Tensor) -> Tensor:
    """``input`` with zero in every element."""
    return input.zero_()


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is floating point."""
    return input.is_floating_point()


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode."""
    return input.is_inference()


def norm(
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: Any = None,
) -> Tensor:
    """The p-norm of the elements over `dim`; ``"fro"`` is the 2-norm."""
    from importlib import import_module

    linalg: Any = import_module("pellucid.linalg")
    options = {} if out is None else {"out": out}
    if p == "nuc":
        dims = (-2, -1) if dim is None else dim
        result: Tensor = linalg.matrix_norm(
            input, "nuc", dims, keepdim, dtype=dtype, **options
        )
        return result
    order = 2 if p in (None, "fro") else p
    result = linalg.vector_norm(input, order, dim, keepdim, dtype=dtype, **options)
    return result


def _norm_method(
    self: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Tensor:
    """The p-norm of the elements over `dim`."""
    return norm(self, p, dim, keepdim, dtype=dtype)


_norm_method.__name__ = "norm"
_norm_method.__qualname__ = "Tensor.norm"
Tensor.norm = _norm_method  # type: ignore[method-assign, assignment]


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


def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """`obj` as a tensor: sharing memory unless `copy`, or never if it is False."""
    if isinstance(obj, _C.StorageBase):
        obj = _C._tensor_over(obj, _C.uint8, 0, (obj.nbytes(),), (1,))
    if copy:
        result = (
            obj.to(dtype=dtype or obj.dtype, device=device, copy=True)
            if isinstance(obj, Tensor)
            else _C.tensor(obj, dtype=dtype, device=device)
        )
    else:
        result = _C.as_tensor(obj, dtype=dtype, device=device)
        shares = isinstance(obj, Tensor) and result.data_ptr() == obj.data_ptr()
        if copy is False and not shares and not hasattr(obj, "__array_interface__"):
            raise ValueError(
                "asarray() cannot share the memory of this object, and copy=False "
                "forbids a copy"
            )
    if result.requires_grad and not requires_grad:
        return result.detach()
    return result if result.requires_grad else result.requires_grad_(requires_grad)


# Settings. Results never depend on threads or runs, whatever is set here.

_settings = {"deterministic": False, "warn_only": False, "precision": "highest"}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Remembers the wish; every algorithm is deterministic anyway."""
    _settings.update(deterministic=mode, warn_only=warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was told."""
    return bool(_settings["deterministic"])


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """What `use_deterministic_algorithms` was told."""
    return bool(_settings["warn_only"])


def set_float32_matmul_precision(precision: str) -> None:
    """Remembers the wish; float32 products are always computed in float32."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            f"unknown precision {precision!r}: expected 'highest', 'high' or 'medium'"
        )
    _settings["precision"] = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was told."""
    return str(_settings["precision"])


def get_num_interop_threads() -> int:
    """1: ops do not run beside each other."""
    return 1


def set_num_interop_threads(count: int) -> None:
    """Accepts any positive number; ops do not run beside each other."""
    if count < 1:
        raise RuntimeError(f"expected a positive number of threads, not {count}")

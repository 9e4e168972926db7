"""Deep copies and pickles of tensors: their storages and metadata.

Tensors that share a storage still share it after copying or pickling. Imported at
first use; ``torch.save`` writes its own format (``serialization/_format``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from warnings import warn
from weakref import WeakValueDictionary

from pellucid import _C
from pellucid._tensor.kinds import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pellucid._tensor.tensor import Tensor

# Pickles refer to functions by this module, independent of the file names.
_HOME = "pellucid._tensor"

_storages: WeakValueDictionary[int, _SharedStorage] = WeakValueDictionary()


class _SharedStorage:
    """A storage that several tensors of one pickle refer to."""

    def __init__(self, storage: Any) -> None:
        self.storage = storage

    def __reduce__(self) -> Any:
        return _SharedStorage, (self.storage,)


def _shared_storage(tensor: Tensor) -> _SharedStorage:
    storage = tensor.untyped_storage()
    return _storages.setdefault(storage._cdata, _SharedStorage(storage))


def _copied_storage(tensor: Tensor, memo: dict[int, Any]) -> Any:
    storage = tensor.untyped_storage()
    copies = memo.setdefault(id(_storages), {})
    if storage._cdata not in copies:
        copies[storage._cdata] = (storage.clone(), storage)  # keeps the key in use
    return copies[storage._cdata][0]


def _facts(tensor: Tensor, storage: Any) -> tuple[Any, ...]:
    place = tensor.storage_offset(), tuple(tensor.size()), tensor.stride()
    return storage, tensor.dtype, *place


# What may be pending of a tensor (runtime/core/pending.h), and the view by which it
# begins.
PENDING = {"conj": _C._op_named("_conj"), "neg": _C._op_named("_neg_view")}


def pending_of(tensor: Tensor) -> tuple[str, ...]:
    """The names of the operations that are pending of the tensor."""
    is_pending = {"conj": tensor.is_conj, "neg": tensor.is_neg}
    return tuple(name for name in PENDING if is_pending[name]())


def with_pending(stored: Tensor, names: Iterable[str]) -> Tensor:
    """A tensor over the memory of ``stored``, of which these operations are pending;
    those that are pending already no longer are.
    """
    for name in names:
        stored = PENDING[name](stored).detach()
    return stored


def wrapper_facts(tensor: Tensor) -> tuple[Any, ...]:
    """The arguments from which `rebuild_wrapper` makes a wrapper subclass again."""
    place = tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
    about = tensor.layout, tensor.device, tensor.requires_grad
    return type(tensor), tensor.dtype, *place, *about


def rebuild_wrapper(
    cls: Any,
    dtype: Any,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    offset: int,
    layout: Any,
    device: Any,
    requires_grad: bool,
    state: Any = None,
) -> Tensor:
    """A wrapper subclass, whose attributes hold the tensors that it wraps."""
    made: Tensor = cls._make_wrapper_subclass(
        cls,
        size,
        strides=stride,
        storage_offset=offset,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )
    made.__dict__.update(state or {})
    return made


def is_wrapper(tensor: Tensor) -> bool:
    """Whether ``_make_wrapper_subclass`` made it; recorded tensors are plain."""
    if not _C._has_no_memory(tensor):
        return False
    from pellucid import Tensor

    return type(tensor) is not Tensor


def deep_copy(tensor: Tensor, memo: dict[int, Any]) -> Tensor:
    """Implements ``copy.deepcopy``; the graph is not copied."""
    if id(tensor) in memo:
        return memo[id(tensor)]  # type: ignore[no-any-return]
    if not tensor.is_leaf:
        raise RuntimeError(
            "only leaf tensors can be deep-copied, not results of "
            "ops with a gradient: use detach() or clone()"
        )
    is_kind = kind_of(tensor) is not None
    if not is_kind and is_wrapper(tensor):
        result = rebuild_wrapper(*wrapper_facts(tensor))
    elif not (is_kind or tensor.is_meta or pending_of(tensor)):  # copies share memory
        result = _rebuild_tensor(*_facts(tensor, _copied_storage(tensor, memo)))
    else:
        result = tensor.detach().clone()
    if type(tensor) is not type(result):
        result = _C.TensorBase._make_subclass(type(tensor), result)
    result.requires_grad = tensor.requires_grad
    memo[id(tensor)] = result
    if tensor.grad is not None:
        result.grad = tensor.grad.__deepcopy__(memo)
    if tensor.__dict__:
        from copy import deepcopy

        result.__dict__ = deepcopy(tensor.__dict__, memo)
    return result


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warns of hooks on the gradient of ``tensor``, which files do not hold."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warn(
                f"the hook {hook!r} of a tensor is not stored with it; "
                "torch.utils.hooks.unserializable_hook marks one that need not be",
                stacklevel=2,
            )


def reduced(tensor: Tensor, is_plain: bool) -> Any:
    """The function and arguments from which ``pickle`` rebuilds the tensor."""
    kind = kind_of(tensor)
    if kind is not None:
        return kind.reduced(tensor)
    warn_if_has_hooks(tensor)
    if is_wrapper(tensor):
        return rebuild_wrapper, (*wrapper_facts(tensor), tensor.__dict__)
    facts = _facts(tensor, _shared_storage(tensor))
    state = tensor.__dict__ or None
    pending = pending_of(tensor)
    if is_plain and state is None and not pending:
        return _rebuild_tensor, (*facts, tensor.requires_grad)
    about = type(tensor), facts, tensor.requires_grad, state
    return _rebuild_subclass, (*about, pending) if pending else about


def _rebuild_tensor(
    storage: Any,
    dtype: Any,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool = False,
) -> Tensor:
    """A tensor over `storage`; called by pickles."""
    if isinstance(storage, _SharedStorage):
        storage = storage.storage
    tensor: Tensor = _C._tensor_over(storage, dtype, offset, size, stride)
    tensor.requires_grad = requires_grad
    return tensor


def _rebuild_from_type_v2(func: Any, kind: Any, args: Any, state: Any) -> Tensor:
    """A tensor of a subclass with attributes, made by ``func``; for libraries that
    read PyTorch's files themselves."""
    tensor: Tensor = func(*args)
    if type(tensor) is not kind:
        tensor = tensor.as_subclass(kind)
    tensor.__dict__.update(state)
    return tensor


def _rebuild_subclass(
    cls: type[Tensor],
    facts: tuple[Any, ...],
    requires_grad: bool,
    state: Any,
    pending: tuple[str, ...] = (),
) -> Tensor:
    """A tensor with attributes, of a subclass or pending; called by pickles."""
    plain = with_pending(_rebuild_tensor(*facts), pending)
    is_plain = cls is type(plain)
    tensor = plain if is_plain else _C.TensorBase._make_subclass(cls, plain)
    if state:
        tensor.__dict__.update(state)
    tensor.requires_grad = requires_grad
    return tensor


def leaf_of(tensor: Tensor, requires_grad: bool = True) -> Tensor:
    """The same values as a leaf."""
    leaf = tensor.detach()
    leaf.requires_grad = requires_grad
    return leaf


for _named in (_SharedStorage, _rebuild_tensor, _rebuild_subclass, rebuild_wrapper):
    _named.__module__ = _HOME

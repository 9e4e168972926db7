"""Writes through views, as values of what they view. Used by ``functionalization.py``.

Nothing here knows a view op. One with a ``_scatter`` op is written by that; of others
the place of their elements in memory says how: by the view of the view if that is the
memory again, by reordering and reshaping where the view has every element, by
``slice_scatter`` or ``select_scatter`` along one dim, else by ``as_strided_scatter``.
``as_strided`` itself names places in memory: a ``Window`` is a view of the memory.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import pellucid
from pellucid import Tensor
from pellucid._decomp.registry import unseen

_aten = pellucid.ops.aten


class View:
    """A call that returns a view: ``part`` is the result's index if it has several;
    ``copies``: the trace copies where the program views.
    """

    def __init__(
        self, func: Any, rest: Any, kwargs: Any, part: int | None, copies: bool
    ) -> None:
        self.func, self.rest, self.kwargs = func, rest, kwargs
        self.part, self.copies = part, copies

    def of(self, whole: Tensor) -> Tensor:
        """The view of ``whole``, as the trace calls it."""
        return self._taken(self._recorded(self.func), whole)

    def shown(self, memory: Tensor) -> Tensor:
        """The view itself."""
        return self._taken(self.func, memory)

    def written(self, whole: Tensor, value: Tensor) -> Tensor:
        """``whole`` with ``value`` in the elements of the view."""
        form = scatter_form(self.func)
        if form is not None:
            found: Tensor = form(whole, value, *self.rest, **self.kwargs)
            return found
        if value.dtype != whole.dtype:
            return self._restored(self._as_dtype_of(whole, value), whole)
        with unseen():
            memory = pellucid.empty(whole.shape, dtype=whole.dtype, device="meta")
            shown = self.shown(memory)
            undoes_itself = self.part is None and self._undoes_itself(shown, memory)
        if not shown.numel():
            return whole
        if (shown.shape, shown.stride()) == (memory.shape, memory.stride()):
            return value
        if undoes_itself:
            return self.of(value)
        _require_injective(self.func, shown.shape, shown.stride())
        if shown.numel() == memory.numel():
            strides = shown.stride()
            order = sorted(range(shown.dim()), key=strides.__getitem__, reverse=True)
            if order != sorted(order):
                value = self._recorded(_aten.permute.default)(value, order)
            return self._restored(value, whole)
        place = _place_along_one_dim(shown, memory)
        if place is None:
            return self._scattered(whole, value)
        if shown.dim() < memory.dim():
            found = _aten.select_scatter.default(whole, value, *place)
        else:
            dim, start = place
            end = start + shown.shape[dim]
            found = _aten.slice_scatter.default(whole, value, dim, start, end)
        return found

    def _scattered(self, whole: Tensor, value: Tensor) -> Tensor:
        """``whole`` with ``value`` at the view's places in its memory."""
        with unseen():
            shown = self.shown(Layout.of(whole).memory(whole.dtype))
        places = list(shown.shape), list(shown.stride()), shown.storage_offset()
        found: Tensor = _aten.as_strided_scatter.default(whole, value, *places)
        return found

    def _recorded(self, func: Any) -> Any:
        return copying_form(func) if self.copies else func

    def _taken(self, func: Any, whole: Tensor) -> Tensor:
        made = func(whole, *self.rest, **self.kwargs)
        found: Tensor = made if self.part is None else made[self.part]
        return found

    def _undoes_itself(self, shown: Tensor, memory: Tensor) -> bool:
        """Whether the same view of the view is the memory again, as of a transpose."""
        if shown.dim() != memory.dim() or shown.numel() != memory.numel():
            return False
        again = self.shown(shown)
        return again.shape == memory.shape and again.stride() == memory.stride()

    def _as_dtype_of(self, whole: Tensor, value: Tensor) -> Tensor:
        """The bytes of ``value`` as elements of another dtype."""
        call: Any = self._recorded(_aten.view.dtype)
        if value.is_complex() and value.dtype.to_real() is whole.dtype:
            found: Tensor = self._recorded(_aten.view_as_real.default)(value)
        elif value.shape == (*whole.shape, 2) and whole.is_complex():
            found = self._recorded(_aten.view_as_complex.default)(value)
        else:
            found = call(value, whole.dtype)
        return found

    def _restored(self, value: Tensor, whole: Tensor) -> Tensor:
        """``value``, whose elements are in order, in the shape of ``whole``."""
        wanted, given = list(whole.shape), list(value.shape)
        more, fewer = (given, wanted) if len(given) > len(wanted) else (wanted, given)
        added = [d for d, n in enumerate(more) if n == 1 and _without(more, d) == fewer]
        if given == wanted:
            return value
        if added and more is given:
            found: Tensor = self._recorded(_aten.squeeze.dim)(value, added[0])
        elif added:
            found = self._recorded(_aten.unsqueeze.default)(value, added[0])
        elif self.copies:
            found = _aten.view_copy.default(value.contiguous(), wanted)
        else:
            found = value.reshape(wanted)
        return found


class Layout(NamedTuple):
    """The places of a tensor's elements in its memory."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    @classmethod
    def of(cls, tensor: Tensor) -> Layout:
        """That of a tensor."""
        strides = tuple(tensor.stride())
        return cls(tuple(tensor.shape), strides, tensor.storage_offset())

    @property
    def end(self) -> int:
        """One past the last place."""
        if 0 in self.shape:
            return self.offset
        steps = zip(self.shape, self.strides, strict=True)
        return self.offset + 1 + sum((size - 1) * stride for size, stride in steps)

    def memory(self, dtype: pellucid.dtype) -> Tensor:
        """A tensor without data that has this layout."""
        base = pellucid.empty(self.end, dtype=dtype, device="meta")
        return base.as_strided(*self)

    def copy_of(self, tensor: Tensor) -> Tensor:
        """A copy of a tensor that has this layout, also in its layout."""
        copy = tensor.clone()
        if Layout.of(copy) == self:
            return copy
        return tensor.as_strided([self.end], [1], 0).clone().as_strided(*self)

    def order(self) -> list[int]:
        """The dims from the outermost in memory to the innermost."""
        return sorted(
            range(len(self.shape)),
            key=lambda d: (self.strides[d], self.shape[d]),
            reverse=True,
        )

    def holds(self, sizes: Sequence[int], strides: Sequence[int], offset: int) -> bool:
        """Whether every place of a window is one of an element."""
        if 0 in sizes:
            return True
        expected = 1
        for dim in reversed(self.order()):
            if self.shape[dim] > 1 and self.strides[dim] != expected:
                return False
            expected *= self.shape[dim]
        end = Layout(tuple(sizes), tuple(strides), offset).end
        return self.offset <= offset and end <= self.offset + prod(self.shape)


class Window(View):
    """A call of ``as_strided``, of the places of ``whole`` in the program's memory,
    which later values may not have; ``offset``: that of what the call is made on.
    """

    def __init__(
        self,
        func: Any,
        rest: Any,
        kwargs: Any,
        copies: bool,
        whole: Tensor,
        offset: int,
    ) -> None:
        names = [a.name for a in func._schema.arguments][1:]
        given = {**dict(zip(names, rest, strict=False)), **kwargs}
        if given.get("storage_offset") is not None:
            offset = given["storage_offset"]
        places = list(given["size"]), list(given["stride"]), offset
        super().__init__(func, places, {}, None, copies)
        self.layout = Layout.of(whole)

    def of(self, whole: Tensor) -> Tensor:
        """The view of ``whole``, as the trace calls it."""
        if Layout.of(whole) == self.layout:
            return super().of(whole)
        found: Tensor = self._recorded(self.func)(self._flat(whole), *self._in_flat())
        return found

    def written(self, whole: Tensor, value: Tensor) -> Tensor:
        """``whole`` with ``value`` in the elements of the view."""
        sizes, strides, _ = self.rest
        _require_injective(self.func, sizes, strides)
        self._require_held()
        scattered = _aten.as_strided_scatter.default
        found: Tensor
        if Layout.of(whole) == self.layout:
            found = scattered(whole, value, *self.rest)
            return found
        order = self.layout.order()
        shape = [self.layout.shape[dim] for dim in order]
        flat = scattered(self._flat(whole), value, *self._in_flat())
        back = sorted(range(len(order)), key=order.__getitem__)
        found = self._recorded(_aten.view.default)(flat, shape)
        return self._recorded(_aten.permute.default)(found, back)  # type: ignore[no-any-return]

    def _flat(self, whole: Tensor) -> Tensor:
        """The elements in the order of the memory that the program's tensor has."""
        self._require_held()
        ordered = self._recorded(_aten.permute.default)(whole, self.layout.order())
        found: Tensor = _aten.clone.default(
            ordered, memory_format=pellucid.contiguous_format
        )
        return self._recorded(_aten.view.default)(found, [-1])  # type: ignore[no-any-return]

    def _in_flat(self) -> tuple[Any, Any, int]:
        sizes, strides, offset = self.rest
        return sizes, strides, offset - self.layout.offset

    def _require_held(self) -> None:
        if not self.layout.holds(*self.rest):
            raise RuntimeError(
                f"functionalize: {self.func} reaches memory outside of a written "
                "tensor's elements, which has no value in a program without writes.\n"
                "Give functionalize the whole tensor, or a clone() of the part."
            )


def op_name(func: Any) -> str:
    """The name of an op without its namespace."""
    name: str = func._schema.name.rpartition("::")[2]
    return name


def copying_form(func: Any) -> Any:
    """The overload that copies what the view op ``func`` shows."""
    return getattr(getattr(_aten, f"{op_name(func)}_copy"), func._overloadname)


@functools.cache
def scatter_form(func: Any) -> Any:
    """The op that writes where the view op ``func`` reads; None if there is none."""
    packet = getattr(_aten, f"{op_name(func)}_scatter", None)
    if packet is None:
        return None
    found = packet.default
    wanted = [(a.name, a.type) for a in func._schema.arguments]
    given = [(a.name, a.type) for a in found._schema.arguments]
    return found if _without(given, 1) == wanted else None


def _place_along_one_dim(shown: Tensor, memory: Tensor) -> tuple[int, int] | None:
    """The dim and the index where ``shown`` begins, if it is one index of ``memory``
    along a dim, or a range of them.
    """
    dims = list(zip(memory.shape, memory.stride(), strict=True))
    own = list(zip(shown.shape, shown.stride(), strict=True))
    for dim, (size, stride) in enumerate(dims):
        is_range = len(own) == len(dims) and own[dim][1] == stride
        rest = _without(own, dim) if is_range else own
        start, beyond = divmod(shown.storage_offset(), stride)
        if rest == _without(dims, dim) and not beyond and start < size:
            return dim, start
    return None


def _require_injective(func: Any, shape: Sequence[int], strides: Sequence[int]) -> None:
    if not _is_injective(shape, strides):
        raise RuntimeError(
            f"functionalize: {func} gives a view whose elements share memory, "
            "so that a write to it has no defined result.\n"
            "Write to a clone() of it, or to the tensor that it is a view of."
        )


def _is_injective(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether no two elements share memory."""
    reach = 0
    for stride, size in sorted(zip(strides, shape, strict=True)):
        if size > 1 and stride <= reach:
            return False
        reach += stride * (size - 1)
    return True


def _without(items: list[Any], index: int) -> list[Any]:
    return items[:index] + items[index + 1 :]

"""Every dtype on the device, and what views of its memory are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pellucid as torch
from pellucid.devices.check.place import Check, Place, expect

DTYPES = (
    *("bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "bfloat16", "float32", "float64"),
    *("complex64", "complex128", "float8_e4m3fn", "float8_e5m2"),
)
COMPUTED = ("bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32")

VIEWS: dict[str, Callable[[Any], Any]] = {
    "transpose": lambda x: x.transpose(0, 2),
    "permute": lambda x: x.permute(1, 2, 0),
    "a step of 2": lambda x: x[:, ::2],
    "an offset": lambda x: x[1:, 2:, 1:],
    "expand": lambda x: x[:, :1].expand(-1, 5, -1),
    "squeeze": lambda x: x[None].squeeze(0),
    "view": lambda x: x.view(2, -1),
    "as_strided": lambda x: x.as_strided((3, 4), (4, 1), 5),
    "diagonal": lambda x: x.diagonal(0, 1, 2),
    "unfold": lambda x: x.unfold(1, 2, 1),
    "unbind": lambda x: x.unbind(1)[2],
    "view as int": lambda x: x.view(torch.int32),
}


def dtype_is_moved(name: str, place: Place) -> None:
    dtype = getattr(torch, name)
    given = torch.arange(48).remainder(7).to(torch.float32).to(dtype)
    moved = given.to(place.device)
    expect(moved.dtype, dtype, "the dtype")
    place.same(moved.view(torch.uint8), given.view(torch.uint8), "the bytes")


def dtype_is_computed(name: str, place: Place) -> None:
    dtype = getattr(torch, name)
    given = torch.arange(48).remainder(7).to(dtype).reshape(6, 8)
    moved = given.to(place.device)
    place.same(moved.to(torch.float64), given.to(torch.float64), "converted to float64")
    place.same(moved * moved, given * given, "x * x")
    place.same(moved.sum(1), given.sum(1), "x.sum(1)")
    place.same(moved.amax(0), given.amax(0), "x.amax(0)")


def view_is_read(name: str, place: Place) -> None:
    given = torch.arange(60.0).reshape(3, 5, 4)
    moved = given.to(place.device)
    before = torch.devices.counts(place.device)
    view = VIEWS[name](moved)
    expect(torch.devices.counts(place.device), before, "the steps that the view took")
    place.same(view.clone(), VIEWS[name](given).clone(), "its elements")
    expect(view.stride(), VIEWS[name](given).stride(), "its strides")


def view_is_written(name: str, place: Place) -> None:
    given = torch.arange(60.0).reshape(3, 5, 4)
    moved = given.to(place.device)
    for tensor in (given, moved):
        VIEWS[name](tensor).mul_(2)
        VIEWS[name](tensor).copy_(VIEWS[name](tensor) + 1)
    place.same(moved, given, "the whole tensor after a write to the view")


def _named(
    check: Callable[[str, Place], None], names: tuple[str, ...], text: str
) -> list[Check]:
    found: list[Check] = []
    for name in names:
        bound = partial(check, name)
        bound.__doc__ = text.format(name)
        found.append(bound)
    return found


WRITABLE = tuple(n for n in VIEWS if n not in ("expand", "unfold", "view as int"))
DTYPE_CHECKS = [
    *_named(dtype_is_moved, DTYPES, "{} is moved and given back"),
    *_named(dtype_is_computed, COMPUTED, "{} is computed with"),
]
VIEW_CHECKS = [
    *_named(view_is_read, tuple(VIEWS), "{} is a view"),
    *_named(view_is_written, WRITABLE, "{} is written through"),
]

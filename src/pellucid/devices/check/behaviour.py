"""Errors, random numbers, files and streams: what programs expect around the ops."""

from __future__ import annotations

import io
from typing import Any

import pellucid as torch
from pellucid.devices.check.place import Check, Place, expect, expect_error


def indices_are_checked(place: Place) -> None:
    """an index outside of its tensor is an IndexError, and the device goes on"""
    x = torch.arange(4.0, device=place.device)
    far = torch.tensor([1, 9], device=place.device)
    expect_error(lambda: x[far].tolist(), IndexError, "out of bounds")
    place.same(x + 1, torch.arange(4.0) + 1, "a sum afterwards")


def division_by_zero(place: Place) -> None:
    """integers are not divided by zero"""
    x = torch.ones(3, dtype=torch.int64, device=place.device)

    def divide() -> Any:
        return torch.div(x, x * 0, rounding_mode="floor").tolist()

    expect_error(divide, RuntimeError, "ZeroDivisionError")


def devices_do_not_mix(place: Place) -> None:
    """a tensor of the CPU beside one of the device is refused"""
    x = torch.ones(3, device=place.device)
    expect_error(lambda: x + torch.ones(3), RuntimeError, "same device")
    place.same(x + torch.tensor(2.0), torch.full((3,), 3.0), "a number of the CPU")


def other_indices_are_refused(place: Place) -> None:
    """a device beyond count is refused"""
    name = f"{place.name}:{place.count}"
    expect_error(lambda: torch.ones(1, device=name), RuntimeError, "device")


def numpy_is_refused(place: Place) -> None:
    """numpy() says how to get a copy on the CPU"""
    x = torch.ones(3, device=place.device)
    expect_error(x.numpy, TypeError, "cpu()")


def seeds_repeat(place: Place) -> None:
    """equal seeds give equal numbers, which are in range"""
    drawn = []
    for _ in range(2):
        torch.manual_seed(7)
        uniform = torch.rand(1000, device=place.device)
        normal = torch.randn(1000, device=place.device)
        drawn.append((uniform, normal, torch.randperm(50, device=place.device)))
    place.same(drawn[0], drawn[1], "numbers of the seed 7")
    uniform, normal, order = drawn[0]
    expect(0 <= uniform.min().item() < uniform.max().item() < 1, True, "the range")
    expect(abs(uniform.mean().item() - 0.5) < 0.05, True, "the mean of uniform")
    expect(abs(normal.std().item() - 1) < 0.15, True, "the deviation of normal")
    expect(order.sort().values.tolist(), list(range(50)), "a permutation, sorted")


def dropout_drops(place: Place) -> None:
    """dropout drops the share it is to drop, and scales the rest"""
    torch.manual_seed(1)
    x = torch.nn.functional.dropout(torch.ones(4000, device=place.device), 0.25)
    expect(sorted(set(x.cpu().tolist())), [0.0, x.max().item()], "its values")
    expect(abs((x == 0).float().mean().item() - 0.25) < 0.05, True, "the share of 0")


def files_hold_tensors(place: Place) -> None:
    """torch.save and torch.load, with map_location"""
    base = torch.arange(6.0, device=place.last)
    file = io.BytesIO()
    torch.save({"base": base, "part": base[2:]}, file)

    def load(**where: Any) -> Any:
        file.seek(0)
        return torch.load(file, **where)

    same = load()
    expect(same["base"].device, place.last, "the device of what was loaded")
    same["part"].fill_(1)
    expect(same["base"].tolist(), [0, 1, 1, 1, 1, 1], "memory that views share")
    expect(load(map_location="cpu")["part"].tolist(), [2, 3, 4, 5], "on the CPU")
    expect(load(map_location=place.device)["base"].device, place.device, "moved")


def state_dicts_move(place: Place) -> None:
    """parameters go into a module on the device"""
    given, moved = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2).to(place.device)
    moved.load_state_dict(given.state_dict())
    place.same(list(moved.parameters()), list(given.parameters()), "parameters")


def synchronize_returns(place: Place) -> None:
    """synchronize() waits for what was started"""
    module = torch.get_device_module(place.name)
    x = torch.ones(1000, device=place.device)
    for _ in range(20):
        x = x * 1.5 - 0.5
    module.synchronize()
    torch.accelerator.synchronize() if _is_accelerator(place) else None
    place.same(x, torch.ones(1000), "the result of 40 steps")


def _is_accelerator(place: Place) -> bool:
    found = torch.accelerator.current_accelerator()
    return found is not None and found.type == place.name


def current_device_counts(place: Place) -> None:
    """a device without an index is the current one"""
    module = torch.get_device_module(place.name)
    try:
        module.set_device(place.last)
        expect(torch.ones(1, device=place.name).device, place.last, "the device")
    finally:
        module.set_device(0)


ERRORS: list[Check] = [
    indices_are_checked,
    division_by_zero,
    devices_do_not_mix,
    other_indices_are_refused,
    numpy_is_refused,
]
RANDOM: list[Check] = [seeds_repeat, dropout_drops]
FILES: list[Check] = [files_hold_tensors, state_dicts_move]
STREAMS: list[Check] = [synchronize_returns, current_device_counts]

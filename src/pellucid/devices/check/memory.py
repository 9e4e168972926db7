"""Blocks, copies to and from them, and what a device says when it has no more."""

from __future__ import annotations

import gc
from typing import Any

import pellucid as torch
from pellucid.devices.check.place import Check, Mismatch, Place, expect, expect_error

SIZES = (1, 2, 3, 7, 8, 31, 64, 100, 4096, 4097, 65536)


def _bytes(count: int, seed: int) -> Any:
    return torch.arange(count, dtype=torch.int64).mul(seed * 2 + 1).to(torch.uint8)


def count_is_true(place: Place) -> None:
    """every device that count names holds tensors"""
    expect(torch.get_device_module(place.name).device_count(), place.count, "count")
    for index in range(place.count):
        device = torch.device(place.name, index)
        given = _bytes(100, index)
        place.same(given.to(device), given, f"100 bytes on {device}")


def copies_are_whole(place: Place) -> None:
    """blocks of any size give back what was written"""
    for size in SIZES:
        given = _bytes(size, size)
        place.same(given.to(place.device), given, f"{size} bytes")


def blocks_do_not_meet(place: Place) -> None:
    """no block shares bytes with another, on one device or on two"""
    kept = [
        (given, given.to(device))
        for number, size in enumerate(SIZES * 3)
        for device in {place.device, place.last}
        for given in [_bytes(size, number)]
    ]
    for given, moved in reversed(kept):
        place.same(moved, given, f"{len(given)} bytes beside {len(kept) - 1} blocks")


def freed_blocks_serve_again(place: Place) -> None:
    """memory that was released can be used again, in any order"""
    kept = {n: _bytes(size, n).to(place.device) for n, size in enumerate(SIZES * 4)}
    for number in sorted(kept, key=lambda n: n * 7 % len(kept))[::2]:
        del kept[number]
    again = {n: _bytes(333, n).to(place.device) for n in range(40)}
    for number, moved in again.items():
        place.same(moved, _bytes(333, number), "a block after others were released")
    for number, moved in kept.items():
        place.same(moved, _bytes(len(moved), number), "a block that was not released")


def parts_are_copied(place: Place) -> None:
    """copies begin and end inside of a block"""
    given = _bytes(1000, 3)
    moved = given.to(place.device)
    place.same(moved[17:901], given[17:901], "bytes 17 to 900")
    moved[5:9] = torch.tensor([1, 2, 3, 4], dtype=torch.uint8)
    given[5:9] = torch.tensor([1, 2, 3, 4], dtype=torch.uint8)
    place.same(moved, given, "a block of which 4 bytes were written")


def no_elements_need_no_block(place: Place) -> None:
    """tensors without elements exist"""
    moved = torch.empty(0, 3).to(place.device)
    expect(moved.tolist(), [], "a tensor of no elements")
    expect(moved.sum().item(), 0.0, "its sum")


def too_much_is_refused(place: Place) -> None:
    """a block beyond all memory is an error that leaves the device usable"""

    def ask() -> None:
        torch.empty(1 << 50, dtype=torch.uint8, device=place.device)

    expect_error(ask, (RuntimeError), "")
    place.same(_bytes(64, 5).to(place.device), _bytes(64, 5), "64 bytes afterwards")


def copies_between_devices(place: Place) -> None:
    """tensors go from one device to another"""
    given = torch.arange(60.0).reshape(6, 10)
    moved = given.to(place.device).to(place.last)
    expect(moved.device, place.last, "the device")
    place.same(moved, given, "a tensor on another device")
    other = torch.empty(10, 6, device=place.device).t()
    other.copy_(moved)
    place.same(other, given, "a copy into a transposed tensor")


def memory_is_given_back(place: Place) -> None:
    """a loop over large tensors does not use memory up"""
    for _ in range(64):
        last = torch.ones(1 << 18, device=place.device)  # 64 of them are 64 MiB
    gc.collect()
    if last[-1].item() != 1:
        raise Mismatch("the last of 64 tensors of 1 MiB does not hold ones")


CHECKS: list[Check] = [
    count_is_true,
    copies_are_whole,
    blocks_do_not_meet,
    freed_blocks_serve_again,
    parts_are_copied,
    no_elements_need_no_block,
    too_much_is_refused,
    copies_between_devices,
    memory_is_given_back,
]

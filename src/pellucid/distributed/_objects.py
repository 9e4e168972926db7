"""Collectives of Python objects, as pickles in tensors of bytes.

Unpickling can run code from other ranks, which must be trusted, as in PyTorch.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import pellucid as torch
from pellucid.distributed import _collectives as collectives
from pellucid.distributed import _messages as messages
from pellucid.distributed._group.world import check_member


def _pickled(value: Any, device: Any) -> Any:
    file = io.BytesIO()
    pickle.Pickler(file).dump(value)
    data = torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)
    return data.to(device)


def _unpickled(data: Any, nbytes: int) -> Any:
    return pickle.loads(data[:nbytes].cpu().numpy().tobytes())


def _sizes(own: Any, group: Any) -> list[int]:
    size = torch.tensor([own.numel()], device=own.device)
    all_sizes = torch.empty(group.size(), dtype=torch.int64, device=own.device)
    collectives.all_gather_into_tensor(all_sizes, size, group)
    return [int(each) for each in all_sizes.tolist()]


def _padded(data: Any, nbytes: int) -> Any:
    padded = torch.zeros(nbytes, dtype=torch.uint8, device=data.device)
    padded[: data.numel()] = data
    return padded


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Collects every rank's object in ``object_list``, on all ranks."""
    if (target := check_member(group, "all_gather_object")) is None:
        return
    data = _pickled(obj, target.object_device)
    sizes = _sizes(data, target)
    rows = data.new_empty((target.size(), max(sizes)))
    collectives.all_gather_into_tensor(rows, _padded(data, max(sizes)), target)
    for index, size in enumerate(sizes):
        object_list[index] = _unpickled(rows[index], size)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Collects every rank's object in ``object_gather_list`` on rank ``dst`` (0)."""
    if (target := check_member(group, "gather_object")) is None:
        return
    root = collectives._root(target, dst, group_dst, "dst", 0)
    is_root = target.rank() == root
    if is_root != bool(object_gather_list):
        raise ValueError(
            "Argument object_gather_list must be specified on the destination rank, "
            "and on no other"
        )
    data = _pickled(obj, target.object_device)
    sizes = _sizes(data, target)
    padded = _padded(data, max(sizes))
    rows = [torch.empty_like(padded) for _ in sizes] if is_root else None
    collectives.gather(padded, rows, group=target, group_dst=root)
    for index, size in enumerate(sizes if is_root else ()):
        assert object_gather_list is not None and rows is not None
        object_gather_list[index] = _unpickled(rows[index], size)


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Replaces the objects of every rank's list by those of rank ``src`` (0)."""
    if (target := check_member(group, "broadcast_object_list")) is None:
        return
    root = collectives._root(target, src, group_src, "src", 0)
    is_root = target.rank() == root
    place = device or target.object_device
    data = [_pickled(value, place) for value in object_list] if is_root else []
    counts = [each.numel() for each in data] or [0] * len(object_list)
    sizes = torch.tensor(counts, device=place)
    collectives.broadcast(sizes, group=target, group_src=root)
    total = int(sizes.sum())
    empty = torch.empty(0 if is_root else total, dtype=torch.uint8, device=place)
    whole = torch.cat(data) if data else empty
    collectives.broadcast(whole, group=target, group_src=root)
    if not is_root:
        for index, part in enumerate(whole.split(sizes.tolist())):
            object_list[index] = _unpickled(part, part.numel())


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Stores object r of rank ``src``'s list as the first element of rank r's list."""
    if (target := check_member(group, "scatter_object_list")) is None:
        return
    if not isinstance(scatter_object_output_list, list) or (
        not scatter_object_output_list
    ):
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at "
            "least 1."
        )
    root = collectives._root(target, src, group_src, "src", 0)
    given = scatter_object_input_list if target.rank() == root else None
    place = target.object_device
    data = [_pickled(value, place) for value in given or ()]
    counts = [each.numel() for each in data] or [0] * target.size()
    sizes = torch.tensor(counts, device=place)
    collectives.broadcast(sizes, group=target, group_src=root)
    most = int(sizes.max())
    own = torch.empty(most, dtype=torch.uint8, device=place)
    rows = [_padded(each, most) for each in data] or None
    collectives.scatter(own, rows, group=target, group_src=root)
    scatter_object_output_list[0] = _unpickled(own, int(sizes[target.rank()]))


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Sends objects to a rank that calls ``recv_object_list``."""
    if (target := check_member(group, "send_object_list")) is None:
        return
    place = device or target.object_device
    data = [_pickled(value, place) for value in object_list]
    sizes = torch.tensor([each.numel() for each in data], device=place)
    messages.send(sizes, dst, group, group_dst=group_dst)
    messages.send(torch.cat(data), dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receives as many objects as the list has, in place; returns the sender."""
    if (target := check_member(group, "recv_object_list")) is None:
        return -1
    place = device or target.object_device
    sizes = torch.empty(len(object_list), dtype=torch.int64, device=place)
    source = messages.recv(sizes, src, group, group_src=group_src)
    whole = torch.empty(int(sizes.sum()), dtype=torch.uint8, device=place)
    messages.recv(whole, source, group)
    for index, part in enumerate(whole.split(sizes.tolist())):
        object_list[index] = _unpickled(part, part.numel())
    return source

"""Sends and receives between two ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid.distributed._collectives import _check_tensor, _root
from pellucid.distributed._group.work import Work
from pellucid.distributed._group.world import check_member, get_global_rank, get_rank


def _post(
    name: str, tensor: Any, peer: int | None, group: Any, tag: int, in_group: int | None
) -> Any:
    _check_tensor("tensor", tensor)
    if (target := check_member(group, name)) is None:
        return None
    is_send = name == "isend"
    if peer is None and in_group is None and not is_send:
        return target.recv_anysource([tensor], tag)
    rank = _root(target, peer, in_group, "dst" if is_send else "src")
    if rank == target.rank():
        kind, verb = ("destination", "send") if is_send else ("source", "receive")
        raise ValueError(
            f"Invalid {kind} rank: a rank cannot {verb} to or from itself ({rank})"
        )
    return (target.send if is_send else target.recv)([tensor], rank, tag)


def isend(
    tensor: Any,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Starts sending a tensor, which must not change until the Work is done."""
    work = _post("isend", tensor, dst, group, tag, group_dst)
    _move_on(group, work)
    return work  # type: ignore[no-any-return]


def irecv(
    tensor: Any,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Starts receiving into a tensor, from any rank if ``src`` is None."""
    work = _post("irecv", tensor, src, group, tag, group_src)
    _move_on(group, work)
    return work  # type: ignore[no-any-return]


def _move_on(group: Any, work: Any) -> None:
    target = check_member(group, "isend")
    if work is not None and not work.is_completed():
        move = getattr(target, "move_in_background", None)
        if move is not None:
            move()


def send(
    tensor: Any,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Sends a tensor to a rank that receives it with the same ``tag``."""
    work = _post("isend", tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Any,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receives into a tensor, from any rank if ``src`` is None; returns the sender."""
    work = _post("irecv", tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    if src is None and group_src is None:
        source = work.source_rank()
        return source if group is None else get_global_rank(group, source)
    return src if src is not None else get_global_rank(group, group_src or 0)


class P2POp:
    """A send or receive for ``batch_isend_irecv``: ``op`` is ``isend`` or ``irecv``."""

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Any,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(f"Invalid ``op``: it must be isend or irecv, not {op}")
        _check_tensor("tensor", tensor)
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        if peer is None and group_peer is not None:
            peer = get_global_rank(group, group_peer) if group else group_peer
        self.peer = peer

    def __repr__(self) -> str:
        return f"P2POp({self.op.__name__}, rank {get_rank()}, peer {self.peer})"


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Any]:
    """Starts several sends and receives, in any order; returns their Works."""
    if not p2p_op_list or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("a list of P2POp, with one at least, is needed")
    return [op.op(op.tensor, op.peer, op.group, op.tag) for op in p2p_op_list]

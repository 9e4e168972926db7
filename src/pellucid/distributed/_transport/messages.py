"""Collectives as messages between pairs of ranks, over links.

Two ranks exchange one large message per collective: the operands, with a header that
all ranks compare. Large sums need a second message with the slices' results. Sums are
computed in the same tree over ranks as in shared memory. Operands are sent from where
they are and received into memory that is reused: a collective flushes its links before
it returns.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pellucid.distributed._distributed import Failure, combine
from pellucid.distributed._transport import codes

COLLECTIVE, MAIL, TEXT = range(3)
_HEADER = struct.Struct("!qqqqqd")
DIRECT_BYTES = 64 * 1024
ANY_RANK = -1
Buffer = bytes | bytearray | memoryview


def view(address: int, nbytes: int) -> memoryview:
    """The memory of a buffer."""
    return memoryview((ctypes.c_char * nbytes).from_address(address)).cast("B")


class Links(ABC):
    """Messages to and from each other rank, ordered by channel and number."""

    def __init__(self) -> None:
        self._spare: deque[bytearray] = deque(maxlen=8)

    @abstractmethod
    def post(self, peer: int, channel: int, number: int, *parts: Buffer) -> None:
        """Sends the parts as one message, without waiting for the receiver. Their
        memory may be changed after ``flush``.
        """

    @abstractmethod
    def flush(self, end: float) -> None:
        """Waits until the memory of all messages posted may be changed; Failure at
        ``end`` (a time.monotonic()).
        """

    def _buffer(self, nbytes: int) -> bytearray:
        """Memory for a message; its contents are undefined."""
        for place, spare in enumerate(self._spare):
            if len(spare) == nbytes:
                del self._spare[place]
                return spare
        return bytearray(nbytes)

    def reuse(self, message: bytearray) -> None:
        """Takes back the memory of a message that is no longer needed: new memory
        costs more than what is sent in it.
        """
        if len(message) > DIRECT_BYTES:
            self._spare.append(message)

    @abstractmethod
    def take(
        self,
        peer: int,
        channel: int,
        number: int,
        end: float,
        needed: Sequence[int] = (),
    ) -> tuple[int, bytearray]:
        """The next message and its sender; Failure if none will arrive, or not by
        ``end`` (a time.monotonic()), or if one of the other ``needed`` peers will not
        send.
        """

    @abstractmethod
    def has_message(self, peer: int, channel: int, number: int) -> bool:
        """Whether ``take`` would return without waiting."""

    @abstractmethod
    def where(self, peer: int, timeout: float) -> str:
        """The peer's source location; empty if it does not answer."""

    def has_ended(self, peer: int) -> bool:
        """Whether the peer is known to have ended without leaving."""
        return self.losses().get(peer) == "ended"

    def losses(self) -> dict[int, str]:
        """The peers known to have "ended" or "left"."""
        return {}

    @abstractmethod
    def close(self, has_failed: bool) -> None:
        """Notifies the peers, and closes the connections."""


@dataclass
class Message:
    """A send, which completes immediately, or a receive."""

    links: Links
    source: int
    tag: int
    nbytes: int
    address: int = 0
    is_send: bool = False
    num_received: int = -1
    _is_done: bool = field(default=False)

    @property
    def is_done(self) -> bool:
        """Whether the memory may be used."""
        if not self._is_done and self.links.has_message(self.source, MAIL, self.tag):
            self.finish(time.monotonic() + 1)
        return self._is_done

    def finish(self, end: float) -> None:
        """Takes the message."""
        if self._is_done:
            return
        self.source, data = self.links.take(self.source, MAIL, self.tag, end)
        if len(data) == self.nbytes:
            view(self.address, self.nbytes)[:] = data
        else:
            self.num_received = len(data)
        self._is_done = True


class MessageGroup:
    """A rank's side of a group, with the methods of the runtime's ``Group``."""

    def __init__(self, links: Links, rank: int, size: int) -> None:
        self._links, self._rank, self._size = links, rank, size
        self._sequence = 0
        self._used: list[bytearray] = []  # messages of the current collective
        self._peers = [other for other in range(size) if other != rank]
        self._compute: dict[int, Callable[..., None]] = {
            codes.ALL_REDUCE: self._all_reduce,
            codes.REDUCE: self._reduce,
            codes.BROADCAST: self._broadcast,
            codes.ALL_GATHER: self._gather,
            codes.GATHER: self._gather,
            codes.SCATTER: self._scatter,
            codes.REDUCE_SCATTER: self._reduce_scatter,
        }

    # Exchanges

    def _exchange(
        self, step: int, data: Mapping[int, Buffer], header: bytes = b""
    ) -> dict[int, bytearray]:
        number = 4 * self._sequence + step
        for peer in self._peers:
            self._links.post(peer, COLLECTIVE, number, header, data.get(peer, b""))
        found = self._taken(COLLECTIVE, number, self._end)
        self._used += found.values()
        return found

    def _taken(self, channel: int, number: int, end: float) -> dict[int, bytearray]:
        """Receives one message from every peer."""
        return {
            peer: self._links.take(peer, channel, number, end, self._peers[place:])[1]
            for place, peer in enumerate(self._peers)
        }

    def _begin(self, header: bytes, data: Mapping[int, Buffer]) -> dict[int, Buffer]:
        """The operands of the others, after checking that all headers agree (except the
        factor)."""
        found = self._exchange(0, data, header)
        size = _HEADER.size
        self._factors = [
            _HEADER.unpack(header if r == self._rank else found[r][:size])[-1]
            for r in range(self._size)
        ]
        own = _HEADER.unpack(header)[:-1]
        different = [
            p for p in self._peers if _HEADER.unpack(found[p][:size])[:-1] != own
        ]
        if different:
            self._sequence = 0
            raise Failure("mismatch", different)
        return {peer: memoryview(text)[size:] for peer, text in found.items()}

    def _end_call(self) -> None:
        """The operands may be changed, and messages' memory reused."""
        self._links.flush(self._end)
        for message in self._used:
            self._links.reuse(message)
        self._used.clear()

    # Collectives

    def run(
        self,
        kind: int,
        input: int,
        output: int,
        count: int,
        dtype: int,
        reduction: int,
        root: int,
        factor: float,
        timeout: float,
    ) -> None:
        """Runs a collective of contiguous memory."""
        self._sequence += 1
        self._end = time.monotonic() + timeout
        self._type = dtype, reduction
        self._header = _HEADER.pack(kind, dtype, reduction, root, count, factor)
        if kind == codes.BARRIER:
            self._begin(self._header, {})
        else:
            nbytes = count * codes.ITEM_BYTES[dtype]
            self._compute[kind](input, output, nbytes, root)
        self._end_call()

    def _combine(self, operands: dict[int, Buffer], own: int, output: int) -> None:
        nbytes = len(next(iter(operands.values()), b"")) if operands else 0
        held = {r: (ctypes.c_char * nbytes).from_buffer(operands[r])
                for r in operands}  # fmt: skip
        addresses = [
            own if r == self._rank else ctypes.addressof(held[r])
            for r in range(self._size)
        ]
        count = nbytes // codes.ITEM_BYTES[self._type[0]]
        combine(addresses, self._factors, output, count, *self._type)

    def _slices(self, nbytes: int) -> list[slice]:
        item = 64
        step = (nbytes // item + self._size - 1) // self._size * item + item
        starts = [min(r * step, nbytes) for r in range(self._size + 1)]
        starts[-1] = nbytes
        return [slice(a, b) for a, b in itertools.pairwise(starts)]

    def _all_reduce(self, input: int, output: int, nbytes: int, root: int) -> None:
        own = view(input, nbytes)
        if nbytes <= DIRECT_BYTES:
            whole = bytes(own)  # the sum may overwrite it while it is sent
            found = self._begin(self._header, {p: whole for p in self._peers})
            self._combine(found, input, output)
            return
        slices = self._slices(nbytes)
        # A peer's result overwrites the part sent to it, which it has received by then.
        found = self._begin(self._header, {p: own[slices[p]] for p in self._peers})
        mine = slices[self._rank]
        self._combine(found, input + mine.start, output + mine.start)
        result = view(output, nbytes)[mine]
        joined = self._exchange(1, {p: result for p in self._peers})
        for peer, part in joined.items():
            view(output, nbytes)[slices[peer]] = part

    def _reduce(self, input: int, output: int, nbytes: int, root: int) -> None:
        data = {} if root == self._rank else {root: view(input, nbytes)}
        found = self._begin(self._header, data)
        if root == self._rank:
            self._combine(found, input, output)

    def _broadcast(self, input: int, output: int, nbytes: int, root: int) -> None:
        is_root = root == self._rank
        whole = view(input, nbytes) if is_root else b""
        found = self._begin(self._header, {p: whole for p in self._peers})
        if not is_root:
            view(output, nbytes)[:] = found[root]

    def _gather(self, input: int, output: int, nbytes: int, root: int) -> None:
        whole = view(input, nbytes)
        targets = self._peers if root < 0 else [root]
        found = self._begin(self._header, {p: whole for p in targets})
        if root in (-1, self._rank):
            for r in range(self._size):
                part = whole if r == self._rank else found[r]
                view(output + r * nbytes, nbytes)[:] = part

    def _parts(self, input: int, nbytes: int) -> dict[int, Buffer]:
        return {r: view(input + r * nbytes, nbytes) for r in range(self._size)}

    def _scatter(self, input: int, output: int, nbytes: int, root: int) -> None:
        parts = self._parts(input, nbytes) if root == self._rank else {}
        found = self._begin(self._header, parts)
        mine = parts[root] if root == self._rank else found[root]
        view(output, nbytes)[:] = mine

    def _reduce_scatter(self, input: int, output: int, nbytes: int, root: int) -> None:
        found = self._begin(self._header, self._parts(input, nbytes))
        self._links.flush(self._end)  # the output may be within the input
        self._combine(found, input + self._rank * nbytes, output)

    def all_to_all(
        self,
        input: int,
        input_sizes: Sequence[int],
        output: int,
        output_sizes: Sequence[int],
        timeout: float,
    ) -> None:
        """Runs all_to_all with sizes in bytes."""
        self._sequence += 1
        self._end = time.monotonic() + timeout
        sizes = struct.pack(f"!{2 * self._size}q", *input_sizes, *output_sizes)
        header = _HEADER.pack(codes.ALL_TO_ALL, 0, 0, -1, 0, 0.0)
        tables = self._begin(header, {p: sizes for p in self._peers})
        tables[self._rank] = sizes
        table = {r: struct.unpack(f"!{2 * self._size}q", t) for r, t in tables.items()}
        ranks = range(self._size)
        different = {
            r for a in ranks for b in ranks for r in (a, b)
            if table[a][b] != table[b][self._size + a]
        }  # fmt: skip
        if different:
            self._sequence = 0
            raise Failure("mismatch", sorted(different))
        starts = [sum(input_sizes[:r]) for r in ranks]
        parts = {r: view(input + starts[r], input_sizes[r]) for r in ranks}
        found: dict[int, Buffer] = {**self._exchange(1, parts)}
        found[self._rank] = parts[self._rank]
        for r in ranks:
            view(output + sum(output_sizes[:r]), output_sizes[r])[:] = found[r]
        self._end_call()

    def exchange_texts(self, text: str, timeout: float) -> list[str]:
        """Gathers one string from every rank."""
        end = time.monotonic() + timeout
        for peer in self._peers:
            self._links.post(peer, TEXT, 0, text.encode())
        taken = self._taken(TEXT, 0, end)
        found = {peer: data.decode() for peer, data in taken.items()}
        found[self._rank] = text
        return [found[r] for r in range(self._size)]

    # Messages

    def send(self, data: int, nbytes: int, target: int, tag: int) -> Message:
        """Sends a copy."""
        self._links.post(target, MAIL, tag, bytes(view(data, nbytes)))
        message = Message(self._links, self._rank, tag, nbytes, is_send=True)
        message._is_done = True
        return message

    def receive(self, data: int, nbytes: int, source: int, tag: int) -> Message:
        """Starts a receive; source -1 means any rank."""
        return Message(self._links, source, tag, nbytes, data)

    def wait(self, message: Message, timeout: float) -> None:
        """Waits for a message."""
        message.finish(time.monotonic() + timeout)

    def move_in_background(self) -> None:
        """Does nothing: links receive on their own."""

    def leave(self, has_failed: bool) -> None:
        """Notifies the others that this rank has left."""
        self._links.close(has_failed)

    def has_ended(self, rank: int) -> bool:
        """Whether a rank is known to have ended without leaving."""
        return self._links.has_ended(rank)

    def losses(self) -> dict[int, str]:
        """The ranks known to have "ended" or "left"."""
        return self._links.losses()

    def where(self, rank: int, timeout: float) -> str:
        """A rank's source location."""
        return self._links.where(rank, timeout)

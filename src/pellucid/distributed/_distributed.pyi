"""Types of the shared library of ``pellucid.distributed``: ranks in shared memory.

Addresses are those of contiguous tensors, which the caller holds until a call is over.
"""

from collections.abc import Callable, Sequence
from typing import Any

class Failure(Exception):
    """``args``: the cause ("ended", "left", "timed out", "mismatch") and ranks."""

SLOT_BYTES: int

def segment_bytes(size: int) -> int: ...
def make_shared_file(nbytes: int) -> int: ...
def read_memory(pid: int, address: int, target: memoryview | bytearray) -> bool: ...
def is_defined(dtype: int, reduction: int) -> bool: ...
def combine(
    sources: Sequence[int],
    factors: Sequence[float],
    output: int,
    count: int,
    dtype: int,
    reduction: int,
) -> None: ...

class Calls:
    """The calls of a group, of which one runs at a time."""

    num_queued: int
    num_calls: int
    last: tuple[int, int, int, int, int] | None
    before: tuple[int, int, int, int, int] | None
    site: str | None
    since: float

    def try_run(
        self,
        run: Callable[..., None],
        tell: Callable[[BaseException, tuple[int, int, int, int, int], float], object],
        call: tuple[int, int, int, int, int],
        input: int,
        output: int,
        factor: float,
        timeout: float,
    ) -> bool: ...
    def begin(self, call: tuple[int, int, int, int, int], site: str) -> None: ...
    def end(self) -> None: ...

class Connection:
    """The messages of RPC over a socket, whose descriptor it owns."""

    def __init__(self, descriptor: int) -> None: ...
    def send(
        self,
        kind: int,
        number: int,
        data: bytes,
        buffers: list[Any],
        are_to_be_read: int,
    ) -> None: ...
    def receive(
        self, seconds: float
    ) -> tuple[int, int, bytes, tuple[int, ...], tuple[int, ...]] | None: ...
    def read(self, nbytes: int) -> bytes: ...
    def read_into(self, target: memoryview) -> None: ...
    def write(self, data: bytes) -> None: ...
    def has_more(self) -> bool: ...
    def shut_down(self) -> None: ...

class Group:
    def __init__(
        self,
        descriptor: int,
        rank: int,
        size: int,
        pids: Sequence[int],
        on_slow: Callable[[float, list[int]], None],
        on_wait: Callable[[int], None],
    ) -> None: ...
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
    ) -> None: ...
    def all_to_all(
        self,
        input: int,
        input_sizes: Sequence[int],
        output: int,
        output_sizes: Sequence[int],
        timeout: float,
    ) -> None: ...
    def exchange_texts(self, text: str, timeout: float) -> list[str]: ...
    def add_block(self, descriptor: int, nbytes: int) -> int: ...
    def send(self, data: int, nbytes: int, target: int, tag: int) -> Message: ...
    def receive(self, data: int, nbytes: int, source: int, tag: int) -> Message: ...
    def wait(self, message: Message, timeout: float) -> None: ...
    def move_in_background(self) -> None: ...
    def leave(self, has_failed: bool) -> None: ...
    def phases(self) -> list[int]: ...
    def losses(self) -> dict[int, str]: ...
    def has_ended(self, rank: int) -> bool: ...
    def ask(self, rank: int) -> int: ...
    def answer_of(self, rank: int, question: int, timeout: float) -> str: ...
    def wait_for_question(self) -> bool: ...
    def answer(self, text: str) -> None: ...

class Message:
    is_done: bool
    source: int
    num_received: int

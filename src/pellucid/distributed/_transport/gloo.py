"""Links over the system's library Gloo, where it is installed with its headers (on
Debian libgloo-dev).

``gloo.cpp`` is compiled at first use. A receiver must give Gloo memory before a message
arrives: so messages up to DIRECT_BYTES travel with their frames, and the last parts of
larger ones follow by themselves.
"""

from __future__ import annotations

import contextlib
import ctypes
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from ctypes import POINTER, c_char, c_char_p, c_int, c_int64, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

from pellucid.distributed._distributed import Failure
from pellucid.distributed._stores.store import Store
from pellucid.distributed._stores.watched_store import ASK_SECONDS, ask_for_losses
from pellucid.distributed._transport.messages import DIRECT_BYTES, Buffer
from pellucid.distributed._transport.read_links import FRAME, ReadLinks

_FRAMED, _LARGE = range(2)  # Gloo's slots
_HEAD = struct.Struct(f"{FRAME.format}q")  # a frame, and the bytes that it carries
_ADDRESS_BYTES = 192  # gloo::transport::Address::kMaxByteSize
_NOTICE_SECONDS = 1.0  # until it is known that a rank has ended
_PATIENCE = 5  # Gloo waits this many timeouts for a connection
_FUNCTIONS: dict[str, tuple[Any, ...]] = {  # after the links
    "address": (c_int, c_char_p, c_int64),
    "connect": (c_int, c_char_p, c_int64),
    "send": (c_int, c_int64, POINTER(c_char), c_int64, c_int),
    "receive": (c_int, c_int64, POINTER(c_char), c_int64),
    "flush": (c_int64,),
    "drain": (c_int64,),
}


@cache
def _library() -> ctypes.CDLL:
    """The compiled functions; RuntimeError without Gloo or a compiler."""
    from pellucid.utils._cpp import build

    source = str(Path(__file__).with_suffix(".cpp"))
    try:
        path = build.built(
            "pellucid_gloo",
            [source],
            build.build_folder("pellucid_gloo", None, False),
            ["-std=c++17", "-O2"],
            ["-lgloo"],
        )
        library = ctypes.CDLL(str(path))
    except (RuntimeError, OSError) as error:
        raise RuntimeError(
            "PELLUCID_DISTRIBUTED_TRANSPORT=gloo needs the system's Gloo with its "
            "headers, and a C++ compiler (on Debian and Ubuntu: apt-get install "
            f"libgloo-dev g++). {error}"
        ) from None
    library.pellucid_gloo_error.restype = c_char_p
    library.pellucid_gloo_open.restype = c_void_p
    library.pellucid_gloo_open.argtypes = c_int, c_int, c_char_p, c_int64
    for name in ("stop", "close"):
        getattr(library, f"pellucid_gloo_{name}").argtypes = (c_void_p,)
    for name, parameters in _FUNCTIONS.items():
        function = getattr(library, f"pellucid_gloo_{name}")
        function.argtypes, function.restype = (c_void_p, *parameters), c_int64
    return library


def _memory(data: Buffer) -> Any:
    """The memory of a buffer that is not empty, as an argument."""
    if isinstance(data, bytes):
        return ctypes.cast(c_char_p(data), POINTER(c_char))
    return (c_char * len(data)).from_buffer(data)


class GlooLinks(ReadLinks):
    """Connects on construction; addresses are exchanged through the store."""

    def __init__(
        self,
        store: Store,
        rank: int,
        size: int,
        host: str,
        timeout: float,
        where: Callable[[], str],
        on_wait: Callable[[int], None],
    ) -> None:
        super().__init__(rank, size, where, on_wait)
        self._library, limit = _library(), int(1000 * timeout / _PATIENCE)
        self._links = self._library.pellucid_gloo_open(rank, size, host.encode(), limit)
        if not self._links:
            raise RuntimeError(self._error())
        frame_bytes = _HEAD.size + DIRECT_BYTES
        self._frames = {peer: bytearray(frame_bytes) for peer in self._peers}
        self._sending = threading.Lock()
        self._held: deque[Buffer] = deque()  # what is sent from where it is
        self._connect(store)
        self._start()

    def _error(self) -> str:
        text: bytes = self._library.pellucid_gloo_error()
        return f"Gloo: {text.decode(errors='replace')}"

    def _call(self, name: str, *arguments: Any) -> int:
        """What a function returns; OSError if it fails."""
        call = getattr(self._library, f"pellucid_gloo_{name}")
        result: int = call(self._links, *arguments)
        if result < 0:
            raise OSError(self._error())
        return result

    def _connect(self, store: Store) -> None:
        target = ctypes.create_string_buffer(_ADDRESS_BYTES)
        for peer in self._peers:
            nbytes = self._call("address", peer, target, _ADDRESS_BYTES)
            store.set(f"gloo/{self._rank}/{peer}", target.raw[:nbytes])
        addresses = {
            peer: store.get(f"gloo/{peer}/{self._rank}") for peer in self._peers
        }
        refused: list[OSError] = []

        def connect() -> None:
            try:
                for peer, address in addresses.items():
                    self._call("connect", peer, address, len(address))
            except OSError as error:
                refused.append(error)

        connecting = threading.Thread(target=connect, daemon=True)
        connecting.start()
        try:
            while connecting.is_alive():
                connecting.join(ASK_SECONDS)
                ask_for_losses(store)
            if refused:
                ask_for_losses(store, _NOTICE_SECONDS)
                raise RuntimeError(str(refused[0]))
        except BaseException:
            self._library.pellucid_gloo_stop(self._links)
            connecting.join()
            self._library.pellucid_gloo_close(self._links)
            raise

    def _receive(self, peer: int) -> tuple[int, int, bytearray]:
        framed = self._frames[peer]
        self._read_into(peer, _FRAMED, memoryview(framed))
        channel, number, nbytes, count = _HEAD.unpack_from(framed)
        data = self._buffer(nbytes)
        data[:count] = framed[_HEAD.size : _HEAD.size + count]
        if count < nbytes:
            self._read_into(peer, _LARGE, memoryview(data)[count:])
        return channel, number, data

    def _read_into(self, peer: int, slot: int, data: Buffer) -> None:
        if not self._call("receive", peer, slot, _memory(data), len(data)):
            raise OSError("the connection was closed here")

    def _put(self, peer: int, frame: bytes, *parts: Buffer) -> None:
        *first, last = parts
        is_large = sum(map(len, parts)) > DIRECT_BYTES
        data = b"".join(first if is_large else parts)
        framed = b"".join((frame, struct.pack("!q", len(data)), data))
        with self._sending, contextlib.suppress(OSError):
            self._call("send", peer, _FRAMED, _memory(framed), len(framed), True)
            if is_large:
                memory = _memory(last), len(last)
                count = self._call("send", peer, _LARGE, *memory, False)
                self._held.append(last)
                while len(self._held) > count:
                    self._held.popleft()

    def flush(self, end: float) -> None:
        """Waits until all messages have been sent."""
        if not self._call("flush", max(int(1000 * (end - time.monotonic())), 0)):
            raise Failure("timed out", self._peers)
        with self._sending:
            if self._call("flush", 0):  # no other thread has sent more since
                self._held.clear()

    def _end(self) -> None:
        self._call("drain", 2000)
        self._library.pellucid_gloo_stop(self._links)
        for reader in self._readers:
            reader.join()
        self._library.pellucid_gloo_close(self._links)

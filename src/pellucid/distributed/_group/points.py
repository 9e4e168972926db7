"""``MessageWork``: the Work of a send or a receive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pellucid.distributed._distributed import Failure
from pellucid.distributed._group.flight import Recorded
from pellucid.distributed._group.whereabouts import call_site
from pellucid.distributed._group.work import Work
from pellucid.distributed._stores.errors import DistBackendError
from pellucid.distributed._stores.store import seconds_of

if TYPE_CHECKING:
    from pellucid.distributed._group.running import RunningGroup


class MessageWork(Work):
    """Waiting makes progress; the tensor is kept alive until it is done."""

    def __init__(
        self, group: RunningGroup, message: Any, tensors: Any, peer: int, is_send: bool
    ) -> None:
        super().__init__(tensors)
        self._group, self._message, self._peer = group, message, peer
        self._is_send = is_send
        self.recorded: Recorded | None = None  # by the flight recorder

    def is_completed(self) -> bool:
        """Whether it is done, with or without an error."""
        return bool(self._message.is_done)

    def is_success(self) -> bool:
        """Whether it is done and the message's size matched the tensor."""
        return self.is_completed() and self._message.num_received < 0

    def wait(self, timeout: Any = None) -> bool:
        """Waits until the tensor may be used."""
        group = self._group
        seconds = group._timeout if timeout is None else seconds_of(timeout)
        if not self._message.is_done:
            try:
                group._transport.wait(self._message, seconds)
            except Failure as failure:
                raise DistBackendError(self._text(failure, seconds)) from None
        if self._message.num_received >= 0:
            nbytes = self._tensors[0].numel() * self._tensors[0].element_size()
            raise DistBackendError(
                f"recv ({call_site()}): rank {self._message.source} has sent "
                f"{self._message.num_received} bytes; the tensor has {nbytes}. Receive "
                "into a tensor of the size and dtype of the one that is sent"
            )
        if self.recorded is not None:
            self.recorded.complete()
        return True

    def _text(self, failure: Failure, seconds: float) -> str:
        group = self._group
        cause, ranks, members = group._meaning(failure)
        who = "any rank" if self._peer < 0 else f"rank {self._peer}"
        call = f"{'send to' if self._is_send else 'recv from'} {who} ({call_site()})"
        if cause == "timed out":
            places = [group._transport.where(rank, 1.0) for rank in ranks]
            shown = [
                f"\n  rank {rank} is in {place or 'no Python code: it does not answer'}"
                for rank, place in zip(ranks, places, strict=True)
            ]
            return f"{call} timed out after {seconds:g} s:" + "".join(shown)
        reasons = [
            f"\n  rank {rank} ({members[rank].shown()}) "
            f"{group._reason(cause, members[rank])}"
            for rank in ranks
        ]
        return f"{call} cannot end:" + "".join(reasons)

    def source_rank(self) -> int:
        """The rank that sent the message."""
        self.wait()
        return int(self._message.source)

    def get_future(self) -> Any:
        """A Future of the tensors; waits in this thread."""
        self.wait()
        return super().get_future()

"""The tables of an analysis, and how two ranks' calls compare."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any, NamedTuple

__all__ = [
    "Collective",
    "Database",
    "Group",
    "MatchInfo",
    "MatchState",
    "Membership",
    "NCCLCall",
    "Op",
    "Traceback",
    "types",
]

# Whose operands may differ between ranks.
_OWN_INPUTS = "all_to_all", "scatter", "broadcast"
_OWN_OUTPUTS = "all_to_all", "gather"


class MatchState(Enum):
    """How calls of two ranks compare."""

    FULLY_MATCHED = auto()
    COLLECTIVE_TYPE_MISMATCH = auto()
    SIZE_OR_SYNTAX_MISMATCH = auto()
    COLLECTIVE_STATE_MISMATCH = auto()
    COLLECTIVE_DTYPE_MISMATCH = auto()
    UNDECIDED = auto()


class MatchInfo:
    """A state, and what differs."""

    def __init__(self, state: MatchState, culprit: str | None = None) -> None:
        self.state, self.culprit = state, culprit

    def __str__(self) -> str:
        details = f", {self.culprit}" if self.culprit else ""
        return f"Error type: {self.state.name}{details}"


class Group(NamedTuple):
    """A process group."""

    id: str
    desc: str
    size: int


class Membership(NamedTuple):
    """A rank of a group."""

    group_id: str
    global_rank: int


class Traceback(NamedTuple):
    """The lines of a call."""

    id: int
    frames: str


class Collective(NamedTuple):
    """A call of a group's ranks: ``missing_ranks`` did not call, and
    ``type_of_mismatch`` says how the others differ.
    """

    id: int
    group_id: str
    pg_desc: str
    collective_seq_id: int
    collective_name: str
    collective_state: str
    input_sizes: list[list[int]]
    output_sizes: list[list[int]]
    expected_ranks: set[int]
    missing_ranks: set[int]
    collective_frames: list[dict[str, Any]]
    type_of_mismatch: MatchInfo | None


class NCCLCall(NamedTuple):
    """One rank's part in it."""

    id: int
    collective_id: int
    group_id: str
    global_rank: int
    traceback_id: int
    collective_type: str
    sizes: list[list[int]]


class Database(NamedTuple):
    """All tables."""

    groups: list[Group]
    memberships: list[Membership]
    tracebacks: list[Traceback]
    collectives: list[Collective]
    ncclcalls: list[NCCLCall]


class Op:
    """One rank's call, from its entry: ``str`` is its line."""

    def __init__(self, entry: dict[str, Any]) -> None:
        self.entry = entry
        _, _, name = entry["profiling_name"].partition(":")
        self.type = name.split(" ")[0]
        self.name, self.state = name, str(entry["state"])

    def __str__(self) -> str:
        sizes = self.entry["input_sizes"], self.entry["output_sizes"]
        return f"{self.name}(input_sizes={sizes[0]}, output_sizes={sizes[1]})"

    def match(self, other: Op) -> MatchInfo:
        """How another rank's call compares with this one."""
        if self.type != other.type:
            return MatchInfo(
                MatchState.COLLECTIVE_TYPE_MISMATCH,
                f"collectives {self.type} and {other.type}",
            )
        ends = ("input", _OWN_INPUTS), ("output", _OWN_OUTPUTS)
        for end, free in ends:
            own, found = self.entry[f"{end}_sizes"], other.entry[f"{end}_sizes"]
            if self.type not in free and own != found:
                return MatchInfo(
                    MatchState.SIZE_OR_SYNTAX_MISMATCH,
                    f"{end} sizes {own} and {found}",
                )
        for end, _ in ends:
            own, found = self.entry[f"{end}_dtypes"], other.entry[f"{end}_dtypes"]
            if own and found and set(own) != set(found):  # a rank may have none
                return MatchInfo(
                    MatchState.COLLECTIVE_DTYPE_MISMATCH,
                    f"{end} dtypes {own} and {found}",
                )
        if self.state != other.state:
            return MatchInfo(
                MatchState.COLLECTIVE_STATE_MISMATCH,
                f"states {self.state} and {other.state}",
            )
        return MatchInfo(MatchState.FULLY_MATCHED)


types = [Group, Membership, Traceback, Collective, NCCLCall]

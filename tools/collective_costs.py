"""The time of an all_reduce over TCP among many ranks, simulated from measured costs.

    python tools/collective_costs.py

Each rank sends every other rank a message (up to 64 KiB the whole operand, above that a
slice, then the slice's sum): pellucid/distributed/_transport/messages.py. A message
costs both ends time, and so do its bytes, sequentially; it has a latency, and the ranks
of a machine share its link. ``fitted`` derives the costs from times of 2 ranks
(benchmarks/results.json, section "distributed-tcp"); ``main`` prints the prediction for
4 ranks with the time measured, then for up to 10,000: docs/distributed.md.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

RESULTS = Path(__file__).resolve().parent.parent / "benchmarks" / "results.json"
DIRECT_BYTES = 64 * 1024
RANKS = (2, 16, 128, 1024, 10_000)
SIZES = {"8 B": 8, "64 KiB": 64 * 1024, "16 MiB": 16 << 20}


class Costs(NamedTuple):
    """``message``, ``byte``: seconds at a rank's end, alone on a core; ``large_byte``:
    for slices, which leave the caches; ``latency``: of the link.
    """

    message: float
    byte: float
    large_byte: float
    latency: float


class Cluster(NamedTuple):
    """``cores`` and ``bandwidth`` (bytes per second) of each machine."""

    ranks_per_machine: int
    cores: int
    latency: float
    bandwidth: float


# The table's assumptions: machines of 8 ranks on 8 cores, links of 100 Gb/s.
CLUSTER = Cluster(8, 8, 10e-6, 12.5e9)

# Where the times of 4 ranks were measured: two cores, no link.
HERE = Cluster(4, 2, 0.0, float("inf"))


def simulated(ranks: int, nbytes: int, costs: Costs, cluster: Cluster) -> float:
    """Seconds of an all_reduce, until a rank has taken its last message."""
    if ranks == 1:
        return 0.0
    if nbytes <= DIRECT_BYTES:
        return _exchange(ranks, nbytes, costs.byte, costs, cluster)
    part = -(-nbytes // ranks)
    return 2 * _exchange(ranks, part, costs.large_byte, costs, cluster)


def _exchange(
    ranks: int, nbytes: int, byte: float, costs: Costs, cluster: Cluster
) -> float:
    """Seconds until a rank has sent a message to every other one and received theirs:
    all do the same, so that message k arrives when the rank's own k-th one does.
    """
    local = min(ranks, cluster.ranks_per_machine)
    crowding = max(1.0, local / cluster.cores)
    end = (costs.message + nbytes * byte) * crowding
    sent = link = 0.0
    arrivals: list[float] = []
    for number in range(ranks - 1):
        sent += end
        is_near = number < local - 1
        if not is_near:
            link = max(link, sent) + nbytes * local / cluster.bandwidth
        way = costs.latency if is_near else cluster.latency + costs.latency
        heapq.heappush(arrivals, (sent if is_near else link) + way)
    taken = sent
    while arrivals:
        taken = max(taken, heapq.heappop(arrivals)) + end
    return taken


def fitted(times: Mapping[str, float]) -> Costs:
    """The costs that explain the times of 2 ranks, on a core each; the latency is half
    of the smallest time.
    """
    small, middle, large = (times[name] for name in SIZES)
    byte = (middle - small) / (2 * SIZES["64 KiB"])
    large_byte = (large - 2 * small) / (2 * SIZES["16 MiB"])
    return Costs(small / 4, byte, large_byte, small / 2)


def measured(ranks: int) -> dict[str, float]:
    """Times of all_reduce over TCP among ranks of one machine."""
    sections = json.loads(RESULTS.read_text())
    values = sections["distributed-tcp"]["values"]["pellucid"]
    case = f"distributed | {ranks} ranks: all_reduce "
    return {name: values[case + name] for name in SIZES}


def main() -> None:
    """Prints the check and the table."""
    costs = fitted(measured(2))
    for name, seconds in measured(4).items():
        found = simulated(4, SIZES[name], costs, HERE)
        print(f"4 ranks, {name}: simulated {found:.3g} s, measured {seconds:.3g} s")
    for ranks in RANKS:
        row = [simulated(ranks, size, costs, CLUSTER) for size in SIZES.values()]
        print(ranks, *(f"{seconds * 1e3:.3g} ms" for seconds in row))


if __name__ == "__main__":
    main()
